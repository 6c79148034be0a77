//! Finds the registers that the wave may have written on its way from one instruction of a function to another.
//!
//! Unlike in `changed`, all lanes count: a vector register is written if any lane of it is.

use std::sync::Arc;

use super::between::Between;
use super::fuel::pay;
use super::stop::LaneFlow;
use crate::error::Result;
use crate::isa::{Effect, MachineRegister};
use crate::machine_flow::Code;
use crate::meter::Meter;

impl LaneFlow<'_> {
    /// Returns, for each register, true if the wave may have written it on the way from `from` to `to`. Both are addresses of instructions
    /// of one function in the code object that have not been executed yet.
    ///
    /// All registers may be written if the function cannot be followed.
    ///
    /// # Errors
    /// If the budget is exceeded.
    pub(crate) fn may_have_written(
        &self,
        [from, to]: [u64; 2],
        registers: &[MachineRegister],
        meter: &Meter,
    ) -> Result<Vec<bool>> {
        let found = [from, to].map(|pc| self.find(pc, false, meter));
        let [Ok(from), Ok(to)] = found else {
            return Ok(vec![true; registers.len()]);
        };
        if !Arc::ptr_eq(&from.flow, &to.flow) {
            return Ok(vec![true; registers.len()]);
        }
        pay(meter, from.flow.cost_of_changes())?;
        let code = from.flow.code();
        let between = Between::new(code, from.index, to.index);
        let may_write = |register: &MachineRegister| {
            between.is_unknown
                || (between.instructions.iter()).any(|index| self.writes(code, *index, *register))
        };
        Ok(registers.iter().map(may_write).collect())
    }

    /// Returns true if an instruction may write a register. A call may write it if the callee may.
    fn writes(&self, code: &Code, index: usize, register: MachineRegister) -> bool {
        let Some(instruction) = code.instructions.get(index) else {
            return true;
        };
        if instruction.writes.is_indirect() || instruction.writes.contains(register) {
            return true;
        }
        // Only trap handlers can write trap temporaries.
        if matches!(register, MachineRegister::Ttmp(_)) {
            return false;
        }
        if let Effect::Call { .. } = instruction.effect {
            let callee = code.callee(index);
            let writes = callee.and_then(|callee| self.callees.writes(callee));
            return writes.is_none_or(|writes| writes.contains(register));
        }
        // The registers that the next instructions write depend on M0.
        instruction.effect == Effect::GprIndex
    }
}
