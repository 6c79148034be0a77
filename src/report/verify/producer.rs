//! Determines the family of compilers that produced a code object. Versions of one compiler have the same family.

use super::VerifiedFile;
use crate::untrusted::Untrusted;

/// The substrings of producer names and their families. The first match counts. The compilers of Triton, Rust and Flang are based on LLVM, but each
/// has its own front end.
const FAMILIES: &[(&str, &str)] = &[
    ("triton", "Triton"),
    ("rustc", "Rust"),
    ("flang", "Flang"),
    ("clang", "LLVM"),
    ("LLVM", "LLVM"),
    ("AMD", "LLVM"),
    ("GNU", "GCC"),
];

/// Returns the families of a file's producers, joined by `+`. An unknown producer is named by its first word. The family is `unknown` if the file
/// names no producer.
pub(super) fn family(file: &VerifiedFile) -> Untrusted<'static> {
    let mut families: Vec<String> = (file.producers.iter())
        .filter_map(|producer| one(producer.raw()))
        .collect();
    families.sort();
    families.dedup();
    match families.is_empty() {
        true => "unknown".into(),
        false => families.join("+").into(),
    }
}

fn one(producer: &str) -> Option<String> {
    /// The maximum length of an unknown producer's name in characters.
    const LONGEST: usize = 32;
    let known = FAMILIES.iter().find(|(part, _)| producer.contains(part));
    let word = producer.split_whitespace().next()?;
    Some(match known {
        Some((_, family)) => (*family).to_owned(),
        None => word.chars().take(LONGEST).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::one;

    #[test]
    fn a_version_is_no_family() {
        for (producer, expected) in [
            ("clang version 22.1.8 (Ubuntu)", Some("LLVM")),
            ("AMD clang version 18.0.0git", Some("LLVM")),
            ("GNU C17 12.2.0 -march=gfx906", Some("GCC")),
            ("GNU AS 2.40", Some("GCC")),
            ("triton", Some("Triton")),
            ("clang LLVM (rustc version 1.95.0)", Some("Rust")),
            ("hand-written", Some("hand-written")),
            (" ", None),
        ] {
            assert_eq!(one(producer).as_deref(), expected, "{producer}");
        }
    }
}
