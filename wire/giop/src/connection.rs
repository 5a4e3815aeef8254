//! The rules of a connection as pure parts: what ships is made of them, and tests drive them.
//!
//! `rules`: which message is allowed when, and what bad octets are answered with. `life`: how a
//! connection ends. `reply_table`: what waits for replies. The connections of `orb/core` and the
//! simulated network of `tests/testkit` join them to links. CORBA 3.3 P2 §9.4.4, §9.4.7, §9.5.1.

mod life;
mod reply_table;
mod rules;
mod word;

pub use life::{Life, Stage};
pub use reply_table::{Begun, NotBegun, Replied, ReplyTable};
pub use rules::Incoming;
pub use word::Word;
