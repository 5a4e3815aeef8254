//! What a naming server takes for etcd: it answers until it is told to hold, and then leaves all
//! requests without an answer. So an upcall takes as long as a test wants.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::served::PATIENCE;

/// What each request is answered with: every comparison held, and nothing was found.
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\
                      \r\n{\"succeeded\":true}";

/// See the module.
pub(crate) struct Etcd {
    /// What `--store` is given.
    pub(crate) store: String,
    holds: Arc<AtomicBool>,
    held: Receiver<TcpStream>,
}

impl Etcd {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let store = format!("etcd://{}/names", listener.local_addr().expect("bound"));
        let (holds, (tell, held)) = (Arc::<AtomicBool>::default(), channel());
        let all_hold = Arc::clone(&holds);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (tell, holds) = (tell.clone(), Arc::clone(&all_hold));
                std::thread::spawn(move || answer(stream, &holds, &tell));
            }
        });
        Self { store, holds, held }
    }

    /// From now on no request is answered.
    pub(crate) fn hold(&self) {
        self.holds.store(true, Ordering::Release);
    }

    /// Waits for a request that is not answered; it fails when this is dropped.
    pub(crate) fn held(&self) -> TcpStream {
        self.held.recv_timeout(PATIENCE).expect("a request")
    }

    /// Whether there is another one.
    pub(crate) fn has_more(&self) -> bool {
        self.held.try_recv().is_ok()
    }
}

/// Answers the requests of a connection as long as they are to be answered.
fn answer(stream: TcpStream, holds: &AtomicBool, tell: &Sender<TcpStream>) {
    let mut reader = BufReader::new(stream);
    while read(&mut reader).is_some() {
        if holds.load(Ordering::Acquire) {
            let _ = tell.send(reader.into_inner());
            return;
        }
        if reader.get_mut().write_all(ANSWER.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads a request with its body.
fn read(reader: &mut BufReader<TcpStream>) -> Option<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()
}
