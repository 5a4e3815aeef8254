//! How a subcommand fails: the exit status and what goes to standard error.
//!
//! Exit statuses are an interface for scripts: 0 done, 1 failed, 2 the operation raised a user
//! exception, 64 wrong usage (`EX_USAGE` of sysexits.h; 2 is taken by user exceptions).

use std::io;

/// The command did not do what it was asked to do.
pub(crate) const FAILED: u8 = 1;
/// The operation raised a user exception.
pub(crate) const USER_EXCEPTION: u8 = 2;
/// The command line is wrong.
pub(crate) const WRONG_USAGE: u8 = 64;

/// What goes to standard error, and the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit status; 0 only when the reader of the output went away.
    pub(crate) status: u8,
    /// What is printed.
    pub(crate) report: Report,
}

/// The text of a failure.
#[derive(Debug)]
pub(crate) enum Report {
    /// One sentence, printed after `corbie: `.
    Sentence(String),
    /// Text that is printed as it is: diagnostics, or a user exception as JSON.
    Text(String),
    /// Nothing: everything was said.
    Silent,
}

impl Failure {
    /// Exit status 1 with a sentence: what, where, what to try.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self { status: FAILED, report: Report::Sentence(sentence.into()) }
    }

    /// Exit status 64 with a sentence.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self { status: WRONG_USAGE, report: Report::Sentence(sentence.into()) }
    }

    /// Exit status 1 after everything was said.
    pub(crate) fn silent() -> Self {
        Self { status: FAILED, report: Report::Silent }
    }

    /// Exit status 1 with text that is already formatted.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { status: FAILED, report: Report::Text(text.into()) }
    }

    /// The same sentence, with what to try.
    pub(crate) fn with_advice(mut self, advice: &str) -> Self {
        if let Report::Sentence(sentence) = &mut self.report {
            sentence.push_str("; ");
            sentence.push_str(advice);
        }
        self
    }

    /// A file or folder that could not be read or written.
    pub(crate) fn path(doing: &str, path: &std::path::Path, error: &io::Error) -> Self {
        Self::new(format!("cannot {doing} `{}`: {error}", path.display()))
    }
}

/// What to try, by the minor code that a sentence ends with.
///
/// A system exception shows its code as `minor code NAME 0x…`, wherever in the command it became a
/// sentence.
pub(crate) fn remedy(sentence: &str) -> Option<&'static str> {
    let (_, code) = sentence.rsplit_once("minor code ")?;
    let name = code.split(' ').next()?;
    corbie::minor::all().find(|code| code.name == name)?.remedy
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.report {
            Report::Sentence(text) | Report::Text(text) => f.write_str(text),
            Report::Silent => Ok(()),
        }
    }
}

/// Writing to standard output failed. A reader that went away (`corbie … | head`) is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { status: 0, report: Report::Silent };
        }
        Self::new(format!("cannot write to standard output: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie::minor;

    #[test]
    fn a_minor_code_says_what_to_try() {
        let exception = minor::TRANSIENT_OVERLOAD.no("too many wait");
        let tried = minor::lookup(exception.kind, exception.minor).and_then(|code| code.remedy);
        assert!(tried.is_some());
        assert_eq!(remedy(&format!("cannot serve names: {exception}")), tried);
        assert_eq!(
            remedy("cannot serve names: TRANSIENT (minor code 0x41540003 of omniORB)"),
            None
        );
        assert_eq!(remedy("no such file"), None);
    }
}
