//! Matches names and paths against patterns: `*`, `?`, `[a-z]`, `{a,b}`.
//!
//! The library recurses into braces, and panics on patterns that are too complex. This module therefore limits their size first.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{RegexSet, RegexSetBuilder};

/// The longest pattern that is accepted, in bytes.
const LONGEST: usize = 1024;
/// The most braces of a pattern, which also limits their nesting.
const MOST_BRACES: usize = 32;
/// The most bytes that compiled regular expressions may take.
const MOST_OF_REGEXES: usize = 1 << 20;

/// An error in a pattern.
#[derive(Debug)]
pub(crate) struct PatternError {
    /// The position of the pattern, counted from 0.
    pub(crate) index: usize,
    pub(crate) message: String,
}

/// Compiles patterns into a set that matches if any of them does. With `paths`, `*` does not match `/`.
///
/// # Errors
/// If a pattern is malformed or too long.
pub(crate) fn patterns<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    paths: bool,
) -> Result<GlobSet, PatternError> {
    set(texts, |glob| glob.literal_separator(paths))
}

/// Compiles patterns of names into a set that matches if any of them does.
///
/// # Errors
/// See [`patterns`].
pub(crate) fn names<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    ignore_case: bool,
) -> Result<GlobSet, PatternError> {
    set(texts, |glob| glob.case_insensitive(ignore_case))
}

/// Compiles regular expressions into a set that matches if any of them matches somewhere in a name.
///
/// # Errors
/// If an expression is malformed, or takes too much memory.
pub(crate) fn regexes<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    ignore_case: bool,
) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(texts)
        .case_insensitive(ignore_case)
        .size_limit(MOST_OF_REGEXES)
        .build()
}

fn set<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    choose: impl for<'g> Fn(&'g mut GlobBuilder<'t>) -> &'g mut GlobBuilder<'t>,
) -> Result<GlobSet, PatternError> {
    let mut set = GlobSetBuilder::new();
    let mut last = 0;
    for (index, text) in texts.into_iter().enumerate() {
        let wrong = |message| PatternError { index, message };
        check(text).map_err(wrong)?;
        let glob = choose(&mut GlobBuilder::new(text)).build();
        set.add(glob.map_err(|error| wrong(error.to_string()))?);
        last = index;
    }
    // The set as a whole can also exceed the limit.
    set.build().map_err(|error| PatternError {
        index: last,
        message: error.to_string(),
    })
}

/// Compiles a pattern of names.
///
/// # Errors
/// See [`patterns`].
pub(crate) fn pattern(text: &str) -> Result<GlobSet, PatternError> {
    patterns([text], false)
}

fn check(text: &str) -> Result<(), String> {
    if text.len() > LONGEST {
        let length = text.len();
        return Err(format!(
            "the pattern has {length} bytes; at most {LONGEST} are allowed"
        ));
    }
    let braces = text.bytes().filter(|byte| *byte == b'{').count();
    if braces > MOST_BRACES {
        return Err(format!(
            "the pattern has {braces} opening braces; at most {MOST_BRACES} are allowed"
        ));
    }
    Ok(())
}

impl core::fmt::Display for PatternError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_within_bounds_match_and_others_are_errors() {
        let nested = |depth| "{a,b".repeat(depth) + &"}".repeat(depth);
        let set = pattern("{a*,b?}").unwrap();
        assert!(set.is_match("abc") && set.is_match("bc") && !set.is_match("bcd"));
        assert!(pattern(&nested(MOST_BRACES)).is_ok());
        for text in [
            nested(MOST_BRACES + 1),
            // At this depth the library panics, and deeper the stack overflows.
            nested(300),
            nested(100_000),
            "a".repeat(LONGEST + 1),
        ] {
            let error = pattern(&text).unwrap_err().to_string();
            assert!(error.starts_with("the pattern has "), "{error}");
        }
        assert!(pattern("{").unwrap_err().message.contains("unclosed"));
        let error = patterns(["a", "b", "[", "c"], true).unwrap_err();
        assert_eq!(error.index, 2);
    }
}
