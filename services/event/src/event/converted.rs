//! The octets of an event as its receivers need them.
//!
//! A receiver with another byte order, alignment or code set needs other octets. Reading a value
//! whose type is not known can take long, so it is done once for each form, and not for each
//! receiver; one that fails is not tried again.

use corbie::cdr::{Direction, Error, ErrorKind};
use corbie::{ByteOrder, CodeSets, Encoder, Version};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Forms of one event. There are fewer: two alignments, and a few versions and code sets.
const MOST: usize = 64;

/// How octets are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) order: ByteOrder,
    /// Where they begin in their message, modulo 8.
    pub(super) lead: usize,
    pub(super) version: Version,
    pub(super) code_sets: CodeSets,
}

impl Layout {
    /// What `e` writes where it stands.
    pub(super) fn of(e: &Encoder<'_>) -> Self {
        Layout {
            order: e.order(),
            lead: e.position() % 8,
            version: e.version().of_values(),
            code_sets: e.code_sets(),
        }
    }

    /// Writes octets in this form, behind as many zeros as its lead says.
    pub(super) fn encoder<'a>(&self) -> Encoder<'a> {
        let mut e = Encoder::new(Vec::new(), self.order);
        e.set_version(self.version);
        e.set_code_sets(self.code_sets);
        (0..self.lead).for_each(|_| e.write_octet(0));
        e
    }
}

/// The octets, or why there are none.
type Outcome = Result<Arc<[u8]>, String>;

/// What was converted, by its form.
type Forms = Vec<(Layout, Outcome)>;

/// What was converted.
#[derive(Debug, Default)]
pub(super) struct Converted {
    /// Most events never need it. Lock "converted": held while one is converted, so that others of
    /// the same form wait for it.
    forms: OnceLock<Box<Mutex<Forms>>>,
}

impl Converted {
    /// The octets in this form, which `convert` makes if it was not done before.
    ///
    /// # Errors
    /// Those of `convert`; when there are too many forms.
    #[cold]
    pub(super) fn in_form(
        &self,
        form: Layout,
        convert: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Arc<[u8]>, Error> {
        let forms = self.forms.get_or_init(Box::default);
        let mut forms = forms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, outcome)) = forms.iter().find(|(known, _)| *known == form) {
            return outcome.clone().map_err(|why| refused(ErrorKind::InvalidValue, why));
        }
        if forms.len() >= MOST {
            return Err(refused(ErrorKind::LimitExceeded, format!("{MOST} forms of it")));
        }
        let outcome = convert().map(Arc::from);
        let kept = outcome.as_ref().map(Arc::clone).map_err(Error::to_string);
        forms.push((form, kept));
        outcome
    }
}

fn refused(kind: ErrorKind, found: String) -> Error {
    let needed = "a value that can be read, for receivers of few kinds";
    Error::new(kind, Direction::Reading, 0, "an event", found, needed)
}
