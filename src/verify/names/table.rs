//! Checks an index by itself: its header, abbreviations, unit lists, hash table and entries.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashSet;
use gimli::constants as dw;
use gimli::{DwForm, DwIdx};

use super::{Check, Indexed, Parent, rule};
use crate::debug_info::UnitKind;
use crate::debug_info::name_index::{NameEntry, NameIndex, hash};
use crate::frame::Augmentation;

/// The augmentation strings of known producers.
const AUGMENTATIONS: &[&[u8]] = &[b"", b"LLVM0700", b"GDB", b"GDB2", b"GDB3"];

/// The maximum number of entry bytes that are read for each byte of an index. Otherwise, names with shared entries could cause unbounded work. No
/// producer shares entries.
const ENTRY_FACTOR: u64 = 4;

/// The forms of constants and of references.
const CONSTANTS: &[DwForm] = &[
    dw::DW_FORM_data1,
    dw::DW_FORM_data2,
    dw::DW_FORM_data4,
    dw::DW_FORM_data8,
    dw::DW_FORM_udata,
];
const REFERENCES: &[DwForm] = &[
    dw::DW_FORM_ref1,
    dw::DW_FORM_ref2,
    dw::DW_FORM_ref4,
    dw::DW_FORM_ref8,
    dw::DW_FORM_ref_udata,
];

/// Returns true if an augmentation string is known. USAGE ("Accelerated Access") prescribes `[amdgpu:v0.0]`.
fn is_known(augmentation: &[u8]) -> bool {
    let of_vendors = || match core::str::from_utf8(augmentation).map(Augmentation::parse) {
        Ok(found @ Augmentation::Vendors(_)) => found.is_known(),
        Ok(Augmentation::None | Augmentation::EhFrame(_) | Augmentation::Unknown(_)) | Err(_) => {
            false
        }
    };
    AUGMENTATIONS.contains(&augmentation) || of_vendors()
}

impl Check<'_, '_> {
    /// Checks the header. Returns true if the tables of the index can be read.
    pub(super) fn header(&mut self, index: &NameIndex<'_>) -> bool {
        let at = index.offset;
        if index.version != 5 {
            let message = format!("unknown version {}", index.version);
            self.add(&rule::HEADER, message, at);
            return false;
        }
        if !index.fits() {
            let (needed, has) = (index.needed(), index.end().saturating_sub(at));
            let message = format!("its tables take {needed:#x} bytes, but it has {has:#x}");
            self.add(&rule::HEADER, message, at);
            return false;
        }
        if !is_known(index.augmentation) {
            let text = String::from_utf8_lossy(index.augmentation);
            let text: String = text.chars().take(64).collect();
            self.add(&rule::AUGMENTATION, format!("`{text}` is not known"), at);
        }
        true
    }

    pub(super) fn abbreviations(&mut self, index: &NameIndex<'_>) {
        if let Some(error) = &index.broken {
            let at = error.origin().map_or(index.offset, |origin| origin.offset);
            self.add(&rule::ABBREVIATION, error.kind().to_string(), at);
        }
        let mut codes = BTreeSet::new();
        for abbreviation in &index.abbreviations {
            let mut problems = Vec::new();
            if !codes.insert(abbreviation.code) {
                problems.push("appears twice".to_owned());
            }
            let mut names = BTreeSet::new();
            for (name, form) in &abbreviation.attributes {
                let text = idx(*name);
                if !names.insert(name.0) {
                    problems.push(format!("has {text} twice"));
                }
                if !fits(*name, *form) {
                    let form = form.static_string().unwrap_or("an unknown form");
                    problems.push(format!("has {text} in {form}"));
                }
            }
            if !names.contains(&dw::DW_IDX_die_offset.0) {
                problems.push("has no DW_IDX_die_offset".to_owned());
            }
            for problem in problems {
                let message = format!("the abbreviation {:#x} {problem}", abbreviation.code);
                self.add(&rule::ABBREVIATION, message, abbreviation.offset);
            }
        }
    }

