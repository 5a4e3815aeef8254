//! `-ORB…` arguments: recognised ones are taken out, the rest is left for the application.
//!
//! CORBA 3.3 P1 §8.5.1: names that begin with `-ORB` are reserved; one that is not recognised is
//! BAD_PARAM. Both `-ORBname value` and `-ORBname=value` are understood, in any case of letters.

use corbie_types::{SystemException, minor};

use crate::near_names;
use crate::settings::{PartialSettings, Setting, Settings};

/// Takes every `-ORB…` argument out of `args`. After `--` nothing is looked at.
pub(crate) fn take(args: &mut Vec<String>) -> Result<PartialSettings, SystemException> {
    let mut partial = PartialSettings::default();
    let mut left = Vec::with_capacity(args.len());
    let mut given = std::mem::take(args).into_iter();
    let mut problem = None;
    while let Some(argument) = given.next() {
        if argument == "--" {
            left.push(argument);
            break;
        }
        if !is_reserved(&argument) {
            left.push(argument);
        } else if let Err(refusal) = take_one(&argument, &mut given, &mut partial) {
            problem.get_or_insert(refusal);
        }
    }
    left.extend(given);
    *args = left;
    problem.map_or(Ok(partial), Err)
}

fn is_reserved(argument: &str) -> bool {
    argument.get(..4).is_some_and(|start| start == "-ORB")
}

fn take_one(
    argument: &str,
    following: &mut std::vec::IntoIter<String>,
    partial: &mut PartialSettings,
) -> Result<(), SystemException> {
    let (name, attached) = match argument.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (argument, None),
    };
    let setting = find(name)?;
    let source = format!("the argument `{}`", setting.argument);
    if let Some(value) = attached {
        return setting.parse(partial, value, &source);
    }
    if setting.bare {
        return setting.parse(partial, "true", &source);
    }
    match following.as_slice().first() {
        Some(value) if !is_reserved(value) => {
            let value = following.next().unwrap_or_default();
            setting.parse(partial, &value, &source)
        }
        _ => Err(minor::BAD_PARAM_ARGUMENT
            .no(format!("{source} needs a value after it: {}", setting.kind))),
    }
}

fn find(name: &str) -> Result<&'static Setting, SystemException> {
    let found = Settings::TABLE.iter().find(|s| s.argument.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let near = near_names::suggestion(name, Settings::TABLE.iter().map(|s| s.argument));
        minor::BAD_PARAM_ARGUMENT.no(format!(
            "the argument `{name}` is not known, and names that begin with `-ORB` are reserved \
             for the ORB{near}"
        ))
    })
}
