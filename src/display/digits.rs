//! Formats numbers, which make up most texts, faster than the standard library.

/// Appends a number in the format `{:#0…x}`, with at least this many digits, at most 16.
pub(crate) fn push_hex(text: &mut String, number: u64, digits: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let needed = (u64::BITS - number.leading_zeros()).div_ceil(4);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the standard library.
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
                let whole = width + 2;
                assert_eq!(text, format!("{number:#0whole$x}"));
            }
        }
    }
}
