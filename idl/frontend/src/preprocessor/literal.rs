//! From preprocessing tokens to IDL tokens: numbers, characters, strings, escapes.
//!
//! What is wrong in a literal is reported here and the token becomes [`TokenKind::Faulty`] or keeps
//! as much of its meaning as can be had. IDL 4.2 §7.2.6.

use super::Preprocessor;
use super::raw::{RawKind, RawToken};
use crate::diagnostic::Code;
use crate::source::Span;
use crate::token::TokenKind;

/// Longest number in digits; more cannot be meant and would be costly to evaluate.
const DIGITS: usize = 400;

/// For the hint of a bad escape.
const ESCAPES: &str =
    r#"escapes are \n \t \v \b \r \f \a \\ \? \' \" \123 \xFF, and \u1234 in wide literals"#;

/// Punctuation of IDL (the preprocessor has more).
const PUNCTUATION: &[&str] = &[
    "<<", ">>", "::", "{", "}", "(", ")", "[", "]", "<", ">", ";", ":", ",", "=", "+", "-", "*",
    "/", "%", "~", "|", "^", "&", "@", "...",
];

impl Preprocessor<'_> {
    /// The IDL token for a preprocessing token, reporting what is wrong with it.
    pub(super) fn convert(&mut self, token: &RawToken) -> TokenKind {
        match token.kind {
            RawKind::Word => self.word(token),
            RawKind::Number => self.number(token),
            RawKind::Text => self.text(token),
            RawKind::Character => self.character(token),
            RawKind::Punctuation | RawKind::Other => {
                match PUNCTUATION.iter().find(|p| **p == &*token.text) {
                    Some(found) => TokenKind::Punctuation(found),
                    None => {
                        let shown = token.text.escape_debug();
                        let message = format!("`{shown}` has no meaning in IDL");
                        self.report(Code::UnexpectedCharacter, token.span, message, "remove it");
                        TokenKind::Faulty
                    }
                }
            }
            RawKind::LineEnd | RawKind::FileEnd => TokenKind::End,
        }
    }

    fn word(&mut self, token: &RawToken) -> TokenKind {
        if !token.text.is_ascii() {
            let message = format!("`{}` has letters that IDL names cannot have", token.text);
            let hint = "names are made of a–z, A–Z, 0–9 and `_`";
            self.report(Code::UnexpectedCharacter, token.span, message, hint);
        }
        // IDL 4.2 §7.2.3.2: the underscore only says that the name is not a keyword.
        match token.text.strip_prefix('_').filter(|rest| !rest.is_empty()) {
            Some(rest) => TokenKind::Word { text: rest.into(), escaped: true },
            None => TokenKind::Word { text: token.text.clone(), escaped: false },
        }
    }

    fn number(&mut self, token: &RawToken) -> TokenKind {
        let text = &*token.text;
        if text.len() > DIGITS {
            let message = format!("this number has more than {DIGITS} digits");
            self.report(Code::NumberTooLarge, token.span, message, "shorten it");
            return TokenKind::Faulty;
        }
        let lower = text.to_ascii_lowercase();
        let all_digits = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
        if let Some(digits) = lower.strip_prefix("0x") {
            return self.integer(digits, 16, token.span);
        }
        if all_digits(text) {
            return match text.strip_prefix('0').filter(|rest| !rest.is_empty()) {
                Some(octal) => self.integer(octal, 8, token.span),
                None => self.integer(text, 10, token.span),
            };
        }
        if let Some(digits) = lower.strip_suffix('d') {
            if is_decimal(digits) {
                return TokenKind::Fixed(digits.into());
            }
        } else {
            let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
            let sign = ['+', '-'];
            let exponent_digits = exponent.strip_prefix(sign).unwrap_or(exponent);
            if is_decimal(mantissa) && !exponent_digits.is_empty() && all_digits(exponent_digits) {
                return TokenKind::Float(lower.as_str().into());
            }
        }
        let message = format!("`{text}` is not a number");
        let hint = "numbers are like 12, 017, 0x1F, 1.5, 1.5e3 and 1.50d, without suffixes";
        self.report(Code::BadNumber, token.span, message, hint);
        TokenKind::Faulty
    }

    fn integer(&mut self, digits: &str, radix: u32, span: Span) -> TokenKind {
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            let (message, hint) = match radix {
                8 => {
                    ("a number that starts with 0 is octal: 8 and 9 are no digits", "remove the 0")
                }
                _ => ("this is not a hexadecimal number", "write 0x and digits 0–9, a–f"),
            };
            self.report(Code::BadNumber, span, message, hint);
            return TokenKind::Faulty;
        }
        match u64::from_str_radix(digits, radix) {
            Ok(value) => TokenKind::Integer(value),
            Err(_) => {
                let hint = "the largest type is unsigned long long, up to 18446744073709551615";
                self.report(Code::NumberTooLarge, span, "this number is above 2^64-1", hint);
                TokenKind::Faulty
            }
        }
    }

    fn text(&mut self, token: &RawToken) -> TokenKind {
        let wide = token.text.starts_with('L');
        let Some(chars) = self.contents(token, wide) else { return TokenKind::Faulty };
        if chars.contains(&'\0') {
            let hint = "IDL strings end at the first U+0000, so they cannot hold one";
            self.report(Code::NulInString, token.span, "this string contains U+0000", hint);
        }
        let text: String = chars.into_iter().filter(|c| *c != '\0').collect();
        if wide { TokenKind::WideText(text.into()) } else { TokenKind::Text(text.into()) }
    }

    fn character(&mut self, token: &RawToken) -> TokenKind {
        let wide = token.text.starts_with('L');
        let Some(chars) = self.contents(token, wide) else { return TokenKind::Faulty };
        let [c] = chars[..] else {
            let message = match chars.len() {
                0 => "this character literal is empty".to_owned(),
                n => format!("this character literal has {n} characters"),
            };
            let hint = "write one character; texts stand between `\"`";
            self.report(Code::BadCharacterLiteral, token.span, message, hint);
            return TokenKind::Faulty;
        };
        let (most, hint) = if wide {
            (0xffff, "a wchar constant is one UTF-16 unit, up to U+FFFF")
        } else {
            (0xff, "a char is one ISO 8859-1 character; write L'…' for a wchar")
        };
        if u32::from(c) > most {
            let message = format!("U+{:04X} does not fit this character type", u32::from(c));
            self.report(Code::CharacterRange, token.span, message, hint);
            return TokenKind::Faulty;
        }
        if wide { TokenKind::WideCharacter(c) } else { TokenKind::Character(c) }
    }

    /// The characters of a literal, escapes replaced.
    fn contents(&mut self, token: &RawToken, wide: bool) -> Option<Vec<char>> {
        if token.unterminated {
            let what = if token.kind == RawKind::Text { "string" } else { "character literal" };
            let message = format!("this {what} does not end on its line");
            let hint = "add the closing quote; strings side by side are joined";
            self.report(Code::UnterminatedLiteral, token.span, message, hint);
            return None;
        }
        let inner = token.text.strip_prefix('L').unwrap_or(&token.text);
        let inner = &inner[1..inner.len() - 1];
        let mut out = Vec::with_capacity(inner.len());
        let mut rest = inner.chars();
        while let Some(c) = rest.next() {
            if c != '\\' {
                out.push(c);
                continue;
            }
            match escape(&mut rest, wide) {
                Ok(c) => out.push(c),
                Err(message) => {
                    self.report(Code::BadEscape, token.span, message, ESCAPES);
                    out.push('?');
                }
            }
        }
        Some(out)
    }
}

