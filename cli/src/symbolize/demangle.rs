//! Demangles the linkage names of functions.
//!
//! The libraries recurse into mangled names, and their output can be far longer than the input. This module limits lengths and depths. A
//! name beyond the limits is printed as it is.

use core::fmt;
use std::borrow::Cow;

use cpp_demangle::{BorrowedSymbol, DemangleOptions, ParseOptions};

/// The longest name that is demangled, in bytes.
const LONGEST: usize = 4096;
/// The longest demangled name, in bytes.
const LONGEST_MADE: usize = 16 << 10;
/// The deepest nesting of names.
const DEPTH: u32 = 96;

/// Demangles a name of Rust or C++, and removes the hash.
pub(super) fn demangled(name: &str) -> Cow<'_, str> {
    match short_enough(name).and_then(|name| rust(name).or_else(|| itanium(name))) {
        Some(made) => Cow::Owned(made),
        None => Cow::Borrowed(name),
    }
}

/// Demangles a name as llvm-symbolizer does. It treats names in Rust's legacy mangling as C++.
pub(super) fn as_llvm(name: &str) -> Cow<'_, str> {
    let (dot, inner) = match name.strip_prefix('.') {
        Some(inner) => (".", inner),
        None => ("", name),
    };
    let made = short_enough(inner).and_then(|inner| match inner.starts_with("_R") {
        true => rust(inner),
        false => itanium(inner).map(|made| in_words_of_llvm(&made)),
    });
    match made {
        Some(made) => Cow::Owned(format!("{dot}{made}")),
        None => Cow::Borrowed(name),
    }
}

fn short_enough(name: &str) -> Option<&str> {
    Some(name).filter(|name| name.len() <= LONGEST)
}

fn rust(name: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(name).ok()?;
    let mut made = Bounded::default();
    fmt::write(&mut made, format_args!("{name:#}")).ok()?;
    Some(made.0)
}

/// Demangles a name of the Itanium C++ ABI. A suffix that a compiler adds after a dot is printed in parentheses.
fn itanium(name: &str) -> Option<String> {
    let underscores = name.bytes().take_while(|byte| *byte == b'_').count();
    if !(1..=4).contains(&underscores) || name.as_bytes().get(underscores) != Some(&b'Z') {
        return None;
    }
    let name = name.get(underscores.checked_sub(1)?..)?;
    let (name, suffix) = match name.find('.') {
        Some(dot) => name.split_at_checked(dot)?,
        None => (name, ""),
    };
    let parse = ParseOptions::default().recursion_limit(DEPTH);
    let symbol = BorrowedSymbol::new_with_options(name.as_bytes(), &parse).ok()?;
    let options = DemangleOptions::new().recursion_limit(DEPTH);
    let mut made = Bounded::default();
    symbol.structured_demangle(&mut made, &options).ok()?;
    let mut made = tidy(&made.0);
    if !suffix.is_empty() {
        made.push_str(" (");
        made.push_str(suffix);
        made.push(')');
    }
    Some(made)
}

/// Changes the output of the library at the end of arguments: removes the blank of `> >`, and the comma after an empty pack.
fn tidy(name: &str) -> String {
    let mut made = String::with_capacity(name.len());
    for letter in name.chars() {
        if matches!(letter, '>' | ')') {
            while made.ends_with(", ") {
                made.truncate(made.len().saturating_sub(2));
            }
        }
        if letter == '>' && made.ends_with("> ") {
            made.pop();
        }
        made.push(letter);
    }
    made
}

/// The suffixes that LLVM writes after a number in place of a cast.
const SUFFIXES: [(&str, &str); 5] = [
    ("(unsigned int)", "u"),
    ("(unsigned long long)", "ull"),
    ("(unsigned long)", "ul"),
    ("(long long)", "ll"),
    ("(long)", "l"),
];

/// Splits a number with its type from the start of a text: the number, its suffix, and the rest.
fn typed_number(text: &str) -> Option<(&str, &'static str, &str)> {
    let mut types = SUFFIXES.iter();
    let (after, suffix) =
        types.find_map(|(name, suffix)| Some((text.strip_prefix(name)?, *suffix)))?;
    let digits = after.strip_prefix('-').unwrap_or(after);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let length = after.len().checked_sub(digits.len())?.checked_add(count)?;
    let (number, rest) = after.split_at_checked(length)?;
    (count > 0).then_some((number, suffix, rest))
}

/// The start and the end of special names, and the start that LLVM writes instead.
const SPECIAL: [(&str, &str, &str); 4] = [
    ("{vtable(", ")}", "vtable for "),
    ("{vtt(", ")}", "VTT for "),
    (
        "TLS init function for ",
        "",
        "thread-local initialization routine for ",
    ),
    (
        "TLS wrapper function for ",
        "",
        "thread-local wrapper routine for ",
    ),
];

/// Rewrites special names, vectors, numbers and closures in LLVM's notation: `vtable for A` for `{vtable(A)}`, `float vector[4]` for
/// `float __vector(4)`, `8u` for `(unsigned int)8`, `'lambda0'(int)` for `{lambda(int)#2}`.
fn in_words_of_llvm(name: &str) -> String {
    let special = SPECIAL.iter().find_map(|(start, end, start_of_llvm)| {
        // A suffix that a compiler adds follows the end.
        let (inner, suffix) = name.strip_prefix(start)?.rsplit_once(end)?;
        Some((*start_of_llvm, inner, suffix))
    });
    match special {
        Some((start, inner, suffix)) => {
            let inner = inner_words_of_llvm(inner);
            format!("{start}{inner}{suffix}")
        }
        None => inner_words_of_llvm(name),
    }
}

