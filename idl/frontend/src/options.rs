//! What a caller can set for a compilation: predefined macros, [`ImpliedIdl`] and [`Limits`].
//!
//! Include paths belong to the [`crate::SourceLoader`], which does the searching.

/// Settings of one compilation.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Macros defined before the first line (`-DNAME`, `-DNAME=value`): name and replacement text.
    /// `-DNAME` alone means the text `1`.
    pub defines: Vec<(String, String)>,
    /// Macros removed after that (`-UNAME`).
    pub undefines: Vec<String>,
    /// Whether names of one scope may differ by case only, as some compilers have a switch for.
    /// Each name is then found under its exact case only.
    pub allow_case_clash: bool,
    /// Which implied IDL is added to the model.
    pub implied: ImpliedIdl,
    /// What hostile or broken input may cost.
    pub limits: Limits,
}

impl Options {
    /// The defaults: no macros but the predefined ones, safe limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a macro given as on a command line: `NAME` or `NAME=text`.
    #[must_use]
    pub fn define(mut self, definition: &str) -> Self {
        let (name, text) = definition.split_once('=').unwrap_or((definition, "1"));
        self.defines.push((name.to_owned(), text.to_owned()));
        self
    }
}

/// Definitions that the compiler adds for each interface that is not local; all off at first.
///
/// They are in the model like any others, marked by [`crate::Definition::implied`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImpliedIdl {
    /// Reply handlers (`AMI_QuoterHandler`) and `sendc_` operations. CORBA Messaging §22.8.
    pub ami_callback: bool,
    /// Pollers (`AMI_QuoterPoller`) and `sendp_` operations. CORBA Messaging §22.10.
    pub ami_poller: bool,
    /// Asynchronous servants (`AMH_Quoter`), response handlers and exception holders. Paper AMH §2.
    pub amh: bool,
    /// The same for single interfaces: scoped name, and the operations and attributes that are
    /// asynchronous. The others of that interface are as they are in an ordinary servant, also when
    /// `amh` is on (paper AMH §6).
    pub amh_operations: Vec<(String, Vec<String>)>,
}

impl ImpliedIdl {
    /// Whether anything is to be added.
    #[must_use]
    pub fn any(&self) -> bool {
        self.ami_callback || self.ami_poller || self.amh || !self.amh_operations.is_empty()
    }
}

/// Bounds on what one compilation may use. Each stops one way to exhaust memory, stack or time.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Octets in one file (default 16 MiB).
    pub file_octets: usize,
    /// Octets in all files as often as they are included (default 64 MiB): stops exponential
    /// inclusion.
    pub total_octets: usize,
    /// How deep `#include` may nest (default 64): stops a file that includes itself.
    pub include_depth: usize,
    /// Tokens that all macro expansions of one compilation may produce (default 1,000,000): stops
    /// "billion laughs" macros.
    pub macro_tokens: usize,
    /// Tokens of the preprocessed text (default 2,000,000).
    pub tokens: usize,
    /// How deep scopes, types and expressions may nest (default 128): stops stack exhaustion.
    pub nesting: usize,
    /// Diagnostics kept before the rest are only counted (default 200).
    pub diagnostics: usize,
    /// Binary digits of an intermediate value of a constant expression (default 40,000): stops
    /// expressions whose exact value does not fit in memory.
    pub constant_bits: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            file_octets: 16 << 20,
            total_octets: 64 << 20,
            include_depth: 64,
            macro_tokens: 1_000_000,
            tokens: 2_000_000,
            nesting: 128,
            diagnostics: 200,
            constant_bits: 40_000,
        }
    }
}
