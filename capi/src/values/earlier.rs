//! Describes values that the debugging information does not give: their sources, and the time at which the variables had them.

use core::ffi::c_char;

use hetdwarf::inspect::RecoveredFrom;
use hetdwarf::report::RecoveredDocument;

use super::content::Values;
use super::hetdwarf_values;
use crate::handle::with;
use crate::plain::{self, sized};
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::stop::lane_of;

/// A value in a lane that the debugging information does not give. The variable may have changed since. Strings belong to the values, and
/// are NULL if absent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_earlier {
    /// `sizeof(hetdwarf_earlier)`, set by the caller.
    pub size: usize,
    /// `HETDWARF_LANE_ENTRY` or `HETDWARF_LANE_LAST_KNOWN`.
    pub state: u32,
    /// Zero.
    pub padding: u32,
    /// The source of the value: `kernarg`, `call-site`, `register`, `slot` or `computed`.
    pub origin: *const c_char,
    /// The time at which the variable had the value, as text: `at entry`, `as of line 12` or, without a line, `as of 0x1a40`.
    pub text: *const c_char,
    /// The address in the process at which the debugging information last gave the value. 0 for a value on entry.
    pub pc: u64,
    /// The path of the source file there.
    pub path: *const c_char,
    /// The line there; 0 if it is not known.
    pub line: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_earlier }

impl Values {
    fn earlier(&self, index: usize, lane: u32) -> Answer<hetdwarf_earlier> {
        let item = self.item(index)?;
        let stop = self.stop().stop();
        let number = i32::try_from(lane).unwrap_or(i32::MAX);
        let lane = lane_of(number, stop.wave())?;
        let value = lane.and_then(|lane| self.lane(item, lane, false));
        let recovered = value.as_ref().and_then(|value| value.recovered);
        let none = || Fault::not_found(format!("lane {number} has no earlier value"));
        let (value, recovered) = value.zip(recovered).ok_or_else(none)?;
        let document = RecoveredDocument::new(&recovered, stop);
        let as_of = document.as_of.as_ref();
        let path = as_of.and_then(|place| place.file.as_ref());
        Ok(hetdwarf_earlier {
            size: 0,
            state: value.state.into(),
            padding: 0,
            origin: self.texts.keep(RecoveredFrom::name(document.from)),
            text: self.texts.keep(&document.to_string()),
            pc: recovered.as_of.map_or(0, |pc| pc.0),
            path: self.texts.keep_if(path.map(|path| path.raw())),
            line: as_of.and_then(|place| place.line).unwrap_or(0),
            reserved: [0; 4],
        })
    }
}

/// Describes a value in a lane that the debugging information does not give: its source, and the time at which the variable had it.
///
/// * `index`: below the count.
/// * `lane`: the lane.
/// * `earlier`: its `size` is set; the rest is written.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such value, if the state of the lane is neither `HETDWARF_LANE_ENTRY` nor
/// `HETDWARF_LANE_LAST_KNOWN`, or if the value is a part: query the value that contains it. `HETDWARF_INVALID_ARGUMENT` if there is no such
/// lane.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_earlier(
    values: *const hetdwarf_values,
    index: usize,
    lane: u32,
    earlier: *mut hetdwarf_earlier,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(values, |values, _| {
            plain::size_at(earlier)?;
            plain::write(earlier, &values.earlier(index, lane)?)
        })
    })
}
