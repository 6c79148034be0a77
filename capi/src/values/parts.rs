//! Provides the parts of a value in a lane, which are values again.

use core::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use hetdwarf::display::Options;
use hetdwarf::tree::{Parts, Tree};

use super::content::{Content, Item, Values};
use super::{hetdwarf_values, lasting};
use crate::handle::{give, with};
use crate::plain;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::stop::lane_of;

impl Values {
    /// Returns the parts of a value in a lane.
    ///
    /// # Safety
    /// They must be dropped before the stop.
    unsafe fn parts(&self, index: usize, lane: u32, elements: Range<u64>) -> Answer<(Values, u64)> {
        let stop = self.stop();
        let lane = i32::try_from(lane).map_err(|_| Fault::argument("there is no such lane"))?;
        let lane = lane_of(lane, stop.stop().wave())?;
        let lane = lane.ok_or_else(|| Fault::argument("a lane is needed"))?;
        // SAFETY: the caller keeps the contract of this function.
        let tree = Tree::of_frame(unsafe { lasting(stop, self.level) }?)?;
        let options = Options::default();
        let item = self.item(index)?;
        let types = &mut *self.types().borrow_mut();
        let Parts { parts, more, .. } = match item {
            Item::Variable(value) => tree.of_variable(value, lane, types, elements, &options)?,
            Item::Part(part, own) if own == lane => {
                tree.of_part(part, types, elements, &options)?
            }
            Item::Part(..) => return Err(Values::not_read(lane.0)),
            Item::Expression(..) => {
                let answer = item.answer(lane).ok_or_else(|| Values::not_read(lane.0))?;
                match &answer.value {
                    Ok(bits) if answer.state().is_readable() => {
                        tree.of_bits(bits, answer.ty, lane, types, elements, &options)?
                    }
                    Ok(_) | Err(_) => Parts::default(),
                }
            }
        };
        let content = Content::Parts { parts, lane };
        let types = Rc::clone(self.types()).into();
        Ok((Values::new(content, types, self.level, stop), more))
    }

    pub(super) fn not_read(lane: u8) -> Fault {
        Fault::not_found(format!("the value was not read in lane {lane}"))
    }
}

/// Returns the parts of a value in a lane, as a debugger expands a variable: members and base classes, elements, the members of the present
/// variant, and the target of a pointer. A part is a value in that lane only, and can have parts itself.
///
/// * `index`: below the count of the values.
/// * `lane`: the lane.
/// * `first`, `most`: the elements to read of an array: the index of the first, counted from 0, and the maximum number.
/// * `parts`: gets the handle, which the caller frees; NULL on error. It is empty if the value has no parts, or no value in this lane. The
///   values may be freed first.
/// * `more`: gets the number of elements after these in the array; may be NULL.
///
/// If a part cannot be read, its state says so. The types of a damaged file may contain themselves, so the caller limits the depth.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such value, or if it was not read in this lane; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_parts(
    values: *const hetdwarf_values,
    index: usize,
    lane: u32,
    first: u64,
    most: u64,
    parts: *mut *mut hetdwarf_values,
    more: *mut u64,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function; `Values` owns the stop.
    guard(|| unsafe {
        with(values, |values, lock| {
            give(parts, || {
                let (parts, rest) = values.parts(index, lane, first..first.saturating_add(most))?;
                if !more.is_null() {
                    plain::put(more, rest, "more")?;
                }
                Ok((Arc::clone(lock), parts))
            })
        })
    })
}
