//! Adds debugging information about lanes to a code object without it: `DW_AT_LLVM_lanes`, `DW_AT_LLVM_lane_pc` and `DW_AT_LLVM_active_lane`. The
//! facts come from the machine code ([`lane_flow`](crate::lane_flow)).
//!
//! The loaded part stays unchanged, byte for byte, and all other debugging information keeps its meaning. Ranges of code with facts that do not hold
//! for every wave are left out. Callers find the files. Sources: [USAGE](crate) `DW_AT_LLVM_lane_pc`; DWARF 5 §7; `spec-notes/lane-recovery.md`.
//!
//! ```
//! use hetdwarf::Limits;
//! use hetdwarf::annotate::{Request, annotate};
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let annotated = annotate(&file, &Limits::default(), &Request::new(&|name| name == "mid"))?;
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
mod location;
mod references;
mod sections;
mod shift;
mod stored;
mod unit;
mod waves;

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::Section;

use crate::arch::WaveSize;
use crate::debug_info::{Bytes, Function, UnitId, UnitInfo, UnitKind};
use crate::error::{Error, Limit, Result};
use crate::expr::Dialect;
use crate::inspect::Program;
use crate::lane_flow::{LaneFlow, LanePlan};
use crate::limits::{Limits, reached};
use crate::meter::Meter;
use crate::object::CodeObject;
pub use annotated::{Annotated, AnnotatedFunction, AnnotatedVariable};
pub use container::{annotate_file, annotate_file_within};
use expression::Expressions;
use lists::{Entry, ListKind, Lists};
use location::NewLocation;
use shift::Shift;
use unit::{Addition, UnitChange};
use waves::{active_lane, push};

/// The indices of units in other files, which are not rewritten.
const INDICES: [&str; 2] = [".debug_cu_index", ".debug_tu_index"];

/// The requested additions.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// A function that returns true if the function with a name is selected.
    pub functions: &'r dyn Fn(&str) -> bool,
    /// The encoding of the heterogeneous operations, in the file and in the additions.
    pub dialect: Dialect,
    /// True if functions with whole-wave sections get `DW_AT_LLVM_active_lane` as well. Its code is no longer reserved, and tools of LLVM take it for
    /// another attribute.
    pub active_lane: bool,
    /// True if location lists of constant parameters are extended over code in which the value provably is still in registers.
    pub locations: bool,
}

impl<'r> Request<'r> {
    /// Requests lane program locations in the selected functions, with the current encoding.
    #[must_use]
    pub fn new(functions: &'r dyn Fn(&str) -> bool) -> Request<'r> {
        Request {
            functions,
            dialect: Dialect::default(),
            active_lane: false,
            locations: false,
        }
    }
}

impl core::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut fields = f.debug_struct("Request");
        fields.field("dialect", &self.dialect);
        fields.field("active_lane", &self.active_lane);
        fields.field("locations", &self.locations);
        fields.finish_non_exhaustive()
    }
}

/// Adds lane information to a code object.
///
/// # Errors
/// If the file is not a code object, or its sections cannot be read.
pub fn annotate(file: &[u8], limits: &Limits, request: &Request<'_>) -> Result<Annotated> {
    annotate_within(file, &meter_of(file, limits), request)
}

/// Returns a meter with the budget for a file.
fn meter_of(file: &[u8], limits: &Limits) -> Arc<Meter> {
    Arc::new(Meter::new(limits, file.len() as u64))
}

/// Does the work of [`annotate`] as a part of a larger query.
fn annotate_within(file: &[u8], meter: &Arc<Meter>, request: &Request<'_>) -> Result<Annotated> {
    let object = CodeObject::parse_within(file, meter)?;
    meter.hold(file.len() as u64)?;
    let mut found = Annotated {
        file: file.to_vec(),
        ..Annotated::default()
    };
    add_to(&object, file, request, &mut found)?;
    found.limit = found.limit.or_else(|| meter.refused());
    Ok(found)
}

