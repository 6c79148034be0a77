//! Counts the descriptions of variables, and measures how much of their scopes their locations cover.

use core::ops::Range;
use std::sync::Arc;

use fallible_iterator::FallibleIterator;
use gimli::DwTag;
use gimli::constants as dw;

use super::{Collector, Described, Scope, raw_reference};
use crate::debug_info::{DebugInfo, Die, DieId, DieValue, LocationRange};
use crate::error::Result;
use crate::expr::{Encoding, operations};

/// The number of coverage groups: none, ten groups of ten percent each, and all.
pub(crate) const GROUPS: usize = 12;

/// The number of bytes in the scopes of variables, and the number of covered bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coverage {
    pub(crate) scope: u64,
    pub(crate) covered: u64,
    /// The bytes that are covered by locations that require an entry value from the caller.
    pub(crate) entry_values: u64,
}

impl Coverage {
    fn add(&mut self, other: Coverage) {
        self.scope = self.scope.saturating_add(other.scope);
        self.covered = self.covered.saturating_add(other.covered);
        self.entry_values = self.entry_values.saturating_add(other.entry_values);
    }
}

/// The number of variables in each coverage group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Groups {
    pub(crate) count: u64,
    pub(crate) all: [u64; GROUPS],
    /// The groups without locations that require an entry value from the caller.
    pub(crate) without_entry_values: [u64; GROUPS],
}

/// The groups of all variables, of parameters and of local variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variables {
    pub(crate) all: Groups,
    pub(crate) parameters: Groups,
    pub(crate) locals: Groups,
}

impl Groups {
    fn add(&mut self, coverage: Coverage) {
        self.count = self.count.saturating_add(1);
        let own = coverage.covered.saturating_sub(coverage.entry_values);
        for (groups, covered) in [
            (&mut self.all, coverage.covered),
            (&mut self.without_entry_values, own),
        ] {
            if let Some(group) = groups.get_mut(group_of(covered, coverage.scope)) {
                *group = group.saturating_add(1);
            }
        }
    }

    /// Counts a variable without a location. It does not count in the groups without entry values.
    fn add_missing(&mut self) {
        self.count = self.count.saturating_add(1);
        let [none, ..] = &mut self.all;
        *none = none.saturating_add(1);
    }
}

fn one_more(count: &mut u64) {
    *count = count.saturating_add(1);
}

/// Returns the group of a variable with `covered` bytes of its scope covered.
fn group_of(covered: u64, scope: u64) -> usize {
    if covered == 0 {
        return 0;
    }
    if covered >= scope {
        return GROUPS.saturating_sub(1);
    }
    let tenths = u128::from(covered).saturating_mul(10);
    let tenths = tenths.checked_div(scope.into()).unwrap_or(0);
    usize::try_from(tenths).unwrap_or(0).saturating_add(1)
}

impl Variables {
    fn add(&mut self, tag: DwTag, coverage: Coverage) {
        self.all.add(coverage);
        if let Some(own) = self.of(tag) {
            own.add(coverage);
        }
    }

    /// Counts the variables of an original that a copy lacks.
    pub(super) fn add_missing(&mut self, info: &DebugInfo<'_>, missing: &[DieId]) {
        for id in missing {
            self.all.add_missing();
            let found = original_variable(info, *id);
            if let Some(own) = found.and_then(|die| self.of(die.tag())) {
                own.add_missing();
            }
        }
    }

    fn of(&mut self, tag: DwTag) -> Option<&mut Groups> {
        match tag {
            dw::DW_TAG_formal_parameter => Some(&mut self.parameters),
            dw::DW_TAG_variable => Some(&mut self.locals),
            _ => None,
        }
    }
}

/// Returns the entry of a variable of an original, which may be in another unit than the copy.
pub(super) fn original_variable<'a>(info: &DebugInfo<'a>, id: DieId) -> Option<Die<'a>> {
    info.die(id).ok().or_else(|| {
        let other = info.die_at(".debug_info", id.offset);
        other.and_then(|id| info.die(id).ok())
    })
}

