//! The example's message protocol passes the conformance suite of message protocols. That an ORB
//! makes calls in it in every way is tested in `orb/corbie/tests`, `plugged_tcp.rs` and others.

#![allow(missing_docs, reason = "a test")]

mod crc;

use corbie_testkit::message_protocol_suite;
use crc::Crc;

message_protocol_suite!(crc_suite, message_protocol_suite::plugged(&Crc));
