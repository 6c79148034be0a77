//! Formats numbers and spaces, which make up most of a dump, faster than the standard library.

/// Appends a number, padded with spaces to at least the given width.
pub(super) fn push_right(text: &mut String, number: u64, width: usize) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number);
    text.push_str(spaces(width.saturating_sub(digits.len())));
    text.push_str(digits);
}

/// Returns the given number of spaces, up to the maximum indentation.
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

    /// Compares with the standard library.
    #[test]
    fn numbers_stand_at_the_right() {
        for number in [0, 9, 15, 255, 1 << 32, u64::MAX] {
            for width in 0..=16 {
                let mut text = String::new();
                push_right(&mut text, number, width);
                assert_eq!(text, format!("{number:>width$}"));
            }
        }
        assert_eq!(spaces(3), "   ");
        assert_eq!(spaces(1000).len(), 160);
    }
}
