//! Debugging information that says where lanes are, added to a code object that has none of it: `DW_AT_LLVM_lanes`,
//! `DW_AT_LLVM_lane_pc` and `DW_AT_LLVM_active_lane`, as [`lane_flow`](crate::lane_flow) finds it in the machine code.
//!
//! What is loaded stays as it is, byte for byte, and all other debugging information reads the same. What cannot be
//! said for every wave is left out by range. It leaves to others which files there are. Sources: [USAGE](crate)
//! `DW_AT_LLVM_lane_pc`; DWARF 5 §7; `spec-notes/lane-recovery.md`.
//!
//! ```
//! use hetdwarf::{Limits, annotate::annotate};
//!
//! let file = std::fs::read("src/cli/demo/calls-O2.rocm.hsaco").unwrap();
//! let annotated = annotate(&file, &Limits::default(), &|name| name == "mid")?;
//! for function in &annotated.functions {
//!     println!("{:?}: {} of {} bytes", function.name, function.covered, function.size);
//! }
//! assert!(annotated.file.len() > file.len());
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod annotated;
mod archive;
mod container;
mod elf;
mod expression;
mod index;
mod lists;
mod references;
mod shift;
mod stored;
mod unit;

use core::cell::RefCell;
use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::Section;

use crate::arch::WaveSize;
use crate::debug_info::address_ranges::AddressRangeSet;
use crate::debug_info::{Bytes, Function, UnitId, UnitKind};
use crate::error::{Error, Result};
use crate::inspect::Program;
use crate::lane_flow::{ActiveLanes, LaneFlow, LanePlan};
use crate::limits::Limits;
use crate::meter::Meter;
use crate::object::{CodeObject, Kernel};
pub use annotated::{Annotated, AnnotatedFunction};
pub use container::{annotate_file, annotate_file_within};
use elf::{NewSection, set};
use expression::Expressions;
use lists::{Entry, ListKind, Lists};
use references::fixed;
use shift::{Edit, Shift, edited};
use stored::stored;
use unit::{Addition, Patch, PatchedSection, SectionReference, UnitChange};

/// Indices of other files' units, which are not rewritten.
const INDICES: [&str; 2] = [".debug_cu_index", ".debug_tu_index"];

/// Adds what can be told of lanes to a code object.
///
/// * `wanted`: which functions, by name.
///
/// # Errors
/// If it is no code object, or its sections cannot be read.
pub fn annotate(file: &[u8], limits: &Limits, wanted: &dyn Fn(&str) -> bool) -> Result<Annotated> {
    annotate_within(file, &meter_of(file, limits), wanted)
}

/// What a file may cost.
fn meter_of(file: &[u8], limits: &Limits) -> Arc<Meter> {
    Arc::new(Meter::new(limits, file.len() as u64))
}

