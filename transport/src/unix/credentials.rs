//! The process at the other end of a unix-domain socket, as the system vouches for it
//! (`SO_PEERCRED`). Asked of the system by hand: `rustix` has no place for the number 0, which a
//! process has that cannot be seen from here, as from another container.

#![allow(unsafe_code)]

use crate::PeerProcess;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// The process, or the one that listened.
///
/// # Errors
/// What the system says.
pub(crate) fn peer_process(socket: impl AsFd) -> io::Result<PeerProcess> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let whole = size_of::<libc::ucred>() as libc::socklen_t;
    let (mut octets, socket) = (whole, socket.as_fd().as_raw_fd());
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: both pointers are to values of this function, the first to as many octets as the
    // second says; the descriptor is open, as it is borrowed.
    let outcome = unsafe {
        libc::getsockopt(socket, level, option, (&raw mut found).cast(), &raw mut octets)
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    if octets != whole {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the system names no process"));
    }
    Ok(PeerProcess { process: found.pid.unsigned_abs(), user: found.uid, group: found.gid })
}
