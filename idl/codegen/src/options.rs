//! What a user can choose about the generated code.
//!
//! Filled in by `corbie_build::Builder` and by the flags of `corbie idl compile`.

/// How a skeleton finds the operation that a request names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OperationDemux {
    /// A perfect hash found at compile time: the same few nanoseconds for any number of operations.
    #[default]
    PerfectHash,
    /// Binary search over the sorted names.
    BinarySearch,
    /// One comparison after the other, in the order of the IDL.
    LinearSearch,
}

/// Settings of one run of the generator.
///
/// Callbacks, pollers and asynchronous servants (AMI, AMH) are generated when the model has their
/// implied IDL: see `corbie_frontend::ImpliedIdl`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How skeletons find operations.
    pub operation_demux: OperationDemux,
    /// Paths of derive macros put on every struct, union, enum and exception, e.g.
    /// `serde::Serialize`.
    pub extra_derives: Vec<String>,
    /// IDL scopes (`CosNaming`, `Stock::Types`) whose code is elsewhere, each with the absolute
    /// Rust path of that code (`crate::naming::cos_naming`). Nothing of these scopes is generated,
    /// except what the files compiled add to a scope that an included file opens.
    pub extern_modules: Vec<(String, String)>,
    /// Included files (`common.idl`, or the end of a longer path) whose code is elsewhere, each
    /// with the Rust path at which that code was included (`my_common::idl`). The files that such a
    /// file includes are there too, unless they are named themselves.
    pub extern_files: Vec<(String, String)>,
    /// Scoped IDL names (`Stock::Quoter::set_x`) with the Rust name to use instead of the one that
    /// the mapping gives; written as Rust writes it.
    pub renames: Vec<(String, String)>,
    /// Whether references have `op_async` methods, which return futures.
    pub futures: bool,
    /// Whether there are servants made of `async fn` (`AsyncXServant`).
    pub async_servants: bool,
    /// Whether references can say what their interface consists of (`Described`).
    pub descriptions: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            operation_demux: OperationDemux::default(),
            extra_derives: Vec::new(),
            extern_modules: Vec::new(),
            extern_files: Vec::new(),
            renames: Vec::new(),
            futures: true,
            async_servants: false,
            descriptions: false,
        }
    }
}

impl Options {
    /// The defaults: perfect hash, futures, nothing extra.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether everything that must be Rust is Rust.
    ///
    /// # Errors
    /// A sentence that names the option and what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        for path in &self.extra_derives {
            if syn::parse_str::<syn::Path>(path).is_err() {
                return Err(format!("derive `{path}`: this is not the path of a derive macro"));
            }
        }
        for (idl, rust) in &self.extern_modules {
            if syn::parse_str::<syn::Path>(rust).is_err() {
                return Err(format!("extern module `{idl}`: `{rust}` is not a Rust path"));
            }
        }
        for (idl, rust) in &self.extern_files {
            if syn::parse_str::<syn::Path>(rust).is_err() {
                return Err(format!("extern file `{idl}`: `{rust}` is not a Rust path"));
            }
        }
        for (idl, rust) in &self.renames {
            if rust.starts_with("r#") || rust.is_empty() || !rust.chars().all(is_name_part) {
                return Err(format!("rename `{idl}`: `{rust}` is not a Rust name"));
            }
        }
        Ok(())
    }
}

fn is_name_part(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}
