//! "Did you mean …?": which known names an unknown one may have been meant for.
//!
//! Used for operations, interfaces, members and enumerators that are named wrongly.

/// At most this many are named.
const NAMED_MAX: usize = 3;
/// How alike two names are, 0 to 1, before one is suggested for the other.
const ALIKE: f64 = 0.8;

/// `; did you mean …?` or `; there are …`, or nothing when nothing is known.
pub(crate) fn suggestion<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.collect();
    let mut seen = std::collections::HashSet::new();
    known.retain(|name| seen.insert(*name));
    let wanted = unknown.to_lowercase();
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|name| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), *name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(NAMED_MAX);
    if !near.is_empty() {
        let names: Vec<String> = near.iter().map(|(_, name)| format!("`{name}`")).collect();
        return format!("; did you mean {}?", names.join(" or "));
    }
    match known.as_slice() {
        [] => String::new(),
        [one] => format!("; there is only `{one}`"),
        many if many.len() <= 12 => {
            let names: Vec<String> = many.iter().map(|name| format!("`{name}`")).collect();
            format!("; there are {}", names.join(", "))
        }
        many => format!("; there are {} others", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn near_names_come_first_then_all_of_a_short_list() {
        let known = ["get_quote", "set_quote", "shutdown"];
        let text = suggestion("get_qoute", known.into_iter());
        assert!(text.starts_with("; did you mean `get_quote`"), "{text}");
        let text = suggestion("xyz", known.into_iter());
        assert_eq!(text, "; there are `get_quote`, `set_quote`, `shutdown`");
        // A union may have one member for several labels.
        let text = suggestion("xyz", ["a", "b", "b", "a"].into_iter());
        assert_eq!(text, "; there are `a`, `b`");
        assert_eq!(suggestion("xyz", ["a"].into_iter()), "; there is only `a`");
        assert_eq!(suggestion("xyz", std::iter::empty()), "");
    }
}