fn add_to<'a>(
    object: &'a CodeObject<'a>,
    file: &[u8],
    request: &Request<'_>,
    found: &mut Annotated,
) -> Result<()> {
    let meter = object.meter();
    let before = meter.steps();
    if let Some(note) = obstacle(object) {
        found.notes.push(note);
        return Ok(());
    }
    let wave_size = match object.wave_size() {
        Ok(Some(wave_size)) => wave_size,
        Ok(None) => {
            let note = "its kernels have waves of different or unknown sizes".to_owned();
            found.notes.push(note);
            return Ok(());
        }
        Err(error) => {
            let note = format!("its kernels, which give the wave size, cannot be read: {error}");
            found.notes.push(note);
            found.is_short = true;
            return Ok(());
        }
    };
    let indices = meter.steps().saturating_sub(before);
    let program = Program::load(object)?.with_dialect(request.dialect);
    let mut annotator = Annotator::new(object, &program, wave_size, request)?;
    annotator.reserve(indices);
    if request.locations {
        annotator.find_locations();
    }
    let info = program.info();
    for unit in info.unit_ids() {
        if let Err(error) = annotator.unit(unit, found) {
            let name = info.unit_info(unit).ok().and_then(|about| about.name);
            let name = name.as_deref().unwrap_or("?");
            found.leave_unit(name, &error.to_string(), meter)?;
        }
    }
    let error_of = |unit| info.unit_info(unit).err();
    let errors = info.unit_ids().filter_map(error_of);
    for error in errors.chain(info.broken().cloned()) {
        let note = format!("a unit was not changed: {error}");
        meter.hold(note.len() as u64)?;
        found.notes.push(note);
    }
    if annotator.is_cut {
        let most = object.meter().most_steps();
        found
            .limit
            .get_or_insert_with(|| reached(Limit::Work, most));
    }
    match annotator.written(file) {
        Ok(None) => {}
        Ok(Some(written)) => found.file = written,
        Err(error) => found.refuse(&error),
    }
    Ok(())
}

/// Returns the reason why nothing can be added to a code object, if there is one.
fn obstacle(object: &CodeObject<'_>) -> Option<String> {
    if object.is_relocatable() {
        return Some("it is relocatable; only linked code objects can be rewritten".to_owned());
    }
    let sections = || object.sections().iter();
    if !sections().any(|section| section.name == ".debug_info") {
        return Some("it has no .debug_info section".to_owned());
    }
    let old = sections().find(|section| section.name.starts_with(".zdebug"));
    let index =
        sections().find(|section| section.size > 0 && INDICES.contains(&section.name.as_ref()));
    if let Some(section) = old.or(index) {
        return Some(format!(
            "it has {}, which cannot be rewritten",
            section.name
        ));
    }
    // An index that cannot be updated now cannot be updated after entries have moved.
    index::FOLLOWED.iter().find_map(|name| {
        let section = object.section(name).transpose()?;
        let followed = section
            .and_then(|section| index::followed(name, section, &Shift::default(), object.meter()));
        let error = followed.err()?;
        Some(format!("its {name} cannot be followed: {error}"))
    })
}

struct Annotator<'n, 'a> {
    object: &'a CodeObject<'a>,
    program: &'n Program<'a>,
    flow: &'n LaneFlow<'a>,
    wave_size: WaveSize,
    request: &'n Request<'n>,
    dwarf: gimli::Dwarf<Bytes<'a>>,
    headers: Vec<gimli::UnitHeader<Bytes<'a>>>,
    lists: BTreeMap<ListKind, Lists>,
    changes: Vec<(gimli::UnitHeader<Bytes<'a>>, UnitChange)>,
    /// The variables with extended location lists.
    locations: BTreeMap<UnitId, Vec<NewLocation>>,
    budget: Budget,
    /// True if the share of a function was not sufficient.
    is_cut: bool,
}

/// The budget for the plans of functions.
#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    /// The steps that updating moved references takes.
    reserved: u64,
    /// The number of bytes of code that are still to be planned.
    code: u64,
}