/// As [`annotate`], as a part of a question.
fn annotate_within(
    file: &[u8],
    meter: &Arc<Meter>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Annotated> {
    let object = CodeObject::parse_within(file, meter)?;
    let mut found = Annotated {
        file: file.to_vec(),
        ..Annotated::default()
    };
    if let Some(note) = obstacle(&object) {
        found.notes.push(note);
        return Ok(found);
    }
    let Some(wave_size) = wave_size(&object) else {
        let note = "its kernels have waves of several sizes, or none says which".to_owned();
        found.notes.push(note);
        return Ok(found);
    };
    let program = Program::load(&object)?;
    let mut annotator = Annotator::new(&object, &program, wave_size)?;
    let info = program.info();
    for unit in info.unit_ids() {
        if let Err(error) = annotator.unit(unit, wanted, &mut found) {
            let name = info.unit_info(unit).ok().and_then(|about| about.name);
            let name = name.as_deref().unwrap_or("?").to_owned();
            let note = format!("unit {name} is left alone: {error}");
            found.notes.push(note);
        }
    }
    let error_of = |unit| info.unit_info(unit).err();
    let errors = info.unit_ids().filter_map(error_of);
    let errors = errors.chain(info.broken().cloned());
    let notes = errors.map(|error| format!("a unit is left alone: {error}"));
    found.notes.extend(notes);
    let sections = annotator.finish();
    let new = sections.and_then(|sections| match sections {
        Some(sections) => elf::with_sections(file, sections).map(Some),
        None => Ok(None),
    });
    match new {
        Ok(Some(new)) => found.file = new,
        Ok(None) => {}
        Err(error) => found.give_up(&error),
    }
    found.limit = meter.refused();
    Ok(found)
}

/// Why nothing can be added to a code object.
fn obstacle(object: &CodeObject<'_>) -> Option<String> {
    if object.is_relocatable() {
        return Some("it is relocatable: only linked code objects are rewritten".to_owned());
    }
    let sections = || object.sections().iter();
    if !sections().any(|section| section.name == ".debug_info") {
        return Some("it has no .debug_info section".to_owned());
    }
    let old = sections().find(|section| section.name.starts_with(".zdebug"));
    let index =
        sections().find(|section| section.size > 0 && INDICES.contains(&section.name.as_ref()));
    if let Some(section) = old.or(index) {
        return Some(format!("it has {}, which is not rewritten", section.name));
    }
    // What cannot be followed now cannot be followed when entries have moved.
    index::FOLLOWED.iter().find_map(|name| {
        let section = object.section(name).transpose()?;
        let followed = section
            .and_then(|section| index::followed(name, section, &Shift::default(), object.meter()));
        let error = followed.err()?;
        Some(format!("its {name} cannot be followed: {error}"))
    })
}

/// How many lanes the waves have that run a code object; nothing if that differs or is not known.
fn wave_size(object: &CodeObject<'_>) -> Option<WaveSize> {
    let processor = object.target().processor();
    let [small, large] =
        [WaveSize::Wave32, WaveSize::Wave64].map(|size| processor.supports_wave_size(size));
    let kernels = object.kernels().unwrap_or_default();
    let mut sizes = kernels.iter().filter_map(Kernel::wave_size);
    match sizes.next() {
        Some(first) => sizes.all(|size| size == first).then_some(first),
        None if small != large => Some(if small {
            WaveSize::Wave32
        } else {
            WaveSize::Wave64
        }),
        None => None,
    }
}

struct Annotator<'n, 'a> {
    object: &'a CodeObject<'a>,
    program: &'n Program<'a>,
    flow: &'n LaneFlow<'a>,
    wave_size: WaveSize,
    dwarf: gimli::Dwarf<Bytes<'a>>,
    headers: Vec<gimli::UnitHeader<Bytes<'a>>>,
    lists: BTreeMap<ListKind, Lists>,
    changes: Vec<(gimli::UnitHeader<Bytes<'a>>, UnitChange)>,
}

/// What a function gets.
struct Planned {
    entry: usize,
    base: u64,
    lane_pc: Vec<Entry>,
    active_lane: Option<Vec<Entry>>,
    report: AnnotatedFunction,
}

impl<'n, 'a> Annotator<'n, 'a> {
    fn new(
        object: &'a CodeObject<'a>,
        program: &'n Program<'a>,
        wave_size: WaveSize,
    ) -> Result<Annotator<'n, 'a>> {
        let dwarf = gimli::Dwarf::load(|id| -> Result<Bytes<'a>> {
            let bytes = object.section(id.name())?.unwrap_or_default();
            Ok(Bytes::new(bytes, gimli::LittleEndian))
        })?;
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            headers.push(header);
        }
        let mut lists = BTreeMap::new();
        for kind in [ListKind::Loc, ListKind::LocLists] {
            let section = object.section(kind.section())?.unwrap_or_default();
            lists.insert(kind, Lists::after(kind, section));
        }
        Ok(Annotator {
            object,
            program,
            flow: program.lane_flow(wave_size),
            wave_size,
            dwarf,
            headers,
            lists,
            changes: Vec::new(),
        })
    }

    /// Adds to the functions of a unit.
    fn unit(
        &mut self,
        id: UnitId,
        wanted: &dyn Fn(&str) -> bool,
        found: &mut Annotated,
    ) -> Result<()> {
        let info = self.program.info();
        let about = info.unit_info(id)?;
        if about.section != ".debug_info" {
            return Ok(());
        }
        let Some(header) = self.headers.iter().copied().find(|header| {
            header
                .debug_info_offset()
                .is_some_and(|at| at.0 as u64 == about.offset)
        }) else {
            return Ok(());
        };
        let name = about.name.as_deref().unwrap_or("?").to_owned();
        let refused = match about.kind {
            UnitKind::Skeleton | UnitKind::SplitCompile => Some("its entries are in another file"),
            UnitKind::Compile | UnitKind::Partial | UnitKind::Type | UnitKind::SplitType
                if about.version < 4 =>
            {
                Some("it is of a version before DWARF 4")
            }
            UnitKind::Compile | UnitKind::Partial | UnitKind::Type | UnitKind::SplitType => None,
        };
        if let Some(reason) = refused {
            found
                .notes
                .push(format!("unit {name} is left alone: {reason}"));
            return Ok(());
        }
        let mut planned = Vec::new();
        for function in info.functions(id)? {
            let name = function.name.as_deref().unwrap_or_default();
            if function.die.unit != id || !wanted(name) {
                continue;
            }
            let mut report = AnnotatedFunction::of(&function);
            let plan = self.plan(&function, &header, &mut report);
            let plan = plan.unwrap_or_else(|error| Err(error.to_string()));
            let plan = plan.map_err(|reason| {
                report.leave(reason);
                report
            });
            // What is kept of a function is many times its code, and nobody asks for it again.
            if let Some(range) = function.ranges.first() {
                self.flow.forget(range.start);
            }
            match plan {
                Ok(plan) => planned.push(plan),
                Err(report) => found.functions.push(report),
            }
        }
        let kind = match about.version {
            4 => ListKind::Loc,
            _ => ListKind::LocLists,
        };
        match self.add(header, kind, &mut planned) {
            Ok(()) => {}
            Err(reason) => {
                for plan in &mut planned {
                    plan.report.leave(reason.clone());
                }
                found
                    .notes
                    .push(format!("unit {name} is left alone: {reason}"));
            }
        }
        found
            .functions
            .extend(planned.into_iter().map(|plan| plan.report));
        Ok(())
    }

    /// What a function gets, or why nothing.
    fn plan(
        &self,
        function: &Function<'a>,
        header: &gimli::UnitHeader<Bytes<'a>>,
        report: &mut AnnotatedFunction,
    ) -> Result<core::result::Result<Planned, String>> {
        let range = function.ranges.first().cloned().unwrap_or_default();
        let leave = |why: &str| Ok(Err(why.to_owned()));
        if function.simt.lane_pc.is_some() {
            return leave("it has DW_AT_LLVM_lane_pc already");
        }
        let Some(entry) = unit::unit_offset(header, function.die.offset) else {
            return leave("its entry is in another unit");
        };
        // What switched a lane off is of interest where what acts on it next has no line. Many places of a function go on at the same.
        let known: RefCell<BTreeMap<_, bool>> = RefCell::default();
        let wants_left = |_: u8, place: &LanePlan| {
            let Some(waiting) = place.waiting() else {
                return false;
            };
            let mut known = known.borrow_mut();
            *known.entry(waiting.arrival).or_insert_with(|| {
                let line = waiting.arrival.map(|at| self.program.info().line_at(at));
                !matches!(line, Some(Ok(Some(line))) if line.line != 0)
            })
        };
        let plan = (self.flow).plan_with_left(range.start, self.object.meter(), &wants_left);
        let Some(plan) = plan.filter(|_| function.ranges.len() == 1) else {
            return leave("no function starts at its address whose code can be decoded");
        };
        let shown = |lane: u8, known| self.program.place_with_line(self.wave_size, lane, known);
        let expressions = Expressions {
            wave_size: self.wave_size,
            shown: &shown,
        };
        let mut lane_pc: Vec<Entry> = Vec::new();
        for (range, known) in &plan {
            let size = range.end.saturating_sub(range.start);
            match known {
                Ok(known) => {
                    push(range.clone(), expressions.lane_pc(known)?, &mut lane_pc);
                    report.covered = report.covered.saturating_add(size);
                }
                Err(reason) => {
                    let missing = report.missing.entry(reason.name()).or_default();
                    *missing = missing.saturating_add(size);
                }
            }
        }
        let active = self.flow.active_lanes(range.start);
        let active_lane = active_lane(&expressions, &active, &range)?;
        // Where EXEC has other lanes than those that are active, that has to be said also if nothing else is known.
        if lane_pc.is_empty() && (active_lane.is_none() || active.is_empty()) {
            return leave("nothing is known of its lanes");
        }
        Ok(Ok(Planned {
            entry,
            base: range.start,
            lane_pc,
            active_lane,
            report: report.clone(),
        }))
    }

    /// Adds to the entries of a unit.
    fn add(
        &mut self,
        header: gimli::UnitHeader<Bytes<'a>>,
        kind: ListKind,
        planned: &mut [Planned],
    ) -> core::result::Result<(), String> {
        let Some(lists) = self.lists.get_mut(&kind) else {
            return Ok(());
        };
        let mark = lists.mark();
        let too_long = || "a list is too long".to_owned();
        let mut additions = BTreeMap::new();
        for plan in planned.iter_mut() {
            let before = lists.mark();
            let lane_pc = lists.add(plan.base, &plan.lane_pc).ok_or_else(too_long)?;
            let active_lane = match &plan.active_lane {
                Some(list) => Some(lists.add(plan.base, list).ok_or_else(too_long)?),
                None => None,
            };
            plan.report.added = lists.mark().saturating_sub(before);
            let addition = Addition {
                lane_pc,
                active_lane,
            };
            additions.insert(plan.entry, addition);
        }
        let source = unit::Source {
            dwarf: &self.dwarf,
            header,
            wave_size: self.wave_size,
            abbrev: self.dwarf.debug_abbrev.reader().slice(),
            kind,
            meter: self.object.meter(),
            lists: self
                .object
                .section(kind.section())
                .ok()
                .flatten()
                .unwrap_or_default(),
        };
        match source.change_without_unreadable(&mut additions) {
            Ok((change, unreadable)) => {
                for plan in planned.iter_mut() {
                    if let Some(error) = unreadable.get(&plan.entry) {
                        plan.report.leave(error.clone());
                    }
                }
                self.changes.push((header, change));
                Ok(())
            }
            Err(reason) => {
                lists.reset(mark);
                Err(reason)
            }
        }
    }

    /// The sections that are others now; nothing if none is.
    fn finish(mut self) -> Result<Option<Vec<NewSection>>> {
        if self
            .changes
            .iter()
            .all(|(_, change)| change.edits.is_empty())
        {
            return Ok(None);
        }
        // Units are read in the order of their headers.
        self.changes
            .sort_by_key(|(header, _)| header.debug_info_offset().map(|at| at.0));
        let read =
            |name: &str| Ok::<_, Error>(self.object.section(name)?.unwrap_or_default().to_vec());
        let mut info = read(".debug_info")?;
        let mut abbrev = read(".debug_abbrev")?;
        let mut lists = BTreeMap::new();
        for kind in [ListKind::Loc, ListKind::LocLists] {
            lists.insert(PatchedSection::Lists(kind), read(kind.section())?);
        }
        let mut edits: Vec<Edit> = Vec::new();
        for (_, change) in &self.changes {
            edits.extend(change.edits.iter().cloned());
        }
        let shift = Shift::new(&edits);
        for (header, change) in &mut self.changes {
            let Some(table) = change.abbreviations.take() else {
                continue;
            };
            set_header(&mut info, header, change, abbrev.len()).ok_or_else(too_long)?;
            abbrev.extend(table);
        }
        for (_, change) in &self.changes {
            for reference in &change.references {
                let SectionReference {
                    section,
                    at,
                    size,
                    target,
                } = *reference;
                let bytes = fixed(shift.entry(target), size).ok_or_else(too_long)?;
                let patch = Patch { section, at, bytes };
                apply(&patch, &mut info, &mut lists);
            }
            for patch in &change.patches {
                apply(patch, &mut info, &mut lists);
            }
        }
        let mut sections = vec![
            (".debug_info", edited(&info, &edits)),
            (".debug_abbrev", abbrev),
        ];
        for (kind, added) in self.lists {
            let section = lists
                .remove(&PatchedSection::Lists(kind))
                .unwrap_or_default();
            if let Some(section) = added.append_to(section).ok_or_else(too_long)? {
                sections.push((kind.section(), section));
            }
        }
        let mut ranges = read(".debug_aranges")?;
        if !ranges.is_empty() {
            move_units(&mut ranges, &shift)?;
            sections.push((".debug_aranges", ranges));
        }
        for name in index::FOLLOWED {
            let section = self.object.section(name)?.unwrap_or_default();
            if !section.is_empty() {
                let meter = self.object.meter();
                let place = |error: Error| error.within(name, 0);
                let new = index::followed(name, section, &shift, meter).map_err(place)?;
                sections.push((name, new));
            }
        }
        let stored = sections.into_iter().map(|(name, bytes)| {
            let stored = stored(self.object, name, bytes)?;
            Ok(NewSection { name, stored })
        });
        stored.collect::<Result<Vec<NewSection>>>().map(Some)
    }
}

