//! Which family of compilers made a code object: what two versions of one compiler have in common, and two compilers do not.

use super::VerifiedFile;
use crate::untrusted::Untrusted;

/// What a producer's name has in it, and the family; the first that fits counts. Triton's compiler is LLVM, and so are
/// those of Rust and Flang, but each has a front end of its own.
const FAMILIES: &[(&str, &str)] = &[
    ("triton", "Triton"),
    ("rustc", "Rust"),
    ("flang", "Flang"),
    ("clang", "LLVM"),
    ("LLVM", "LLVM"),
    ("AMD", "LLVM"),
    ("GNU", "GCC"),
];

/// Returns the family of a file's producers. Several are joined by `+`; a producer that is not known is its first word, and
/// `unknown` is a file that names none.
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
    /// A name, not a page.
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