/// A variable of a function.
#[derive(Clone, Debug)]
pub(crate) struct CountedVariable {
    pub(in crate::coverage) die: DieId,
    /// The enclosing function with code.
    pub(in crate::coverage) function: DieId,
    /// The innermost enclosing inlined call.
    pub(in crate::coverage) call: Option<DieId>,
    pub(in crate::coverage) is_parameter: bool,
    /// True if it is an entry of an original without an entry in a copy of the function.
    pub(in crate::coverage) is_omitted: bool,
    /// The number of bytes of code in its scope.
    pub(in crate::coverage) scope: u64,
    /// The addresses of its scope; empty if the enclosing entry has no addresses.
    pub(in crate::coverage) addresses: Arc<[Range<u64>]>,
    /// The addresses at which it has a location, within its scope.
    pub(in crate::coverage) covered: Vec<Range<u64>>,
    /// True if it has a location or a value in its whole scope.
    pub(in crate::coverage) is_everywhere: bool,
}

/// The coverage of a variable's location.
#[derive(Clone, Default)]
struct Located {
    has_location: bool,
    bytes: u64,
    coverage: Coverage,
    /// True if the variable has a location in its whole scope.
    is_everywhere: bool,
    /// The addresses within the scope that a list covers, if variables are recorded.
    covered: Vec<Range<u64>>,
}

