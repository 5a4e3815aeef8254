//! The file of a listening unix-domain socket: made with the permissions asked for, in place of one
//! that a dead server left, and removed at the end if it is still ours.

use super::{UnixName, UnixOptions, open};
use crate::tcp::BACKLOG;
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
    /// A socket that listens at the path of `name`.
    pub(super) fn listen(name: &UnixName, options: UnixOptions) -> io::Result<(Socket, Self)> {
        let Some(path) = name.path() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        let mode = options.mode & 0o777;
        // The file begins with the permissions of the socket: it is never open to more.
        fchmod(&socket, Mode::from_raw_mode(mode))?;
        let address = name.socket_address()?;
        let _locked = lock_folder(path);
        match socket.bind(&address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                remove_dead(name, path)?;
                socket.bind(&address)?;
            }
            outcome => outcome?,
        }
        socket.listen(BACKLOG)?;
        // The process's mask took bits away that were asked for.
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        let file = path.symlink_metadata()?;
        Ok((socket, SocketFile { path: path.to_owned(), identity: (file.dev(), file.ino()) }))
    }

    /// Removes the file, unless another has its path now.
    pub(super) fn remove(&self) {
        let is_ours = |file: fs::Metadata| (file.dev(), file.ino()) == self.identity;
        if self.path.symlink_metadata().is_ok_and(is_ours) {
            // Another process may have removed it meanwhile.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Keeps other servers from the folder's dead sockets until dropped: of two that find the same one,
/// one gets the path, and a socket that does not listen yet is not taken for dead. Where the folder
/// cannot be read, it is left to chance.
fn lock_folder(path: &Path) -> Option<File> {
    let folder = File::open(path.parent()?).ok()?;
    flock(&folder, FlockOperation::LockExclusive).ok()?;
    Some(folder)
}

/// Removes the socket at `path` if no process listens there any more.
fn remove_dead(name: &UnixName, path: &Path) -> io::Result<()> {
    if !path.symlink_metadata()?.file_type().is_socket() {
        let why = format!("{} exists and is no socket", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    match open(name, Some(PROBE)) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}
