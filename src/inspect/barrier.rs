//! Finds waves that wait at a barrier, and loops that contain a wave.

use core::ops::Range;

use super::stop::Stop;
use crate::arch::{CodeAddress, ProcessAddress};
use crate::isa::{Effect, Instruction};

/// The maximum number of frames searched for a loop.
const MOST_FRAMES: usize = 16;

impl Stop<'_, '_> {
    /// Returns the barrier at which the wave waits: it stopped after an `s_barrier`, or at or after an `s_barrier_wait`.
    #[must_use]
    pub fn barrier(&self) -> Option<ProcessAddress> {
        let frame = self.call_frame(0)?;
        let address = frame.code_address();
        let flow = self.program().lane_flow(self.wave().wave_size());
        let (function, index) = flow.function_at(address, self.meter())?;
        let instructions = &function.code().instructions;
        let is_named = |one: &&Instruction, names: &[&str]| {
            let name = one.mnemonic;
            name.is_some_and(|name| names.iter().any(|wanted| name == *wanted))
        };
        let before = index.checked_sub(1).and_then(|n| instructions.get(n));
        let before = before.filter(|one| is_named(one, &["s_barrier", "s_barrier_wait"]));
        let here = instructions.get(index);
        let here = here.filter(|one| is_named(one, &["s_barrier_wait"]));
        let found = here.or(before)?.address;
        let load_address = self.options().load_address;
        Some(load_address.to_process(CodeAddress(found)))
    }

    /// Returns the addresses of the innermost loop around the wave, from the first instruction to the end of the last. The loop may be in the wave's
    /// function or in a caller. A jump back closes a loop around an instruction only if control can reach each of the two from the other: compilers
    /// also jump back to code that they have placed before.
    #[must_use]
    pub fn innermost_loop(&self) -> Option<Range<ProcessAddress>> {
        let flow = self.program().lane_flow(self.wave().wave_size());
        let load_address = self.options().load_address;
        let frames = self.call_frames().take(MOST_FRAMES);
        let addresses = frames.map(|frame| frame.call_frame().lookup_address());
        let mut loops = addresses.filter_map(|address| {
            // A return address is looked up inside the call, which is not the start of an instruction.
            let starts = [address, address & !3];
            let mut found = starts
                .into_iter()
                .filter_map(|start| flow.function_at(start, self.meter()));
            let (function, index) = found.next()?;
            let code = function.code();
            let jumps = code.jumps().filter_map(|jump| {
                let Effect::Branch { target, .. } = jump.effect else {
                    return None;
                };
                Some((jump.address, target..jump.end()))
            });
            let around = jumps.filter(|(_, range)| range.contains(&address));
            let loops = around.filter(|(jump, range)| {
                let ends = [*jump, range.start].map(|address| code.index_of(address));
                ends.into_iter()
                    .all(|end| end.is_some_and(|end| code.reach_each_other(end, index)))
            });
            loops
                .map(|(_, range)| range)
                .min_by_key(|range| range.end.saturating_sub(range.start))
        });
        let Range { start, end } = loops.next()?;
        let process = |address: u64| load_address.to_process(CodeAddress(address));
        Some(process(start)..process(end))
    }
}
