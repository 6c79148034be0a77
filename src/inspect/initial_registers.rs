//! Finds registers that still have their values from the start of the kernel.

use super::stop::StopFrame;
use crate::error::Result;
use crate::isa::MachineRegister;
use crate::object::descriptor::{InitialRegisters, RegisterFile};

impl StopFrame<'_, '_, '_> {
    /// Returns the registers that still have their values from the start of the kernel. No instruction that the wave may have executed
    /// since has written them.
    ///
    /// Returns none for a function that is not a kernel or whose machine code cannot be followed, for an inlined call, for a frame outside
    /// the innermost call frame, and for the frame of waiting lanes.
    ///
    /// # Errors
    /// If the debugging information is malformed, or a limit is reached.
    pub fn initial_registers(&self) -> Result<Vec<InitialRegisters>> {
        let is_inlined = !self.is_whole() && self.index() != self.call_index();
        if self.frame.level() != 0 || self.is_of_waiting_lanes() || is_inlined {
            return Ok(Vec::new());
        }
        let program = self.stop.program();
        let pc = self.frame.code_address();
        let descriptor = match self.function()? {
            // An OpenCL function has the name of the kernel that calls it.
            Some(function) => program
                .kernel_of(&function)
                .and_then(|kernel| kernel.descriptor.as_ref())
                .filter(|one| (function.ranges.iter()).any(|range| range.contains(&one.entry()))),
            // Without debugging information, the symbol of the code has the kernel's name.
            None => program.symbol_at(pc).and_then(|(name, distance)| {
                let descriptor = program.kernel_named(name)?.descriptor.as_ref();
                descriptor.filter(|one| pc.checked_sub(distance) == Some(one.entry()))
            }),
        };
        let Some(descriptor) = descriptor else {
            return Ok(Vec::new());
        };
        let mut all = descriptor.initial_registers();
        // The code before the second entry loads arguments into the same registers, if the hardware has not.
        let second = descriptor.preload_entry().filter(|entry| pc >= *entry);
        let entry = second.unwrap_or(descriptor.entry());
        let registers: Vec<MachineRegister> = all.iter().flat_map(machine_registers).collect();
        let written = program.lane_flow(self.wave_size()).may_have_written(
            [entry, pc],
            &registers,
            self.stop.meter(),
        )?;
        let mut next = 0_usize;
        all.retain(|one| {
            let first = next;
            next = first + machine_registers(one).count();
            let written = written.get(first..next);
            written.is_some_and(|written| written.iter().all(|is_written| !is_written))
        });
        Ok(all)
    }
}

/// Returns the machine registers of an item.
fn machine_registers(one: &InitialRegisters) -> impl Iterator<Item = MachineRegister> {
    let file = one.file;
    let numbers = one.first..one.first.saturating_add(one.count);
    numbers.filter_map(move |number| {
        Some(match file {
            RegisterFile::Scalar => MachineRegister::Sgpr(number.try_into().ok()?),
            RegisterFile::TrapTemporary => MachineRegister::Ttmp(number.try_into().ok()?),
            RegisterFile::Vector => MachineRegister::Vgpr(number),
        })
    })
}
