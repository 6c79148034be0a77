//! One finding for one cause: what an instruction breaks for several registers or at several addresses is told once, and
//! so is what a compiler does in all functions.
//!
//! Causes are looked for over all files of a document. Findings are of one cause if rule, severity, producer family and kind
//! are the same, and
//! - the function and the instruction that caused it. Copies of a function, in other files, have the same causes: the
//!   first of one is the first of the others;
//! - or only those, if that would be more than [`WIDESPREAD`] causes: then it is the compiler's.
//!
//! Nothing is lost: each finding is the one that is shown of its cause, or is in its [`also`](super::FindingGroup::also).
//!
//! Files are taken one by one, and of a finding that is not shown its place is kept, or only that it was there. A thousand files
//! can have half a million findings of forty causes.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use foldhash::{HashMap, HashMapExt as _};

use super::kind::shape;
use super::producer::family;
use super::summary::Table;
use super::{FindingDocument, FindingGroup, OtherPlace, VerifiedFile, VerifyDocument, count};
use crate::untrusted::Untrusted;
use crate::verify::Severity;

/// How many causes of the same kind are told one by one; of more it is told once in how many functions they are.
pub const WIDESPREAD: usize = 3;

/// How many other places a document lists in all: as JSON some 8 MB. Those beyond are counted.
const MOST_PLACES: usize = 24 << 10;

/// What findings of a kind have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    rule: &'static str,
    severity: Severity,
    family: Untrusted<'static>,
    /// The kind of a contradiction with machine code, or else the message without the parts that differ.
    kind: String,
}

/// A function, or what stands for one where it is not known: the file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Function(Untrusted<'static>),
    File(Untrusted<'static>),
}

/// A cause of a kind: the number of its owner, and which cause of the kind in this owner it is, the first, the second, in the
/// order of the file.
type Cause = (usize, usize);

impl VerifyDocument {
    /// Returns the same findings by their causes; in each [`count`](FindingGroup::count) says how many it stands for. The summary
    /// counts causes, and in [`findings`](super::VerifySummary::findings) all findings.
    ///
    /// A document that is grouped already stays as it is.
    #[must_use]
    pub fn grouped(mut self) -> VerifyDocument {
        if self.summary.findings.is_some() {
            return self;
        }
        let mut groups = Groups::default();
        for (index, file) in self.files.iter_mut().enumerate() {
            groups.take(index, file);
        }
        groups.finish(&mut self);
        self
    }
}

/// The causes of what was found so far.
#[derive(Debug)]
pub(super) struct Groups {
    owners: HashMap<Owner, usize>,
    kinds: BTreeMap<Kind, Causes>,
    table: Table,
    /// How many findings there are.
    found: u64,
    /// How many other places more are listed.
    room: usize,
}

impl Default for Groups {
    fn default() -> Groups {
        Groups {
            owners: HashMap::new(),
            kinds: BTreeMap::new(),
            table: Table::default(),
            found: 0,
            room: MOST_PLACES,
        }
    }
}

impl Groups {
    /// Takes all findings out of a file.
    ///
    /// * `index`: which file of the document it is; files are taken in their order.
    pub(super) fn take(&mut self, index: usize, file: &mut VerifiedFile) {
        let family = family(file);
        let mut ordinals: BTreeMap<(Kind, usize), BTreeMap<Option<u128>, usize>> = BTreeMap::new();
        for finding in mem::take(&mut file.findings) {
            let kind = Kind {
                rule: finding.rule,
                severity: finding.severity,
                family: family.clone(),
                kind: match finding.kind.is_empty() {
                    true => shape(finding.message.raw()),
                    false => finding.kind.clone(),
                },
            };
            let owner = match &finding.function {
                Some(function) => Owner::Function(function.clone()),
                None => Owner::File(file.path.clone()),
            };
            let next = self.owners.len();
            let owner = *self.owners.entry(owner).or_insert(next);
            self.table.add(index, owner, &family, &finding);
            let causes = ordinals.entry((kind.clone(), owner)).or_default();
            let next = causes.len();
            let cause = finding.cause.map(|pc| pc.0);
            let ordinal = *causes.entry(cause).or_insert(next);
            let kind = self.kinds.entry(kind).or_default();
            let one = Group::new(self.found, index, owner, finding);
            self.found += 1;
            kind.add((owner, ordinal), one, &mut self.room);
        }
    }

