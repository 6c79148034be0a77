//! Measures how completely debugging information describes a program, with the metrics of `llvm-dwarfdump --statistics`, version 9.
//!
//! Functions are identified by name, file and line. Variables are identified by their function and blocks, so that inlined copies count as one source
//! variable. Coverage is in bytes of code, of the scope of a variable and of its locations.

mod lines;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use core::ops::Range;
use fallible_iterator::FallibleIterator;
use gimli::constants as dw;
use gimli::{AttributeValue, DwAt, DwTag};

use crate::debug_info::{
    Bytes, DebugInfo, Die, DieId, SourceFile, UnitId, linkage_name, short_name,
};
use crate::error::{Error, Result};
use crate::meter::Meter;
pub(crate) use lines::LineCounts;
pub(crate) use variables::CountedVariable;
pub(crate) use variables::{Coverage, Variables};
#[cfg(feature = "serde")]
pub(crate) use variables::{GROUPS, Groups};

/// The maximum number of references from an entry to the entry with a required attribute.
const HOPS: usize = 8;

/// The counts of a function, or of the entries outside functions.
#[derive(Debug, Default)]
pub(crate) struct FunctionCounts {
    pub(crate) is_function: bool,
    pub(crate) has_source_location: bool,
    pub(crate) inlined: u64,
    pub(crate) out_of_line: u64,
    pub(crate) abstract_origins: u64,
    pub(crate) constant_members: u64,
    pub(crate) artificial: u64,
    pub(crate) with_location: u64,
    /// The names of the variables.
    pub(crate) names: BTreeSet<String>,
    pub(crate) parameters: Described,
    pub(crate) locals: Described,
}

/// The number of variables, and the number of variables with each kind of description.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Described {
    pub(crate) count: u64,
    pub(crate) with_type: u64,
    pub(crate) with_source: u64,
    pub(crate) with_location: u64,
}

impl Described {
    /// Adds other counts.
    pub(crate) fn add(&mut self, other: Described) {
        for (sum, number) in [
            (&mut self.count, other.count),
            (&mut self.with_type, other.with_type),
            (&mut self.with_source, other.with_source),
            (&mut self.with_location, other.with_location),
        ] {
            *sum = sum.saturating_add(number);
        }
    }
}

/// The counts of the whole program.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) call_site_entries: u64,
    pub(crate) call_sites: u64,
    pub(crate) call_site_parameters: u64,
    pub(crate) function_bytes: u64,
    pub(crate) inlined_bytes: u64,
    /// The bytes of all locations, including locations outside their scopes.
    pub(crate) location_bytes: u64,
    pub(crate) all: Coverage,
    pub(crate) parameters: Coverage,
    pub(crate) locals: Coverage,
}

/// The state of an entry while its children are visited.
#[derive(Clone, Debug)]
struct Scope {
    depth: usize,
    function: Arc<str>,
    /// The prefix of the names of variables.
    prefix: Arc<str>,
    /// The number of bytes of code in the scope.
    bytes: u64,
    inline_depth: u32,
    /// The address ranges of the entry itself.
    ranges: Arc<[Range<u64>]>,
    blocks: u32,
    parameters: u32,
    /// True if the entry is a block of a function, or not a scope.
    is_block: bool,
    /// The unit of the entry.
    unit: UnitId,
    /// The enclosing function with code.
    subprogram: Option<DieId>,
    /// The innermost enclosing inlined call.
    call: Option<DieId>,
    /// The variables that a copy of a function lacks.
    missing: Option<Missing>,
}

impl Scope {
    /// Returns the facts about the scope as a copy of a function.
    fn copy(&self, id: DieId) -> FunctionCopy {
        FunctionCopy {
            id,
            function: self.subprogram,
            call: self.call,
            bytes: self.bytes,
            ranges: Arc::clone(&self.ranges),
        }
    }
}

/// The variables of an original that a copy lacks.
#[derive(Clone, Debug, Default)]
struct Missing {
    /// The variables that were not seen with a location.
    unlocated: Vec<u64>,
    /// The variables in `unlocated` that were seen without a location.
    seen: Vec<u64>,
}

