//! Describes a frame: its name and its place in the source.
//!
//! The places come from `debug_info`. Code without debugging information gets the name of its ELF symbol.

use super::Program;
use super::frame_list::Part;
use super::stop::StopFrame;
use crate::arch::ProcessAddress;
use crate::debug_info::{SourceFile, SourceFrame, SourceFrames, UnitId};
use crate::error::Result;
use crate::meter::Meter;

/// The kind of the frame.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// A frame of the machine, with registers and a canonical frame address.
    Call,
    /// A call that the compiler replaced by the body of the function. It is within a call frame, and has that frame's program location.
    Inlined,
    /// A frame of the machine with only an ELF symbol.
    Symbol,
}

impl FrameKind {
    /// Returns the name in JSON documents: `call`, `inlined` or `symbol`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FrameKind::Call => "call",
            FrameKind::Inlined => "inlined",
            FrameKind::Symbol => "symbol",
        }
    }
}

/// A frame's name and its place in the source.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameDescription {
    /// The kind of the frame.
    pub kind: FrameKind,
    /// The function's name in the source, or the name of its symbol.
    pub function: Option<String>,
    /// The function's linkage name, if its entry has one.
    pub linkage_name: Option<String>,
    /// The file. For the innermost frame of a call frame, this is the file of the program location. For the others, it is the file of the inlined
    /// call.
    pub file: Option<SourceFile>,
    /// The unit whose line table has the file.
    pub unit: Option<UnitId>,
    /// The line there, from 1.
    pub line: Option<u64>,
    /// The column there, from 1, or `None` for the line as a whole.
    pub column: Option<u64>,
    /// True if the program location has line 0, so that the line comes from the nearest row before it.
    pub is_approximate: bool,
    /// The distance of the program location from the start of the symbol, in bytes.
    pub symbol_offset: Option<u64>,
}

impl<'p, 'a> StopFrame<'_, 'p, 'a> {
    /// Returns the name of the frame, and its place in the source.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn description(&self) -> Result<FrameDescription> {
        let meter = self.stop.meter();
        let mut frames = self.source_frames(meter)?.enumerate().peekable();
        while let Some((depth, source)) = frames.next() {
            meter.work(1)?;
            let is_last = frames.peek().is_none();
            let is_this = match self.part {
                Part::Whole => is_last,
                Part::One(part) => depth == part || is_last,
            };
            if is_this {
                return Ok(self.describe(&source, is_last));
            }
        }
        Ok(self.describe_symbol(None))
    }

    /// Returns the description of the innermost part of the call frame, for a lane at `pc`, an address of the process.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn description_of_lane(&self, pc: ProcessAddress) -> Result<FrameDescription> {
        let whole = self.for_wave();
        // Lanes that are active in a caller are at the end of the call.
        let frame = match pc == whole.pc() {
            true => whole,
            false => whole.for_waiting(pc, 0),
        };
        frame.innermost().description()
    }

    /// Returns the descriptions of all parts of the call frame, innermost first and the function last.
    #[cfg(feature = "serde")]
    pub(crate) fn descriptions(&self) -> Result<Vec<FrameDescription>> {
        let meter = self.stop.meter();
        let mut found = Vec::new();
        let mut frames = self.source_frames(meter)?.peekable();
        while let Some(source) = frames.next() {
            meter.work(1)?;
            meter.hold_all::<FrameDescription>(1)?;
            found.push(self.describe(&source, frames.peek().is_none()));
        }
        if found.is_empty() {
            found.push(self.describe_symbol(None));
        }
        Ok(found)
    }

    /// Returns the source position of the program location.
    pub(super) fn source_frames(&self, meter: &Meter) -> Result<SourceFrames<'p, 'a>> {
        (self.stop.program()).source_frames_near(self.lookup_address(), meter)
    }

    fn describe(&self, source: &SourceFrame<'_, '_>, is_call: bool) -> FrameDescription {
        self.location().describe(source, is_call)
    }

    fn describe_symbol(&self, source: Option<&SourceFrame<'_, '_>>) -> FrameDescription {
        self.location().describe_symbol(source)
    }

    fn location(&self) -> Location<'p, 'a> {
        Location {
            program: self.stop.program(),
            lookup_address: self.lookup_address(),
            address: self.code_address(),
        }
    }
}

