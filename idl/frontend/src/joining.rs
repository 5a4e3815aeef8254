//! Several files compiled as one text: what an earlier file has brought along is left out of a
//! later one.
//!
//! Called by [`crate::compile_all`] between preprocessor and parser. Each file is preprocessed by
//! itself, with macros of its own. Text that comes again, from the same file and with the same
//! tokens, is the same definitions; text that reads differently stays, and the checker refuses it.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::source::FileId;
use crate::token::{Event, Stretch, Token, TokenStream};

/// What the files before have brought along.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    seen: HashSet<(FileId, u64)>,
}

impl Joined {
    /// Leaves out of `stream` what an earlier stream had, and remembers the rest.
    pub(crate) fn leave_out(&mut self, stream: &mut TokenStream) {
        let owners = Owners::of(stream);
        let texts = owners.texts(stream);
        let repeated: Vec<bool> = texts.iter().map(|text| self.seen.contains(text)).collect();
        self.seen.extend(texts);
        if repeated.contains(&true) {
            let keep = |owner: &Option<usize>| owner.is_none_or(|owner| !repeated[owner]);
            let tokens: Vec<bool> = owners.tokens.iter().map(keep).collect();
            let events: Vec<bool> = owners.events.iter().map(keep).collect();
            retain(stream, &tokens, &events);
        }
    }
}

/// Which stretch each token and each event belongs to.
///
/// Text that is included inside a definition belongs to the file that includes it: elsewhere it
/// may define something else.
struct Owners {
    tokens: Vec<Option<usize>>,
    events: Vec<Option<usize>>,
}

impl Owners {
    fn of(stream: &TokenStream) -> Self {
        let mut owners = Owners {
            tokens: vec![None; stream.tokens.len()],
            events: vec![None; stream.events.len()],
        };
        let depths = depths(&stream.tokens);
        let mut inside = 0..0;
        for (at, Stretch { tokens, events, .. }) in stream.stretches.iter().enumerate() {
            let is_within = inside.contains(&tokens.start) && tokens.end <= inside.end;
            if depths.get(tokens.start).is_some_and(|depth| *depth > 0) || is_within {
                if !is_within {
                    inside = tokens.clone();
                }
                continue;
            }
            owners.tokens[tokens.clone()].fill(Some(at));
            owners.events[events.clone()].fill(Some(at));
        }
        owners
    }

    /// For each stretch its file and a number that tells texts of one file apart.
    fn texts(&self, stream: &TokenStream) -> Vec<(FileId, u64)> {
        let mut hashers = vec![DefaultHasher::new(); stream.stretches.len()];
        for (token, owner) in stream.tokens.iter().zip(&self.tokens) {
            if let Some(owner) = *owner {
                token.span.hash(&mut hashers[owner]);
                format!("{:?}", token.kind).hash(&mut hashers[owner]);
            }
        }
        let files = stream.stretches.iter().map(|stretch| stretch.file);
        files.zip(hashers.iter().map(Hasher::finish)).collect()
    }
}

/// How many braces are open before each token.
fn depths(tokens: &[Token]) -> Vec<usize> {
    let mut depth = 0usize;
    let mut depths = Vec::with_capacity(tokens.len());
    for token in tokens {
        depths.push(depth);
        if token.kind.is("{") {
            depth += 1;
        } else if token.kind.is("}") {
            depth = depth.saturating_sub(1);
        }
    }
    depths
}

/// Keeps the tokens and events that the flags say, and all that enters or leaves a file.
fn retain(stream: &mut TokenStream, tokens: &[bool], events: &[bool]) {
    let mut places = Vec::with_capacity(tokens.len());
    let mut kept = 0;
    for keep in tokens {
        places.push(kept);
        kept += usize::from(*keep);
    }
    let place = |at: usize| places.get(at).copied().unwrap_or(kept);
    let mut keep = tokens.iter();
    stream.tokens.retain(|_| keep.next().copied().unwrap_or(true));
    stream.docs.retain(|(at, _)| tokens.get(*at).copied().unwrap_or(true));
    stream.docs.iter_mut().for_each(|(at, _)| *at = place(*at));
    let mut keep = events.iter();
    stream.events.retain(|(_, event)| {
        let keep = keep.next().copied().unwrap_or(true);
        keep || matches!(event, Event::EnterFile | Event::LeaveFile)
    });
    stream.events.iter_mut().for_each(|(at, _)| *at = place(*at));
}
