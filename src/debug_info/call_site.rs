//! Call sites: what a caller put where on a call.
//!
//! Evaluating it is left to `eval`. Sources: DWARF 5 §3.4; the spellings of gcc before DWARF 5.

use gimli::constants::*;
use gimli::{DwAt, DwTag};

use super::DebugInfo;
use super::die::Die;
use super::function::{Function, Iterations};
use super::id::DieId;
use super::value::DieValue;
use crate::arch::Register;
use crate::error::Result;
use crate::eval::{CallSite, ExpressionBytes, LocationAttribute, Subprogram, single_register};

/// A name in DWARF 5, and gcc's from before.
const SITES: [DwTag; 2] = [DW_TAG_call_site, DW_TAG_GNU_call_site];
const PARAMETERS: [DwTag; 2] = [DW_TAG_call_site_parameter, DW_TAG_GNU_call_site_parameter];
const VALUES: [DwAt; 2] = [DW_AT_call_value, DW_AT_GNU_call_site_value];
const ORIGINS: [DwAt; 2] = [DW_AT_call_origin, DW_AT_abstract_origin];
const RETURNS: [DwAt; 2] = [DW_AT_call_return_pc, DW_AT_low_pc];

/// The longest instruction of AMDGPU, in bytes.
const LONGEST_INSTRUCTION: u64 = 20;

impl<'a> DebugInfo<'a> {
    /// What the call site at `address`, which is within the call instruction, says of `register` on entry to the
    /// function at `callee`.
    pub(super) fn call_site_value(
        &self,
        register: Register,
        (callee, address): (u64, u64),
        spend: &mut dyn FnMut(u32) -> Result<()>,
    ) -> Result<CallSite<'a>> {
        let Some(caller) = self.find_function(address)? else {
            return Ok(CallSite::Unknown);
        };
        let Some(site) = self.call_site_at(caller.die, address, spend)? else {
            return Ok(CallSite::Unknown);
        };
        if self.calls_another(&site, callee)? {
            return Ok(CallSite::OtherFunction);
        }
        let mut walk = self.walk(site.id())?;
        while let Some(entry) = walk.next_entry()? {
            spend(1)?;
            if !PARAMETERS.contains(&entry.tag()) {
                continue;
            }
            let parameter = walk.die();
            let Some(place) = self.expression_of(&parameter, DW_AT_location)? else {
                continue;
            };
            if single_register(&place) != Some(register) {
                continue;
            }
            for name in VALUES {
                if let Some(value) = self.expression_of(&parameter, name)? {
                    let subprogram = subprogram(&caller);
                    return Ok(CallSite::Value { value, subprogram });
                }
            }
        }
        Ok(CallSite::Unknown)
    }

    /// The call site in a function whose call instruction contains an address.
    fn call_site_at(
        &self,
        function: DieId,
        address: u64,
        spend: &mut dyn FnMut(u32) -> Result<()>,
    ) -> Result<Option<Die<'a>>> {
        let after = address.checked_add(1);
        let mut walk = self.walk(function)?;
        while let Some(entry) = walk.next_entry()? {
            spend(1)?;
            if !SITES.contains(&entry.tag()) {
                continue;
            }
            let site = walk.die();
            let returns = RETURNS
                .iter()
                .find_map(|name| self.address_of(&site, *name));
            let is_here = match (returns, self.address_of(&site, DW_AT_call_pc)) {
                (Some(returns), _) => Some(returns) == after,
                (None, Some(call)) => address
                    .checked_sub(call)
                    .is_some_and(|within| within < LONGEST_INSTRUCTION),
                (None, None) => false,
            };
            if is_here && !is_tail_call(&site) {
                return Ok(Some(site));
            }
        }
        Ok(None)
    }

    /// Whether a call site names a function that is not the one at `callee`.
    fn calls_another(&self, site: &Die<'a>, callee: u64) -> Result<bool> {
        let origin = ORIGINS.iter().find_map(|name| site.attribute(*name));
        let Some(origin) = origin else {
            return Ok(false);
        };
        let (Some(target), Some(callee)) =
            (self.target(site, origin)?, self.find_function(callee)?)
        else {
            return Ok(false);
        };
        let entries = |id| -> Result<Vec<DieId>> {
            Ok(self.chain(self.die(id)?).entries().map(Die::id).collect())
        };
        let (named, own) = (entries(target)?, entries(callee.die)?);
        // A declaration and a definition may have nothing in common but the name for the linker.
        let name = |id| -> Result<Option<_>> { Ok(self.linkage_name(&self.chain(self.die(id)?))) };
        let same_name = match (name(target)?, callee.linkage_name) {
            (Some(named), Some(own)) => named == own,
            (None, None) => {
                let named = self.chain(self.die(target)?);
                self.chain_string(&named, DW_AT_name) == callee.name
            }
            (Some(named), None) => Some(named) == callee.name,
            (None, Some(_)) => false,
        };
        Ok(!same_name && !named.iter().any(|id| own.contains(id)))
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

fn is_tail_call(site: &Die<'_>) -> bool {
    site.flag(DW_AT_call_tail_call) || site.flag(DW_AT_GNU_tail_call)
}

/// What expressions in a function refer to.
fn subprogram<'a>(function: &Function<'a>) -> Subprogram<'a> {
    Subprogram {
        frame_base: function.frame_base,
        lanes: function.simt.lanes,
        iterations: match function.simt.iterations {
            Some(Iterations::Constant(count)) => Some(count),
            Some(Iterations::Location(_)) | None => None,
        },
    }
}
