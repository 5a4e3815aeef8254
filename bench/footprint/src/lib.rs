//! What the two programs of the experiment `footprint` share: the code made of `meter.idl`.
//!
//! Built by `corbie-bench footprint` for the whole ORB and for minimum CORBA (paper POA §2.5.3),
//! stripped and linked statically.

#![allow(clippy::missing_errors_doc)] // the IDL says what raises what

corbie::include_idl!("meter");
