//! GIOP 1.2 and GIOPlite pass the conformance suite of message protocols, too.

#![allow(missing_docs, reason = "a test")]

use corbie_giop::Protocol;
use corbie_testkit::message_protocol_suite;

message_protocol_suite!(giop, Protocol::Giop);
message_protocol_suite!(gioplite, Protocol::GiopLite);
