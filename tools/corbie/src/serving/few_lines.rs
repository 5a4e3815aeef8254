//! A few lines a minute from each place of the code that logs, and from each peer: peers may cause
//! very many. A line that names a setting comes once a minute for each peer and operation, as it
//! says the same again. What is more is counted, and told once the minute is over, or at the end.
//!
//! Lines of the levels DEBUG and TRACE are all written: an operator asked for them.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

use crate::failure::Failure;

/// Lines of one place in each [`WHILE`].
const LINES: u32 = 10;
/// Lines of one peer in each [`WHILE`], until the setting is known.
const LINES_OF_PEER: u32 = 60;
const WHILE: Duration = Duration::from_secs(60);
/// How often it is looked whether there is something to tell.
const TICK: Duration = Duration::from_secs(1);
/// Peers that are told apart in a minute; those that come later count as one.
const PEERS: usize = 4096;
const OTHERS: &str = "all others";

/// The lines of all places and peers.
#[derive(Default)]
pub(super) struct FewLines {
    /// Lock "lines": not held while anything is logged.
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    places: HashMap<Identifier, Few>,
    peers: HashMap<String, Few>,
    /// When a line that names a setting was written: by its place, and what it is about.
    said: HashMap<(Identifier, String), Instant>,
    /// How many a peer may cause, once the setting is known; `u32::MAX`: any number.
    of_peer: Option<u32>,
}

/// The lines of one place, or of one peer.
#[derive(Default)]
struct Few {
    since: Option<Instant>,
    written: u32,
    left_out: u64,
    /// What the lines of a place that were left out said, but for their values.
    text: String,
}

/// So many lines of a place or a peer were left out.
#[derive(Debug, PartialEq, Eq)]
enum LeftOut {
    Place(u64, String),
    Peer(u64, String),
}

impl Few {
    /// Whether one of `most` lines may be written at `now`.
    fn allows(&mut self, now: Instant, most: u32) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= WHILE) && self.left_out == 0 {
            (self.since, self.written) = (Some(now), 0);
        }
        let allows = self.written < most;
        match allows {
            true => self.written += 1,
            false => self.left_out += 1,
        }
        allows
    }

    /// How many lines were left out, once that is to be told: when the minute is over, or `at_end`.
    fn left_out(&mut self, now: Instant, at_end: bool) -> Option<u64> {
        let is_over = at_end || self.since.is_some_and(|since| now.duration_since(since) >= WHILE);
        (is_over && self.left_out > 0).then(|| {
            self.since = None;
            std::mem::take(&mut self.left_out)
        })
    }

    /// Whether its minute is over, and nothing is to be told of it.
    fn rests(&self, now: Instant) -> bool {
        self.left_out == 0 && self.since.is_none_or(|since| now.duration_since(since) >= WHILE)
    }
}

impl Lines {
    /// Whether the line of this place that names a setting may be written at `now`: it was not
    /// said of `about` within the minute.
    fn allows_setting(&mut self, place: Identifier, about: String, now: Instant) -> bool {
        let is_known =
            self.said.len() < PEERS || self.said.contains_key(&(place.clone(), about.clone()));
        let about = if is_known { about } else { OTHERS.to_owned() };
        let said = self.said.entry((place, about));
        let mut allows = false;
        let written = said.or_insert_with(|| {
            allows = true;
            now
        });
        if now.duration_since(*written) >= WHILE {
            (allows, *written) = (true, now);
        }
        allows
    }

    /// Whether a line about `peer` may be written at `now`.
    fn allows_of_peer(&mut self, peer: String, now: Instant) -> bool {
        let is_known = self.peers.len() < PEERS || self.peers.contains_key(&peer);
        let peer = if is_known { peer } else { OTHERS.to_owned() };
        let most = self.of_peer.unwrap_or(LINES_OF_PEER);
        self.peers.entry(peer).or_default().allows(now, most)
    }

    fn left_out(&mut self, now: Instant, at_end: bool) -> Vec<LeftOut> {
        let places = self.places.values_mut().filter_map(|place| {
            Some(LeftOut::Place(place.left_out(now, at_end)?, place.text.clone()))
        });
        let peers = self.peers.iter_mut().filter_map(|(peer, few)| {
            Some(LeftOut::Peer(few.left_out(now, at_end)?, peer.clone()))
        });
        let told = places.chain(peers).collect();
        self.peers.retain(|_, few| !few.rests(now));
        self.said.retain(|_, said| now.duration_since(*said) < WHILE);
        told
    }
}

impl FewLines {
    /// Starts the thread that tells how many lines were left out.
    pub(super) fn tell_what_is_left_out(self: &Arc<Self>) -> Result<(), Failure> {
        let weak: Weak<Self> = Arc::downgrade(self);
        let thread = thread::Builder::new().name("corbie-log".to_owned()).spawn(move || {
            while let Some(lines) = weak.upgrade() {
                lines.tell(false);
                drop(lines);
                thread::sleep(TICK);
            }
        });
        thread.map(drop).map_err(|error| Failure::new(format!("cannot log: {error}")))
    }

    /// Tells how many lines were left out in minutes that are over; `at_end`: and in this one.
    pub(super) fn tell(&self, at_end: bool) {
        let told = self.lines().left_out(Instant::now(), at_end);
        for left_out in told {
            match left_out {
                LeftOut::Place(left_out, line) => {
                    tracing::warn!(left_out, line, "lines of the last minute were left out");
                }
                LeftOut::Peer(left_out, of) => {
                    let setting = "log_lines_per_peer";
                    tracing::warn!(left_out, of, setting, "lines about a peer were left out");
                }
            }
        }
    }