/// Adds an entry to a list, or makes the last one longer that says the same.
fn push(range: Range<u64>, expression: Vec<u8>, list: &mut Vec<Entry>) {
    match list.last_mut() {
        Some((last, same)) if last.end == range.start && *same == expression => {
            last.end = range.end;
        }
        Some(_) | None => list.push((range, expression)),
    }
}

/// Returns the entries of `DW_AT_LLVM_active_lane`, or None where EXEC always says it.
fn active_lane(
    expressions: &Expressions<'_>,
    known: &[(Range<u64>, ActiveLanes)],
    function: &Range<u64>,
) -> Result<Option<Vec<Entry>>> {
    if let [(range, ActiveLanes::Exec)] = known
        && range.start <= function.start
        && function.end <= range.end
    {
        return Ok(None);
    }
    let mut list = Vec::new();
    for (range, active) in known {
        push(range.clone(), expressions.active_lane(*active)?, &mut list);
    }
    Ok(Some(list))
}

fn apply(patch: &Patch, info: &mut [u8], lists: &mut BTreeMap<PatchedSection, Vec<u8>>) {
    let section = match patch.section {
        PatchedSection::Info => info,
        PatchedSection::Lists(_) => match lists.get_mut(&patch.section) {
            Some(section) => section.as_mut_slice(),
            None => return,
        },
    };
    set(section, patch.at, &patch.bytes);
}

