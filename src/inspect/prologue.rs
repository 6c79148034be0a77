//! Finds prologues: code that has not yet stored a function's variables to memory.
//!
//! A location that is an expression holds for the whole function, and gives the variable's place after the prologue. Location lists and registers are
//! correct at every instruction, and need no check. Sources: DWARF 5 §6.2.2 (`prologue_end`), §2.6.1, §2.6.2; `spec-notes/locations.md`.

use core::ops::Range;

use gimli::constants::{DW_OP_call_frame_cfa, DW_OP_fbreg, DwOp};

use super::stop::StopFrame;
use super::value::VariableValue;
use crate::arch::{AddressSpace, Lane};
use crate::debug_info::{Function, LineTable, Row, VariableKind};
use crate::error::Result;
use crate::eval::LocationAttribute;
use crate::location::{Location, Place, Storage};

impl StopFrame<'_, '_, '_> {
    /// Returns true if the function's prologue has not ended here: the location is before the first line row marked as its end. Without
    /// such a mark, the prologue ends at the second row, as in gdb, since the first row belongs to the line of the function. Without a readable line
    /// table ([`line_problems`](crate::debug_info::DebugInfo::line_problems)), no prologue is recognized.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn is_in_prologue(&self) -> Result<bool> {
        let Some(function) = self.function()? else {
            return Ok(false);
        };
        let info = self.stop().program().info();
        let Some(table) = info.lines_if_readable(function.die.unit)? else {
            return Ok(false);
        };
        let address = self.lookup_address();
        let end = entry_range(&function).and_then(|range| prologue_end(table, &range));
        let start = entry_range(&function).map(|range| range.start);
        Ok(start.is_some_and(|start| start <= address) && end.is_some_and(|end| address < end))
    }

    /// Returns true if a variable of this frame has a value in one of these lanes, in memory that the function's prologue writes. Before
    /// the end of the prologue ([`is_in_prologue`](StopFrame::is_in_prologue)), that memory may still have old contents.
    #[must_use]
    pub fn is_written_by_prologue(&self, value: &VariableValue<'_>, lanes: &[Lane]) -> bool {
        let variable = &value.variable;
        let Some(LocationAttribute::Expression(expression)) = variable.location else {
            return false;
        };
        let is_own = match variable.kind {
            VariableKind::Parameter | VariableKind::Variable => true,
            VariableKind::Constant | VariableKind::Global => false,
        };
        let first = expression.bytes.first().copied().map(DwOp);
        // GCC's stack is in global memory.
        let is_in_frame = [Some(DW_OP_fbreg), Some(DW_OP_call_frame_cfa)].contains(&first);
        let on_stack = |location: Location<'_>| {
            let is_memory = |place: &Place<'_>| matches!(place.storage, Storage::Memory { .. });
            let in_frame = is_in_frame && location.single().is_some_and(is_memory);
            in_frame || is_on_stack(&location)
        };
        let is_written = |lane: &Lane| {
            value.state(*lane).kind().is_readable() && value.location(*lane).is_some_and(on_stack)
        };
        is_own && lanes.iter().any(is_written)
    }
}

/// The maximum number of places examined, since composites can be nested.
const MOST_PLACES: usize = 64;

/// Returns true if part of a location is in memory that only this wave has. Variables in other memory keep their values after the call.
fn is_on_stack(location: &Location<'_>) -> bool {
    let mut waiting = location.places().to_vec();
    let mut left = MOST_PLACES;
    while let Some(place) = waiting.pop() {
        match &place.storage {
            Storage::Memory { space, .. } => {
                if matches!(space, AddressSpace::PrivateLane | AddressSpace::PrivateWave) {
                    return true;
                }
            }
            Storage::Composite(composite) => {
                let parts = composite.parts().take(left);
                for part in parts {
                    left -= 1;
                    waiting.extend(part.location.places().iter().take(left));
                }
            }
            Storage::Register(_)
            | Storage::Value { .. }
            | Storage::Constant(_)
            | Storage::ImplicitPointer(_)
            | Storage::Undefined => {}
        }
    }
    false
}

/// Returns the address range with the function's entry. If there are several ranges, calls go to the first.
pub(super) fn entry_range(function: &Function<'_>) -> Option<Range<u64>> {
    function.ranges.first().cloned()
}

/// Returns the end of the prologue of a function that starts with `range`, or `None` if the table has no rows for it.
pub(super) fn prologue_end(table: &LineTable<'_>, range: &Range<u64>) -> Option<u64> {
    let inside = |row: &Row| !row.end_sequence && range.contains(&row.address);
    let rows = || table.rows().filter(inside);
    let marked = rows().filter(|row| row.prologue_end).map(|row| row.address);
    let second = || {
        let later = rows().filter(|row| row.address > range.start && row.line != 0);
        later.map(|row| row.address).min()
    };
    // Without rows at its start, the function's first line is unknown too.
    rows().find(|row| row.address == range.start)?;
    marked.min().or_else(second)
}
