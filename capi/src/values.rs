//! Provides values in all lanes at once: variables of a frame, C expressions, and the parts of values in a lane.

mod content;
mod earlier;
mod lane;
mod parts;

use core::cell::OnceCell;
use core::ffi::c_char;
use std::sync::Arc;

use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::{Options, TypedBytes};
use hetdwarf::inspect::{RecoveredFrom, Stop as LibraryStop, StopFrame};
use hetdwarf::query::{Query, QueryErrorKind};

use crate::bits;
use crate::handle::{give, handles, with};
use crate::plain::{self, sized};
use crate::status::hetdwarf_status::*;
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::stop::{SharedStop, hetdwarf_stop};
use crate::text::{NewTexts, given};
pub(crate) use content::SharedTypes;
pub(crate) use content::Values;
use content::{Content, Item, shared};
pub use earlier::*;
pub use lane::*;
pub use parts::*;

/// The variables of a frame, or the value of an expression. Free it with `hetdwarf_free`.
#[derive(Debug)]
pub struct hetdwarf_values {
    _private: [u8; 0],
}

handles! { hetdwarf_values: Values = b"hdwvals\x01"; }

/// A variable, or an expression. Strings belong to the values, and are NULL if absent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_value_info {
    /// `sizeof(hetdwarf_value_info)`, set by the caller.
    pub size: usize,
    /// The name, or the text of the expression; empty for a variable without a name. The name of a part is its suffix in a C expression,
    /// without the dot of a member: `x`, `[3]`, or `*` for the target of a pointer. An anonymous structure or union has an empty name, and
    /// a base class is `<Base>`.
    pub name: *const c_char,
    /// `parameter`, `variable`, `constant`, `global`, `expression` or `part`.
    pub kind: *const c_char,
    /// The type's name as C writes it.
    pub type_name: *const c_char,
    /// The size of the type in bytes; 0 if it is unknown or differs between lanes.
    pub byte_size: u64,
    /// The function or namespace that contains it.
    pub scope: *const c_char,
    /// The file of the declaration, without directories.
    pub file: *const c_char,
    /// The line of the declaration; 0 if unknown.
    pub line: u64,
    /// The offset of the variable's entry in `.debug_info`; `UINT64_MAX` for an expression or a part.
    pub entry: u64,
    /// The convention by which the location was read: `dwarf` or `legacy-llvm`.
    pub reading: *const c_char,
    /// A note on the value in all lanes, or NULL. `prologue` means that the prologue of the function has not finished, and may not have
    /// written the value to memory yet.
    pub note: *const c_char,
    /// The number of the type, for queries of `hetdwarf_values_types`.
    pub r#type: u64,
    /// The size of a bit-field, in bits; 0 for any other value.
    pub bit_size: u64,
    /// Zero.
    pub reserved: [u64; 2],
}

/// The output arrays for the lanes of a value. Each is an array of the caller with an entry for each lane of the wave, or NULL to omit it.
/// Entries of lanes that were not requested are unchanged. Strings belong to the values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_lanes {
    /// `sizeof(hetdwarf_lanes)`.
    pub size: usize,
    /// The requested lanes, one bit per lane. Bits of lanes that the wave does not have are ignored.
    pub lanes: u64,
    /// The number of entries in the arrays. Lanes beyond it are not written. 64 is always enough.
    pub count: usize,
    /// Gets the states, `HETDWARF_LANE_…`.
    pub states: *mut u8,
    /// Gets the bytes, as in memory. The bytes of lane n start at n times `stride`. Missing bytes are 0, and so are all bytes of a lane
    /// without a value. A value larger than `stride` is truncated, and a smaller one is padded with 0.
    pub bytes: *mut u8,
    /// Gets a 1 for each bit that was optimised away, in the same layout.
    pub undefined: *mut u8,
    /// Gets a 1 for each bit that the debugger does not know, in the same layout.
    pub unavailable: *mut u8,
    /// The number of bytes for each lane in these three arrays.
    pub stride: usize,
    /// Gets the size of the value in bytes; 0 if there is no value.
    pub byte_sizes: *mut u64,
    /// Gets the value as a C debugger prints it, escaped for display; NULL if there is no value.
    pub texts: *mut *const c_char,
    /// Gets the message that explains a missing or incomplete value, or the source of a value that the debugging information does not give; NULL
    /// if there is no message.
    pub messages: *mut *const c_char,
    /// Gets the source of a value in the states `HETDWARF_LANE_ENTRY` and `HETDWARF_LANE_LAST_KNOWN`: `kernarg`, `call-site`, `register`,
    /// `slot` or `computed`; NULL for any other value.
    pub origins: *mut *const c_char,
    /// Gets the address of the process at which the debugging information last gave a value in the state `HETDWARF_LANE_LAST_KNOWN`; 0 for
    /// any other value.
    pub as_of: *mut u64,
    /// Zero.
    pub reserved: [u64; 2],
}

