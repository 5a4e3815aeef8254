//! The name of a unix-domain socket: a path, or an abstract name of Linux, written with `@`.
//!
//! Part of endpoints, and the rendezvous point of profiles in TAO's form.

use socket2::SockAddr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where a unix-domain socket is found: `/run/stock.socket`, or `@stock` for an abstract name,
/// which is no file and ends with the process. At most 107 octets; a path is absolute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnixName(Arc<str>);

/// What `sockaddr_un` has room for, less the NUL before or after the name.
const MOST_OCTETS: usize = 107;

impl UnixName {
    /// Whether it is no file.
    #[must_use]
    pub fn is_abstract(&self) -> bool {
        self.0.starts_with('@')
    }

    /// As it is written: the path, or `@` and the abstract name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path; `None` for an abstract name.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        (!self.is_abstract()).then(|| Path::new(&*self.0))
    }

    pub(crate) fn socket_address(&self) -> io::Result<SockAddr> {
        match self.0.strip_prefix('@') {
            None => SockAddr::unix(&*self.0),
            Some(name) => SockAddr::unix(format!("\0{name}")),
        }
    }

    /// A path that no socket has: in the folder of the user for such files, or that for temporary
    /// ones.
    pub(crate) fn unused() -> io::Result<UnixName> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let folder = folder.filter(|f| f.is_dir()).unwrap_or_else(std::env::temp_dir);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("corbie-{}-{number}.socket", std::process::id()));
            if path.symlink_metadata().is_err() {
                let name = path.to_str().unwrap_or_default().parse();
                return name
                    .map_err(|why: String| io::Error::new(io::ErrorKind::InvalidInput, why));
            }
        }
    }
}

impl FromStr for UnixName {
    type Err = String;

    /// Reads a name; a relative path is one below the working folder.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "@" {
            return Err("a unix-domain socket needs a path, or `@` and a name".to_owned());
        }
        if text.contains('\0') {
            return Err(format!("a NUL cannot stand in the socket's name {text:?}"));
        }
        let absolute = match text.starts_with('@') {
            true => None,
            false => Some(std::path::absolute(text).map_err(|e| format!("{text:?}: {e}"))?),
        };
        let name = match &absolute {
            None => text,
            Some(path) => path.to_str().ok_or("the working folder's name is not UTF-8")?,
        };
        // The `@` stands for the NUL that an abstract name begins with.
        if name.len() > MOST_OCTETS + usize::from(absolute.is_none()) {
            return Err(format!(
                "the socket's name {name:?} has {} octets; the system takes {MOST_OCTETS}",
                name.len()
            ));
        }
        Ok(UnixName(name.into()))
    }
}

impl fmt::Display for UnixName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
