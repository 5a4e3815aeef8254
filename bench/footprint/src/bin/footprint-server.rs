//! The smallest server: activates objects and prints the reference of the first.
//!
//! Its first argument says how many objects; the rest is for the ORB. `footprint.rs` of the bench
//! runs it.

use corbie::{Orb, SystemException};
use corbie_footprint::footprint::meter::ReadChannelError;
use corbie_footprint::footprint::{MeterServant, MeterSkeleton, OutOfRange};
use std::error::Error;
use std::io::Write;

/// A meter of eight channels.
struct Meter;

impl MeterServant for Meter {
    fn read_channel(&self, number: i32) -> Result<i32, ReadChannelError> {
        if number < 8 { Ok(number * 10) } else { Err(OutOfRange { largest: 7 }.into()) }
    }

    fn rename(&self, name: &str) -> Result<String, SystemException> {
        Ok(name.to_owned())
    }

    fn samples(&self, count: u32) -> Result<Vec<u8>, SystemException> {
        Ok(vec![7; count as usize])
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let objects: usize = arguments.next().map_or(Ok(1), |number| number.parse())?;
    let orb = Orb::init(arguments)?;
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    let meter = poa.activate(MeterSkeleton::new(Meter))?;
    for _ in 1..objects {
        poa.activate(MeterSkeleton::new(Meter))?;
    }
    writeln!(std::io::stdout(), "{}", meter.as_object())?;
    orb.run();
    Ok(())
}
