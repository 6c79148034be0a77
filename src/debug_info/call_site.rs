//! Reads call sites: the values that a caller passed, and their registers.
//!
//! Evaluating the values is left to `eval`. Sources: DWARF 5 §3.4; the spellings of gcc before DWARF 5.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use foldhash::HashMap;
use gimli::constants::*;
use gimli::{DwAt, DwTag};

use super::DebugInfo;
use super::die::Die;
use super::function::Function;
use super::id::DieId;
use super::value::DieValue;
use crate::arch::Register;
use crate::error::{Error, Result};
use crate::eval::{
    CallPlace, CallSite, ExpressionBytes, LocationAttribute, Subprogram, single_register,
};
use crate::meter::Held;
use crate::sync::lock;

/// A name in DWARF 5, and gcc's earlier name for it.
const SITES: [DwTag; 2] = [DW_TAG_call_site, DW_TAG_GNU_call_site];
const PARAMETERS: [DwTag; 2] = [DW_TAG_call_site_parameter, DW_TAG_GNU_call_site_parameter];
const VALUES: [DwAt; 2] = [DW_AT_call_value, DW_AT_GNU_call_site_value];
const ORIGINS: [DwAt; 2] = [DW_AT_call_origin, DW_AT_abstract_origin];
const RETURNS: [DwAt; 2] = [DW_AT_call_return_pc, DW_AT_low_pc];

/// The longest instruction of AMDGPU, in bytes.
const LONGEST_INSTRUCTION: u64 = 20;

/// The call sites of the functions read so far.
#[derive(Debug, Default)]
pub(super) struct KnownCallSites<'a> {
    by_function: Mutex<HashMap<DieId, Result<Arc<CallSites<'a>>>>>,
}

/// The call sites of a function that return. If several share an address, the first is kept.
#[derive(Debug)]
struct CallSites<'a> {
    /// The function.
    subprogram: Subprogram<'a>,
    /// The sites by return address.
    returning: BTreeMap<u64, DieId>,
    /// The sites without a return address, by the address of the call instruction.
    calling: BTreeMap<u64, DieId>,
    /// The values of registers on entry to the callee of a site.
    values: HashMap<(DieId, Register), ExpressionBytes<'a>>,
    /// The reason why some parameters of a site could not be read. The parameters before these are in `values`.
    unread: HashMap<DieId, Error>,
    /// The reason why the entries of the function could not be read to the end.
    error: Option<Error>,
    /// True for each requested pair of site and function if the site calls another function.
    other_callees: Mutex<HashMap<(DieId, DieId), Result<bool>>>,
    held: Held,
}

