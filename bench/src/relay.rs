//! Stands between a client and its server and counts the octets that go through, whatever protocol
//! they are of.
//!
//! `corbie_contender.rs` makes a few calls through one when it is asked for the octets of a
//! call: one call at a time, so that what was carried between two calls is a request and its
//! reply.

use crate::driver::Failure;
use corbie::Ior;
use corbie::types::{IiopProfile, TaggedProfile};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A relay to one profile of a reference.
pub(crate) struct Relay {
    type_id: String,
    tag: u32,
    /// The profile, but with the relay's own address.
    profile: IiopProfile,
    to_server: Arc<AtomicU64>,
    to_client: Arc<AtomicU64>,
}

impl Relay {
    /// A relay for one connection to the profile of `server` with this tag, whose body is that of
    /// IIOP. Its threads end with the connection.
    ///
    /// # Errors
    /// When there is no such profile, or the system refuses.
    pub(crate) fn start(server: &Ior, tag: u32) -> Result<Relay, Failure> {
        let profile = server.profiles.iter().find(|profile| profile.tag == tag);
        let profile = profile.ok_or_else(|| format!("the reference has no profile {tag:#x}"))?;
        let mut profile = IiopProfile::decode(&profile.data)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (host, port) = (profile.host.clone(), profile.port);
        let [to_server, to_client] = [(), ()].map(|()| Arc::new(AtomicU64::new(0)));
        let counters = [Arc::clone(&to_server), Arc::clone(&to_client)];
        profile.host = "127.0.0.1".to_owned();
        profile.port = listener.local_addr()?.port();
        std::thread::spawn(move || -> io::Result<()> {
            let (client, _) = listener.accept()?;
            let server = TcpStream::connect((host.as_str(), port))?;
            let [to_server, to_client] = counters;
            let (from_client, from_server) = (client.try_clone()?, server.try_clone()?);
            std::thread::spawn(move || carry(from_client, server, &to_server));
            carry(from_server, client, &to_client)
        });
        Ok(Relay { type_id: server.type_id.clone(), tag, profile, to_server, to_client })
    }

    /// A reference through the relay.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn reference(&self) -> Result<Ior, Failure> {
        let profile = TaggedProfile { tag: self.tag, data: self.profile.encode()? };
        Ok(Ior { type_id: self.type_id.clone(), profiles: vec![profile] })
    }

    /// Octets carried until now, to the server and to the client.
    pub(crate) fn carried(&self) -> (u64, u64) {
        (self.to_server.load(Ordering::Acquire), self.to_client.load(Ordering::Acquire))
    }
}

/// Counts before it passes on: who has received something finds it counted.
fn carry(mut from: TcpStream, mut to: TcpStream, carried: &AtomicU64) -> io::Result<()> {
    let mut octets = [0; 16 << 10];
    loop {
        let received = from.read(&mut octets)?;
        if received == 0 {
            return to.shutdown(std::net::Shutdown::Write);
        }
        carried.fetch_add(received as u64, Ordering::AcqRel);
        to.write_all(&octets[..received])?;
    }
}