/// The additions for a function.
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
        request: &'n Request<'n>,
    ) -> Result<Annotator<'n, 'a>> {
        let dwarf = gimli::Dwarf::load(|id| -> Result<Bytes<'a>> {
            let bytes = object.section(id.name())?.unwrap_or_default();
            Ok(Bytes::new(bytes, gimli::LittleEndian))
        })?;
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            object.meter().hold_all::<gimli::UnitHeader<Bytes<'a>>>(2)?;
            headers.push(header);
        }
        let mut lists = BTreeMap::new();
        for kind in [ListKind::Loc, ListKind::LocLists] {
            let section = object.section(kind.section())?.unwrap_or_default();
            lists.insert(kind, Lists::after(kind, section));
        }
        Ok(Annotator {
            object,
            request,
            program,
            flow: program.lane_flow(wave_size),
            wave_size,
            dwarf,
            headers,
            lists,
            changes: Vec::new(),
            locations: BTreeMap::new(),
            budget: Budget::default(),
            is_cut: false,
        })
    }

    /// Reads the parts that will be rewritten, so that a sufficient budget is reserved for them before functions take their shares.
    ///
    /// * `indices`: the steps that indices took.
    fn reserve(&mut self, indices: u64) {
        /// A unit with an unreadable expression is processed twice.
        const TIMES: u64 = 2;
        let (info, meter) = (self.program.info(), self.object.meter());
        let mut budget = Budget {
            reserved: indices,
            code: 0,
        };
        for id in info.unit_ids() {
            let Ok(Some((_, header, kind))) = self.header(id) else {
                continue;
            };
            let before = meter.steps();
            let _ = (self.source(id, header, kind)).map(|source| source.change(&BTreeMap::new()));
            let used = meter.steps().saturating_sub(before);
            let used = used.saturating_mul(TIMES);
            budget.reserved = budget.reserved.saturating_add(used);
            for function in info.functions(id).into_iter().flatten() {
                if function.die.unit == id
                    && (self.request.functions)(function.name.as_deref().unwrap_or_default())
                {
                    let size = AnnotatedFunction::of(&function).size;
                    budget.code = budget.code.saturating_add(size);
                }
            }
        }
        self.budget = budget;
    }

    /// Returns the header of a unit of this file, and the section of its lists.
    fn header(
        &self,
        id: UnitId,
    ) -> Result<Option<(UnitInfo<'a>, gimli::UnitHeader<Bytes<'a>>, ListKind)>> {
        let about = self.program.info().unit_info(id)?;
        let header =
            (self.headers).binary_search_by_key(&about.offset, |header| header.offset().0 as u64);
        let header = (header.ok()).and_then(|index| self.headers.get(index).copied());
        let kind = match about.version {
            ..=4 => ListKind::Loc,
            _ => ListKind::LocLists,
        };
        let header = header.filter(|_| about.section == ".debug_info");
        Ok(header.map(|header| (about, header, kind)))
    }

    fn source(
        &self,
        id: UnitId,
        header: gimli::UnitHeader<Bytes<'a>>,
        kind: ListKind,
    ) -> Result<unit::Source<'_, 'a>> {
        Ok(unit::Source {
            dwarf: &self.dwarf,
            header,
            unit: self.program.info().gimli_unit(id)?,
            wave_size: self.wave_size,
            abbrev: self.dwarf.debug_abbrev.reader().slice(),
            kind,
            meter: self.object.meter(),
            dialect: self.request.dialect,
            lists: (self.object.section(kind.section()).ok().flatten()).unwrap_or_default(),
        })
    }

    /// Makes the additions for the functions of a unit.
    fn unit(&mut self, id: UnitId, found: &mut Annotated) -> Result<()> {
        let info = self.program.info();
        let Some((about, header, kind)) = self.header(id)? else {
            return Ok(());
        };
        let name = about.name.as_deref().unwrap_or("?").to_owned();
        let refused = match about.kind {
            UnitKind::Skeleton | UnitKind::SplitCompile => Some("its entries are in another file"),
            UnitKind::Compile | UnitKind::Partial | UnitKind::Type | UnitKind::SplitType
                if about.version < 4 =>
            {
                Some("its version is before DWARF 4")
            }
            UnitKind::Compile | UnitKind::Partial | UnitKind::Type | UnitKind::SplitType => None,
        };
        if let Some(reason) = refused {
            found
                .notes
                .push(format!("unit {name} was not changed: {reason}"));
        }
        let mut planned = Vec::new();
        // References to entries of other units are still updated.
        let functions = match refused {
            Some(_) => Vec::new(),
            None => info.functions(id)?,
        };
        for function in functions {
            let name = function.name.as_deref().unwrap_or_default();
            if function.die.unit != id || !(self.request.functions)(name) {
                continue;
            }
            // The name is kept until the report is written, which has a copy.
            const COPIES: u64 = 3;
            let size = (size_of::<Planned>() as u64).saturating_add(name.len() as u64);
            self.object.meter().hold(size.saturating_mul(COPIES))?;
            let mut report = AnnotatedFunction::of(&function);
            let plan = self.plan(&function, &header, &mut report);
            let plan = plan.unwrap_or_else(|error| Err(error.to_string()));
            let plan = plan.map_err(|reason| {
                report.leave(reason);
                report
            });
            // The kept analysis of a function is many times the size of its code, and is not needed again.
            if let Some(range) = function.ranges.first() {
                self.flow.forget(range.start);
            }
            match plan {
                Ok(plan) => planned.push(plan),
                Err(report) => found.functions.push(report),
            }
        }
        let mut locations = Vec::new();
        if refused.is_none() {
            locations = self.locations.remove(&id).unwrap_or_default();
        }
        match self.add(id, header, kind, &mut planned, &locations) {
            Ok(()) => found
                .locations
                .extend(locations.into_iter().map(|one| one.report)),
            Err(reason) => {
                for plan in &mut planned {
                    plan.report.leave(reason.clone());
                }
                found
                    .notes
                    .push(format!("unit {name} was not changed: {reason}"));
            }
        }
        found
            .functions
            .extend(planned.into_iter().map(|plan| plan.report));
        Ok(())
    }

    /// Returns the additions for a function, or the reason why there are none.
    fn plan(
        &mut self,
        function: &Function<'a>,
        header: &gimli::UnitHeader<Bytes<'a>>,
        report: &mut AnnotatedFunction,
    ) -> Result<core::result::Result<Planned, String>> {
        let range = function.ranges.first().cloned().unwrap_or_default();
        let leave = |why: &str| Ok(Err(why.to_owned()));
        if function.simt.lane_pc.is_some() {
            return leave("it already has DW_AT_LLVM_lane_pc");
        }
        let Some(entry) = unit::unit_offset(header, function.die.offset) else {
            return leave("its entry is in another unit");
        };
        // The switch-off point of a lane is needed only if the next instruction that acts on the lane has no line. Many places of a function have the
        // same next instruction, so results are kept.
        let known: RefCell<BTreeMap<_, bool>> = RefCell::default();
        let wants_switch_off = |_: u8, place: &LanePlan| {
            let Some(waiting) = place.waiting() else {
                return false;
            };
            let mut known = known.borrow_mut();
            *known.entry(waiting.arrival).or_insert_with(|| {
                let line = waiting.arrival.map(|at| self.program.info().line_at(at));
                !matches!(line, Some(Ok(Some(line))) if line.line != 0)
            })
        };
        // Each function may take its share of the remaining budget. A plan takes half of its budget.
        let meter = self.object.meter();
        let left = meter.steps_left().saturating_sub(self.budget.reserved);
        let share = Meter::share(left, report.size, &mut self.budget.code);
        let part = meter.part(share.saturating_mul(2).min(left));
        let plan = (self.flow).plan_with_switch_offs(range.start, &part, &wants_switch_off);
        meter.work(part.steps())?;
        let Some((plan, is_cut)) = plan.filter(|_| function.ranges.len() == 1) else {
            return leave("no function with decodable code starts at its address");
        };
        self.is_cut |= is_cut;
        let shown = |lane: u8, known| self.program.place_with_line(self.wave_size, lane, known);
        let expressions = Expressions {
            wave_size: self.wave_size,
            dialect: self.request.dialect,
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
        if lane_pc.is_empty() {
            return leave("nothing is known about its lanes");
        }
        // The lanes that differ between EXEC and the active lanes may be known even if nothing else is.
        let active_lane = match self.request.active_lane {
            true => active_lane(&expressions, &self.flow.active_lanes(range.start), &range)?,
            false => None,
        };
        Ok(Ok(Planned {
            entry,
            base: range.start,
            lane_pc,
            active_lane,
            report: report.clone(),
        }))
    }

    /// Makes the additions for the entries of a unit.
    fn add(
        &mut self,
        id: UnitId,
        header: gimli::UnitHeader<Bytes<'a>>,
        kind: ListKind,
        planned: &mut [Planned],
        locations: &[NewLocation],
    ) -> core::result::Result<(), String> {
        let Some(lists) = self.lists.get_mut(&kind) else {
            return Ok(());
        };
        let mark = lists.mark();
        let too_long = || "a list is too long".to_owned();
        let mut additions = BTreeMap::new();
        for plan in planned.iter_mut() {
            let before = lists.mark();
            let mut add = |list: &[Entry]| lists.add(plan.base, list).ok_or_else(too_long);
            let lane_pc = add(&plan.lane_pc)?;
            let active_lane = plan.active_lane.as_deref().map(add).transpose()?;
            plan.report.added = lists.mark().saturating_sub(before);
            let addition = Addition::Lanes {
                lane_pc,
                active_lane,
            };
            additions.insert(plan.entry, addition);
        }
        for one in locations {
            let list = lists.add(one.base, &one.entries).ok_or_else(too_long)?;
            additions.insert(one.entry, Addition::Location(list));
        }
        let source = self.source(id, header, kind);
        let source = source.map_err(|error| error.to_string())?;
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
                if let Some(lists) = self.lists.get_mut(&kind) {
                    lists.reset(mark);
                }
                Err(reason)
            }
        }
    }

    /// Returns the new file, read back and checked. Returns `None` if nothing was added.
    fn written(self, file: &[u8]) -> Result<Option<Vec<u8>>> {
        let (object, units) = (self.object, self.program.info().unit_ids().count());
        let Some(sections) = self.finish()? else {
            return Ok(None);
        };
        let written = elf::with_sections(file, sections, object.meter())?;
        let after = CodeObject::parse_within(&written, object.meter())?;
        let after = Program::load(&after)?;
        if after.info().unit_ids().count() != units {
            return Err(Error::malformed(
                "ELF file",
                "rewriting would change its units",
            ));
        }
        Ok(Some(written))
    }
}