impl CallSites<'_> {
    /// Returns the site whose call instruction contains an address: the site that returns right after it, or the nearest one with a call address.
    fn at(&self, address: u64) -> Option<DieId> {
        let returning = address
            .checked_add(1)
            .and_then(|after| self.returning.get(&after));
        let first = address.saturating_sub(LONGEST_INSTRUCTION - 1);
        let calling = || self.calling.range(first..=address).next_back();
        returning
            .or_else(|| calling().map(|(_, site)| site))
            .copied()
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns the value that a call site gives for `register` on entry to the callee.
    pub(super) fn call_site_value(
        &self,
        register: Register,
        call: CallPlace,
    ) -> Result<CallSite<'a>> {
        let CallPlace { callee, address } = call;
        let Some(caller) = self.function_entry(address)? else {
            return Ok(CallSite::Unknown);
        };
        let sites = self.call_sites_of(caller.id, address)?;
        let Some(site) = sites.at(address) else {
            return sites.error.clone().map_or(Ok(CallSite::Unknown), Err);
        };
        if let Some(callee) = self.function_entry(callee)?
            && self.calls_another(&sites, site, callee.id)?
        {
            return Ok(CallSite::OtherFunction);
        }
        match (sites.values.get(&(site, register)), sites.unread.get(&site)) {
            (Some(value), _) => Ok(CallSite::Value {
                value: *value,
                subprogram: sites.subprogram,
            }),
            (None, Some(error)) => Err(error.clone()),
            // The parameter may be in the part that could not be read.
            (None, None) => sites.error.clone().map_or(Ok(CallSite::Unknown), Err),
        }
    }

    /// Returns the call sites of the function at `function`, which contains `address`. They are read once.
    fn call_sites_of(&self, function: DieId, address: u64) -> Result<Arc<CallSites<'a>>> {
        let known = || lock(&self.call_sites.by_function);
        if let Some(sites) = known().get(&function) {
            return sites.clone();
        }
        let sites = self.all_call_sites(function, address);
        if !is_limit(&sites) {
            known().insert(function, sites.clone());
        }
        sites
    }

    fn all_call_sites(&self, function: DieId, address: u64) -> Result<Arc<CallSites<'a>>> {
        let caller = self.find_function(address)?;
        let mut sites = CallSites {
            subprogram: caller
                .as_ref()
                .map(Function::subprogram)
                .unwrap_or_default(),
            returning: BTreeMap::new(),
            calling: BTreeMap::new(),
            values: HashMap::default(),
            unread: HashMap::default(),
            error: None,
            other_callees: Mutex::default(),
            held: Held::new(Arc::clone(self.meter())),
        };
        match self.read_call_sites(function, &mut sites) {
            Err(error) if error.is_limit() => return Err(error),
            read => sites.error = read.err(),
        }
        Ok(Arc::new(sites))
    }

    fn read_call_sites(&self, function: DieId, sites: &mut CallSites<'a>) -> Result<()> {
        sites.held.hold_all::<CallSites<'a>>(1)?;
        let mut walk = self.walk(function)?;
        // The site that contains the last entries, and its depth.
        let mut within: Option<(DieId, isize)> = None;
        while let Some(entry) = walk.next_entry()? {
            self.meter().work(1)?;
            let (tag, depth) = (entry.tag(), entry.depth());
            within = within.filter(|(_, above)| depth > *above);
            if SITES.contains(&tag) {
                let site = walk.die();
                sites.held.hold_all::<(u64, DieId)>(1)?;
                within = self.keep_site(&site, sites).then(|| (site.id(), depth));
            } else if let Some((site, _)) = within
                && PARAMETERS.contains(&tag)
                && !sites.unread.contains_key(&site)
            {
                let size = size_of::<((DieId, Register), ExpressionBytes<'a>)>();
                sites.held.hold(size as u64)?;
                match self.parameter(&walk.die()) {
                    Ok(Some((register, value))) => {
                        sites.values.entry((site, register)).or_insert(value);
                    }
                    Ok(None) => {}
                    Err(error) => {
                        sites.unread.insert(site, error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Stores a call site by its address. Returns false for a tail call, and for a site without an address.
    fn keep_site(&self, die: &Die<'a>, sites: &mut CallSites<'a>) -> bool {
        if is_tail_call(die) {
            return false;
        }
        let mut names = RETURNS.iter();
        let returns = names.find_map(|name| self.address_of(die, *name));
        let (found, address) = match (returns, self.address_of(die, DW_AT_call_pc)) {
            (Some(returns), _) => (&mut sites.returning, returns),
            (None, Some(call)) => (&mut sites.calling, call),
            (None, None) => return false,
        };
        let id = die.id();
        found.entry(address).or_insert(id) == &id
    }

    /// Returns the register in which a call site passes a parameter, and its value. Returns `None` if the parameter is not in a register, or has no
    /// value.
    fn parameter(&self, die: &Die<'a>) -> Result<Option<(Register, ExpressionBytes<'a>)>> {
        let place = self.expression_of(die, DW_AT_location)?;
        let Some(register) = place.and_then(|place| single_register(&place)) else {
            return Ok(None);
        };
        for name in VALUES {
            if let Some(value) = self.expression_of(die, name)? {
                return Ok(Some((register, value)));
            }
        }
        Ok(None)
    }

    /// Returns true if a call site names a function other than `callee`. The result is kept.
    fn calls_another(&self, sites: &CallSites<'a>, site: DieId, callee: DieId) -> Result<bool> {
        let known = || lock(&sites.other_callees);
        if let Some(answer) = known().get(&(site, callee)) {
            return answer.clone();
        }
        sites.held.hold_all::<((DieId, DieId), Result<bool>)>(1)?;
        let answer = self.names_another(site, callee);
        if !is_limit(&answer) {
            known().insert((site, callee), answer.clone());
        }
        answer
    }

    fn names_another(&self, site: DieId, callee: DieId) -> Result<bool> {
        let site = self.die(site)?;
        let origin = ORIGINS.iter().find_map(|name| site.attribute(*name));
        let Some(origin) = origin else {
            return Ok(false);
        };
        let Some(target) = self.target(&site, origin)? else {
            return Ok(false);
        };
        let (named, own) = (self.chain(self.die(target)?), self.chain(self.die(callee)?));
        if named
            .entries()
            .any(|one| own.entries().any(|other| one.id() == other.id()))
        {
            return Ok(false);
        }
        // A declaration and a definition may share nothing but the linkage name.
        let read = |name: Option<Cow<'a, str>>| {
            self.meter()
                .charge_bytes(name.as_deref().unwrap_or_default().len())?;
            Ok::<_, Error>(name)
        };
        let linkage_name = |chain| read(self.linkage_name(chain));
        let plain_name = |chain| read(self.chain_string(chain, DW_AT_name));
        let same_name = match (linkage_name(&named)?, linkage_name(&own)?) {
            (Some(named), Some(own)) => named == own,
            (None, None) => plain_name(&named)? == plain_name(&own)?,
            (Some(named), None) => Some(named) == plain_name(&own)?,
            (None, Some(_)) => false,
        };
        Ok(!same_name)
    }

    fn address_of(&self, die: &Die<'a>, name: DwAt) -> Option<u64> {
        match self.value(die, die.attribute(name)?) {
            Ok(DieValue::Address(address)) => Some(address),
            _ => None,
        }
    }

    fn expression_of(&self, die: &Die<'a>, name: DwAt) -> Result<Option<ExpressionBytes<'a>>> {
        let Some(attribute) = die.attribute(name) else {
            return Ok(None);
        };
        Ok(match self.location(die, attribute)? {
            Some(LocationAttribute::Expression(expression)) => Some(expression),
            Some(LocationAttribute::List { .. }) | None => None,
        })
    }
}

/// Errors from limits are not kept, since another query may stay within the limit.
fn is_limit<T>(result: &Result<T>) -> bool {
    result.as_ref().is_err_and(Error::is_limit)
}

fn is_tail_call(site: &Die<'_>) -> bool {
    site.flag(DW_AT_call_tail_call) || site.flag(DW_AT_GNU_tail_call)
}

#[cfg(test)]
mod tests {
    use crate::debug_info::tests::{load, sections};

    /// Every entry of a function is searched for call sites, and charged.
    #[test]
    fn the_entries_of_a_function_are_paid_for() {
        let sections = sections("inlined-gfx942-O2.hsaco");
        let info = load(&sections);
        let mut most = 0;
        for unit in info.unit_ids() {
            for function in info.functions(unit).unwrap() {
                let Some(range) = function.ranges.first() else {
                    continue;
                };
                let mut walk = info.walk(function.die).unwrap();
                let mut entries = 0;
                while walk.next_entry().unwrap().is_some() {
                    entries += 1;
                }
                // The index that finds the function is kept.
                info.find_function(range.start).unwrap();
                let before = info.meter().steps();
                info.all_call_sites(function.die, range.start).unwrap();
                let steps = info.meter().steps() - before;
                assert!(steps >= entries, "{steps} steps for {entries} entries");
                most = entries.max(most);
            }
        }
        assert!(most > 10, "{most}");
    }
}
