//! Numbers and spaces of dumps: a dump is mostly these, and the standard library fills up one character after the other.

/// Appends a number as `{:#0…x}` prints it, with at least so many digits, of which there are 16 at most.
pub(super) fn push_hex(text: &mut String, number: u64, digits: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let needed = u64::BITS.saturating_sub(number.leading_zeros()).div_ceil(4);
    let digits = digits.max(needed as usize).clamp(1, 16);
    let mut places = [b'0'; 16];
    let mut rest = number;
    for place in places.iter_mut().take(digits).rev() {
        *place = DIGITS.get((rest & 15) as usize).copied().unwrap_or(b'?');
        rest >>= 4;
    }
    let written = places.get(..digits).unwrap_or_default();
    text.push_str("0x");
    text.push_str(core::str::from_utf8(written).unwrap_or_default());
}

/// Appends a number with spaces before it, so that it has at least so many characters.
pub(super) fn push_right(text: &mut String, number: u64, width: usize) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number);
    text.push_str(spaces(width.saturating_sub(digits.len())));
    text.push_str(digits);
}

/// So many spaces, but no more than lines are indented.
pub(super) fn spaces(count: usize) -> &'static str {
    const SPACES: &str = match core::str::from_utf8(&[b' '; 160]) {
        Ok(spaces) => spaces,
        Err(_) => "",
    };
    SPACES.get(..count).unwrap_or(SPACES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard library says the same.
    #[test]
    fn numbers_are_printed_as_the_standard_library_prints_them() {
        for number in [
            0,
            1,
            9,
            15,
            16,
            255,
            0x1234,
            0xdead_beef,
            1 << 32,
            1 << 60,
            u64::MAX,
        ] {
            for width in 0..=16 {
                let mut text = String::new();
                push_hex(&mut text, number, width);
                let whole = width.saturating_add(2);
                assert_eq!(text, format!("{number:#0whole$x}"));
                text.clear();
                push_right(&mut text, number, width);
                assert_eq!(text, format!("{number:>width$}"));
            }
        }
        assert_eq!(spaces(3), "   ");
        assert_eq!(spaces(1000).len(), 160);
    }
}