    /// Puts into each file what is shown of it, and the numbers into the document.
    pub(super) fn finish(mut self, document: &mut VerifyDocument) {
        let kinds = mem::take(&mut self.kinds);
        let mut groups: Vec<Group> = kinds.into_values().flat_map(Causes::finish).collect();
        groups.sort_by_key(|group| group.number);
        for group in groups {
            self.table.add_cause(&group.shown);
            let index = group.file;
            let shown = group.finish(&document.files);
            if let Some(file) = document.files.get_mut(index) {
                file.findings.push(shown);
            }
        }
        document.rules = self.table.finish();
        document.count();
        document.summary.findings = Some(self.found);
    }
}

/// The causes of one kind.
#[derive(Debug)]
enum Causes {
    /// Up to [`WIDESPREAD`].
    Each(BTreeMap<Cause, Group>),
    /// More: they are one.
    Widespread(Box<Group>),
}

impl Default for Causes {
    fn default() -> Causes {
        Causes::Each(BTreeMap::new())
    }
}

impl Causes {
    /// * `room`: how many places more the document takes.
    fn add(&mut self, cause: Cause, one: Group, room: &mut usize) {
        match self {
            Causes::Widespread(all) => all.add(one, room),
            Causes::Each(each) => {
                if let Some(group) = each.get_mut(&cause) {
                    return group.add(one, room);
                }
                if each.len() < WIDESPREAD {
                    each.insert(cause, one);
                    return;
                }
                let mut groups: Vec<Group> = mem::take(each).into_values().collect();
                groups.sort_by_key(|group| group.number);
                let groups = groups.into_iter().chain([one]);
                let all = groups.reduce(|mut all, group| {
                    all.add(group, room);
                    all
                });
                if let Some(all) = all {
                    *self = Causes::Widespread(Box::new(all));
                }
            }
        }
    }

    fn finish(self) -> Vec<Group> {
        match self {
            Causes::Each(each) => each.into_values().collect(),
            Causes::Widespread(all) => vec![*all],
        }
    }
}

/// Findings of one cause.
#[derive(Debug)]
struct Group {
    /// Which finding of the document is shown.
    number: u64,
    /// The index of its file.
    file: usize,
    shown: FindingDocument,
    count: u64,
    /// The numbers of their owners.
    owners: BTreeSet<usize>,
    /// The indices of their files.
    files: BTreeSet<usize>,
    /// Where the others are, with the indices of their files, and no path yet.
    also: Vec<(usize, OtherPlace)>,
}

impl Group {
    fn new(number: u64, file: usize, owner: usize, finding: FindingDocument) -> Group {
        Group {
            number,
            file,
            shown: finding,
            count: 1,
            owners: BTreeSet::from([owner]),
            files: BTreeSet::from([file]),
            also: Vec::new(),
        }
    }

    /// Adds what was found later.
    ///
    /// * `room`: how many places more the document takes.
    fn add(&mut self, later: Group, room: &mut usize) {
        self.count = self.count.saturating_add(later.count);
        self.owners.extend(later.owners);
        self.files.extend(later.files);
        let other = later.shown;
        let next = OtherPlace {
            path: None,
            pc: other.pc,
            offset: other.offset,
            section: other.section,
            function: other.function,
            registers: other.registers,
        };
        match self.also.last_mut() {
            Some((file, last)) if *file == later.file && last.is_same_place(&next) => {
                last.registers.extend(next.registers);
            }
            Some(_) | None if *room > 0 => {
                *room = room.saturating_sub(1);
                self.also.push((later.file, next));
            }
            Some(_) | None => {}
        }
        self.also.extend(later.also);
    }

    fn finish(mut self, files: &[VerifiedFile]) -> FindingDocument {
        // Where causes became one, the places of each are together so far.
        self.also
            .sort_by_key(|(file, place)| (*file, place.section, place.offset, place.pc));
        self.also.dedup_by(|(file, next), (before, last)| {
            let is_same = before == file && last.is_same_place(next);
            if is_same {
                last.registers.append(&mut next.registers);
            }
            is_same
        });
        let also = self.also.into_iter().map(|(index, mut place)| {
            let file = files.get(index).filter(|_| index != self.file);
            place.path = file.map(|file| file.path.clone());
            place
        });
        self.shown.group = Some(FindingGroup {
            count: self.count,
            functions: count(self.owners.len()),
            files: count(self.files.len()),
            also: also.collect(),
        });
        self.shown
    }
}
