//! How the components of one run talk and how many of each there are: words on the command line,
//! read by `mshn.rs` and by `component.rs`, written by `system.rs`.

use crate::driver::Failure;
use corbie_mshn::MechanismName;
use lexopt::prelude::*;

/// What connects processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// TCP over the loopback interface.
    Tcp,
    /// Unix-domain sockets.
    Unix,
}

/// A whole system, or one component of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// None: all components in one process, by calls of functions.
    pub(super) mechanism: Option<MechanismName>,
    /// What connects processes.
    pub(super) over: Over,
    /// Scheduling Advisors.
    pub(super) advisors: usize,
    /// Status servers and requirement databases, so many of each.
    pub(super) servers: usize,
    /// Event service processes, where the mechanism has any.
    pub(super) channels: usize,
}

impl Options {
    /// `local`, or a mechanism and what differs from one of each over TCP.
    ///
    /// # Errors
    /// What makes no sense.
    pub(super) fn parse(words: Vec<String>) -> Result<Self, Failure> {
        let mut words = words.into_iter();
        let mechanism = words.next().ok_or("how the components talk is missing")?;
        let mechanism =
            if mechanism == "local" { None } else { Some(mechanism.parse::<MechanismName>()?) };
        let mut options = Self { mechanism, over: Over::Tcp, advisors: 1, servers: 1, channels: 1 };
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("unix") => options.over = Over::Unix,
                Long("advisors") => options.advisors = parser.value()?.parse()?,
                Long("servers") => options.servers = parser.value()?.parse()?,
                Long("channels") => options.channels = parser.value()?.parse()?,
                other => return Err(other.unexpected().into()),
            }
        }
        if [options.advisors, options.servers, options.channels].contains(&0) {
            return Err("there has to be one of each component at least".into());
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn words_say_how_and_how_many() {
        let options = parse("dii --unix --advisors 4 --channels=2").unwrap();
        assert_eq!(options.mechanism, Some(MechanismName::Dynamic));
        assert_eq!((options.over, options.advisors, options.servers), (Over::Unix, 4, 1));
        assert_eq!(options.channels, 2);
        assert_eq!(parse("local").unwrap().mechanism, None);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, text) in [
            ("", "is missing"),
            ("pigeon", "`pigeon`"),
            ("sii --advisors 0", "one of each"),
            ("sii --fast", "--fast"),
        ] {
            let failure = parse(line).unwrap_err().to_string();
            assert!(failure.contains(text), "{line}: {failure}");
        }
    }
}
