//! Which known names an unknown one may have been meant for.
//!
//! Used for arguments and keys that are not settings: an error that names what was probably
//! meant saves a look into the documentation.

/// At most this many are named.
const NAMED_MAX: usize = 3;

/// The sentence part `; did you mean …?`, or nothing when no name is near.
pub(crate) fn suggestion<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    let wanted = folded(unknown);
    let mut near: Vec<(usize, &str)> = known
        .filter_map(|name| {
            let candidate = folded(name);
            let distance = distance(&wanted, &candidate);
            let contained =
                wanted.len() >= 4 && (candidate.contains(&wanted) || wanted.contains(&candidate));
            let close = distance <= 1 + wanted.len().max(candidate.len()) / 4;
            (close || contained).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.truncate(NAMED_MAX);
    match near.as_slice() {
        [] => String::new(),
        near => {
            let names: Vec<String> = near.iter().map(|(_, name)| format!("`{name}`")).collect();
            format!("; did you mean {}?", names.join(" or "))
        }
    }
}

/// Lower case without prefix and separators: what people get wrong least.
fn folded(name: &str) -> String {
    let lower = name.to_ascii_lowercase().replace(['-', '_'], "");
    lower.strip_prefix("orb").map_or(lower.clone(), str::to_owned)
}

/// The number of letters to change, insert or remove (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
