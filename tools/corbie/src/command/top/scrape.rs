//! A page of metrics: fetched by HTTP and read. Used by `top`, which compares two of them.
//! The text is that of OpenMetrics, as far as servers of `corbie` write it.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::failure::Failure;

const PATIENCE: Duration = Duration::from_secs(5);
/// Octets of a page that are read.
const PAGE_MAX: usize = 16 << 20;

/// One value.
#[derive(Clone, Debug, PartialEq)]
struct Reading {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

/// What a server had to say at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Page(Vec<Reading>);

/// Asks the server at `HOST:PORT`.
pub(super) fn fetch(place: &str) -> Result<Page, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(format!(
            "cannot read metrics at {place}: {why}; was it started with --metrics?"
        ))
    };
    let answer = ask(place).map_err(|error| failed(&error))?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(Page::read(body)),
        _ => Err(failed(&answer.lines().next().unwrap_or("no answer"))),
    }
}

fn ask(place: &str) -> io::Result<String> {
    let address = place.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n")?;
    let (mut answer, mut octets) = (Vec::new(), [0; 16 << 10]);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut octets)? {
            0 => break,
            count => answer.extend_from_slice(octets.get(..count).unwrap_or_default()),
        }
        if answer.len() > PAGE_MAX {
            return Err(io::Error::other("the page is too long"));
        }
    }
    String::from_utf8(answer).map_err(io::Error::other)
}

impl Page {
    fn read(text: &str) -> Self {
        Self(text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect())
    }

    pub(super) fn add(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let labels = labels.iter().map(owned).collect();
        self.0.push(Reading { name: name.to_owned(), labels, value });
    }

    /// The values of this name, with this value of any label, together; `""`: of all labels.
    pub(super) fn sum(&self, name: &str, label: &str) -> f64 {
        let is_meant = |sample: &&Reading| {
            sample.name == name
                && (label.is_empty() || sample.labels.iter().any(|(_, value)| value == label))
        };
        self.0.iter().filter(is_meant).fold(0.0, |sum, sample| sum + sample.value)
    }

    /// The same, of those that also have the value `other` of another label.
    pub(super) fn sum_of(&self, name: &str, label: &str, other: &str) -> f64 {
        let has =
            |sample: &Reading, text: &str| sample.labels.iter().any(|(_, value)| value == text);
        let is_meant = |s: &&Reading| s.name == name && has(s, label) && has(s, other);
        self.0.iter().filter(is_meant).fold(0.0, |sum, sample| sum + sample.value)
    }

    /// The values that a label has.
    pub(super) fn values(&self, name: &str, label: &str) -> BTreeSet<String> {
        let of_name = self.0.iter().filter(|sample| sample.name == name);
        let labels = of_name.flat_map(|sample| &sample.labels).filter(|(key, _)| key == label);
        labels.map(|(_, value)| value.clone()).collect()
    }

    /// What stands at the top.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        const FACTS: [(&str, &str); 3] = [
            ("connections", "corbie_connections"),
            ("in service", "corbie_requests_in_service"),
            ("memory", "corbie_memory_octets"),
        ];
        let there = FACTS.into_iter().filter(|(_, name)| self.0.iter().any(|s| s.name == *name));
        there.map(|(text, name)| (text, format!("{}", self.sum(name, "")))).collect()
    }
}

/// `name{label="value",…} number`.
fn sample(line: &str) -> Option<Reading> {
    let (head, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let Some((name, labels)) = head.split_once('{') else {
        return Some(Reading { name: head.to_owned(), labels: Vec::new(), value });
    };
    let mut rest = labels.strip_suffix('}')?;
    let mut labels = Vec::new();
    while let Some((key, text)) = rest.split_once("=\"") {
        let (value, used) = quoted(text)?;
        labels.push((key.to_owned(), value));
        rest = text.get(used..)?.trim_start_matches(',');
    }
    Some(Reading { name: name.to_owned(), labels, value })
}

/// A text up to its closing quotation mark, and where it ends behind that.
fn quoted(text: &str) -> Option<(String, usize)> {
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, character) in text.char_indices() {
        match (is_escaped, character) {
            (true, 'n') => value.push('\n'),
            (true, other) => value.push(other),
            (false, '\\') => {}
            (false, '"') => return Some((value, at + 1)),
            (false, other) => value.push(other),
        }
        is_escaped = !is_escaped && character == '\\';
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_with_what_labels_may_have() {
        let page = Page::read(
            "# TYPE a counter\na_total{x=\"1\",y=\"q\\\"\\\\ {n\"} 4.5\nb 2\nno number\n",
        );
        assert_eq!(page.0.len(), 2);
        assert_eq!(page.sum("a_total", "1"), 4.5);
        assert_eq!(page.sum_of("a_total", "1", "q\"\\ {n"), 4.5);
        assert_eq!(page.sum("b", ""), 2.0);
        assert_eq!(page.values("a_total", "y"), BTreeSet::from(["q\"\\ {n".to_owned()]));
    }
}
