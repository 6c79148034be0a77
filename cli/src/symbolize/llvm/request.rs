//! Parses a line as llvm-symbolizer does.

/// The request in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) command: Command,
    pub(super) place: Place,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Functions and lines.
    Code,
    /// A variable.
    Data,
    /// Variables of a frame.
    Frame,
}

/// The address or symbol of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Address(u64),
    Symbol(String, u64),
}

/// White space of C.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

/// Parses a line. The error is the reason why it is malformed.
pub(super) fn parse(line: &str) -> Result<Request, &'static str> {
    let commands = [
        ("CODE ", Command::Code),
        ("DATA ", Command::Data),
        ("FRAME ", Command::Frame),
    ];
    let prefixed = commands
        .iter()
        .find_map(|(prefix, command)| Some((*command, line.strip_prefix(prefix)?)));
    let (command, rest) = prefixed.unwrap_or((Command::Code, line));
    let rest = rest.trim_matches(BLANKS);
    if rest.starts_with("FILE:") || rest.starts_with("BUILDID:") {
        return Err("input file has already been specified");
    }
    let word = rest.split([' ', '\n', '\r']).next().unwrap_or_default();
    let Some(first) = word.bytes().next() else {
        return Err("no module offset has been specified");
    };
    if let Some(address) = number(word) {
        return Ok(Request {
            command,
            place: Place::Address(address),
        });
    }
    if first.is_ascii_digit() {
        return Err("expected a number as module offset");
    }
    let parts = word.rsplit_once('+').and_then(|(name, offset)| {
        let offset = number(offset)?;
        Some((name, offset)).filter(|_| !name.is_empty())
    });
    let (name, offset) = parts.unwrap_or((word, 0));
    Ok(Request {
        command,
        place: Place::Symbol(name.to_owned(), offset),
    })
}

/// Parses a number with an optional base prefix: `0x`, `0b`, `0o` or `0`.
fn number(text: &str) -> Option<u64> {
    let prefixes = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8)];
    let prefixed = prefixes
        .iter()
        .find_map(|(prefix, base)| Some((text.strip_prefix(prefix)?, *base)));
    let (digits, base) = prefixed.unwrap_or_else(|| {
        let octal = text.strip_prefix('0');
        let octal = octal.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        octal.map_or((text, 10), |rest| (rest, 8))
    });
    // A sign is not a digit.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(digits, base).ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_base_of_their_prefix() {
        for (text, expected) in [
            ("0x1A", Some(26)),
            ("0X1a", Some(26)),
            ("0b101", Some(5)),
            ("0o17", Some(15)),
            ("017", Some(15)),
            ("018", None),
            ("0", Some(0)),
            ("12", Some(12)),
            ("+12", None),
            ("-1", None),
            ("0x", None),
            ("", None),
            ("0xffffffffffffffff", Some(u64::MAX)),
            ("0x10000000000000000", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
