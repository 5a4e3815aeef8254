//! Where components listen that are told nothing: a unix-domain socket in a folder of the user's
//! own, so that processes of other users cannot connect, nor take the place of a component.
//!
//! Used by `corbie mshn` and by `system`.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// An endpoint of this process for the component `name`: `uiop:///run/user/1000/…`.
///
/// # Errors
/// When there is no folder that is the user's alone, and none can be made.
pub fn endpoint(name: &str) -> io::Result<String> {
    Ok(format!("uiop://{}", path(name)?.display()))
}

/// The file of the socket for the component `name` of this process.
fn path(name: &str) -> io::Result<PathBuf> {
    Ok(folder()?.join(format!("corbie-mshn-{}-{name}.sock", std::process::id())))
}

/// The variable that tells the components of a system where their sockets are to be.
pub(crate) const FOLDER: &str = "CORBIE_MSHN_SOCKETS";

/// A folder for the sockets of one system, removed with this, whatever its components left there.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn make() -> io::Result<Self> {
        // Short, as the path of a socket has at most 107 octets.
        let unique = crate::unique::unique() & 0xffff_ffff;
        let name = format!("corbie-mshn-{}-{unique:x}", std::process::id());
        let path = folder()?.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Folder(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, folder = %self.0.display(), "sockets were not removed");
        }
    }
}

/// What [`FOLDER`] says, `$XDG_RUNTIME_DIR`, or a folder among the temporary files; the user's
/// alone.
fn folder() -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let mut given = [FOLDER, "XDG_RUNTIME_DIR"].into_iter().filter_map(std::env::var_os);
    if let Some(given) = given.find_map(|it| Some(PathBuf::from(it)).filter(|it| is_own(it, user)))
    {
        return Ok(given);
    }
    let folder = std::env::temp_dir().join(format!("corbie-{user}"));
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if is_own(&folder, user) {
        return Ok(folder);
    }
    Err(io::Error::other(format!(
        "{} is not this user's alone (0700); remove it, or set XDG_RUNTIME_DIR",
        folder.display()
    )))
}

/// Whether a folder, no link to one, is the user's and others can neither read nor write it.
fn is_own(folder: &Path, user: u32) -> bool {
    std::fs::symlink_metadata(folder)
        .is_ok_and(|about| about.is_dir() && about.uid() == user && about.mode() & 0o077 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_others_can_enter_is_not_used() {
        let user = rustix::process::geteuid().as_raw();
        let folder = folder().unwrap();
        assert!(is_own(&folder, user));
        assert!(!is_own(&std::env::temp_dir(), user));
        assert!(!is_own(Path::new("/proc/self/cwd"), user), "a link");
        assert!(path("m1").unwrap().starts_with(folder));
    }
}
