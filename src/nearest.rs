//! The names that were probably meant by one that does not exist.

use std::collections::BTreeSet;

/// Longer names are not compared: nobody mistypes those, and comparing takes time with the product of both lengths.
const LONGEST: usize = 64;

/// How many names are proposed.
const MOST: usize = 3;

/// The names nearest to one, all at the same distance.
///
/// Names are alike if no more than a third of the letters has to be changed. A letter that is missing, added or
/// another, and two neighbours in the wrong order, count as one change; lower and upper case are the same.
#[derive(Debug)]
pub(crate) struct Nearest {
    name: Option<String>,
    /// By the number of changes and the name.
    found: BTreeSet<(usize, String)>,
}

impl Nearest {
    /// Nothing is near yet.
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

    /// The names, in order.
    pub(crate) fn names(self) -> Vec<String> {
        self.found.into_iter().map(|(_, name)| name).collect()
    }
}

/// The one of `names` that is most like `wrong`. `None` if none is alike. Of names that are equally like, the first
/// is taken.
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

/// The number of changes between a name that was [`folded`] and another. `None` if they are not alike.
fn changes(wrong: &str, name: &str) -> Option<usize> {
    let name = folded(name)?;
    let letters = wrong.chars().count().max(name.chars().count());
    let changes = strsim::osa_distance(wrong, &name);
    // Names of which nothing is left are not alike.
    (changes <= letters.div_ceil(3) && changes < letters).then_some(changes)
}

/// The name in lower case. `None` if it is too long.
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
