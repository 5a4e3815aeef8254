//! How two processes come to share memory: the server makes a sealed file, and hands its
//! descriptor over the unix-domain socket that the client has connected to.
//!
//! The server speaks first, so it never waits for a client that says nothing; it decides the size,
//! and has sealed the file before another process knows it. The client checks all of it. From then
//! on the socket carries nothing but doorbells: see `link`.

use super::link::{ShmLink, Side};
use super::mapping::{Mapping, RING_OCTETS, file_octets};
use crate::socket::SocketLink;
use crate::unix::{self, UnixAcceptor};
use crate::{PeerAddress, ShmOptions, UnixName};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// What the server says: this, the version of the layout, and the octets of a ring.
const MAGIC: &[u8; 8] = b"CorbShm\n";
const VERSION: u32 = 1;
const HELLO_OCTETS: usize = 16;

pub(crate) fn connect(
    name: &UnixName,
    each: Option<Duration>,
    deadline: Option<Instant>,
) -> io::Result<ShmLink> {
    let begun = Instant::now();
    let socket = unix::connect(name, each, deadline)?;
    let end = each.and_then(|each| begun.checked_add(each));
    let left = deadline.into_iter().chain(end).min();
    let left = left.map(|end| end.saturating_duration_since(Instant::now()));
    if left == Some(Duration::ZERO) {
        return Err(too_late());
    }
    socket.set_receive_timeout(left)?;
    let (file, ring_octets) = receive_offer(&socket)?;
    let mapping = Mapping::new(&file, ring_octets)?;
    Ok(ShmLink::new(shared(socket), mapping, Side::Client))
}

/// The memory that the server offers.
fn receive_offer(socket: &SocketLink) -> io::Result<(OwnedFd, u32)> {
    let mut hello = [0; HELLO_OCTETS];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut hello)], &mut control, flags) {
            Ok(received) => break received.bytes,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return Err(too_late()),
            Err(error) => return Err(error.into()),
        }
    };
    let mut files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let file = files.next().and_then(|mut files| files.next());
    let word = |at: usize| {
        hello.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word))
    };
    match file {
        Some(file) if received == HELLO_OCTETS && hello.starts_with(MAGIC) => match word(8) {
            VERSION => Ok((file, word(12))),
            other => Err(no_offer(&format!("it has version {other}, not {VERSION}"))),
        },
        _ if received == 0 => Err(io::Error::new(
            io::ErrorKind::ConnectionRefused,
            "the server closed the connection before it offered shared memory",
        )),
        _ => Err(no_offer("it is not an offer of shared memory")),
    }
}

/// The same socket, of a link that is called after what it carries.
fn shared(socket: SocketLink) -> SocketLink {
    match *socket.peer() {
        PeerAddress::Unix(process) => socket.with_peer(PeerAddress::Shm(process)),
        _ => socket,
    }
}

/// Listens for connections over shared memory.
#[derive(Debug)]
pub struct ShmAcceptor {
    unix: UnixAcceptor,
    ring_octets: u32,
}

impl ShmAcceptor {
    pub(crate) fn bind(name: Option<&UnixName>, options: ShmOptions) -> io::Result<ShmAcceptor> {
        let ring_octets = options.ring_octets.checked_next_power_of_two().unwrap_or(u32::MAX);
        let ring_octets = ring_octets.clamp(*RING_OCTETS.start(), *RING_OCTETS.end());
        let unix = UnixAcceptor::bind(name, options.socket)?;
        Ok(ShmAcceptor { unix, ring_octets })
    }

    pub(crate) fn name(&self) -> &UnixName {
        self.unix.name()
    }

    pub(crate) fn accept(&self) -> io::Result<ShmLink> {
        loop {
            let socket = shared(self.unix.accept()?);
            match offer(socket, self.ring_octets) {
                // That one has gone already, and there may be others.
                Err(error) if is_of_peer(&error) => {}
                outcome => return outcome,
            }
        }
    }

    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        self.unix.set_nonblocking()
    }

    pub(crate) fn close(&self) {
        self.unix.close();
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.unix.as_fd()
    }
}

fn is_of_peer(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Makes memory and offers it to who has connected.
fn offer(socket: SocketLink, ring_octets: u32) -> io::Result<ShmLink> {
    let file = sealed_file_for(ring_octets)?;
    let mapping = Mapping::new(&file, ring_octets)?;
    mapping.arm_both();
    let mut hello = [0; HELLO_OCTETS];
    hello[..8].copy_from_slice(MAGIC);
    hello[8..12].copy_from_slice(&VERSION.to_le_bytes());
    hello[12..].copy_from_slice(&ring_octets.to_le_bytes());
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(&socket, &[IoSlice::new(&hello)], &mut control, flags)?;
    Ok(ShmLink::new(socket, mapping, Side::Server))
}

/// A memory file that no process can make shorter. Its memory is taken now, so that want of it is
/// an error here and not a signal later.
pub(super) fn sealed_file_for(ring_octets: u32) -> io::Result<OwnedFd> {
    let octets = file_octets(ring_octets) as u64;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create("corbie-shm", flags)?;
    ftruncate(&file, octets)?;
    fallocate(&file, FallocateFlags::empty(), 0, octets)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

#[cold]
fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the server did not offer shared memory in time")
}

#[cold]
fn no_offer(why: &str) -> io::Error {
    let text = format!("what the server says is refused: {why}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
