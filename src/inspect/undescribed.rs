//! Explains why debugging information does not describe a program location.

use core::fmt;
use core::ops::Range;

use super::Program;
use super::stop::{Stop, StopFrame};
use crate::arch::{CodeAddress, LoadAddress, ProcessAddress};
use crate::debug_info::{Function, UnitId};
use crate::error::Result;
use crate::frame::Stopped;

/// The alignment of loaded code objects, in bytes: the smallest page of the process.
const PAGE: u64 = 0x1000;

/// The maximum number of code ranges in a message.
const SHOWN: usize = 4;

/// The reason why debugging information does not describe the code of a frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undescribed {
    /// The program location is not in the object's code: the load address or the object is wrong.
    OutsideCode {
        /// The program location in the process. For a caller, it is within the call instruction.
        pc: ProcessAddress,
        /// The load address that was given.
        load_address: LoadAddress,
        /// The addresses of the code, in the code object, ascending.
        ranges: Vec<Range<u64>>,
        /// The load address for which the location would be in the code, or `None` if there are several. Loaders place code objects at multiples of
        /// 4096 bytes, so it is unique for code smaller than that.
        fitting: Option<LoadAddress>,
    },
    /// The object has no debugging information.
    NoDebugInfo,
    /// The entries are in another file, which was not given.
    NotSplit {
        /// The name in the unit.
        name: Option<String>,
    },
    /// No unit covers the code, which was built without debugging information.
    NoUnit,
    /// The unit has lines, but no functions with contents and no variables (`-gline-tables-only`).
    LinesOnly,
    /// The unit covers the code, but none of its functions does.
    NoFunction,
}

impl Undescribed {
    /// Returns the reason's stable name: `reason` of the JSON documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Undescribed::OutsideCode { .. } => "outside-code",
            Undescribed::NoDebugInfo => "no-debug-info",
            Undescribed::NotSplit { .. } => "no-dwo",
            Undescribed::NoUnit => "no-unit",
            Undescribed::LinesOnly => "lines-only",
            Undescribed::NoFunction => "no-function",
        }
    }
}

/// Returns the reason as text.
impl fmt::Display for Undescribed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undescribed::OutsideCode {
                pc,
                load_address,
                ranges,
                fitting,
            } => {
                write!(f, "pc {pc:#x} is not in the object's code, which with ")?;
                write!(f, "load address {load_address:#x} is at ")?;
                for (index, range) in ranges.iter().take(SHOWN).enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    let start = load_address.to_process(CodeAddress(range.start));
                    let end = load_address.to_process(CodeAddress(range.end));
                    write!(f, "{separator}{start:#x}-{end:#x}")?;
                }
                if let Some(more) = ranges.len().checked_sub(SHOWN).filter(|more| *more > 0) {
                    write!(f, " and {more} other places")?;
                }
                match fitting {
                    Some(fitting) => write!(f, "; load address {fitting:#x} would fit"),
                    None => Ok(()),
                }
            }
            Undescribed::NoDebugInfo => f.write_str(
                "the object has no debugging information: build it with -g, and do not strip it",
            ),
            Undescribed::NotSplit { name } => {
                f.write_str("the debugging information is in another file")?;
                if let Some(name) = name {
                    write!(f, ", {name}")?;
                }
                f.write_str(": give it with --dwo")
            }
            Undescribed::NoUnit => f.write_str(
                "there is no debugging information for this code: this part was built without -g",
            ),
            Undescribed::LinesOnly => f.write_str(
                "the debugging information has lines only, no variables: build with -g, not -gline-tables-only",
            ),
            Undescribed::NoFunction => {
                f.write_str("the debugging information has no function for this code")
            }
        }
    }
}

impl Stop<'_, '_> {
    /// Returns the reason why there is no call frame information for the last frame, if debugging information explains it.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn undescribed_end(&self) -> Result<Option<Undescribed>> {
        let last = match self.stopped() {
            Stopped::NoFunction | Stopped::NoCfi => self.call_frames().last(),
            Stopped::ReturnAddressUndefined
            | Stopped::NoRules
            | Stopped::Cycle
            | Stopped::Limit
            | Stopped::Error => None,
        };
        let found = last.map_or(Ok(None), |last| last.undescribed())?;
        // The other reasons for missing variables say nothing about call frame information.
        Ok(found.filter(|reason| {
            matches!(
                reason,
                Undescribed::OutsideCode { .. } | Undescribed::NoDebugInfo | Undescribed::NoUnit
            )
        }))
    }

    /// Returns the reason why there is no frame after the last, as text.
    #[must_use]
    pub fn end_text(&self) -> String {
        let stopped = self.stopped();
        let text = if stopped == Stopped::NoCfi && self.ends_in_kernel() {
            "this is a kernel, which has no caller; there is no call frame information for it"
        } else {
            stopped.text()
        };
        match self.undescribed_end() {
            Ok(Some(reason)) => format!("{text}: {reason}"),
            Ok(None) | Err(_) => text.to_owned(),
        }
    }

    /// Returns true if the last frame is a kernel's.
    fn ends_in_kernel(&self) -> bool {
        let Some(last) = self.call_frames().last() else {
            return false;
        };
        let flow = self.program().lane_flow(self.wave().wave_size());
        let function = flow.function_with(last.lookup_address());
        function.is_some_and(|function| function.is_kernel)
    }
}

