//! "Did you mean …?": the name most like a misspelt one.
//!
//! Used for hints only. Edit distance with transpositions, on short names, so its cost is bounded.

/// Longest name compared; longer ones are rarely misspelt versions of each other.
const LONGEST: usize = 40;

/// The candidate closest to `word`, if it is close enough to be what was meant.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.len() > LONGEST || word.len() < 2 {
        return None;
    }
    let allowed = if word.len() < 5 { 1 } else { 2 };
    let wanted = word.to_ascii_lowercase();
    candidates
        .filter(|c| c.len().abs_diff(word.len()) <= allowed && c.len() <= LONGEST && *c != word)
        .map(|c| (distance(wanted.as_bytes(), c.to_ascii_lowercase().as_bytes()), c))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, c)| c)
}

/// Insertions, deletions, replacements and swaps of neighbours from one word to the other.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && *y == a[i - 1] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
