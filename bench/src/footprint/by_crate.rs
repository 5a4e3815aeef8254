//! Which crate the octets of a program come from, by the names of its symbols.
//!
//! What a generic function of one crate makes of a type of another one counts for the first that
//! its name has. Used by `footprint.rs`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;
use std::process::Command;

/// Crates of the standard library, and what it brings along to print a trace of the stack.
const STANDARD: [&str; 10] = [
    "core",
    "std",
    "alloc",
    "gimli",
    "addr2line",
    "rustc_demangle",
    "miniz_oxide",
    "object",
    "memchr",
    "adler2",
];

/// Crates by size, as Markdown.
///
/// # Errors
/// When `nm` is missing or fails.
pub(super) fn sizes(program: &Path) -> io::Result<String> {
    let nm =
        Command::new("nm").args(["-C", "--print-size", "--size-sort"]).arg(program).output()?;
    if !nm.status.success() {
        return Err(io::Error::other("`nm` failed"));
    }
    let mut of: BTreeMap<&str, u64> = BTreeMap::new();
    let text = String::from_utf8_lossy(&nm.stdout);
    for (origin, octets) in text.lines().filter_map(symbol) {
        *of.entry(origin).or_default() += octets;
    }
    let total: u64 = of.values().sum();
    let mut sorted: Vec<(&str, u64)> = of.into_iter().collect();
    sorted.sort_by_key(|(_, octets)| std::cmp::Reverse(*octets));
    let mut page =
        String::from("| crate | octets of functions and constants | |\n|---|---:|---:|\n");
    for (origin, octets) in sorted.iter().filter(|(_, octets)| octets * 200 > total) {
        let share = 100.0 * *octets as f64 / total.max(1) as f64;
        let _ = writeln!(page, "| {origin} | {octets} | {share:.1} % |");
    }
    let ours = |name: &str| name.starts_with("corbie") || name.starts_with("footprint");
    let sum = |of: &dyn Fn(&str) -> bool| -> u64 {
        sorted.iter().filter(|(name, _)| of(name)).map(|(_, octets)| octets).sum()
    };
    let standard = sum(&|name| STANDARD.contains(&name));
    let _ = writeln!(page, "\nCorbie {}, the standard library {standard}.", sum(&ours));
    Ok(page)
}

/// Origin and octets of a line of `nm`; `None` for what takes no place in the file.
fn symbol(line: &str) -> Option<(&str, u64)> {
    let mut words = line.splitn(4, ' ');
    let (_, octets, kind, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let octets = u64::from_str_radix(octets, 16).ok()?;
    (!matches!(kind, "b" | "B")).then(|| (origin(name), octets))
}

/// The first crate in a name; names of C have none.
fn origin(name: &str) -> &str {
    let Some(end) = name.find("::") else { return "C library" };
    let before = &name[..end];
    // `core[b2c1…]::…`
    let before = before.split_once('[').map_or(before, |(before, _)| before);
    let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    &before[start.map_or(0, |start| start + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_has_an_origin() {
        assert_eq!(symbol("0000000000001000 0000000000000010 t memcpy"), Some(("C library", 16)));
        assert_eq!(symbol("0000000000001000 0000000000000010 b memcpy"), None);
        assert_eq!(origin("core::fmt::write"), "core");
        assert_eq!(origin("<corbie_core::orb::Orb as core::fmt::Debug>::fmt"), "corbie_core");
        assert_eq!(origin("<&alloc[0123]::string::String as x::Y>::z"), "alloc");
    }
}
