//! Examples of Corbie, smallest first: see the folders beside `src`.
//! This library is empty; it is here because a package needs one target that is no example.
