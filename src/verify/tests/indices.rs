//! Tests `.debug_aranges` and `.debug_names`, which are written byte by byte so that they can be invalid.

use crate::inspect::Program;
use crate::object::CodeObject;
use crate::object::testing::{
    ALLOC, EXECUTE, NOBITS, PROGBITS, TestSection, linked, relocatable, section,
};
use crate::verify::{Finding, Rule, Severity, aranges, names, verify};

/// Returns the address that `linked` gives to each section. The sections follow each other.
fn addresses(sections: &[TestSection]) -> Vec<u64> {
    let file = linked(sections);
    let object = CodeObject::parse(&file).unwrap();
    let addresses = object.sections().iter().skip(1);
    addresses.map(|section| section.address).collect()
}

/// Returns `.text` with 0x40 bytes and `.bss` with 16 bytes.
fn loaded() -> Vec<TestSection> {
    vec![
        section(".text", PROGBITS, &[0; 0x40]).flags(ALLOC | EXECUTE),
        section(".bss", NOBITS, &[]).flags(ALLOC),
    ]
}

/// Returns a unit of DWARF 5 with 0x20 bytes of code: a namespace `n` with a base type `i`, and a function with this name.
///
/// The offsets in the unit: 12 the root, 25 the namespace, 28 the type, 32 the function.
fn unit(low: u64, function: u8) -> Vec<u8> {
    let mut unit = vec![44, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0];
    let code = [&low.to_le_bytes()[..], &[0x20, 0, 0, 0]].concat();
    unit.push(1);
    unit.extend(&code);
    unit.extend([2, b'n', 0, 3, b'i', 0, 0]);
    unit.extend([4, function, 0]);
    unit.extend(&code);
    unit.push(0);
    assert_eq!(unit.len(), 48);
    unit
}

#[rustfmt::skip]
const ABBREVIATIONS: &[u8] = &[
    // DW_TAG_compile_unit: DW_AT_low_pc as an address, DW_AT_high_pc as a data4
    1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0,
    // DW_TAG_namespace, DW_TAG_base_type: DW_AT_name as a string
    2, 0x39, 1, 0x03, 0x08, 0, 0,
    3, 0x24, 0, 0x03, 0x08, 0, 0,
    // DW_TAG_subprogram: DW_AT_name, DW_AT_low_pc, DW_AT_high_pc
    4, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0,
    0,
];

/// Returns the findings in an object with two units, at 0 and 48 of `.debug_info`, and with these sections.
fn findings(of: &[TestSection]) -> Vec<Finding> {
    let start = addresses(&loaded())[0];
    let info = [unit(start, b'f'), unit(start + 0x20, b'g')].concat();
    let mut sections = loaded();
    sections.push(section(".debug_abbrev", PROGBITS, ABBREVIATIONS));
    sections.push(section(".debug_info", PROGBITS, &info));
    let of = of
        .iter()
        .map(|one| section(one.name, one.kind, &one.contents));
    sections.extend(of);
    let file = linked(&sections);
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let all = verify(&program).findings;
    let wanted = |id: &str| id.starts_with("aranges-") || id.starts_with("names-");
    all.into_iter()
        .filter(|finding| wanted(finding.rule.id))
        .collect()
}

/// Checks that each violation has a finding of its rule and no error of another. Also checks that the unchanged object has no finding, and that every
/// rule has an example.
fn check(examples: &[(&str, Vec<Finding>)], good: &[Finding], rules: &[&Rule]) {
    assert_eq!(good, []);
    for (rule, found) in examples {
        let ids: Vec<_> = found.iter().map(|finding| finding.rule.id).collect();
        assert!(ids.contains(rule), "{rule}: {found:?}");
        let others = found.iter().filter(|finding| finding.rule.id != *rule);
        let others: Vec<_> = others.filter(|f| f.severity == Severity::Error).collect();
        assert!(others.is_empty(), "{rule}: {others:?}");
    }
    for rule in rules {
        assert!(
            examples.iter().any(|(id, _)| *id == rule.id),
            "{} has no example",
            rule.id
        );
    }
}