    /// From now on a peer may cause so many lines a minute; `None`: any number.
    pub(super) fn limit_peers(&self, lines: Option<u32>) {
        self.lines().of_peer = Some(lines.unwrap_or(u32::MAX));
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Filter<S> for FewLines {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        // What is told here is bounded by what is left out.
        if *metadata.level() > Level::INFO || metadata.target() == module_path!() {
            return true;
        }
        let mut about = About::default();
        event.record(&mut about);
        let (mut lines, now, place) = (self.lines(), Instant::now(), metadata.callsite());
        let names_setting = metadata.fields().field("setting").is_some();
        let is_new = !names_setting || lines.allows_setting(place.clone(), about.name(), now);
        if is_new && about.peer.is_some_and(|peer| !lines.allows_of_peer(peer, now)) {
            return false;
        }
        let place = lines.places.entry(place).or_default();
        let allows = place.allows(now, if is_new { LINES } else { 0 });
        if !allows && place.left_out == 1 {
            place.text.clear();
            event.record(&mut Text(&mut place.text));
        }
        allows
    }
}

/// What a line is about.
#[derive(Default)]
struct About {
    /// The address of the peer without its port, or its user.
    peer: Option<String>,
    /// The rest of what tells such lines apart.
    more: String,
}

impl About {
    fn name(&self) -> String {
        format!("{}{}", self.peer.as_deref().unwrap_or_default(), self.more)
    }
}

impl Visit for About {
    /// Text is the same whether it was given by `Display` or as it is.
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "peer" => self.peer = Some(origin(&format!("{value:?}"))),
            "setting" | "operation" => self.more = format!("{} {value:?}", self.more),
            _ => {}
        }
    }
}

/// What connections of one peer have in common, of how a log line names it.
fn origin(peer: &str) -> String {
    let address = peer.split_once(", ").map_or(peer, |(address, _)| address);
    if let Ok(address) = address.parse::<SocketAddr>() {
        return address.ip().to_canonical().to_string();
    }
    // `unix process 7 of user 1000`
    match address.split_once("user ") {
        Some((_, user)) => format!("user {}", user.split(' ').next().unwrap_or(user)),
        None => address.to_owned(),
    }
}

/// Keeps the message of an event.
struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            *self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn lines_beyond_the_few_are_counted_and_told_once() {
        let (mut place, now) = (Few::default(), Instant::now());
        assert!((0..LINES).all(|_| place.allows(now, LINES)));
        assert!((0..7).all(|_| !place.allows(now, LINES)));
        assert_eq!(place.left_out(now, false), None);
        // The count is told before another line is written.
        assert!(!place.allows(now + WHILE, LINES));
        assert_eq!(place.left_out(now + WHILE, false), Some(8));
        assert_eq!(place.left_out(now + WHILE, false), None);
        assert!(place.allows(now + WHILE, LINES));
    }

    /// Of whom each line is.
    #[derive(Default)]
    struct Peers(Arc<Mutex<Vec<Option<String>>>>);

    impl<S: Subscriber> tracing_subscriber::Layer<S> for Peers {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut about = About::default();
            event.record(&mut about);
            self.0.lock().unwrap().push(about.peer);
        }
    }

    #[test]
    fn a_peer_is_the_same_whether_a_line_has_it_as_text_or_displayed() {
        let peers = Peers::default();
        let seen = Arc::clone(&peers.0);
        let subscriber = tracing_subscriber::registry().with(peers);
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(peer = "192.0.2.7:40022", "refused");
            tracing::warn!(peer = String::from("192.0.2.7:40023"), "refused");
            tracing::warn!(peer = %"192.0.2.7:40024", "refused");
        });
        assert_eq!(*seen.lock().unwrap(), vec![Some("192.0.2.7".to_owned()); 3]);
    }

    #[test]
    fn a_peer_causes_so_many_lines_and_others_theirs() {
        let (mut lines, now) = (Lines { of_peer: Some(3), ..Lines::default() }, Instant::now());
        let mut allowed = |peer: &str, times: usize| {
            (0..times).filter(|_| lines.allows_of_peer(origin(peer), now)).count()
        };
        assert_eq!(allowed("192.0.2.7:40022", 2) + allowed("192.0.2.7:40023", 5), 3);
        assert_eq!(allowed("192.0.2.8:40022", 1), 1);
        assert_eq!(allowed("unix process 7 of user 1000", 2), 2);
        assert_eq!(allowed("unix process 8 of user 1000, user \"me\"", 2), 1);
        assert_eq!(lines.left_out(now, false), []);
        let mut told = lines.left_out(now, true);
        told.sort_by_key(|told| format!("{told:?}"));
        let peer = |left_out, name: &str| LeftOut::Peer(left_out, name.to_owned());
        assert_eq!(told, [peer(1, "user 1000"), peer(4, "192.0.2.7")]);
        assert_eq!(lines.left_out(now + WHILE, false), []);
        assert!(lines.peers.is_empty());
        // Very many peers cost no more than so many.
        for host in 0..2 * PEERS {
            lines.allows_of_peer(format!("host {host}"), now);
        }
        assert_eq!(lines.peers.len(), PEERS + 1);
    }
}
