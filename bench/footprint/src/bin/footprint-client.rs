//! The smallest client: calls each operation of the reference that is its argument.
//!
//! `footprint.rs` of the bench takes its size.

use corbie::Orb;
use corbie_footprint::footprint::Meter;
use std::error::Error;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let reference = arguments.next().ok_or("the argument is a reference")?;
    let orb = Orb::init(arguments)?;
    let object = orb.string_to_object(&reference)?;
    let meter = Meter::narrow(&object)?.ok_or("the object is no meter")?;
    let value = meter.read_channel(7)?;
    let refused = meter.read_channel(8).is_err();
    let name = meter.rename("boiler")?;
    let samples = meter.samples(100)?.len();
    writeln!(std::io::stdout(), "{value} {refused} {name} {samples}")?;
    orb.shutdown(true);
    Ok(())
}