impl<'a> Collector<'_, 'a> {
    /// Counts an entry that is not a scope.
    ///
    /// * `scopes`: the enclosing scopes. A copy of a function among them records that it has the variable.
    pub(super) fn variable(
        &mut self,
        die: &Die<'a>,
        scope: &Scope,
        scopes: &mut [Scope],
    ) -> Result<()> {
        let tag = die.tag();
        let has = |name| die.attribute(name).is_some();
        let is_parameter = tag == dw::DW_TAG_formal_parameter;
        let is_local = tag == dw::DW_TAG_variable;
        let is_constant = tag == dw::DW_TAG_member && has(dw::DW_AT_const_value);
        self.call_site(tag);
        if !(is_parameter || is_local || is_constant) || (is_local && has(dw::DW_AT_declaration)) {
            return Ok(());
        }
        let found = |name| self.find(die, name).is_some();
        let has_source = found(dw::DW_AT_decl_file) && found(dw::DW_AT_decl_line);
        let has_type = found(dw::DW_AT_type);
        let mut is_counted_later = false;
        if let Some(origin) = raw_reference(die, dw::DW_AT_abstract_origin) {
            let has_location = has(dw::DW_AT_location) || has(dw::DW_AT_const_value);
            is_counted_later = !has_location;
            // Finds the nearest copy of a function. The scopes in between are its blocks.
            let copy = scopes.iter_mut().rev().find(|scope| !scope.is_block);
            if let Some(missing) = copy.and_then(|scope| scope.missing.as_mut()) {
                missing.see(origin, has_location, self.meter)?;
            }
        }
        let parent = scopes.last().map_or(&[][..], |scope| &scope.ranges);
        let mut located = self.located(die, scope.bytes, parent)?;
        if scope.bytes > 0 && !is_counted_later {
            self.found.variables.add(tag, located.coverage);
        }
        let named = match self.find_origin(die) {
            Some(origin) => origin,
            None => die.clone(),
        };
        let name = self.name_of(&named, &scope.prefix);
        self.meter.hold((name.len() as u64).saturating_add(64))?;
        let is_artificial = named.attribute(dw::DW_AT_artificial).is_some();
        let counts = &mut self.found.counts;
        counts.location_bytes = counts.location_bytes.saturating_add(located.bytes);
        if scope.bytes > 0 {
            counts.all.add(located.coverage);
            if is_parameter {
                counts.parameters.add(located.coverage);
            } else if is_local {
                counts.locals.add(located.coverage);
            }
        }
        if scope.bytes > 0 && !is_constant {
            self.keep_variable(die, scope, scopes, &mut located)?;
        }
        let function = self
            .found
            .functions
            .entry(scope.function.clone())
            .or_default();
        function.names.insert(name);
        if is_constant {
            one_more(&mut function.constant_members);
            return Ok(());
        }
        if located.has_location {
            one_more(&mut function.with_location);
        }
        if is_artificial {
            one_more(&mut function.artificial);
            return Ok(());
        }
        let described: &mut Described = match is_parameter {
            true => &mut function.parameters,
            false => &mut function.locals,
        };
        for (count, is_so) in [
            (&mut described.count, true),
            (&mut described.with_type, has_type),
            (&mut described.with_source, has_source),
            (&mut described.with_location, located.has_location),
        ] {
            if is_so {
                one_more(count);
            }
        }
        Ok(())
    }

    /// Records a variable of a function, if variables are recorded.
    fn keep_variable(
        &mut self,
        die: &Die<'a>,
        scope: &Scope,
        scopes: &[Scope],
        located: &mut Located,
    ) -> Result<()> {
        let Some(function) = scope.subprogram.filter(|_| self.keeps_variables) else {
            return Ok(());
        };
        self.meter.hold_all::<CountedVariable>(2)?;
        let addresses = scopes.last().map(|scope| Arc::clone(&scope.ranges));
        self.found.counted.push(CountedVariable {
            die: die.id(),
            function,
            call: scope.call,
            is_parameter: die.tag() == dw::DW_TAG_formal_parameter,
            is_omitted: false,
            scope: scope.bytes,
            addresses: addresses.unwrap_or_else(|| Arc::from([])),
            covered: core::mem::take(&mut located.covered),
            is_everywhere: located.is_everywhere,
        });
        Ok(())
    }

    fn call_site(&mut self, tag: DwTag) {
        match tag {
            dw::DW_TAG_call_site | dw::DW_TAG_GNU_call_site => {
                one_more(&mut self.found.counts.call_sites);
            }
            dw::DW_TAG_call_site_parameter | dw::DW_TAG_GNU_call_site_parameter => {
                one_more(&mut self.found.counts.call_site_parameters);
            }
            _ => {}
        }
    }

    fn find_origin(&self, die: &Die<'a>) -> Option<Die<'a>> {
        let origin = die.attribute(dw::DW_AT_abstract_origin)?;
        self.info.die(self.info.target(die, origin).ok()??).ok()
    }

    /// Measures the location of a variable in a scope with `scope` bytes of code.
    ///
    /// * `parent`: the addresses of the enclosing entry.
    fn located(&self, die: &Die<'a>, scope: u64, parent: &[Range<u64>]) -> Result<Located> {
        let everywhere = Located {
            has_location: true,
            bytes: scope,
            coverage: Coverage {
                scope,
                covered: scope,
                entry_values: 0,
            },
            is_everywhere: true,
            covered: Vec::new(),
        };
        let mut located = Located::default();
        located.coverage.scope = scope;
        if die.attribute(dw::DW_AT_const_value).is_some() {
            return Ok(everywhere);
        }
        let Some(attribute) = die.attribute(dw::DW_AT_location) else {
            return Ok(located);
        };
        let offset = match self.info.value(die, attribute) {
            Ok(DieValue::Expression(_) | DieValue::Block(_)) => return Ok(everywhere),
            Ok(DieValue::LocationList(offset)) => offset,
            Ok(_) | Err(_) => return Ok(located),
        };
        let list = self.info.location_list(die.id().unit, offset, self.meter);
        let Ok(mut list) = list else {
            return Ok(located);
        };
        located.has_location = true;
        loop {
            let entry = match list.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(located),
                Err(error) if error.is_limit() => return Err(error),
                Err(_) => {
                    let coverage = Coverage {
                        scope,
                        ..Coverage::default()
                    };
                    return Ok(Located {
                        coverage,
                        ..Located::default()
                    });
                }
            };
            let range = match entry.range {
                LocationRange::Bounded(range) => range,
                LocationRange::Default => return Ok(everywhere),
            };
            self.meter.work(parent.len() as u64)?;
            let common = parent.iter().map(|other| {
                let (start, end) = (range.start.max(other.start), range.end.min(other.end));
                start..end.max(start)
            });
            let sizes = common
                .clone()
                .map(|common| common.end.saturating_sub(common.start));
            let covered = sizes.fold(0, u64::saturating_add);
            if self.keeps_variables {
                self.meter.hold_all::<Range<u64>>(2)?;
                located.covered.extend(common.filter(|one| !one.is_empty()));
            }
            let size = range.end.saturating_sub(range.start);
            located.bytes = located.bytes.saturating_add(size);
            let coverage = &mut located.coverage;
            coverage.covered = coverage.covered.saturating_add(covered);
            if asks_the_caller(entry.expression.bytes, entry.expression.unit.encoding) {
                coverage.entry_values = coverage.entry_values.saturating_add(covered);
            }
        }
    }
}

/// Returns true if an expression uses the value of a register on entry to the function.
fn asks_the_caller(bytes: &[u8], encoding: Encoding) -> bool {
    let mut items = operations(bytes, encoding);
    while let Ok(Some(item)) = items.next() {
        let name = item.operation.opcode().row().name;
        if matches!(name, "DW_OP_entry_value" | "DW_OP_GNU_entry_value") {
            return true;
        }
    }
    false
}