/// A set of `.debug_aranges`.
#[derive(Clone, Debug)]
struct Set {
    version: u8,
    unit: u32,
    address_size: u8,
    /// The offsets from the start of the code, and the lengths.
    tuples: Vec<(i64, u64)>,
    /// The bytes after the tuples.
    end: Vec<u8>,
    /// The excess of the length.
    more: u32,
}

fn set(unit: u32, start: i64) -> Set {
    Set {
        version: 2,
        unit,
        address_size: 8,
        tuples: vec![(start, 0x20)],
        end: vec![0; 16],
        more: 0,
    }
}

impl Set {
    fn bytes(&self) -> Vec<u8> {
        let start = addresses(&loaded())[0];
        let mut body = vec![self.version, 0];
        body.extend(self.unit.to_le_bytes());
        // The header has 12 bytes, and the first tuple is at 16. LLVM fills the gap with ones.
        body.extend([self.address_size, 0, 0xff, 0xff, 0xff, 0xff]);
        for (address, length) in &self.tuples {
            body.extend(start.wrapping_add_signed(*address).to_le_bytes());
            body.extend(length.to_le_bytes());
        }
        body.extend(&self.end);
        let length = body.len() as u32 + self.more;
        [&length.to_le_bytes()[..], &body].concat()
    }
}

fn of_sets(sets: &[Set]) -> Vec<Finding> {
    let bytes: Vec<u8> = sets.iter().flat_map(Set::bytes).collect();
    findings(&[section(".debug_aranges", PROGBITS, &bytes)])
}

/// llvm-dwarfutil keeps addresses in a file that it marks as relocatable.
#[test]
fn a_relocatable_file_may_have_addresses() {
    let text = section(".text", PROGBITS, &[0; 0x40]).flags(ALLOC | EXECUTE);
    let with = |address: u64| {
        let ranges = Set {
            tuples: vec![(0x1000, 0x20)],
            ..set(0, 0)
        };
        let file = relocatable(&[
            text.clone().at(address),
            section(".debug_abbrev", PROGBITS, ABBREVIATIONS),
            section(".debug_info", PROGBITS, &unit(0x1000, b'f')),
            section(".debug_aranges", PROGBITS, &ranges.bytes()),
        ]);
        let object = CodeObject::parse(&file).unwrap();
        let found = verify(&Program::load(&object).unwrap()).findings;
        let found = found.into_iter().map(|finding| finding.rule.id);
        found
            .filter(|id| id.starts_with("aranges-"))
            .collect::<Vec<_>>()
    };
    let none: Vec<&str> = Vec::new();
    assert_eq!(with(0x1000), none);
    assert_eq!(with(0), ["aranges-outside"]);
}

#[test]
fn every_rule_of_address_ranges_finds_what_breaks_it() {
    let (a, b) = (set(0, 0), set(48, 0x20));
    let good = of_sets(&[a.clone(), b.clone()]);
    let with = |change: fn(&mut Set)| {
        let mut changed = a.clone();
        change(&mut changed);
        of_sets(&[changed, b.clone()])
    };
    let examples = [
        (
            "aranges-length",
            of_sets(&[
                a.clone(),
                Set {
                    more: 1,
                    ..b.clone()
                },
            ]),
        ),
        ("aranges-header", with(|set| set.version = 3)),
        ("aranges-header", with(|set| set.address_size = 4)),
        // Half a tuple follows the last one.
        ("aranges-alignment", with(|set| set.end = vec![0; 24])),
        ("aranges-terminator", with(|set| set.end.clear())),
        ("aranges-terminator", with(|set| set.end = vec![0; 32])),
        ("aranges-unit", with(|set| set.unit = 4)),
        // After `.text`, far after everything, and across the end of the address space.
        (
            "aranges-outside",
            with(|set| set.tuples.push((0x10_0000, 4))),
        ),
        (
            "aranges-outside",
            with(|set| set.tuples.push((8, u64::MAX))),
        ),
        // The code of the other unit, and one byte of it.
        (
            "aranges-foreign-code",
            with(|set| set.tuples.push((0x30, 1))),
        ),
        (
            "aranges-foreign-code",
            with(|set| set.tuples = vec![(0, 0x21)]),
        ),
        ("aranges-left-out", with(|set| set.tuples = vec![(0, 0x1f)])),
        ("aranges-left-out", with(|set| set.tuples.clear())),
        ("aranges-no-set", of_sets(core::slice::from_ref(&a))),
    ];
    let mut examples: Vec<_> = examples.into_iter().collect();
    // If two units claim the same range, each also has code of the other.
    let mut overlap = with(|set| set.tuples = vec![(0, 0x21)]);
    overlap.retain(|finding| finding.rule.id != "aranges-foreign-code");
    examples.push(("aranges-overlap", overlap));
    check(&examples, &good, aranges::RULES);
}