impl Missing {
    /// Records a variable that completes a variable of the original.
    fn see(&mut self, origin: u64, has_location: bool, meter: &Meter) -> Result<()> {
        if has_location {
            meter.work(self.unlocated.len() as u64)?;
            self.unlocated.retain(|offset| *offset != origin);
        } else {
            meter.hold_all::<u64>(2)?;
            self.seen.push(origin);
        }
        Ok(())
    }
}

/// A copy of a function, which may be inlined.
#[derive(Clone, Debug)]
struct FunctionCopy {
    id: DieId,
    function: Option<DieId>,
    call: Option<DieId>,
    bytes: u64,
    ranges: Arc<[Range<u64>]>,
}

/// The variables of inlined functions, by the offset of the function.
type Originals = BTreeMap<u64, Vec<u64>>;

/// Collects the statistics of all units.
struct Collector<'c, 'a> {
    info: &'c DebugInfo<'a>,
    meter: &'c Meter,
    found: Statistics,
    /// True if each variable is recorded.
    keeps_variables: bool,
    originals: Originals,
    /// The originals of all units.
    originals_of_all: Originals,
    /// The copies whose original comes later in the unit or is in another unit.
    later: Vec<FunctionCopy>,
    elsewhere: Vec<FunctionCopy>,
}

/// The collected statistics.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// The counts of functions, by the identity of the function.
    pub(crate) functions: BTreeMap<Arc<str>, FunctionCounts>,
    pub(crate) counts: Counts,
    pub(crate) variables: Variables,
    pub(crate) lines: LineCounts,
    /// The variables of functions, if requested, in the order of the entries.
    pub(super) counted: Vec<CountedVariable>,
}

/// Collects the statistics of all units.
///
/// # Errors
/// If a unit cannot be read, or the work exceeds the budget.
pub(crate) fn collect(info: &DebugInfo<'_>, meter: &Meter) -> Result<Statistics> {
    let mut collector = Collector::new(info, meter, false);
    for id in info.unit_ids() {
        collector.whole_unit(id)?;
    }
    collector.find_elsewhere()?;
    Ok(collector.found)
}

/// Does the work of [`collect`], and also records each variable of a function. Returns the results that were found before an error together with the
/// error.
pub(super) fn collect_variables(
    info: &DebugInfo<'_>,
    meter: &Meter,
) -> (Statistics, Option<Error>) {
    let mut collector = Collector::new(info, meter, true);
    let mut first = None;
    for id in info.unit_ids() {
        if let Err(error) = collector.whole_unit(id) {
            let is_limit = error.is_limit();
            first = first.or(Some(error));
            if is_limit {
                break;
            }
        }
    }
    let rest = collector.find_elsewhere().err();
    (collector.found, first.or(rest))
}