    /// Checks the lists of units that the index covers.
    pub(super) fn unit_lists(&mut self, index: &NameIndex<'_>) {
        for number in 0..index.unit_count {
            let offset = index.unit(number).unwrap_or(u64::MAX);
            let what = format!("CU[{number}] is {offset:#x}");
            self.listed(index, offset, false, &what);
        }
        for number in 0..index.local_type_unit_count {
            let offset = index.local_type_unit(number).unwrap_or(u64::MAX);
            let what = format!("LocalTU[{number}] is {offset:#x}");
            self.listed(index, offset, true, &what);
        }
        if index.unit_count == 0 && index.local_type_unit_count == 0 {
            let message = "it is for no unit".to_owned();
            self.add(&rule::UNIT, message, index.offset);
        }
    }

    fn listed(&mut self, index: &NameIndex<'_>, offset: u64, is_type: bool, what: &str) {
        let id = self.units.get(&offset).copied();
        let kind = id.and_then(|id| Some(self.info.unit_info(id).ok()?.kind));
        let problem = match kind {
            None => Some("where no unit starts"),
            Some(UnitKind::Type | UnitKind::SplitType) if !is_type => Some("which is a type unit"),
            Some(UnitKind::Compile | UnitKind::Skeleton | UnitKind::SplitCompile) if is_type => {
                Some("which is no type unit")
            }
            Some(_) if !self.indexed.insert(offset) => Some("which is in a list before it"),
            Some(_) => None,
        };
        if let Some(problem) = problem {
            self.add(&rule::UNIT, format!("{what}, {problem}"), index.offset);
        }
    }

    /// Checks the hash table: every name must be in the bucket of its hash, and have the hash of its string.
    pub(super) fn buckets(&mut self, index: &NameIndex<'_>) {
        let count = index.bucket_count;
        // The names before this one are in buckets.
        let mut next = 1_u32;
        for bucket in 0..count {
            let Some(first) = index.bucket(bucket).filter(|first| *first != 0) else {
                continue;
            };
            let at = index.place_of_bucket(bucket);
            if first > index.name_count {
                let names = index.name_count;
                let message =
                    format!("bucket {bucket} starts at name {first}, but there are {names}");
                self.add(&rule::BUCKET, message, at);
                continue;
            }
            if first != next {
                let message =
                    format!("bucket {bucket} starts at name {first}, but {next} is expected");
                self.add(&rule::BUCKET, message, at);
            }
            let belongs = |name: &u32| {
                let hash = index.hash(*name);
                hash.and_then(|hash| hash.checked_rem(count)) == Some(bucket)
            };
            // Names that were already in an earlier bucket are skipped.
            let from = first.max(next);
            let names = from..=index.name_count;
            let inside = u32::try_from(names.take_while(belongs).count()).unwrap_or(u32::MAX);
            if inside == 0 && first >= next {
                let message =
                    format!("name {first}, the first of bucket {bucket}, belongs to another");
                self.add(&rule::BUCKET, message, at);
            }
            next = from.saturating_add(inside);
        }
        if count > 0 && next <= index.name_count {
            let message = format!("names {next} to {} are in no bucket", index.name_count);
            self.add(&rule::BUCKET, message, index.place_of_name(next));
        }
        for name in 1..=index.name_count {
            self.hash(index, name);
        }
    }

    fn hash(&mut self, index: &NameIndex<'_>, name: u32) {
        let at = index.place_of_name(name);
        let offset = index.string(name).unwrap_or(u64::MAX);
        let Some(string) = self.string(index, name) else {
            if self.is_exhausted() {
                return;
            }
            let message = format!("the string of name {name} is at {offset:#x} of .debug_str");
            return self.add(&rule::STRING, message, at);
        };
        let Some(found) = index.hash(name) else {
            return;
        };
        let expected = hash(string);
        if found != expected {
            let message = format!(
                "the hash of name {name} is {found:#x}, but the hash of its string is \
                         {expected:#x}"
            );
            self.add(&rule::HASH, message, at);
        }
    }

