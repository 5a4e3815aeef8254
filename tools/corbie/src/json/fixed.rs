//! `fixed` values as decimal text: "12.50" and the digits 1250 with scale 2.
//!
//! Used by `decode` and `encode`. Nothing is rounded: digits that do not fit are an error.

/// Writes digits with the point `scale` places from the right (negative: zeros are appended).
pub(super) fn write(digits: i128, scale: i16) -> String {
    let sign = if digits < 0 { "-" } else { "" };
    let mut text = digits.unsigned_abs().to_string();
    let places = usize::from(scale.unsigned_abs());
    if scale < 0 {
        if digits != 0 {
            text.push_str(&"0".repeat(places));
        }
        return format!("{sign}{text}");
    }
    if places == 0 {
        return format!("{sign}{text}");
    }
    let text = format!("{text:0>width$}", width = places + 1);
    let (whole, fraction) = text.split_at(text.len() - places);
    format!("{sign}{whole}.{fraction}")
}

/// Reads decimal text as the digits of `fixed<digits, scale>`, or says why it is none.
pub(super) fn read(text: &str, digits: u16, scale: i16) -> Result<i128, String> {
    let not_a_number = || format!("`{text}` is not a decimal number such as -12.50");
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return Err(not_a_number());
    }
    let fraction = fraction.trim_end_matches('0');
    let wanted = usize::from(scale.max(0).unsigned_abs());
    let too_fine = || format!("`{text}` has more than {scale} digits behind the point");
    if fraction.len() > wanted {
        return Err(too_fine());
    }
    let mut all = format!("{whole}{fraction:0<wanted$}");
    if scale < 0 {
        let dropped = usize::from(scale.unsigned_abs()).min(all.len());
        if all.bytes().rev().take(dropped).any(|digit| digit != b'0') {
            return Err(format!("`{text}` is not a multiple of 1 with {dropped} zeros"));
        }
        all.truncate(all.len() - dropped);
    }
    let significant = all.trim_start_matches('0');
    if significant.len() > usize::from(digits) {
        return Err(format!("`{text}` has more than the {digits} digits of its type"));
    }
    let number: i128 = match significant {
        "" => 0,
        digits => digits.parse().map_err(|_| not_a_number())?,
    };
    Ok(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn text_and_digits_agree() {
        for (text, digits, scale) in [
            ("12.50", 1250, 2),
            ("-0.05", -5, 2),
            ("0.00", 0, 2),
            ("7", 7, 0),
            ("-1200", -12, -2),
            ("0", 0, -2),
            ("9999999999999999999999999999999", 9_999_999_999_999_999_999_999_999_999_999, 0),
        ] {
            assert_eq!(write(digits, scale), text);
            assert_eq!(read(text, 31, scale), Ok(digits), "{text}");
        }
        assert_eq!(read("12.5", 7, 2), Ok(1250));
        assert_eq!(read("0012.500000", 4, 2), Ok(1250));
    }

    #[test]
    fn nothing_is_rounded() {
        for (text, digits, scale) in [
            ("12.505", 7, 2),
            ("100000.00", 7, 2),
            ("1250", 2, -2),
            ("", 7, 2),
            (".5", 7, 2),
            ("1e3", 7, 2),
            ("--1", 7, 2),
            ("1.-5", 7, 2),
            ("+1", 7, 2),
            ("1 ", 7, 2),
        ] {
            assert!(read(text, digits, scale).is_err(), "{text}");
        }
    }
}
