//! An event as octets of a batch, and back.
//!
//! What is needed to read the arguments of the event is kept with them (decision 24), so that a
//! consumer gets the octets that its supplier sent, whenever that is. A typed event brings the
//! signature of its operation along.

use super::octets::Octets;
use crate::event::{Event, PUSH, Shape};
use crate::interfaces::Signature;
use corbie::{
    ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Marshal as _, Operation, OperationName,
    TypeCode, Version,
};
use std::sync::Arc;

/// An untyped event, of the operation `push`.
const UNTYPED: u8 = 0;
/// An untyped event of another operation.
const NAMED: u8 = 1;
const TYPED: u8 = 2;

/// Appends `event` to `out`.
///
/// # Errors
/// A sentence, when its signature cannot be written.
pub(super) fn write(event: &Event, out: &mut Vec<u8>) -> Result<(), String> {
    let d = event.decoder();
    let (version, code_sets) = (d.version(), d.code_sets());
    let form = match event.shape() {
        Shape::Typed(_) => TYPED,
        Shape::Any if *event.operation() == PUSH => UNTYPED,
        Shape::Any => NAMED,
    };
    let lead = u8::try_from(d.position() % 8).unwrap_or_default();
    out.extend_from_slice(&[form, d.order().flag(), lead, version.minor]);
    out.extend_from_slice(&code_sets.char_data.0.to_le_bytes());
    out.extend_from_slice(&code_sets.wchar_data.0.to_le_bytes());
    match event.shape() {
        Shape::Any if form == UNTYPED => {}
        Shape::Any => {
            out.push(event.operation().response_expected.into());
            block(event.operation().name().as_bytes(), out)?;
        }
        Shape::Typed(signature) => {
            let written = write_signature(signature).map_err(|error| error.to_string())?;
            block(&written, out)?;
        }
    }
    out.extend_from_slice(event.octets());
    Ok(())
}

/// Appends the length of `octets` and these.
fn block(octets: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let length = u32::try_from(octets.len()).map_err(|error| error.to_string())?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(octets);
    Ok(())
}

fn write_signature(signature: &Signature) -> Result<Vec<u8>, corbie::cdr::Error> {
    let text = |text: &str| text.to_owned();
    let texts = [signature.interface(), signature.scope(), signature.operation().name()].map(text);
    let mut e = Encoder::new(Vec::new(), ByteOrder::LittleEndian);
    e.set_code_sets(UNICODE);
    for text in &texts {
        String::encode(text, &mut e)?;
    }
    e.write_ulong(u32::try_from(signature.types().len()).unwrap_or(u32::MAX));
    for (name, of) in signature.names().iter().zip(&**signature.types()) {
        String::encode(name, &mut e)?;
        of.write(&mut e)?;
    }
    Ok(e.to_vec())
}

const UNICODE: CodeSets = CodeSets { char_data: CodeSet::UTF_8, wchar_data: CodeSet::UTF_16 };

/// Reads events; remembers the last signature, which the next event is likely to have as well.
#[derive(Default)]
pub(super) struct Reader {
    signature: Option<(Box<[u8]>, Arc<Signature>)>,
}

impl Reader {
    /// The event that `octets` are.
    ///
    /// # Errors
    /// A sentence, when they are none.
    pub(super) fn read(&mut self, octets: &[u8]) -> Result<Event, String> {
        let mut octets = Octets(octets);
        let [form, order, lead, minor] = octets.array().ok_or("it is too short")?;
        let (char_data, wchar_data) = (octets.u32(), octets.u32());
        let (Some(char_data), Some(wchar_data)) = (char_data, wchar_data) else {
            return Err("it is too short".to_owned());
        };
        let (operation, shape) = match form {
            UNTYPED => (PUSH, Shape::Any),
            NAMED => {
                let response_expected = octets.array::<1>().ok_or("it has no operation")? != [0];
                let name = octets.block().ok_or("it has no operation")?;
                let name = std::str::from_utf8(name).map_err(|error| error.to_string())?;
                let name = OperationName::from(name.to_owned());
                (Operation { name, response_expected }, Shape::Any)
            }
            TYPED => {
                let signature = self.signature(octets.block().ok_or("it has no signature")?)?;
                (signature.operation().clone(), Shape::Typed(signature))
            }
            other => return Err(format!("it is of an unknown form, {other}")),
        };
        if lead >= 8 {
            return Err(format!("its octets begin at {lead}, which is not below 8"));
        }
        let lead = usize::from(lead);
        // As they were aligned.
        let aligned = [&[0; 8][..lead], octets.0].concat();
        let mut d = Decoder::with_position(&aligned, lead, ByteOrder::from_flag(order));
        d.set_version(Version { major: 1, minor });
        let (char_data, wchar_data) = (CodeSet(char_data), CodeSet(wchar_data));
        d.set_code_sets(CodeSets { char_data, wchar_data });
        Ok(Event::read(operation, shape, &d))
    }

    fn signature(&mut self, octets: &[u8]) -> Result<Arc<Signature>, String> {
        if let Some((known, signature)) = &self.signature
            && **known == *octets
        {
            return Ok(Arc::clone(signature));
        }
        let signature = read_signature(octets).map_err(|error| error.to_string())?;
        let signature = Arc::new(signature);
        self.signature = Some((octets.into(), Arc::clone(&signature)));
        Ok(signature)
    }
}

fn read_signature(octets: &[u8]) -> Result<Signature, corbie::cdr::Error> {
    let mut d = Decoder::new(octets, ByteOrder::LittleEndian);
    d.set_code_sets(UNICODE);
    let mut text = || String::decode(&mut d);
    let (interface, scope, name) = (text()?, text()?, text()?);
    let mut parameters = Vec::new();
    for _ in 0..d.read_ulong()? {
        parameters.push((String::decode(&mut d)?, TypeCode::decode(&mut d)?));
    }
    Ok(Signature::new(&interface, &scope, &name, parameters))
}