sized! { hetdwarf_value_info hetdwarf_lanes }

impl Values {
    /// Writes the lanes of a value to arrays of the caller.
    ///
    /// # Safety
    /// `out` meets the requirements of `hetdwarf_lanes`.
    unsafe fn read(&self, index: usize, out: &hetdwarf_lanes) -> Answer<()> {
        // No array is larger.
        let most = isize::MAX.unsigned_abs() / MOST_LANES;
        if out.stride > most {
            return Err(Fault::argument(format!("stride is {}", out.stride)));
        }
        let (options, mut buffer) = (Options::default(), String::new());
        let item = self.item(index)?;
        let types;
        let mut texts = match item {
            Item::Variable(value) => {
                types = self.types().borrow();
                Some(value.texts(&types, &options, &mut buffer))
            }
            Item::Expression(..) | Item::Part(..) => None,
        };
        let known = self.lane_texts.borrow().get(index);
        let mut new = NewTexts::new();
        let is_asked = |at: usize| at < out.count && out.lanes.unbounded_shr(at as u32) & 1 == 1;
        let lanes = self.wave_size.all_lanes().zip(known);
        for (lane, known) in lanes.filter(|(lane, _)| is_asked(lane.0.into())) {
            let at = usize::from(lane.0);
            let Some(value) = self.lane(item, lane, !out.messages.is_null()) else {
                return Err(Values::not_read(lane.0));
            };
            // SAFETY: arrays are NULL or have `count` entries, and `at` is below.
            unsafe {
                put(out.states, at, value.state);
                let size = value.bits.as_ref().map_or(0, |bits| bits.bytes.len());
                put(out.byte_sizes, at, size as u64);
                put_bits(out, at, value.bits);
                let (origin, as_of) = value.recovered.map(|one| (one.from, one.as_of)).unzip();
                let origin = self.texts.keep_if(origin.map(RecoveredFrom::name));
                put(out.origins, at, origin);
                put(out.as_of, at, as_of.flatten().map_or(0, |pc| pc.0));
                put(
                    out.messages,
                    at,
                    self.texts.keep_if(value.message.as_deref()),
                );
            }
            if value.bits.is_some() && !out.texts.is_null() && known.is_null() {
                self.make_text(item, lane, texts.as_mut(), &mut new);
            }
        }
        if out.texts.is_null() {
            return Ok(());
        }
        let mut kept = self.lane_texts.borrow_mut();
        kept.keep(index, new);
        for (at, text) in kept.get(index).into_iter().enumerate() {
            if at < self.wave_size.lanes() as usize && is_asked(at) {
                // SAFETY: arrays are NULL or have `count` entries, and `at` is below.
                unsafe { put(out.texts, at, text) };
            }
        }
        Ok(())
    }
}

/// Writes an entry of an array of the caller. Does nothing if it is NULL.
///
/// # Safety
/// `array` is NULL or has an entry `at`.
unsafe fn put<T>(array: *mut T, at: usize, value: T) {
    if !array.is_null() {
        // SAFETY: the caller guarantees the entry.
        unsafe { array.add(at).write(value) };
    }
}

/// The most lanes of a wave.
const MOST_LANES: usize = 64;

/// Writes the bytes of a lane, and masks of its missing bits.
///
/// # Safety
/// The three arrays are NULL or have `stride` bytes for lane `at`.
unsafe fn put_bits(out: &hetdwarf_lanes, at: usize, bits: Option<TypedBytes<'_>>) {
    let Some(start) = at.checked_mul(out.stride) else {
        return;
    };
    let of_lane = |array: *mut u8| match array.is_null() {
        true => array,
        false => array.wrapping_add(start),
    };
    let bits = bits.unwrap_or(TypedBytes::known(&[]));
    let known = bits.bytes.get(..out.stride).unwrap_or(bits.bytes);
    let rest = out.stride.saturating_sub(known.len());
    // SAFETY: there are `stride` bytes from `start` on.
    unsafe {
        let bytes = of_lane(out.bytes);
        if !bytes.is_null() {
            bits::copy(known, bytes);
            bytes.add(known.len()).write_bytes(0, rest);
        }
        bits::put_mask(bits.undefined, out.stride, of_lane(out.undefined));
        bits::put_mask(bits.unavailable, out.stride, of_lane(out.unavailable));
    }
}

/// Returns a frame that lives as long as the stop that the values own.
///
/// # Safety
/// Values made from it must be dropped before `stop`.
unsafe fn lasting(stop: &SharedStop, level: usize) -> Answer<StopFrame<'static, 'static, 'static>> {
    let whole: *const LibraryStop<'static, 'static> = stop.stop();
    // SAFETY: the stop does not move while it has an owner, as the caller guarantees.
    let frame = unsafe { &*whole }.frame(level);
    frame.ok_or_else(|| Fault::not_found(format!("there is no frame {level}")))
}