impl StopFrame<'_, '_, '_> {
    /// Returns the reason why the debugging information does not describe the code here, or `None` if it does.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn undescribed(&self) -> Result<Option<Undescribed>> {
        let program = self.stop().program();
        let address = self.lookup_address();
        let ranges = code_ranges(program);
        // An object without section headers does not locate its code.
        if !ranges.is_empty() && !ranges.iter().any(|range| range.contains(&address)) {
            let load_address = self.stop().options().load_address;
            let pc = load_address.to_process(CodeAddress(address));
            let fitting = fitting(pc, &ranges);
            return Ok(Some(Undescribed::OutsideCode {
                pc,
                load_address,
                ranges,
                fitting,
            }));
        }
        let info = program.info();
        if info.unit_ids().next().is_none() {
            return Ok(Some(Undescribed::NoDebugInfo));
        }
        if let Some(function) = self.function()? {
            return Ok(has_lines_only(&function).then_some(Undescribed::LinesOnly));
        }
        let Some(unit) = info.find_unit(address)? else {
            return Ok(Some(Undescribed::NoUnit));
        };
        self.undescribed_in(unit).map(Some)
    }

    /// Returns the reason if a unit covers the code, but no function does.
    fn undescribed_in(&self, id: UnitId) -> Result<Undescribed> {
        let info = self.stop().program().info();
        let unit = info.unit_info(id)?;
        if unit.is_without_split_unit() {
            let name = unit.dwo_name.map(|name| name.into_owned());
            return Ok(Undescribed::NotSplit { name });
        }
        let functions = info.functions(id)?;
        if functions.iter().all(has_lines_only) && self.line()?.is_some() {
            return Ok(Undescribed::LinesOnly);
        }
        Ok(Undescribed::NoFunction)
    }
}

/// Returns true if an entry exists only for inlined calls: it has neither a declaration nor a frame.
fn has_lines_only(function: &Function<'_>) -> bool {
    let is_declared = function.declaration.line.is_some() || function.result.is_some();
    !is_declared && function.frame_base.is_none() && function.problem.is_none()
}

/// Returns the addresses of the code, ascending, with adjacent ranges joined.
fn code_ranges(program: &Program<'_>) -> Vec<Range<u64>> {
    let sections = program.object().sections().iter();
    let code = sections.filter(|section| section.executable && section.size > 0);
    let mut found: Vec<Range<u64>> = code
        .filter_map(|section| Some(section.address..section.end()?))
        .collect();
    found.sort_by_key(|range| (range.start, range.end));
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for range in found {
        match ranges.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(_) | None => ranges.push(range),
        }
    }
    ranges
}

/// Returns the only multiple of a page that, as load address, puts `pc` into one of the ranges, or `None` if there is none or several.
fn fitting(ProcessAddress(pc): ProcessAddress, ranges: &[Range<u64>]) -> Option<LoadAddress> {
    let mut found = None;
    for range in ranges {
        // The possible load addresses are `lowest` to `highest`.
        let Some(highest) = pc.checked_sub(range.start) else {
            continue;
        };
        let lowest = pc.saturating_sub(range.end.saturating_sub(1));
        let first = highest
            .checked_rem(PAGE)
            .and_then(|rest| highest.checked_sub(rest))?;
        if first < lowest {
            continue;
        }
        let is_only = first.checked_sub(PAGE).is_none_or(|next| next < lowest);
        if !is_only || found.is_some_and(|other| other != first) {
            return None;
        }
        found = Some(first);
    }
    found.map(LoadAddress)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `fitting` with plain numbers.
    fn fitting(pc: u64, ranges: &[Range<u64>]) -> Option<u64> {
        super::fitting(ProcessAddress(pc), ranges).map(u64::from)
    }

    /// Code at 0x1a00-0x2500 is less than a page: a pc at 0x7f4000001a1c can only be there with 0x7f4000000000
    /// (0x7f3ffffff000 would make it 0x2a1c).
    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "ranges are what is tested")]
    fn one_load_address_fits_or_none_is_named() {
        let pc = 0x7f40_0000_1a1c;
        assert_eq!(fitting(pc, &[0x1a00..0x2500]), Some(0x7f40_0000_0000));
        // The object's own address: it is not loaded anywhere else.
        assert_eq!(fitting(0x1a1c, &[0x1a00..0x2500]), Some(0));
        // The offset 0xa1c is before the code in this page, and after it in the next.
        assert_eq!(fitting(0x7f40_0000_191c, &[0x1a00..0x2500]), None);
        // 0x100c bytes of code: the first bytes of a page occur again in the next.
        assert_eq!(fitting(0x5008, &[0x2000..0x300c]), None);
        assert_eq!(fitting(0x5010, &[0x2000..0x300c]), Some(0x3000));
        // Two ranges that agree, and two that do not.
        assert_eq!(
            fitting(0x5a00, &[0x1a00..0x1b00, 0x2900..0x2980]),
            Some(0x4000)
        );
        assert_eq!(fitting(0x5a00, &[0x1a00..0x1b00, 0x2a00..0x2a80]), None);
        assert_eq!(fitting(0x10, &[0x1a00..0x2500]), None);
        assert_eq!(fitting(u64::MAX, &[0..u64::MAX]), None);
        assert_eq!(fitting(u64::MAX, &[0xff0..u64::MAX]), None);
    }
}
