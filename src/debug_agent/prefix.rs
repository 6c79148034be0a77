//! Handles the prefixes that launchers and services add to each line: names, which distinguish programs, and times, which do not.

/// The maximum number of words in a line before the program's output.
const WORDS: usize = 8;

/// Replaces each time among the first words of a line with `@`. Otherwise every line would have a different prefix.
pub(super) fn without_times(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    for _ in 0..WORDS {
        let start = rest
            .find(|c: char| !c.is_whitespace())
            .unwrap_or(rest.len());
        let (space, words) = rest.split_at_checked(start).unwrap_or((rest, ""));
        let end = words.find(char::is_whitespace).unwrap_or(words.len());
        let (word, after) = words.split_at_checked(end).unwrap_or((words, ""));
        let is_time = is_time(word);
        // Times in brackets can be padded with spaces: `[   12.345678]`.
        match out.strip_suffix('[') {
            Some(before) if is_time => out.truncate(before.len()),
            _ => out.push_str(space),
        }
        out.push_str(if is_time { "@" } else { word });
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    out.push_str(rest);
    out
}

/// Returns true for times such as `2026-05-14T15:31:09.001Z`, `2026-05-14`, `15:31:09,001`, `[  123.456789]`.
fn is_time(word: &str) -> bool {
    let word = word.trim_matches(['[', ']', '(', ')', ',', ';', '|']);
    let allowed = |c: char| c.is_ascii_digit() || ":-.,TZ+/".contains(c);
    if !word.starts_with(|c: char| c.is_ascii_digit()) || !word.chars().all(allowed) {
        return false;
    }
    let groups = |separator: char| {
        let digits = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
        let mut parts = word.split(separator);
        parts.by_ref().take_while(digits).count()
    };
    let is_decimal = || {
        word.split_once('.').is_some_and(|(whole, part)| {
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            is_number(whole) && is_number(part) && part.len() >= 3
        })
    };
    groups(':') >= 3 || groups('-') >= 3 || groups('/') >= 3 || is_decimal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_left_out_and_names_are_not() {
        for (line, expected) in [
            (
                "2026-05-14T15:31:09.001000037Z wave_1: pc=0x10",
                "@ wave_1: pc=0x10",
            ),
            (
                "[rank 3] 15:31:09,5 s0: 00000001",
                "[rank 3] @ s0: 00000001",
            ),
            ("[  12.345678] n1: x", "@ n1: x"),
            ("[2026-05-14 15:31:09] [1] s1: 2", "@ @ [1] s1: 2"),
            (
                "    s0: 00000001  s1: 00000002",
                "    s0: 00000001  s1: 00000002",
            ),
            ("0: v0: [0] 00000000", "0: v0: [0] 00000000"),
            ("", ""),
        ] {
            assert_eq!(without_times(line), expected);
        }
    }
}