impl<'c, 'a> Collector<'c, 'a> {
    fn new(info: &'c DebugInfo<'a>, meter: &'c Meter, keeps_variables: bool) -> Collector<'c, 'a> {
        Collector {
            info,
            meter,
            found: Statistics::default(),
            keeps_variables,
            originals: Originals::new(),
            originals_of_all: Originals::new(),
            later: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// Counts a unit with its lines.
    fn whole_unit(&mut self, id: UnitId) -> Result<()> {
        let unit = self.info.unit_info(id)?;
        // A skeleton's entries are in its split unit, which comes later.
        let is_split_alone = unit.section.ends_with(".dwo") && unit.partner.is_none();
        let is_skeleton = !unit.section.ends_with(".dwo") && unit.partner.is_some();
        if unit.is_type_unit() || is_split_alone || is_skeleton {
            return Ok(());
        }
        self.unit(id)?;
        self.found.lines.count(self.info, id, self.meter)
    }

    fn unit(&mut self, id: UnitId) -> Result<()> {
        self.originals.clear();
        self.later.clear();
        let empty: Arc<[Range<u64>]> = Arc::from([]);
        let mut scopes: Vec<Scope> = Vec::new();
        let mut dies = self.info.dies(id)?;
        while let Some(die) = dies.next()? {
            self.meter.work(4)?;
            while scopes
                .last()
                .is_some_and(|scope| scope.depth >= die.depth())
            {
                self.leave(scopes.pop())?;
            }
            if die.is_null() {
                continue;
            }
            let mut scope = scopes.last().cloned().unwrap_or_else(|| Scope {
                depth: 0,
                function: Arc::from("/"),
                prefix: Arc::from("g"),
                bytes: 0,
                inline_depth: 0,
                ranges: Arc::clone(&empty),
                blocks: 0,
                parameters: 0,
                is_block: true,
                unit: id,
                subprogram: None,
                call: None,
                missing: None,
            });
            if let Some(parent) = scopes.last_mut() {
                scope.prefix = child_prefix(parent, die.tag());
            }
            scope.depth = die.depth();
            scope.blocks = 0;
            scope.parameters = 0;
            scope.missing = None;
            scope.is_block = true;
            if !self.visit(&die, &mut scope, &mut scopes)? {
                if die.has_children() {
                    dies.skip_children()?;
                }
                continue;
            }
            self.meter.hold_all::<Scope>(1)?;
            match die.has_children() {
                true => scopes.push(scope),
                false => self.leave(Some(scope))?,
            }
        }
        while let Some(scope) = scopes.pop() {
            self.leave(Some(scope))?;
        }
        self.find_later()
    }

    /// Counts an entry. Returns true if its children are counted too.
    fn visit(&mut self, die: &Die<'a>, scope: &mut Scope, scopes: &mut [Scope]) -> Result<bool> {
        let tag = die.tag();
        let is_function = tag == dw::DW_TAG_subprogram;
        let is_inlined = tag == dw::DW_TAG_inlined_subroutine;
        let is_block = tag == dw::DW_TAG_lexical_block;
        if tag == dw::DW_TAG_subroutine_type {
            return Ok(false);
        }
        let origin = raw_reference(die, dw::DW_AT_abstract_origin);
        let is_copy = is_inlined || (is_function && origin.is_some());
        let mut is_later = false;
        if is_copy && let Some(origin) = origin {
            match self.originals.get(&origin) {
                Some(variables) => {
                    self.meter.work(variables.len() as u64)?;
                    scope.missing = Some(Missing {
                        unlocated: variables.clone(),
                        seen: Vec::new(),
                    });
                }
                None => is_later = true,
            }
        }
        if !(is_function || is_inlined || is_block) {
            self.variable(die, scope, scopes)?;
            scope.ranges = Arc::from([]);
            return Ok(true);
        }
        if !is_block {
            scope.prefix = Arc::from("v");
            scope.is_block = false;
        }
        if die.attribute(dw::DW_AT_declaration).is_some() {
            return Ok(false);
        }
        let has = |name| die.attribute(name).is_some();
        if has(dw::DW_AT_call_file) && has(dw::DW_AT_call_line) {
            self.found.counts.call_site_entries =
                self.found.counts.call_site_entries.saturating_add(1);
        }
        let Ok(ranges) = self.info.ranges(die, self.meter) else {
            return Ok(false);
        };
        let sizes = ranges
            .iter()
            .map(|range| range.end.saturating_sub(range.start));
        let bytes = sizes.fold(0, u64::saturating_add);
        if !is_block {
            if has(dw::DW_AT_inline) {
                self.original(die)?;
                return Ok(false);
            }
            self.function(die, is_inlined, scope)?;
        }
        scope.ranges = ranges.into();
        if bytes > 0 {
            scope.bytes = bytes;
            if is_function {
                self.found.counts.function_bytes =
                    self.found.counts.function_bytes.saturating_add(bytes);
            } else if is_inlined && scope.inline_depth == 0 {
                self.found.counts.inlined_bytes =
                    self.found.counts.inlined_bytes.saturating_add(bytes);
            }
        }
        if is_function {
            scope.inline_depth = 0;
            (scope.subprogram, scope.call) = (Some(die.id()), None);
        } else if is_inlined {
            scope.call = Some(die.id());
            scope.inline_depth = scope.inline_depth.saturating_add(1);
        }
        if is_later {
            self.meter.hold_all::<FunctionCopy>(2)?;
            self.later.push(scope.copy(die.id()));
        }
        Ok(true)
    }

    fn function(&mut self, die: &Die<'a>, is_inlined: bool, scope: &mut Scope) -> Result<()> {
        let name: Arc<str> = self.name_of(die, "").into();
        self.meter.hold((name.len() as u64).saturating_add(512))?;
        let has = |name| self.find(die, name).is_some();
        let has_source_location = has(dw::DW_AT_decl_file) && has(dw::DW_AT_decl_line);
        let has_origin = has(dw::DW_AT_abstract_origin);
        let counts = self.found.functions.entry(Arc::clone(&name)).or_default();
        counts.is_function = true;
        if is_inlined {
            counts.inlined = counts.inlined.saturating_add(1);
            if has_origin {
                counts.abstract_origins = counts.abstract_origins.saturating_add(1);
            }
        } else {
            counts.out_of_line = counts.out_of_line.saturating_add(1);
        }
        counts.has_source_location |= has_source_location;
        scope.function = name;
        Ok(())
    }

    /// Records the variables of a function that is inlined elsewhere.
    fn original(&mut self, die: &Die<'a>) -> Result<()> {
        let mut found = Vec::new();
        self.for_each_variable(die.id(), |variable| found.push(variable.id().offset))?;
        self.meter
            .hold_all::<u64>(found.len().saturating_mul(2).saturating_add(16))?;
        self.originals_of_all.insert(die.id().offset, found.clone());
        self.originals.insert(die.id().offset, found);
        Ok(())
    }

    /// Calls `give` for each variable of a function and of its blocks.
    fn for_each_variable(&self, function: DieId, mut give: impl FnMut(&Die<'a>)) -> Result<()> {
        let mut dies = self.info.subtree(function)?;
        while let Some(die) = dies.next()? {
            self.meter.work(2)?;
            if die.is_null() || die.depth() == 0 {
                continue;
            }
            match die.tag() {
                dw::DW_TAG_lexical_block => {}
                tag => {
                    if is_variable(tag) {
                        give(&die);
                    }
                    if die.has_children() {
                        dies.skip_children()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts the variables that copies lack, for copies whose original follows them in the unit.
    fn find_later(&mut self) -> Result<()> {
        for copy in core::mem::take(&mut self.later) {
            match self.original_of(&copy, &self.originals)? {
                Some(unlocated) => self.count_copy(&copy, unlocated)?,
                None => self.elsewhere.push(copy),
            }
        }
        Ok(())
    }

    /// Counts the variables that copies lack, for copies whose original is in another unit.
    fn find_elsewhere(&mut self) -> Result<()> {
        for copy in core::mem::take(&mut self.elsewhere) {
            if let Some(unlocated) = self.original_of(&copy, &self.originals_of_all)? {
                self.count_copy(&copy, unlocated)?;
            }
        }
        Ok(())
    }

    /// Returns the variables of the original of a copy, if it is known.
    fn original_of(&self, copy: &FunctionCopy, known: &Originals) -> Result<Option<Vec<u64>>> {
        let die = self.info.die(copy.id)?;
        let origin = raw_reference(&die, dw::DW_AT_abstract_origin);
        Ok(origin.and_then(|at| known.get(&at).cloned()))
    }

    /// Counts the variables of an original that a copy lacks.
    fn count_copy(&mut self, copy: &FunctionCopy, unlocated: Vec<u64>) -> Result<()> {
        self.meter.work(unlocated.len() as u64)?;
        let mut missing = Missing {
            unlocated,
            seen: Vec::new(),
        };
        let mut refused = Ok(());
        self.for_each_variable(copy.id, |variable| {
            let has = |name| variable.attribute(name).is_some();
            let has_location = has(dw::DW_AT_location) || has(dw::DW_AT_const_value);
            let origin = raw_reference(variable, dw::DW_AT_abstract_origin);
            if let (Some(origin), Ok(())) = (origin, &refused) {
                refused = missing.see(origin, has_location, self.meter);
            }
        })?;
        refused?;
        self.count_missing(copy, &missing)
    }

    fn leave(&mut self, scope: Option<Scope>) -> Result<()> {
        if let Some(scope) = scope
            && let Some(missing) = &scope.missing
        {
            let copy = scope.copy(DieId {
                unit: scope.unit,
                offset: 0,
            });
            self.count_missing(&copy, missing)?;
        }
        Ok(())
    }

    fn count_missing(&mut self, copy: &FunctionCopy, missing: &Missing) -> Result<()> {
        let id = |offset: &u64| DieId {
            unit: copy.id.unit,
            offset: *offset,
        };
        let ids: Vec<DieId> = missing.unlocated.iter().map(id).collect();
        self.found.variables.add_missing(self.info, &ids);
        let Some(function) = copy
            .function
            .filter(|_| self.keeps_variables && copy.bytes > 0)
        else {
            return Ok(());
        };
        let seen: BTreeSet<&u64> = missing.seen.iter().collect();
        let omitted = missing.unlocated.iter().filter(|one| !seen.contains(one));
        for id in omitted.map(id) {
            self.meter.work(1)?;
            self.meter.hold_all::<CountedVariable>(2)?;
            let Some(die) = variables::original_variable(self.info, id) else {
                continue;
            };
            self.found.counted.push(CountedVariable {
                die: die.id(),
                function,
                call: copy.call,
                is_parameter: die.tag() == dw::DW_TAG_formal_parameter,
                is_omitted: true,
                scope: copy.bytes,
                addresses: Arc::clone(&copy.ranges),
                covered: Vec::new(),
                is_everywhere: false,
            });
        }
        Ok(())
    }

    /// Returns the name that identifies an entry.
    fn name_of(&self, die: &Die<'a>, prefix: &str) -> String {
        let name = linkage_name(self.info, die).or_else(|| short_name(self.info, die));
        let name = name.map_or(String::new(), |name| name.raw().to_owned());
        let name = format!("{prefix}{name}");
        if !prefix.is_empty() && prefix != "g" {
            return name;
        }
        let number = |attribute| self.find(die, attribute)?.udata_value();
        let file = number(dw::DW_AT_decl_file);
        let file = file.and_then(|file| self.info.source_file(die.id().unit, file).ok()?);
        let file = file.as_ref().map_or("/", SourceFile::name);
        let line = number(dw::DW_AT_decl_line).unwrap_or(0);
        format!("{name}:{file}:{line}")
    }

    /// Returns an attribute of an entry, or of an entry that it completes.
    fn find(&self, die: &Die<'a>, name: DwAt) -> Option<gimli::Attribute<Bytes<'a>>> {
        let mut die = die.clone();
        for _ in 0..HOPS {
            if let Some(attribute) = die.attribute(name) {
                return Some(*attribute);
            }
            let origin = [dw::DW_AT_abstract_origin, dw::DW_AT_specification]
                .iter()
                .find_map(|name| die.attribute(*name))?;
            die = self.info.die(self.info.target(&die, origin).ok()??).ok()?;
        }
        None
    }
}

/// Returns the prefix of the names of variables below an entry in a scope.
fn child_prefix(parent: &mut Scope, tag: DwTag) -> Arc<str> {
    let (count, letter) = match tag {
        dw::DW_TAG_lexical_block => (&mut parent.blocks, ""),
        dw::DW_TAG_formal_parameter => (&mut parent.parameters, "p"),
        _ => return Arc::clone(&parent.prefix),
    };
    let number = *count;
    *count = number.saturating_add(1);
    format!("{}{letter}{number:X}.", parent.prefix).into()
}

fn is_variable(tag: DwTag) -> bool {
    matches!(tag, dw::DW_TAG_formal_parameter | dw::DW_TAG_variable)
}

/// Returns a reference in its encoded form, which is usually relative to its unit.
fn raw_reference(die: &Die<'_>, name: DwAt) -> Option<u64> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "others are no references")]
    match die.attribute(name)?.raw_value() {
        AttributeValue::UnitRef(offset) => Some(offset.0 as u64),
        AttributeValue::DebugInfoRef(offset) => Some(offset.0 as u64),
        _ => None,
    }
}
