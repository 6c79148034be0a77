//! Parses the requests in lines.

/// An address in one of the notations of people and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request<'l> {
    /// An address of the process: `0x1a1c`.
    Process(u64),
    /// An address in a code object, by its number: `1:0x1a1c`.
    Within(usize, u64),
    /// An offset from the start of a function: `_Z4leafi+0x1c`.
    Symbol(&'l str, u64),
}

impl Request<'_> {
    /// Parses a line that contains only an address.
    pub(super) fn parse(line: &str) -> Option<Request<'_>> {
        let text = line.trim();
        if let Some(address) = hexadecimal(text) {
            return Some(Request::Process(address));
        }
        if let Some((number, address)) = text.split_once(':')
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(number) = number.parse()
        {
            return Some(Request::Within(number, hexadecimal(address)?));
        }
        let (name, offset) = text.rsplit_once('+')?;
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        Some(Request::Symbol(name, hexadecimal(offset)?)).filter(|_| is_name)
    }
}

/// Parses `0x` and hexadecimal digits.
pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_text() {
        for (text, expected) in [
            ("0x1a1c", Some(Request::Process(0x1a1c))),
            ("  0xFFFFffffFFFFffff\r\n", Some(Request::Process(u64::MAX))),
            ("0x1ffffffffffffffff", None),
            ("0x", None),
            ("0x+1", None),
            ("1a1c", None),
            ("12:0x10", Some(Request::Within(12, 0x10))),
            (":0x10", None),
            ("+1:0x10", None),
            ("99999999999999999999:0x10", None),
            ("1:10", None),
            ("_Z4leafi+0x1c", Some(Request::Symbol("_Z4leafi", 0x1c))),
            ("a+b+0x1c", Some(Request::Symbol("a+b", 0x1c))),
            ("+0x1c", None),
            ("a b+0x1c", None),
            ("leaf+28", None),
            ("", None),
        ] {
            assert_eq!(Request::parse(text), expected, "{text}");
        }
    }
}
