//! Compares the code of a function in two versions.

use super::super::FunctionCoverage;
use super::Version;
use crate::error::Result;
use crate::meter::BYTES_PER_STEP;

/// The maximum number of instructions between `s_getpc_b64` and the addition of a distance.
const NEAR: usize = 8;

/// The instructions that add such distances.
const ADDS: [&str; 6] = [
    "s_add_u32",
    "s_addc_u32",
    "s_add_co_u32",
    "s_add_co_ci_u32",
    "s_add_nc_u64",
    "s_add_u64",
];

/// Returns true if the code of a function is equal, except for distances to other sections that it adds to the program counter.
pub(super) fn is_same(
    (old, before): (&Version<'_, '_>, &FunctionCoverage),
    (new, after): (&Version<'_, '_>, &FunctionCoverage),
) -> Result<bool> {
    let (Some(one), Some(other)) = (old.code_of(before), new.code_of(after)) else {
        return Ok(false);
    };
    old.meter.work(one.len() as u64 / BYTES_PER_STEP)?;
    if one.len() != other.len() || old.program.processor().name() != new.program.processor().name()
    {
        return Ok(false);
    }
    if one == other {
        return Ok(true);
    }
    Ok(old.without_distances(one)? == new.without_distances(other)?)
}

impl<'a> Version<'_, 'a> {
    /// Returns the code of a function.
    pub(super) fn code_of(&self, function: &FunctionCoverage) -> Option<&'a [u8]> {
        let size = usize::try_from(function.size).ok()?;
        let image = self.program.object().read_image(function.address, size);
        image.filter(|code| !code.is_empty())
    }

    /// Returns the bytes of code, with 0 in place of distances that are added to the program counter. An undecodable part stays unchanged.
    fn without_distances(&self, code: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = code.to_vec();
        self.meter.hold(bytes.len() as u64)?;
        let Some(decoder) = &self.decoder else {
            return Ok(bytes);
        };
        let mut at = 0_usize;
        let mut near = 0_usize;
        while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
            self.meter.work(1)?;
            let Ok(instruction) = decoder.decode(rest, at as u64) else {
                break;
            };
            let end = at.saturating_add(instruction.length.into());
            let is_one = |name: &str| instruction.mnemonic.is_some_and(|one| one == *name);
            if is_one("s_getpc_b64") || is_one("s_get_pc_i64") {
                near = NEAR;
            } else if near > 0 {
                near = near.saturating_sub(1);
                // The literal follows the instruction word.
                if ADDS.iter().any(|name| is_one(name))
                    && let Some(literal) = bytes.get_mut(at.saturating_add(4)..end)
                {
                    literal.fill(0);
                }
            }
            at = end;
        }
        Ok(bytes)
    }
}
