//! Parses literals of C: numbers with their suffixes, characters and strings. Sources: C17 §6.4.4 and §6.4.5. Binary numbers and `'` between digits
//! are from C23 and C++14, and `h` and `f16` are from OpenCL and C23.

use super::error::{QueryErrorKind, syntax};

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(Integer),
    Float { value: f64, size: FloatSize },
}

/// An integer, with the properties of its text that determine its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integer {
    pub(super) value: u64,
    /// True if it is decimal. It then has a signed type, unless it has the suffix `u`.
    pub(super) decimal: bool,
    /// True with the suffix `u`.
    pub(super) unsigned: bool,
    /// The number of `l` in the suffix.
    pub(super) longs: u8,
}

/// The type that the suffix of a floating-point literal selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FloatSize {
    Half,
    Single,
    Double,
}

/// Returns the longest prefix that looks like a number: a *preprocessing number* of C.
pub(super) fn number_text(text: &str) -> &str {
    let mut end = 0;
    let mut previous = ' ';
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    for (at, c) in text.char_indices() {
        let exponent = if is_hexadecimal {
            ['p', 'P']
        } else {
            ['e', 'E']
        };
        let is_sign = matches!(c, '+' | '-') && exponent.contains(&previous);
        let is_part = c.is_alphanumeric() || matches!(c, '.' | '_' | '\'') || is_sign;
        if !is_part {
            break;
        }
        end = at + c.len_utf8();
        previous = c;
    }
    text.get(..end).unwrap_or_default()
}

/// Parses a number.
pub(super) fn number(text: &str) -> Result<Number, QueryErrorKind> {
    let bad = || syntax("a number", format!("`{text}`"));
    let digits = text.replace('\'', "");
    let lower = digits.to_ascii_lowercase();
    let hexadecimal = lower.strip_prefix("0x");
    let is_float = match hexadecimal {
        Some(rest) => rest.contains(['.', 'p']),
        None => !lower.starts_with("0b") && lower.contains(['.', 'e']),
    };
    if is_float {
        let (body, size) = float_size(&lower);
        let value = match body.strip_prefix("0x") {
            Some(body) => hexadecimal_float(body),
            None => decimal_float(body),
        };
        return Ok(Number::Float {
            value: value.ok_or_else(bad)?,
            size,
        });
    }
    let (body, radix) = match (hexadecimal, lower.strip_prefix("0b")) {
        (Some(rest), _) => (rest, 16),
        (None, Some(rest)) => (rest, 2),
        (None, None) if lower.starts_with('0') => (lower.as_str(), 8),
        (None, None) => (lower.as_str(), 10),
    };
    let end = body
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(body.len());
    let (body, suffix) = body.split_at_checked(end).ok_or_else(bad)?;
    let (unsigned, longs) = match suffix {
        "" => (false, 0),
        "u" => (true, 0),
        "l" => (false, 1),
        "ul" | "lu" => (true, 1),
        "ll" => (false, 2),
        "ull" | "llu" => (true, 2),
        _ => return Err(bad()),
    };
    if body.is_empty() {
        return Err(bad());
    }
    let value = u64::from_str_radix(body, radix).map_err(|_| {
        syntax(
            "a number of at most 64 bits",
            format!("`{}`", shortened(text)),
        )
    })?;
    Ok(Number::Integer(Integer {
        value,
        decimal: radix == 10,
        unsigned,
        longs,
    }))
}

/// Shortens a text for a message.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Splits a floating-point number from its suffix, and returns the type that the suffix selects.
fn float_size(text: &str) -> (&str, FloatSize) {
    let suffixes = [
        ("f16", FloatSize::Half),
        ("h", FloatSize::Half),
        ("f", FloatSize::Single),
        ("l", FloatSize::Double),
    ];
    let found = (suffixes.iter())
        .find_map(|(suffix, size)| text.strip_suffix(suffix).map(|body| (body, *size)));
    found.unwrap_or((text, FloatSize::Double))
}

fn decimal_float(text: &str) -> Option<f64> {
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '+' | '-');
    text.chars().all(plain).then(|| text.parse().ok())?
}

/// Parses a number like `1.8p-3`, rounded to the nearest double.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent: i32 = exponent.parse().ok()?;
    let mut value = 0u64;
    let mut scale = 0i32;
    let mut lost = false;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        let is_fraction = index >= whole.len();
        if value >> 60 == 0 {
            value = value << 4 | digit;
            scale -= if is_fraction { 4 } else { 0 };
        } else {
            lost |= digit != 0;
            scale += if is_fraction { 0 } else { 4 };
        }
    }
    // The dropped digits are far below the last bit of a double. A sticky bit records them, because they decide ties.
    let value = value | u64::from(lost);
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to the nearest is meant"
    )]
    let value = value as f64;
    let power = exponent.saturating_add(scale).clamp(-2200, 2200);
    // The scaling takes two steps, so that neither factor is out of range if the result is in range.
    let half = power.div_euclid(2);
    Some(value * 2f64.powi(half) * 2f64.powi(power - half))
}

