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

use std::collections::{BTreeMap, BTreeSet};

use super::kind::shape;
use super::producer::family;
use super::summary::Table;
use super::{FindingDocument, FindingGroup, OtherPlace, VerifyDocument, count};
use crate::untrusted::Untrusted;
use crate::verify::Severity;

/// How many causes of the same kind are told one by one; of more it is told once in how many functions they are.
pub const WIDESPREAD: usize = 3;

/// How many other places a document lists in all: some megabytes. Those beyond are counted.
const MOST_PLACES: usize = 1 << 15;

/// What findings of a kind have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    rule: &'static str,
    severity: Severity,
    family: Untrusted<'static>,
    /// Of what machine code contradicts its kind, of others the message without what differs.
    kind: String,
}

/// A function, or what stands for one where it is not known: the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Function(Untrusted<'static>),
    File(Untrusted<'static>),
}

/// A finding that is not yet in its group.
struct Single {
    /// The index of the file.
    file: usize,
    kind: usize,
    owner: Owner,
    /// Which cause of its kind in its function it has: the first, the second, in the order of the file.
    ordinal: usize,
    finding: FindingDocument,
}

impl VerifyDocument {
    /// The same findings by their causes; in each [`count`](FindingGroup::count) says how many it stands for. The summary
    /// counts causes, and in [`findings`](super::VerifySummary::findings) all findings.
    ///
    /// A document that is grouped already stays as it is.
    #[must_use]
    pub fn grouped(mut self) -> VerifyDocument {
        if self.summary.findings.is_some() {
            return self;
        }
        let mut table = Table::of(&self);
        let (kinds, singles) = self.take_singles();
        let mut causes: Vec<BTreeSet<(&Owner, usize)>> = vec![BTreeSet::new(); kinds];
        for single in &singles {
            if let Some(causes) = causes.get_mut(single.kind) {
                causes.insert((&single.owner, single.ordinal));
            }
        }
        let causes: Vec<usize> = causes.iter().map(BTreeSet::len).collect();
        let mut groups: BTreeMap<(usize, Option<(Owner, usize)>), usize> = BTreeMap::new();
        let mut found: Vec<Group> = Vec::new();
        let mut room = MOST_PLACES;
        for single in singles {
            let is_widespread = causes
                .get(single.kind)
                .is_some_and(|causes| *causes > WIDESPREAD);
            let own = (!is_widespread).then(|| (single.owner.clone(), single.ordinal));
            let key = (single.kind, own);
            let next = found.len();
            let n = *groups.entry(key).or_insert(next);
            match found.get_mut(n) {
                Some(group) => group.add(single, &self, &mut room),
                None => found.push(Group::new(single)),
            }
        }
        let total = found.iter().map(|group| group.numbers.count).sum();
        for group in found {
            if let Some(file) = self.files.get_mut(group.file) {
                let shown = group.finish();
                table.add_cause(&shown);
                file.findings.push(shown);
            }
        }
        self.rules = table.finish();
        self.count();
        self.summary.findings = Some(total);
        self
    }

    /// Takes all findings out of their files, in their order; and how many kinds there are.
    fn take_singles(&mut self) -> (usize, Vec<Single>) {
        let mut numbers: BTreeMap<Kind, usize> = BTreeMap::new();
        let mut singles = Vec::new();
        for (index, file) in self.files.iter_mut().enumerate() {
            let family = family(file);
            let mut ordinals = BTreeMap::new();
            for finding in core::mem::take(&mut file.findings) {
                let kind = Kind {
                    rule: finding.rule,
                    severity: finding.severity,
                    family: family.clone(),
                    kind: match finding.kind.is_empty() {
                        true => shape(finding.message.raw()),
                        false => finding.kind.clone(),
                    },
                };
                let next = numbers.len();
                let kind = *numbers.entry(kind).or_insert(next);
                let owner = match &finding.function {
                    Some(function) => Owner::Function(function.clone()),
                    None => Owner::File(file.path.clone()),
                };
                let causes: &mut BTreeMap<Option<u128>, usize> =
                    ordinals.entry((kind, owner.clone())).or_default();
                let next = causes.len();
                let cause = finding.cause.map(|pc| pc.0);
                singles.push(Single {
                    file: index,
                    kind,
                    owner,
                    ordinal: *causes.entry(cause).or_insert(next),
                    finding,
                });
            }
        }
        (numbers.len(), singles)
    }
}

/// Findings of one cause.
struct Group {
    /// The index of the file that has the one that is shown.
    file: usize,
    shown: FindingDocument,
    numbers: FindingGroup,
    functions: BTreeSet<Owner>,
    files: BTreeSet<usize>,
}

impl Group {
    fn new(single: Single) -> Group {
        Group {
            file: single.file,
            shown: single.finding,
            numbers: FindingGroup {
                count: 1,
                functions: 0,
                files: 0,
                also: Vec::new(),
            },
            functions: BTreeSet::from([single.owner]),
            files: BTreeSet::from([single.file]),
        }
    }

    /// * `room`: how many places more the document takes.
    fn add(&mut self, single: Single, document: &VerifyDocument, room: &mut usize) {
        let other = single.finding;
        self.numbers.count = self.numbers.count.saturating_add(1);
        let file = document.files.get(single.file);
        let next = OtherPlace {
            path: file
                .filter(|_| single.file != self.file)
                .map(|file| file.path.clone()),
            pc: other.pc,
            offset: other.offset,
            section: other.section,
            function: other.function,
            registers: other.registers,
        };
        self.functions.insert(single.owner);
        self.files.insert(single.file);
        match self.numbers.also.last_mut() {
            Some(last) if last.is_same_place(&next) => last.registers.extend(next.registers),
            Some(_) | None if *room > 0 => {
                *room = room.saturating_sub(1);
                self.numbers.also.push(next);
            }
            Some(_) | None => {}
        }
    }

    fn finish(mut self) -> FindingDocument {
        self.numbers.functions = count(self.functions.len());
        self.numbers.files = count(self.files.len());
        self.shown.group = Some(self.numbers);
        self.shown
    }
}
