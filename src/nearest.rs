//! Suggests names similar to one that does not exist.

use std::collections::BTreeSet;

/// The maximum length of compared names. Longer ones are rarely mistyped, and the comparison takes time proportional to the product of both lengths.
const LONGEST: usize = 64;

/// The maximum number of suggestions.
const MOST: usize = 3;

/// The names nearest to one, all at the same distance.
///
/// Names are similar if at most a third of the letters must be changed. A change is a missing, added or replaced letter, or two swapped neighbors.
/// Upper and lower case are equal.
#[derive(Debug)]
pub(crate) struct Nearest {
    name: Option<String>,
    /// The names by the number of changes.
    found: BTreeSet<(usize, String)>,
}

impl Nearest {
    /// Starts without any candidate.
    pub(crate) fn to(name: &str) -> Nearest {
        Nearest {
            name: folded(name),
            found: BTreeSet::new(),
        }
    }

    /// Compares with another name.
    pub(crate) fn consider(&mut self, other: &str) {
        let Some(changes) = self.name.as_ref().and_then(|name| changes(name, other)) else {
            return;
        };
        let least = self.found.first().map_or(changes, |(least, _)| *least);
        if changes > least {
            return;
        }
        if changes < least {
            self.found.clear();
        }
        self.found.insert((changes, other.to_owned()));
        if self.found.len() > MOST {
            self.found.pop_last();
        }
    }

    /// Returns the names, in order.
    pub(crate) fn names(self) -> Vec<String> {
        self.found.into_iter().map(|(_, name)| name).collect()
    }
}

/// Returns the name most similar to `wrong`, or `None` if none is similar. If several are equally similar, it is the first.
pub(crate) fn nearest<'n>(
    wrong: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let wrong = folded(wrong)?;
    let alike = names
        .into_iter()
        .filter_map(|name| Some((changes(&wrong, name)?, name)));
    let best = alike.min_by_key(|(changes, _)| *changes);
    best.map(|(_, name)| name)
}

/// Returns the number of changes between a [`folded`] name and another one, or `None` if they are not similar.
fn changes(wrong: &str, name: &str) -> Option<usize> {
    let name = folded(name)?;
    let letters = wrong.chars().count().max(name.chars().count());
    let changes = strsim::osa_distance(wrong, &name);
    // Names without a common letter are not similar.
    (changes <= letters.div_ceil(3) && changes < letters).then_some(changes)
}

/// Returns the name in lower case, or `None` if it is too long.
fn folded(name: &str) -> Option<String> {
    let letters = name.chars().flat_map(char::to_lowercase);
    let folded: String = letters.take(LONGEST.saturating_add(1)).collect();
    (folded.chars().count() <= LONGEST).then_some(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_found() {
        let names = ["load_address", "wave_size", "pc", "registers"];
        for (wrong, meant) in [
            ("load_adress", Some("load_address")),
            ("LoadAddress", Some("load_address")),
            ("wave_szie", Some("wave_size")),
            ("PC", Some("pc")),
            ("wavesize", Some("wave_size")),
            ("regs", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, names), meant, "{wrong}");
        }
        assert_eq!(nearest(&"pc".repeat(1 << 20), names), None);
        assert_eq!(nearest("a", ["b", "c"]), None);
        assert_eq!(nearest("yy", ["x", "y"]), Some("y"));
        assert_eq!(nearest("ab", ["ac", "ad"]), Some("ac"));
    }

    #[test]
    fn the_nearest_are_proposed_and_the_far_not_at_all() {
        let near = |name: &str, others: &[&str]| {
            let mut nearest = Nearest::to(name);
            others.iter().for_each(|other| nearest.consider(other));
            nearest.names()
        };
        let names = ["acc", "arr", "access", "count", "mac", "ac", "acd", "bcc"];
        assert_eq!(near("acc", &names), ["acc"]);
        assert_eq!(near("coutn", &names), ["count"]);
        assert_eq!(near("acx", &names), ["ac", "acc", "acd"]);
        assert!(near("zzzz", &names).is_empty());
        assert!(near(&"a".repeat(1000), &[&"a".repeat(999)]).is_empty());
    }
}