impl<'a> Program<'a> {
    /// Returns the frames at an address of the code object. A frame with line 0 gets the line of the nearest row before it.
    fn source_frames_near(&self, address: u64, meter: &Meter) -> Result<SourceFrames<'_, 'a>> {
        let symbol = || {
            let (_, offset) = self.symbol_at(address)?;
            address.checked_sub(offset)
        };
        self.info().source_frames_near(address, symbol, meter)
    }

    /// Returns the descriptions of all frames at an address of the code object, innermost first, or none for an address without a line, a function
    /// and a symbol.
    pub(super) fn describe_address(
        &self,
        address: u64,
        meter: &Meter,
    ) -> Result<Vec<FrameDescription>> {
        let location = Location {
            program: self,
            lookup_address: address,
            address,
        };
        let mut found = Vec::new();
        let mut frames = self.source_frames_near(address, meter)?.peekable();
        let has_place = frames.peek().is_some_and(|frame| frame.unit().is_some());
        // A lookup reports a line table that cannot be read.
        if !has_place && let Some(unit) = self.info().find_unit(address)? {
            self.info().line_table(unit)?;
        }
        while let Some(source) = frames.next() {
            let frame = location.describe(&source, frames.peek().is_none());
            let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            let length = text(&frame.function) + text(&frame.linkage_name);
            meter.work(1)?;
            meter.charge_bytes(length)?;
            found.push(frame);
        }
        if found.is_empty() {
            found.extend(self.describe_symbol_at(address));
        }
        Ok(found)
    }

    /// Describes an address of the code object by its symbol alone.
    pub(super) fn describe_symbol_at(&self, address: u64) -> Option<FrameDescription> {
        self.symbol_at(address)?;
        let location = Location {
            program: self,
            lookup_address: address,
            address,
        };
        Some(location.describe_symbol(None))
    }
}

/// An address of a program at which frames are described.
struct Location<'p, 'a> {
    program: &'p Program<'a>,
    /// The look-up address: for a caller, the address before the return address.
    lookup_address: u64,
    /// The address for the distance from the symbol.
    address: u64,
}

impl Location<'_, '_> {
    fn describe(&self, source: &SourceFrame<'_, '_>, is_call: bool) -> FrameDescription {
        if source.die().is_none() {
            return self.describe_symbol(Some(source));
        }
        FrameDescription {
            kind: match is_call {
                true => FrameKind::Call,
                false => FrameKind::Inlined,
            },
            function: source.name().map(str::to_owned),
            linkage_name: source.linkage_name().map(|name| name.into_owned()),
            symbol_offset: None,
            ..FrameDescription::at(Some(source))
        }
    }

    /// Describes a frame without an entry of its function by its symbol.
    fn describe_symbol(&self, source: Option<&SourceFrame<'_, '_>>) -> FrameDescription {
        let address = self.lookup_address;
        let symbol = self.program.symbol_at(address);
        let start = address.saturating_sub(symbol.map_or(0, |(_, offset)| offset));
        let offset = self.address.checked_sub(start);
        FrameDescription {
            kind: match symbol {
                Some(_) => FrameKind::Symbol,
                None => FrameKind::Call,
            },
            function: symbol.map(|(name, _)| name.to_owned()),
            symbol_offset: symbol.and(offset),
            ..FrameDescription::at(source)
        }
    }
}

impl FrameDescription {
    /// Returns a frame without a name.
    fn at(source: Option<&SourceFrame<'_, '_>>) -> FrameDescription {
        FrameDescription {
            kind: FrameKind::Call,
            function: None,
            linkage_name: None,
            file: source.and_then(SourceFrame::file),
            unit: source.and_then(SourceFrame::unit),
            line: source.and_then(SourceFrame::line),
            column: source.and_then(SourceFrame::column),
            is_approximate: source.is_some_and(SourceFrame::is_approximate),
            symbol_offset: None,
        }
    }
}