/// Ranges of variables are accepted, and so are dropped ranges at 0.
#[test]
fn ranges_may_be_those_of_variables_and_of_nothing() {
    let place = addresses(&loaded());
    let mut set_a = set(0, 0);
    set_a.tuples.push((-(place[0] as i64), 0x7c));
    assert_eq!(of_sets(&[set_a.clone(), set(48, 0x20)]), []);
    // Two sets of one unit are joined.
    let halves = [(0, 0x10), (0x10, 0x10)].map(|tuple| Set {
        tuples: vec![tuple],
        ..set(0, 0)
    });
    let [first, second] = halves;
    assert_eq!(of_sets(&[first, second, set(48, 0x20)]), []);
    // Overlapping ranges of one unit are not an overlap of two units.
    let mut twice = set(0, 0);
    twice.tuples.push((0x10, 0x10));
    assert_eq!(of_sets(&[twice, set(48, 0x20)]), []);
}

/// Each finding has the severity of its rule. Code of another unit is an error, because its functions are not found. Addresses in two units are a
/// warning, because one of the two is right. A missing set is a note, because the section need not have every unit.
#[test]
fn findings_are_as_bad_as_their_rules() {
    let severity = |sets: &[Set], id: &str| {
        let found = of_sets(sets);
        let found = found.iter().find(|finding| finding.rule.id == id);
        found.map(|finding| finding.severity)
    };
    let (a, b) = (set(0, 0), set(48, 0x20));
    let longer = Set {
        tuples: vec![(0, 0x21)],
        ..a.clone()
    };
    let sets = [longer, b];
    let foreign = severity(&sets, "aranges-foreign-code");
    assert_eq!(foreign, Some(Severity::Error));
    let overlap = severity(&sets, "aranges-overlap");
    assert_eq!(overlap, Some(Severity::Warning));
    let no_set = severity(&[a], "aranges-no-set");
    assert_eq!(no_set, Some(Severity::Note));
}

/// An index of `.debug_names`.
#[derive(Clone, Debug)]
struct Index {
    version: u8,
    augmentation: &'static [u8],
    units: Vec<u32>,
    type_units: Vec<u32>,
    buckets: Vec<u32>,
    hashes: Vec<u32>,
    strings: Vec<u32>,
    entries: Vec<u32>,
    abbreviations: Vec<u8>,
    pool: Vec<u8>,
    /// The excess of the length.
    more: u32,
    /// The contents of `.debug_str`.
    text: &'static [u8],
}

/// The hash of a name with one letter: 33 · 5381 plus the letter (DWARF 5 §7.33).
const HASH: u32 = 177_573;