/// Reads the variables of a frame: innermost scope first, then in the order of the declarations. Variables of file scope come last.
///
/// * `level`: 0 for the innermost frame.
/// * `values`: gets the handle, which the caller frees; NULL on error. The stop may be freed first.
///
/// This call reads the registers and memory, for all lanes at once. If a variable cannot be read, its state in each lane says so.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such frame; `HETDWARF_MALFORMED`; `HETDWARF_LIMIT`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_stop_variables(
    stop: *const hetdwarf_stop,
    level: usize,
    values: *mut *mut hetdwarf_values,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function; `Values` owns the stop.
    guard(|| unsafe {
        with(stop, |stop, lock| {
            give(values, || {
                let frame = lasting(stop, level)?;
                let mut types = TypeTable::default();
                let values = frame.variables(&mut types)?;
                let content = Content::Variables {
                    in_prologue: OnceCell::new(),
                    values,
                };
                let values = Values::new(content, shared(types), level, stop);
                Ok((Arc::clone(lock), values))
            })
        })
    })
}

/// Evaluates a C expression in a frame, as `hetdwarf print` does: `p->x[2] + 1`.
///
/// * `level`: 0 for the innermost frame.
/// * `text`: the expression, UTF-8.
/// * `lanes`: the lanes for which the expression is evaluated, one bit per lane. Bits of lanes that the wave does not have are ignored.
/// * `values`: gets the handle, with one value, which the caller frees; NULL on error.
///
/// Errors: `HETDWARF_MALFORMED` if the text is not an expression or its operands do not fit; `HETDWARF_NOT_FOUND` if it names an unknown
/// variable, member, type or register, or if there is no such frame; `HETDWARF_LIMIT`. An error in a single lane is part of the value.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_stop_print(
    stop: *const hetdwarf_stop,
    level: usize,
    text: *const c_char,
    lanes: u64,
    values: *mut *mut hetdwarf_values,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function; `Values` owns the stop.
    guard(|| unsafe {
        with(stop, |stop, lock| {
            give(values, || {
                let text = given(text, "text")?;
                let frame = lasting(stop, level)?;
                let wanted = frame.wave_size().all_lanes();
                let wanted: Vec<Lane> = wanted.filter(|lane| lanes >> lane.0 & 1 == 1).collect();
                let mut query = Box::new(Query::new(frame)?);
                let answer = query.evaluate(text, &wanted);
                let answer = answer.map_err(|error| {
                    let status = match &error.kind {
                        QueryErrorKind::UnknownName { .. }
                        | QueryErrorKind::UnknownType { .. }
                        | QueryErrorKind::UnknownMember { .. }
                        | QueryErrorKind::UnknownRegister { .. } => HETDWARF_NOT_FOUND,
                        QueryErrorKind::DebugInfo(error) => crate::status::status_of(error.kind()),
                        _ => HETDWARF_MALFORMED,
                    };
                    Fault::new(
                        status,
                        format!("{} (at offset {})", error.kind, error.offset),
                    )
                })?;
                let content = Content::Expression {
                    text: text.to_owned(),
                    answer,
                    query,
                };
                let values = Values::new(content, OnceCell::new(), level, stop);
                Ok((Arc::clone(lock), values))
            })
        })
    })
}

/// Returns the number of values.
///
/// * `count`: gets the number.
///
/// Errors: only the common ones.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_count(
    values: *const hetdwarf_values,
    count: *mut usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(values, |values, _| {
            plain::put(count, values.count(), "count")
        })
    })
}

/// Returns the index of the innermost variable with a name.
///
/// * `name`: the name as in the source.
/// * `index`: gets the variable's index.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_find(
    values: *const hetdwarf_values,
    name: *const c_char,
    index: *mut usize,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(values, |values, _| {
            let name = given(name, "name")?;
            let is_meant = |at: &usize| values.name(*at).is_ok_and(|known| known == name);
            let found = (0..values.count()).find(is_meant);
            match found {
                Some(found) => plain::put(index, found, "index"),
                None => Err(values.no_such(name)),
            }
        })
    })
}

/// Returns facts about a value that do not depend on the lane.
///
/// * `index`: below the count.
/// * `info`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_get_info(
    values: *const hetdwarf_values,
    index: usize,
    info: *mut hetdwarf_value_info,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(values, |values, _| {
            plain::size_at(info)?;
            plain::write(info, &values.info(index)?)
        })
    })
}

/// Reads a value in the requested lanes.
///
/// * `index`: below the count.
/// * `lanes`: the requested lanes, and the arrays for the answers.
///
/// Errors: `HETDWARF_NOT_FOUND` if there is no such value, if an expression was not evaluated for a requested lane, or if a part belongs to
/// another lane. A lane without a value is not an error, but a state.
///
/// # Safety
/// Each pointer is NULL or meets the requirements of `hetdwarf_lanes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_values_read(
    values: *const hetdwarf_values,
    index: usize,
    lanes: *const hetdwarf_lanes,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe { with(values, |values, _| values.read(index, &plain::read(lanes)?)) })
}
