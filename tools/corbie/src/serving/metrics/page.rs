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
            match stream.and_then(|stream| answer(stream, &page)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    std::thread::sleep(PAUSE)
                }
                Err(error) => tracing::debug!(%error, "a client of metrics got no page"),
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
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
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
