//! Finds the element of an argument's buffer that contains an address, and the variables that hold its index.
//!
//! The result is only arithmetic. It does not prove that the access was computed from the argument.

use core::fmt;

use serde::Serialize;

use crate::arch::{Lane, ProcessAddress};
use crate::debug_info::types::{TypeId, TypeKind, TypeTable};
use crate::display::Options;
use crate::eval::BaseTypeEncoding;
use crate::inspect::{PointerArgument, Stop, ValueState};
use crate::untrusted::Untrusted;

/// The maximum number of variables that are named.
const MOST_VARIABLES: usize = 2;

/// The element of an argument's buffer that contains an address.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ElementDocument {
    /// The index, counted from the address in the argument; negative before that address.
    pub index: i64,
    /// The maximum number of elements that fit between the argument's address and the end of the mapping.
    pub most_elements: Option<u64>,
    /// The integers of the source that have this index in the lane at fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Untrusted<'static>>,
    #[serde(skip)]
    argument: PointerArgument,
    /// True if one of the variables has the number of the element in each lane at fault.
    #[serde(skip)]
    is_index_of_all: bool,
}

impl ElementDocument {
    /// Returns the element that contains an address. Returns None if the size of an element is not known.
    pub(super) fn new(argument: &PointerArgument, address: u64) -> Option<ElementDocument> {
        Some(ElementDocument {
            index: i64::try_from(argument.index_of(address)?).ok()?,
            most_elements: argument.most_elements(),
            variables: Vec::new(),
            argument: argument.clone(),
            is_index_of_all: false,
        })
    }

    /// Returns true if a variable of the source has the number of the element in each lane at fault, so that the access is to this buffer.
    pub(super) fn is_index_of_all(&self) -> bool {
        self.is_index_of_all
    }

    /// Adds the variables that have this index, from the function that contains the access. Variables that were optimised away are not found, nor are
    /// variables of a function that has returned since.
    ///
    /// * `lanes`: the lanes at fault with their addresses. The first one accessed this element.
    pub(super) fn add_variables(
        &mut self,
        stop: &Stop<'_, '_>,
        access: ProcessAddress,
        lanes: &[(Lane, u64)],
    ) {
        let element = |(lane, address): &(Lane, u64)| {
            Some((*lane, self.argument.index_of(*address)?.to_string()))
        };
        let Some(elements) = lanes.iter().map(element).collect::<Option<Vec<_>>>() else {
            return;
        };
        let Some((lane, wanted)) = elements.first() else {
            return;
        };
        let code = stop.options().load_address.checked_to_code(access);
        let has_access = |ranges: &[core::ops::Range<u64>]| {
            code.is_some_and(|code| ranges.iter().any(|range| range.contains(&code.0)))
        };
        let frame = stop.call_frames().find(|frame| {
            let function = frame.function().ok().flatten();
            function.is_some_and(|function| has_access(&function.ranges))
        });
        let Some(frame) = frame else { return };
        let mut types = TypeTable::default();
        let Ok((variables, _)) = frame.variables_and_limit(&mut types) else {
            return;
        };
        for value in variables {
            if self.variables.len() == MOST_VARIABLES {
                break;
            }
            let Some(name) = value.variable.name.as_ref() else {
                continue;
            };
            if value.state(*lane) != ValueState::Ok || !is_integer(&types, value.ty) {
                continue;
            }
            let has = |lane: Lane, wanted: &String| {
                value.state(lane) == ValueState::Ok
                    && value.text(lane, &types, &Options::default()).as_ref() == Some(wanted)
            };
            let name = Untrusted::from(name.clone().into_owned());
            if has(*lane, wanted) && !self.variables.contains(&name) {
                self.variables.push(name);
                self.is_index_of_all |= elements.iter().all(|(lane, wanted)| has(*lane, wanted));
            }
        }
    }
}

/// Returns true for an integer type, including a typedef or a qualified type.
fn is_integer(types: &TypeTable, ty: TypeId) -> bool {
    let TypeKind::Base(base) = &types.resolved(ty).kind else {
        return false;
    };
    matches!(
        base.encoding,
        BaseTypeEncoding::Signed | BaseTypeEncoding::Unsigned
    )
}

impl fmt::Display for ElementDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "element {}", self.index)?;
        if let Some(most) = self.most_elements {
            write!(f, " of at most {most}")?;
        }
        for (number, variable) in self.variables.iter().enumerate() {
            let before = if number == 0 { " (" } else { ", " };
            write!(f, "{before}{variable} = {}", self.index)?;
        }
        match self.variables.is_empty() {
            true => Ok(()),
            false => f.write_str(")"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu_core::{GpuCore, Process};
    use crate::inspect::Programs;
    use crate::limits::Limits;
    use crate::location::Arena;

    /// Uses `leaf` of wave 3 of the demo. The emulator that made the demo gave `x` the values 99 in lane 3 and -3 in lane 1, and `a` the number of
    /// the lane. The 1000 bytes from address 64 on hold 234 elements of 4 bytes.
    #[test]
    fn variables_with_the_index_are_named() {
        let file = include_bytes!("../../../examples/demo/demo.core");
        let core = GpuCore::open(&[file], &Limits::DEFAULT).unwrap();
        let images = core.images();
        let process = Process::open(&core, &images);
        let programs = Programs::new(&process);
        let wave = core.wave(2).unwrap();
        let arena = Arena::new();
        let stop = programs.stop(&wave, &arena).unwrap();
        let argument = PointerArgument {
            name: None,
            position: 0,
            value: 64,
            range: Some(0..1000),
            element_size: Some(4),
        };
        let pc = stop.call_frame(0).unwrap().pc();
        let found = |lanes: &[(u64, u8)]| {
            let (address, _) = lanes[0];
            let mut element = ElementDocument::new(&argument, address).unwrap();
            let lanes = lanes.iter().map(|(address, lane)| (Lane(*lane), *address));
            let lanes: Vec<(Lane, u64)> = lanes.collect();
            element.add_variables(&stop, pc, &lanes);
            element
        };
        let text = |address: u64, lane: u8| found(&[(address, lane)]).to_string();
        assert_eq!(text(64 + 99 * 4, 3), "element 99 of at most 234 (x = 99)");
        assert_eq!(text(64 - 3 * 4, 1), "element -3 of at most 234 (x = -3)");
        assert_eq!(text(64 + 3 * 4, 3), "element 3 of at most 234 (a = 3)");
        // Lane 2 is not in this function.
        assert_eq!(text(64 + 2 * 4, 2), "element 2 of at most 234");
        // The last byte of element -1.
        assert_eq!(text(63, 3), "element -1 of at most 234");
        // A variable is the index only if it has the number of the element in all lanes.
        let (first, second) = ((64 + 99 * 4, 3), (64 - 3 * 4, 1));
        assert!(found(&[first]).is_index_of_all() && found(&[first, second]).is_index_of_all());
        assert!(!found(&[first, (64, 1)]).is_index_of_all());
        assert!(!found(&[(63, 3)]).is_index_of_all());
    }
}
