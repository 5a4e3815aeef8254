//! The example's message protocol passes the conformance suite of message protocols. That an ORB
//! makes calls in it in every way is tested in `orb/corbie/tests`, `plugged_tcp.rs` and others.

#![allow(missing_docs, reason = "a test")]

mod crc;

use corbie_testkit::message_protocol_suite;
use crc::Crc;

message_protocol_suite!(crc_suite, message_protocol_suite::plugged(&Crc));

/// Each fault is found by the check that is named beside it.
#[test]
fn the_suite_finds_faults() {
    use faulty::{Fault, Faulty};
    use message_protocol_suite as suite;
    type Check = fn(suite::Protocol);
    let cases: [(&'static Faulty, Check); 4] = [
        (&Faulty(Fault::NotSealedAgain), suite::requests_are_numbered_when_they_are_sent),
        (&Faulty(Fault::NeedsNoMore), suite::no_octets_panic),
        (&Faulty(Fault::NoOrder), suite::every_message_comes_back),
        (&Faulty(Fault::EndsEarly), suite::messages_are_cut_apart_at_every_octet),
    ];
    for (protocol, check) in cases {
        let run = || check(suite::plugged(protocol));
        assert!(std::panic::catch_unwind(run).is_err(), "{protocol:?} passes");
    }
}

mod faulty {
    use crate::crc::Crc;
    use corbie::cdr;
    use corbie::protocol::{
        ByteOrder, Cut, Decoder, Encoder, GiopError, Head, MessageKind, MessageProtocol,
    };

    #[derive(Debug)]
    pub(crate) enum Fault {
        NotSealedAgain,
        NeedsNoMore,
        NoOrder,
        EndsEarly,
    }

    /// The example's protocol with one fault.
    #[derive(Debug)]
    pub(crate) struct Faulty(pub(crate) Fault);

    impl MessageProtocol for Faulty {
        fn name(&self) -> &'static str {
            "faulty"
        }

        fn cut(&self, octets: &[u8]) -> Result<Cut, GiopError> {
            Ok(match (Crc.cut(octets)?, &self.0) {
                (Cut::Needs(_), Fault::NeedsNoMore) => Cut::Needs(octets.len()),
                (Cut::Message(mut frame), Fault::NoOrder) => {
                    frame.order = ByteOrder::NATIVE;
                    Cut::Message(frame)
                }
                (Cut::Message(mut frame), Fault::EndsEarly) => {
                    frame.octets -= 1;
                    Cut::Message(frame)
                }
                (cut, _) => cut,
            })
        }

        fn read<'a>(&self, kind: MessageKind, d: &mut Decoder<'a>) -> Result<Head<'a>, GiopError> {
            Crc.read(kind, d)
        }

        fn write(&self, head: &Head<'_>, e: &mut Encoder<'_>) -> Result<(), cdr::Error> {
            Crc.write(head, e)
        }

        fn finish(&self, e: &mut Encoder<'_>) {
            Crc.finish(e);
        }

        fn set_request_id(&self, e: &mut Encoder<'_>, request_id: u32) {
            match self.0 {
                Fault::NotSealedAgain => e.patch_ulong(e.placeholder_at(12), request_id),
                _ => Crc.set_request_id(e, request_id),
            }
        }
    }
}
