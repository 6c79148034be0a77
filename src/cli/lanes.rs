//! Lanes as text.

/// Lanes in ascending order, as `0-3, 7, 9-15`.
pub(crate) fn ranges(lanes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = lanes;
    while let Some(&first) = rest.first() {
        let run = rest
            .iter()
            .zip(first..)
            .take_while(|(lane, expected)| **lane == *expected)
            .count();
        let last = rest.get(run.saturating_sub(1)).copied().unwrap_or(first);
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&first.to_string());
        if last != first {
            text.push('-');
            text.push_str(&last.to_string());
        }
        rest = rest.get(run.max(1)..).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn neighbours_are_joined() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3, 7, 9-10");
        assert_eq!(ranges(&(0..=63).collect::<Vec<_>>()), "0-63");
    }
}