/// Splits `__vector(4)` from the start of a text: the number, and the rest.
fn vector(text: &str) -> Option<(&str, &str)> {
    let (number, rest) = text.strip_prefix("__vector(")?.split_once(')')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some((number, rest))
}

/// Rewrites the parts of a name that may be anywhere in it.
fn inner_words_of_llvm(name: &str) -> String {
    let mut made = String::with_capacity(name.len());
    // For each open brace, the end of the closure's name in `made`. None for braces that are not of closures.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        if let Some((number, suffix, after)) = typed_number(rest) {
            made.push_str(number);
            made.push_str(suffix);
            rest = after;
            continue;
        }
        if let Some((number, after)) = vector(rest) {
            made.push_str(&format!("vector[{number}]"));
            rest = after;
            continue;
        }
        if let Some(after) = rest
            .strip_prefix("{lambda")
            .filter(|after| after.starts_with('('))
        {
            made.push_str("'lambda");
            open.push(Some(made.len()));
            made.push('\'');
            rest = after;
            continue;
        }
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        match letter {
            '{' => open.push(None),
            '#' if matches!(open.last(), Some(Some(_))) => {
                let (number, after) = rest.split_once('}').unwrap_or((rest, ""));
                let place = open.pop().flatten();
                let before = number.parse::<u32>().ok().and_then(|n| n.checked_sub(2));
                if let (Some(place), Some(before)) = (place, before) {
                    made.insert_str(place, &before.to_string());
                }
                rest = after;
                continue;
            }
            '}' => drop(open.pop()),
            _ => {}
        }
        made.push(letter);
    }
    made
}

/// Text that rejects output beyond a length.
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len().saturating_add(text.len()) > LONGEST_MADE {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected names are the output of llvm-cxxfilt 22.
    #[test]
    fn names_of_llvm() {
        for (name, expected) in [
            ("_Z4leafi", "leaf(int)"),
            ("_ZN2ns1fIiEEvT_", "void ns::f<int>(int)"),
            (
                "_ZZ4tilePiPKiiENKUliE_clEi",
                "tile(int*, int const*, int)::'lambda'(int)::operator()(int) const",
            ),
            (
                "_ZZ1fvENKUliE0_clEi",
                "f()::'lambda0'(int)::operator()(int) const",
            ),
            ("_Z1fI1AI1BI1CEEEvT_", "void f<A<B<C>>>(A<B<C>>)"),
            ("_Z1fIiJEEvT_DpT0_", "void f<int>(int)"),
            (
                "_Z1fILj8ELm1ELl2ELs3ELin4EEvv",
                "void f<8u, 1ul, 2l, (short)3, -4>()",
            ),
            ("_Z1fv.llvm.12", "f() (.llvm.12)"),
            ("._Z1fv", ".f()"),
            ("__Z1fv", "f()"),
            ("_RNvC1a1f", "a::f"),
            ("k", "k"),
            ("_Z", "_Z"),
            ("_Zoo", "operator||"),
            ("_Z9f", "_Z9f"),
            ("_ZTV1A", "vtable for A"),
            ("_ZTVN1a1BIiEE", "vtable for a::B<int>"),
            ("_ZTV1A.llvm.12", "vtable for A (.llvm.12)"),
            ("_ZTT1R", "VTT for R"),
            ("_ZTI1A", "typeinfo for A"),
            ("_ZTH1x", "thread-local initialization routine for x"),
            ("_ZTW1x", "thread-local wrapper routine for x"),
            ("_Z1fDv4_f", "f(float vector[4])"),
            ("_Z1fPDv4_f", "f(float vector[4]*)"),
            ("_Z1fDv2_Dv3_i", "f(int vector[3] vector[2])"),
        ] {
            assert_eq!(as_llvm(name), expected, "{name}");
        }
    }

    /// Tests names that recurse, and names that grow: each substitution refers twice to the previous one.
    #[test]
    fn hostile_names_end() {
        let deep = format!("_Z1f{}i", "P".repeat(LONGEST - 6));
        assert_eq!(demangled(&deep), deep);
        let nested = format!("_Z1f{}i{}", "1AI".repeat(1000), "E".repeat(1000));
        assert_eq!(demangled(&nested), nested);
        let mut growing = "_Z1fP1AIiiE".to_owned();
        for number in 0..32 {
            let digit = char::from_digit(number, 36).unwrap().to_ascii_uppercase();
            growing.push_str(&format!("1BIS{digit}_S{digit}_E"));
        }
        assert!(demangled(&growing).len() <= LONGEST_MADE);
        let long = format!("_Z{}f{}", LONGEST, "f".repeat(LONGEST));
        assert_eq!(demangled(&long), long);
    }

    #[test]
    fn demangled_names_of_rust_have_no_hashes() {
        let name = "_ZN4core3ptr4read17h0123456789abcdefE";
        assert_eq!(demangled(name), "core::ptr::read");
        assert_eq!(as_llvm(name), "core::ptr::read::h0123456789abcdef");
    }
}