fn too_long() -> Error {
    Error::malformed("debugging information", "it is too long for its offsets")
}

/// Sets the length of a unit and where its abbreviations are.
fn set_header(
    info: &mut [u8],
    header: &gimli::UnitHeader<Bytes<'_>>,
    change: &UnitChange,
    abbreviations: usize,
) -> Option<()> {
    let start = header.debug_info_offset()?.0;
    let offset_size = usize::from(header.format().word_size());
    let more = change
        .edits
        .iter()
        .map(|edit| edit.bytes.len().saturating_sub(edit.removed));
    let length = header.unit_length().checked_add(more.sum())?;
    // 64-bit DWARF marks its lengths with four bytes.
    let at = start.checked_add(offset_size.saturating_sub(4))?;
    set(info, at, &fixed(length, offset_size)?);
    // After the length the version; of DWARF 5 then a type and a size.
    let before: usize = if header.version() >= 5 { 4 } else { 2 };
    let at = at.checked_add(offset_size)?.checked_add(before)?;
    set(info, at, &fixed(abbreviations, offset_size)?);
    Some(())
}

/// Moves the offsets of units that the headers of `.debug_aranges` have.
fn move_units(ranges: &mut [u8], shift: &Shift) -> Result<()> {
    let mut next = 0;
    while next < ranges.len() as u64 {
        let old = AddressRangeSet::read(ranges, next)?;
        let (unit, end) = (usize::try_from(old.unit), old.end);
        // Of 64-bit DWARF no producer for this target writes them.
        let unit = unit.ok().filter(|_| old.offset_size == 4);
        let moved = unit.and_then(|unit| fixed(shift.entry(unit), 4));
        // After the length and the version.
        let at = usize::try_from(next).ok().and_then(|at| at.checked_add(6));
        set(
            ranges,
            at.ok_or_else(too_long)?,
            &moved.ok_or_else(too_long)?,
        );
        next = end;
    }
    Ok(())
}
