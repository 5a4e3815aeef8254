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

/// Which cores stand for the hosts of the paper's Figure 15: the Client Library and the advisors
/// have the first, the requirement databases and status servers the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channels {
    /// Wherever the kernel puts them, as everybody else.
    Anywhere,
    /// The event service processes are with the advisors and the client.
    WithAdvisors,
    /// They are with the servers.
    WithServers,
    /// They are on both in turn.
    OnAll,
}

impl Channels {
    /// The core of advisors and client.
    pub(super) fn advisors(self) -> Option<usize> {
        (self != Channels::Anywhere).then_some(0)
    }

    /// The core of the other servers.
    pub(super) fn servers(self) -> Option<usize> {
        (self != Channels::Anywhere).then_some(1)
    }

    /// The core of the event service process of this number.
    pub(super) fn channels(self, number: usize) -> Option<usize> {
        match self {
            Channels::Anywhere => None,
            Channels::WithAdvisors => Some(0),
            Channels::WithServers => Some(1),
            Channels::OnAll => Some(number % 2),
        }
    }
}

/// A whole system, or one component of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoadOptions {
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
    /// Where those are.
    pub(super) place: Channels,
}

impl LoadOptions {
    /// `local`, or a mechanism and what differs from one of each over TCP.
    ///
    /// # Errors
    /// What makes no sense.
    pub(super) fn parse(words: Vec<String>) -> Result<Self, Failure> {
        let mut words = words.into_iter();
        let mechanism = words.next().ok_or("how the components talk is missing")?;
        let mechanism =
            if mechanism == "local" { None } else { Some(mechanism.parse::<MechanismName>()?) };
        let (over, place) = (Over::Tcp, Channels::Anywhere);
        let mut options = Self { mechanism, over, advisors: 1, servers: 1, channels: 1, place };
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("unix") => options.over = Over::Unix,
                Long("advisors") => options.advisors = parser.value()?.parse()?,
                Long("servers") => options.servers = parser.value()?.parse()?,
                Long("channels") => options.channels = parser.value()?.parse()?,
                Long("place") => {
                    options.place = match parser.value()?.string()?.as_str() {
                        "advisors" => Channels::WithAdvisors,
                        "servers" => Channels::WithServers,
                        "all" => Channels::OnAll,
                        other => return Err(format!("there is no place `{other}`").into()),
                    };
                }
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

    fn parse(line: &str) -> Result<LoadOptions, Failure> {
        LoadOptions::parse(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn words_say_how_and_how_many() {
        let options = parse("dii --unix --advisors 4 --channels=2").unwrap();
        assert_eq!(options.mechanism, Some(MechanismName::Dynamic));
        assert_eq!((options.over, options.advisors, options.servers), (Over::Unix, 4, 1));
        assert_eq!(options.channels, 2);
        assert_eq!(parse("local").unwrap().mechanism, None);
        let place = parse("untyped --place all").unwrap().place;
        assert_eq!((place.advisors(), place.servers()), (Some(0), Some(1)));
        assert_eq!([0, 1, 2].map(|number| place.channels(number)), [Some(0), Some(1), Some(0)]);
        assert_eq!(options.place.channels(1), None);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, text) in [
            ("", "is missing"),
            ("pigeon", "`pigeon`"),
            ("sii --advisors 0", "one of each"),
            ("sii --fast", "--fast"),
            ("sii --place moon", "no place `moon`"),
        ] {
            let failure = parse(line).unwrap_err().to_string();
            assert!(failure.contains(text), "{line}: {failure}");
        }
    }
}