/// Returns the index of the first unit, with two buckets. `i` has an even hash, and `n` and `f` have odd hashes.
fn index() -> Index {
    let letter = |letter: u8| HASH + u32::from(letter);
    #[rustfmt::skip]
    let abbreviations = vec![
        // DW_TAG_namespace: DW_IDX_die_offset as a ref4, DW_IDX_parent as a flag
        1, 0x39, 3, 0x13, 4, 0x19, 0, 0,
        // DW_TAG_base_type: both as a ref4
        2, 0x24, 3, 0x13, 4, 0x13, 0, 0,
        // DW_TAG_subprogram
        3, 0x2e, 3, 0x13, 4, 0x19, 0, 0,
        0,
    ];
    #[rustfmt::skip]
    let pool = vec![
        // `i`, whose parent is the entry at 10; `n`; `f`. Each list ends with a zero.
        2, 28, 0, 0, 0, 10, 0, 0, 0, 0,
        1, 25, 0, 0, 0, 0,
        3, 32, 0, 0, 0, 0,
    ];
    Index {
        version: 5,
        augmentation: b"LLVM0700",
        units: vec![0],
        type_units: Vec::new(),
        buckets: vec![1, 2],
        hashes: vec![letter(b'i'), letter(b'n'), letter(b'f')],
        strings: vec![2, 0, 4],
        entries: vec![0, 10, 16],
        abbreviations,
        pool,
        more: 0,
        text: b"n\0i\0f\0g\0",
    }
}

impl Index {
    fn bytes(&self) -> Vec<u8> {
        let mut body = vec![self.version, 0, 0, 0];
        let counts = [
            self.units.len(),
            self.type_units.len(),
            0,
            self.buckets.len(),
            self.strings.len(),
            self.abbreviations.len(),
            self.augmentation.len(),
        ];
        let words = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        body.extend(words(&counts.map(|count| count as u32)));
        body.extend(self.augmentation);
        body.resize(body.len().next_multiple_of(4), 0);
        let hashes = if self.buckets.is_empty() {
            &[][..]
        } else {
            &self.hashes
        };
        for table in [&self.units, &self.type_units, &self.buckets] {
            body.extend(words(table));
        }
        body.extend(words(hashes));
        body.extend(words(&self.strings));
        body.extend(words(&self.entries));
        body.extend(&self.abbreviations);
        body.extend(&self.pool);
        let length = body.len() as u32 + self.more;
        [&length.to_le_bytes()[..], &body].concat()
    }
}

fn of_indices(indices: &[Index]) -> Vec<Finding> {
    let bytes: Vec<u8> = indices.iter().flat_map(Index::bytes).collect();
    let text = indices.first().map_or(&[][..], |index| index.text);
    findings(&[
        section(".debug_names", PROGBITS, &bytes),
        section(".debug_str", PROGBITS, text),
    ])
}

/// Returns the index of the other unit. Its function is `g`, whose letter is odd, so that its hash is even like the hash of `i`.
fn other() -> Index {
    let mut other = index();
    other.units = vec![48];
    other.buckets = vec![1, 3];
    other.hashes = [b'i', b'f' + 1, b'n']
        .map(|letter| HASH + u32::from(letter))
        .to_vec();
    other.strings = vec![2, 6, 0];
    other.entries = vec![0, 16, 10];
    other
}

/// Returns the rules with the findings of their violations.
fn names_examples() -> Vec<(&'static str, Vec<Finding>)> {
    let with = |change: fn(&mut Index)| {
        let mut changed = index();
        change(&mut changed);
        of_indices(&[changed, other()])
    };
    let examples = [
        ("names-header", with(|index| index.version = 4)),
        (
            "names-header",
            of_indices(&[index(), Index { more: 1, ..other() }]),
        ),
        (
            "names-header",
            of_indices(&[
                index(),
                Index {
                    pool: Vec::new(),
                    abbreviations: Vec::new(),
                    strings: vec![0; 3],
                    entries: vec![],
                    ..other()
                },
            ]),
        ),
        (
            "names-augmentation",
            with(|index| index.augmentation = b"ABCD"),
        ),
        (
            "names-abbreviation",
            with(|index| index.abbreviations[8] = 1),
        ),
        (
            "names-abbreviation",
            with(|index| index.abbreviations[3] = 0x08),
        ),
        ("names-unit", with(|index| index.units.push(4))),
        ("names-unit", with(|index| index.units.push(0))),
        ("names-unit", with(|index| index.type_units.push(48))),
        ("names-bucket", with(|index| index.buckets[1] = 9)),
        ("names-bucket", with(|index| index.buckets[1] = 3)),
        ("names-bucket", with(|index| index.buckets[0] = 0)),
        ("names-hash", with(|index| index.hashes[2] += 2)),
        ("names-string", with(|index| index.strings[0] = 8)),
        ("names-string", with(|index| index.text = b"n\0i\0f\0g")),
        ("names-entry", with(|index| index.entries[2] = 99)),
        ("names-entry", with(|index| index.entries[2] = 15)),
        ("names-entry", with(|index| index.pool[16] = 7)),
        ("names-entry", with(|index| index.pool.truncate(21))),
        ("names-die", with(|index| index.pool[17] = 33)),
        ("names-die", with(|index| index.pool[17] = 200)),
        ("names-tag", with(|index| index.pool[16] = 1)),
        ("names-name", with(|index| index.entries = vec![0, 16, 10])),
        ("names-parent", with(|index| index.pool[5] = 11)),
        ("names-parent", with(|index| index.pool[5] = 16)),
        ("names-no-index", of_indices(&[index()])),
    ];
    examples.into_iter().collect()
}

