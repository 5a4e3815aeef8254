//! The file of a listening unix-domain socket: made with the permissions asked for, in place of one
//! that a dead server left, and removed at the end if it is still ours.

use super::{UnixName, UnixOptions, open};
use rustix::fs::{FlockOperation, Mode, fchmod, flock};
use socket2::{Domain, Socket, Type};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server that may have left its socket behind has to answer.
const PROBE: Duration = Duration::from_secs(1);

/// The file of a socket that listens.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and number: whether the path still means our file.
    identity: (u64, u64),
}

impl SocketFile {
    /// A socket bound to the path of `name`, not listening yet.
    pub(super) fn bind(name: &UnixName, options: UnixOptions) -> io::Result<(Socket, Self)> {
        let Some(path) = name.path() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // The file begins with the permissions of the socket: it is never open to more.
        fchmod(&socket, Mode::from_raw_mode(options.mode & 0o777))?;
        let address = name.socket_address()?;
        if let Err(error) = socket.bind(&address) {
            if error.kind() != io::ErrorKind::AddrInUse {
                return Err(error);
            }
            replace(name, path, || socket.bind(&address))?;
        }
        // The process's mask took bits away that were asked for.
        fs::set_permissions(path, Permissions::from_mode(options.mode & 0o777))?;
        let file = path.symlink_metadata()?;
        Ok((socket, SocketFile { path: path.to_owned(), identity: (file.dev(), file.ino()) }))
    }

    /// Removes the file, unless another has its path now.
    pub(super) fn remove(&self) {
        let is_ours = |file: fs::Metadata| (file.dev(), file.ino()) == self.identity;
        if self.path.symlink_metadata().is_ok_and(is_ours) {
            // Somebody else may have removed it meanwhile.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the socket at `path` if nobody listens there any more, and calls `bind`. The folder is
/// locked meanwhile: of two servers that find the same dead socket, one gets the path.
fn replace(name: &UnixName, path: &Path, bind: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let folder = File::open(path.parent().unwrap_or(Path::new("/")))?;
    flock(&folder, FlockOperation::LockExclusive)?;
    if let Ok(file) = path.symlink_metadata() {
        if !file.file_type().is_socket() {
            let why = format!("{} exists and is no socket", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        match open(name, Some(PROBE)) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            _ => return Err(io::ErrorKind::AddrInUse.into()),
        }
        fs::remove_file(path)?;
    }
    bind()
}
