//! Shared memory between processes of one machine: the place of the transport that `shm` brings.
//!
//! Until it is here, connecting and listening say that it is not.

use crate::{PeerAddress, UnixName, UnixOptions};
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// A connection over shared memory.
#[derive(Debug)]
pub enum ShmLink {}

/// Accepts connections over shared memory.
#[derive(Debug)]
pub enum ShmAcceptor {}

pub(crate) fn connect(
    _name: &UnixName,
    _each: Option<Duration>,
    _deadline: Option<Instant>,
) -> io::Result<ShmLink> {
    Err(io::ErrorKind::Unsupported.into())
}

impl ShmAcceptor {
    pub(crate) fn bind(_name: Option<&UnixName>, _options: UnixOptions) -> io::Result<ShmAcceptor> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn name(&self) -> &UnixName {
        match *self {}
    }

    pub(crate) fn accept(&self) -> io::Result<ShmLink> {
        match *self {}
    }

    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn close(&self) {
        match *self {}
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match *self {}
    }
}

impl ShmLink {
    pub(crate) fn send(&self, _segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn send_one(&self, _octets: &[u8]) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn send_now(&self, _octets: &[u8]) {
        match *self {}
    }

    pub(crate) fn try_send(&self, _octets: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn receive(&self, _space: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn try_receive(&self, _space: &mut [u8]) -> io::Result<Option<usize>> {
        match *self {}
    }

    pub(crate) fn receive_all(&self, _space: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn is_stale(&self) -> bool {
        match *self {}
    }

    pub(crate) fn set_receive_timeout(&self, _timeout: Option<Duration>) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn set_send_timeout(&self, _timeout: Option<Duration>) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn shutdown(&self) {
        match *self {}
    }

    pub(crate) fn peer(&self) -> PeerAddress {
        match *self {}
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match *self {}
    }
}
