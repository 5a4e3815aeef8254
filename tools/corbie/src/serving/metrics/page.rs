//! One page by HTTP: `GET /metrics`. One request a connection, one connection at a time, each in a
//! bounded time: for Prometheus, not for browsers.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long a client may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Octets of the head of a request.
const HEAD_MAX: usize = 8 << 10;
/// The pause after an accept that failed for want of something.
const PAUSE: Duration = Duration::from_millis(50);

const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers with `page` in a thread, as long as the process lives.
pub(super) fn serve(
    listener: TcpListener,
    page: impl Fn() -> String + Send + 'static,
) -> io::Result<()> {
    let answer_all = move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => {
                    if let Err(error) = answer(stream, &page) {
                        tracing::debug!(%error, "a client of metrics got no page");
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "a client of metrics was not accepted");
                    std::thread::sleep(PAUSE);
                }
            }
        }
    };
    std::thread::Builder::new().name("corbie-metrics".to_owned()).spawn(answer_all).map(drop)
}

fn answer(mut stream: TcpStream, page: &dyn Fn() -> String) -> io::Result<()> {
    let (status, body) = match path(&mut stream)?.as_deref() {
        Some("/metrics") => ("200 OK", page()),
        Some(_) => ("404 Not Found", "there is only /metrics here\n".to_owned()),
        None => ("400 Bad Request", "that is no GET request\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {TYPE}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    let deadline = Instant::now() + PATIENCE;
    write_until(&mut stream, head.as_bytes(), deadline)?;
    write_until(&mut stream, body.as_bytes(), deadline)
}

/// Writes all of it before `deadline`, however small the pieces are that the client takes.
fn write_until(stream: &mut TcpStream, mut octets: &[u8], deadline: Instant) -> io::Result<()> {
    while !octets.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(octets)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => octets = octets.get(count..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// The path of a GET request; `None` when it is something else.
fn path(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let (mut head, mut octets) = (Vec::new(), [0; 1024]);
    let deadline = Instant::now() + PATIENCE;
    while head.len() < HEAD_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut octets)?;
        head.extend_from_slice(octets.get(..count).unwrap_or_default());
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&head) {
            Ok(httparse::Status::Complete(_)) => {
                let is_get = request.method == Some("GET");
                return Ok(request.path.filter(|_| is_get).map(str::to_owned));
            }
            Ok(httparse::Status::Partial) if count > 0 => {}
            _ => return Ok(None),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_reads_slowly_is_let_go() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (mut server, _) = listener.accept().expect("accepted");
        // Takes a little now and then, so that no single write is late.
        let mut reader = client.try_clone().expect("the same socket");
        let reading = std::thread::spawn(move || {
            let mut octets = [0; 512];
            while reader.read(&mut octets).is_ok_and(|count| count > 0) {
                // tidy: sleep: the client is slow; that is what is being tested
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let begin = Instant::now();
        let page = vec![b'x'; 64 << 20];
        let written = write_until(&mut server, &page, begin + Duration::from_millis(100));
        let kind = written.expect_err("it is too much for the time").kind();
        assert!(matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{kind}");
        assert!(begin.elapsed() < PATIENCE);
        drop(server);
        client.shutdown(std::net::Shutdown::Both).expect("shut down");
        reading.join().expect("no panic");
    }
}
