//! Groups findings by cause. An instruction that breaks a rule for several registers or at several addresses is reported once. A mistake that a
//! compiler makes in all functions is also reported once.
//!
//! Causes are determined over all files of a document. Findings have the same cause if these properties are equal: rule, severity, producer family,
//! kind, function and causing instruction. Causes in copies of a function in other files are matched by their order. If a kind would have more than
//! [`WIDESPREAD`] causes, the function and the instruction are ignored. The mistake is then attributed to the compiler, as one cause.
//!
//! No finding is lost: each is either shown for its cause or listed in [`also`](super::FindingGroup::also).
//!
//! Files are processed one by one. For a finding that is not shown, only its place or only the count is kept. A thousand files can have half a
//! million findings with forty causes.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use foldhash::{HashMap, HashMapExt as _};

use super::kind::shape;
use super::producer::family;
use super::summary::Table;
use super::{FindingDocument, FindingGroup, OtherPlace, VerifiedFile, VerifyDocument, count};
use crate::untrusted::Untrusted;
use crate::verify::Severity;

/// The maximum number of causes of one kind that are reported separately. If there are more, one finding is reported with the number of functions.
pub const WIDESPREAD: usize = 3;

/// The maximum number of other places in a document, which take about 8 MB as JSON. Further places are only counted.
const MOST_PLACES: usize = 24 << 10;

/// The common properties of findings of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    rule: &'static str,
    severity: Severity,
    family: Untrusted<'static>,
    /// The kind of a contradiction with machine code, or otherwise the message without the variable parts.
    kind: String,
}

/// The function of a finding, or the file if the function is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Function(Untrusted<'static>),
    File(Untrusted<'static>),
}

/// A cause within a kind: the number of its owner, and its position among the causes of the owner, in the order of the file.
type Cause = (usize, usize);

impl VerifyDocument {
    /// Returns the document with findings grouped by cause. The [`count`](FindingGroup::count) of each finding is the number of findings of its
    /// cause. The summary counts causes, and its [`findings`](super::VerifySummary::findings) counts all findings.
    ///
    /// A document that is already grouped stays unchanged.
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

/// The causes of the findings so far.
#[derive(Debug)]
pub(super) struct Groups {
    owners: HashMap<Owner, usize>,
    kinds: BTreeMap<Kind, Causes>,
    table: Table,
    /// The number of findings so far.
    found: u64,
    /// The number of other places that the document can still list.
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
    /// Takes all findings out of a file, and adds them to their causes.
    ///
    /// * `index`: the index of the file in the document. Files are taken in their order.
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

    /// Puts the shown findings into their files, and the counts into the document.
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
    /// The causes, if there are at most [`WIDESPREAD`].
    Each(BTreeMap<Cause, Group>),
    /// One cause for all findings, if there are more.
    Widespread(Box<Group>),
}

impl Default for Causes {
    fn default() -> Causes {
        Causes::Each(BTreeMap::new())
    }
}

impl Causes {
    /// * `room`: the number of other places that the document can still list.
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

/// The findings of one cause.
#[derive(Debug)]
struct Group {
    /// The number of the shown finding in the document.
    number: u64,
    /// The index of the file of the shown finding.
    file: usize,
    shown: FindingDocument,
    count: u64,
    /// The numbers of the owners.
    owners: BTreeSet<usize>,
    /// The indices of the files.
    files: BTreeSet<usize>,
    /// The places of the other findings, with the indices of their files. The paths are set later.
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

    /// Adds the findings of a later group.
    ///
    /// * `room`: the number of other places that the document can still list.
    fn add(&mut self, later: Group, room: &mut usize) {
        self.count += later.count;
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
                *room -= 1;
                self.also.push((later.file, next));
            }
            Some(_) | None => {}
        }
        self.also.extend(later.also);
    }

    fn finish(mut self, files: &[VerifiedFile]) -> FindingDocument {
        // If several causes were merged, the places are still grouped by cause and need sorting.
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