/// `12`, `12.`, `.5` or `12.5`.
fn is_decimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}

/// One escape sequence, after its backslash.
fn escape(rest: &mut std::str::Chars<'_>, wide: bool) -> Result<char, String> {
    let Some(c) = rest.next() else { return Err("a backslash ends this literal".into()) };
    Ok(match c {
        'n' => '\n',
        't' => '\t',
        'v' => '\u{b}',
        'b' => '\u{8}',
        'r' => '\r',
        'f' => '\u{c}',
        'a' => '\u{7}',
        '\\' | '?' | '\'' | '"' => c,
        '0'..='7' => {
            let mut value = c.to_digit(8).unwrap_or(0);
            value = digits(rest, 8, 2, value);
            // IDL 4.2 §7.2.6.2.2: an octal escape is one octet
            char::from_u32(value)
                .filter(|_| value <= 0xff)
                .ok_or("this octal escape is above 377")?
        }
        'x' | 'u' => {
            if c == 'u' && !wide {
                return Err("`\\u` is for wide literals only".into());
            }
            if !rest.as_str().starts_with(|c: char| c.is_ascii_hexdigit()) {
                return Err(format!("`\\{c}` needs hexadecimal digits"));
            }
            let value = digits(rest, 16, if c == 'x' { 2 } else { 4 }, 0);
            char::from_u32(value).ok_or("half of a surrogate pair is not a character")?
        }
        other => return Err(format!("there is no escape `\\{}`", other.escape_debug())),
    })
}

/// Up to `most` more digits.
fn digits(rest: &mut std::str::Chars<'_>, radix: u32, most: usize, start: u32) -> u32 {
    let mut value = start;
    for _ in 0..most {
        let Some(digit) = rest.clone().next().and_then(|c| c.to_digit(radix)) else { break };
        rest.next();
        value = value * radix + digit;
    }
    value
}