    /// Reads the entries of all names. Returns the entries of the available units, by the offset of the unit.
    pub(super) fn entries(&mut self, index: &NameIndex<'_>) -> BTreeMap<u64, Vec<Indexed>> {
        let mut found: BTreeMap<u64, Vec<Indexed>> = BTreeMap::new();
        let mut starts = HashSet::default();
        let mut left = index
            .end()
            .saturating_sub(index.pool())
            .saturating_mul(ENTRY_FACTOR);
        for name in 1..=index.name_count {
            let place = index.place_of_name(name);
            let mut next = index.entries_of(name).unwrap_or(u64::MAX);
            if let Ok(None) = index.entry_at(next) {
                self.add(&rule::ENTRY, format!("name {name} has no entry"), place);
            }
            loop {
                let (entry, after) = match index.entry_at(next) {
                    Ok(Some(found)) => found,
                    Ok(None) => break,
                    Err(error) => {
                        let message = format!("name {name}: {}", error.kind());
                        self.add(&rule::ENTRY, message, next.min(index.end()));
                        break;
                    }
                };
                let Some(rest) = left.checked_sub(after - next) else {
                    let message =
                        format!("name {name} and those after it share their entries with others");
                    self.add(&rule::ENTRY, message, next);
                    return found;
                };
                left = rest;
                starts.insert(next);
                if let Some((unit, indexed)) = self.entry(index, name, &entry) {
                    found.entry(unit).or_default().push(indexed);
                }
                next = after;
            }
        }
        self.parents(&found, &starts);
        found
    }

    /// Converts an entry, and returns it with the offset of its unit. Returns `None` if the unit is unknown or in another file.
    fn entry(
        &mut self,
        index: &NameIndex<'_>,
        name: u32,
        entry: &NameEntry,
    ) -> Option<(u64, Indexed)> {
        let number = |name| entry.number(name);
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let unit = match (
            number(dw::DW_IDX_type_unit),
            number(dw::DW_IDX_compile_unit),
        ) {
            (Some(unit), _) => {
                let unit = small(unit);
                let foreign = unit.checked_sub(index.local_type_unit_count);
                if foreign.is_some_and(|unit| index.foreign_type_unit(unit).is_some()) {
                    return None;
                }
                index
                    .local_type_unit(unit)
                    .ok_or("its number of a type unit is too large")
            }
            (None, Some(unit)) => index
                .unit(small(unit))
                .ok_or("its number of a unit is too large"),
            (None, None) if index.unit_count == 1 => index.unit(0).ok_or("its unit is missing"),
            (None, None) => Err("it does not name its unit"),
        };
        let unit = match unit {
            Ok(unit) => unit,
            Err(problem) => {
                self.add(
                    &rule::ENTRY,
                    format!("name {name}: {problem}"),
                    entry.offset,
                );
                return None;
            }
        };
        let parent = match number(dw::DW_IDX_parent) {
            Some(parent) => Parent::At(parent.saturating_add(index.pool())),
            None => Parent::Unsaid,
        };
        let indexed = Indexed {
            die: number(dw::DW_IDX_die_offset)?,
            name,
            at: entry.offset,
            tag: entry.tag,
            parent,
        };
        Some((unit, indexed))
    }

    /// Checks that parents are entries of the index.
    fn parents(&mut self, found: &BTreeMap<u64, Vec<Indexed>>, starts: &HashSet<u64>) {
        for entry in found.values().flatten() {
            if let Parent::At(parent) = entry.parent
                && !starts.contains(&parent)
            {
                let message = format!("no entry of the index starts at {parent:#x}");
                self.add(&rule::PARENT, message, entry.at);
            }
        }
    }
}

/// Returns true if an attribute can have a form. Vendor attributes can have any form.
fn fits(name: DwIdx, form: DwForm) -> bool {
    match name {
        dw::DW_IDX_compile_unit | dw::DW_IDX_type_unit => CONSTANTS.contains(&form),
        dw::DW_IDX_die_offset => REFERENCES.contains(&form),
        dw::DW_IDX_parent => {
            form == dw::DW_FORM_flag_present
                || CONSTANTS.contains(&form)
                || REFERENCES.contains(&form)
        }
        dw::DW_IDX_type_hash => form == dw::DW_FORM_data8,
        _ => true,
    }
}

fn idx(name: DwIdx) -> String {
    match name.static_string() {
        Some(name) => name.to_owned(),
        None => format!("the attribute {:#x}", name.0),
    }
}