/// Returns the bytes of a quoted literal at the start of `text`, and its length.
pub(super) fn quoted(text: &str, quote: char) -> Result<(Vec<u8>, usize), QueryErrorKind> {
    let mut bytes = Vec::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == quote {
            return Ok((bytes, at + 1));
        }
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let Some((_, escape)) = characters.next() else {
            break;
        };
        let mut digits = |first: u32, radix: u32, most: u32| {
            let mut value = first;
            for _ in 0..most {
                let next = characters.peek().and_then(|(_, c)| c.to_digit(radix));
                let Some(digit) = next else { break };
                characters.next();
                // Eight hexadecimal digits have 32 bits.
                value = value * radix + digit;
            }
            value
        };
        let byte = match escape {
            'n' => 10,
            't' => 9,
            'r' => 13,
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'v' => 11,
            'e' => 27,
            '\\' | '\'' | '"' | '?' => u32::from(escape),
            '0'..='7' => digits(escape.to_digit(8).unwrap_or(0), 8, 2),
            'x' => digits(0, 16, 8),
            _ => {
                return Err(syntax(
                    "an escape of C",
                    format!("`\\{}`", escape.escape_debug()),
                ));
            }
        };
        bytes
            .push(u8::try_from(byte).map_err(|_| syntax("an escape of one byte", "a larger one"))?);
    }
    Err(syntax(&format!("`{quote}`"), "the end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(text: &str) -> Integer {
        match number(text).unwrap() {
            Number::Integer(integer) => integer,
            float @ Number::Float { .. } => panic!("{float:?}"),
        }
    }

    fn float(text: &str) -> (f64, FloatSize) {
        match number(text).unwrap() {
            Number::Float { value, size } => (value, size),
            integer @ Number::Integer(_) => panic!("{integer:?}"),
        }
    }

    #[test]
    fn integers_are_read_in_every_base() {
        for (text, value) in [
            ("0", 0),
            ("42", 42),
            ("0x2A", 42),
            ("052", 42),
            ("0b10'1010", 42),
            ("1'000", 1000),
            ("18446744073709551615", u64::MAX),
            ("0xe", 14),
        ] {
            assert_eq!(integer(text).value, value, "{text}");
        }
        let wide = integer("7uLL");
        assert!(wide.unsigned && wide.longs == 2 && wide.decimal);
        assert!(!integer("07").decimal && integer("7L").longs == 1);
        for bad in [
            "08",
            "0x",
            "1lul",
            "1lll",
            "12z",
            "0b2",
            "18446744073709551616",
            "1_0",
        ] {
            assert!(number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn floating_point_numbers_are_the_nearest() {
        for (text, value) in [
            ("1.", 1.0),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("1.5E-1", 0.15),
            ("0x1.8p1", 3.0),
            ("0x.8p0", 0.5),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1.fffffffffffffp1023", f64::MAX),
            // Half a unit of the last place above 1, and slightly more. C17 §6.4.4.2 requires the nearest value.
            ("0x1.00000000000008p0", 1.0),
            (
                "0x1.000000000000080001p0",
                f64::from_bits(0x3ff0_0000_0000_0001),
            ),
            ("1e400", f64::INFINITY),
        ] {
            assert_eq!(float(text), (value, FloatSize::Double), "{text}");
        }
        assert_eq!(float("1.5f"), (1.5, FloatSize::Single));
        assert_eq!(float("1.5h"), (1.5, FloatSize::Half));
        assert_eq!(float("0x1p0f"), (1.0, FloatSize::Single));
        for bad in ["1.2.3", "1e", "0x1.8", "1.0q", "0xp1", "1e+-2"] {
            assert!(number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_ends_where_c_ends_it() {
        assert_eq!(number_text("1e+5+2"), "1e+5");
        assert_eq!(number_text("0xe+1"), "0xe");
        assert_eq!(number_text("1.x"), "1.x");
        assert_eq!(number_text("3]"), "3");
    }

    #[test]
    fn escapes_are_those_of_c() {
        assert_eq!(quoted(r"'\n'x", '\'').unwrap(), (vec![10], 4));
        assert_eq!(quoted(r#""a\x41\1018\0""#, '"').unwrap().0, b"aAA8\0");
        for bad in ["'a", r"'\q'", r"'\x100'", r"'\"] {
            assert!(quoted(bad, '\'').is_err(), "{bad}");
        }
    }
}