#[test]
fn every_rule_of_names_finds_what_breaks_it() {
    let good = of_indices(&[index(), other()]);
    let mut examples = names_examples();
    // The last name is missing.
    let mut fewer = index();
    fewer.hashes.pop();
    fewer.strings.pop();
    fewer.entries.pop();
    examples.push(("names-missing", of_indices(&[fewer, other()])));
    // Many names point into one long string.
    let long: &'static [u8] = vec![b'x'; 1 << 20].leak();
    let many = Index {
        buckets: Vec::new(),
        strings: (0..4000).collect(),
        entries: vec![0; 4000],
        text: [long, &[0]].concat().leak(),
        ..index()
    };
    let mut found = of_indices(&[many]);
    found.retain(|finding| finding.rule.id == "names-too-large");
    examples.push(("names-too-large", found));
    let mut relaxed = Vec::new();
    for (rule, mut found) in examples {
        // A name that cannot be found in its place is reported as missing too, so one mistake has two findings.
        let follows: &[&str] = match rule {
            "names-string" => &["names-hash"],
            "names-abbreviation" => &["names-tag", "names-entry", "names-die", "names-parent"],
            "names-tag" => &["names-name"],
            "names-name" => &["names-tag"],
            "names-unit" => &["names-entry"],
            "names-die" | "names-entry" => &["names-parent"],
            _ => &[],
        };
        found.retain(|finding| !follows.contains(&finding.rule.id));
        relaxed.push((rule, found));
    }
    check(&relaxed, &good, names::RULES);
}

/// An index without a hash table can be read, too.
#[test]
fn an_index_may_have_no_buckets() {
    let without = |index: Index| Index {
        buckets: Vec::new(),
        ..index
    };
    assert_eq!(of_indices(&[without(index()), without(other())]), []);
}

/// Uses hostile input: names that share the entries of one list without an end.
#[test]
fn entries_that_are_shared_are_not_read_again_and_again() {
    let many = Index {
        buckets: Vec::new(),
        strings: vec![0; 5000],
        entries: vec![0; 5000],
        pool: [3, 32, 0, 0, 0].repeat(5000),
        ..index()
    };
    let found = of_indices(&[many]);
    let shared = found
        .iter()
        .filter(|finding| finding.message.raw().contains("share their entries"));
    assert_eq!(shared.count(), 1);
}

/// Both sections are checked to their ends, regardless of the place at which they are cut.
#[test]
fn cut_anywhere_there_is_an_answer() {
    let (names, ranges) = (index().bytes(), set(0, 0).bytes());
    for (name, bytes) in [(".debug_names", names), (".debug_aranges", ranges)] {
        for end in 1..bytes.len() {
            let found = findings(&[
                section(name, PROGBITS, &bytes[..end]),
                section(".debug_str", PROGBITS, index().text),
            ]);
            let is_said = found
                .iter()
                .any(|finding| ["names-header", "aranges-length"].contains(&finding.rule.id));
            assert!(is_said, "{name} cut at {end}: {found:?}");
        }
    }
}
