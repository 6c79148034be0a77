//! Describes a frame in the documents: its number, its name, and its place in the source.

use core::fmt::Display;

use serde::Serialize;

use super::completeness::is_false;
use super::number::Hex;
use super::text::{FileNames, source_place};
use crate::arch::ProcessAddress;
use crate::debug_info::{DebugInfo, SourceFile};
use crate::error::Result;
use crate::inspect::{FrameDescription, FrameKind, StopFrame};
use crate::meter::Meter;
use crate::untrusted::Untrusted;

/// The number of output characters that are charged for a frame, in addition to its names.
const PER_FRAME: u64 = 256;

/// A frame. Every inlined call is a separate frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FrameDocument {
    /// The number. The innermost frame is 0.
    pub index: usize,
    /// `call`, `inlined` or `symbol`.
    pub kind: FrameKind,
    /// The function, or the symbol.
    pub function: Option<Untrusted<'static>>,
    /// The linkage name of the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linkage_name: Option<Untrusted<'static>>,
    /// The path of the source file, as the line table gives it.
    pub file: Option<Untrusted<'static>>,
    /// The line. If the frame contains an inlined call, this is the line of the call.
    pub line: Option<u64>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Set if the program location has line 0. The line is then taken from the nearest row before it.
    #[serde(skip_serializing_if = "is_false")]
    pub approximate: bool,
    /// The distance in bytes from the symbol to the program location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_offset: Option<u64>,
    /// The program location, as an address of the process.
    pub pc: Hex,
    /// The number of the call frame that this is a part of.
    pub call_frame: usize,
}

impl FrameDocument {
    /// Describes a frame. For a whole call frame with inlined calls, describes its innermost part.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn new(frame: &StopFrame<'_, '_, '_>) -> Result<FrameDocument> {
        let frame = match frame.is_whole() {
            true => frame.innermost(),
            false => *frame,
        };
        let description = frame.description()?;
        let (index, call) = (frame.index(), frame.call_index());
        FrameDocument::of(&frame, index, call, description, frame.stop().meter())
    }

    /// Describes all parts of a call frame, the innermost inlined call first and the function last. For an inlined call, describes only that call.
    pub(super) fn parts(
        frame: &StopFrame<'_, '_, '_>,
        meter: &Meter,
    ) -> Result<Vec<FrameDocument>> {
        if !frame.is_whole() {
            return Ok(vec![FrameDocument::new(frame)?]);
        }
        let parts = frame.descriptions()?;
        let first = frame.innermost().index();
        let call = first + parts.len().saturating_sub(1);
        let parts = (first..).zip(parts);
        parts
            .map(|(index, part)| FrameDocument::of(frame, index, call, part, meter))
            .collect()
    }

    /// Describes a call frame of which only the address is known.
    pub(super) fn of_address(frame: &StopFrame<'_, '_, '_>) -> FrameDocument {
        let index = frame.call_index();
        FrameDocument {
            index,
            call_frame: index,
            ..FrameDocument::of_symbol(frame.pc(), None)
        }
    }

    /// Describes the only known frame of a wave.
    ///
    /// * `symbol`: the symbol that covers `pc`, and the distance from the symbol to `pc` in bytes.
    #[must_use]
    pub fn of_symbol(pc: ProcessAddress, symbol: Option<(&str, u64)>) -> FrameDocument {
        FrameDocument {
            index: 0,
            kind: match symbol {
                Some(_) => FrameKind::Symbol,
                None => FrameKind::Call,
            },
            function: symbol.map(|(name, _)| name.to_owned().into()),
            linkage_name: None,
            file: None,
            line: None,
            column: None,
            approximate: false,
            symbol_offset: symbol.map(|(_, offset)| offset),
            pc: Hex::from(pc),
            call_frame: 0,
        }
    }

    /// Returns the frame as a line of text: `helper at k.cl:4`, `leaf (inlined) at k.cl:7` or `_Z1fv+0x10 (symbol)`.
    ///
    /// * `function`: the name of the function, or the text in place of an unknown name.
    #[must_use]
    pub fn text(&self, function: impl Display, names: &FileNames<'_>) -> String {
        let symbol = match self.symbol_offset {
            Some(_) => " (symbol)",
            None => "",
        };
        let about = match (self.approximate, self.line) {
            (true, Some(_)) => " (approximate)",
            (_, _) => "",
        };
        self.text_with(symbol, about, function, names)
    }

    /// Returns the frame as a line of a core's call stack. It has no marks for symbols and approximate lines, because they are not part of the place.
    pub(super) fn place_text(&self, function: impl Display, names: &FileNames<'_>) -> String {
        self.text_with("", "", function, names)
    }

    fn text_with(
        &self,
        symbol: &str,
        about: &str,
        function: impl Display,
        names: &FileNames<'_>,
    ) -> String {
        let file = self.file.as_ref().map(|file| names.short(file));
        let place = source_place(file, self.line);
        let mark = match (self.kind, self.symbol_offset) {
            (FrameKind::Inlined, _) => " (inlined)".to_owned(),
            (_, Some(offset)) => format!("+{offset:#x}{symbol}"),
            (_, None) => String::new(),
        };
        format!("{function}{mark}{place}{about}")
    }

    fn of(
        frame: &StopFrame<'_, '_, '_>,
        index: usize,
        call_frame: usize,
        description: FrameDescription,
        meter: &Meter,
    ) -> Result<FrameDocument> {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len) as u64;
        let names = length(&description.function) + length(&description.linkage_name);
        let size = names + PER_FRAME;
        meter.work(size.div_ceil(PER_FRAME)).and(meter.hold(size))?;
        let FrameDescription {
            kind,
            function,
            linkage_name,
            file,
            line,
            column,
            is_approximate,
            symbol_offset,
            ..
        } = description;
        Ok(FrameDocument {
            index,
            kind,
            function: function.map(Untrusted::from),
            linkage_name: linkage_name.map(Untrusted::from),
            file: file.as_ref().map(path),
            line,
            column,
            approximate: is_approximate,
            symbol_offset,
            pc: Hex::from(frame.pc()),
            call_frame,
        })
    }
}

/// Returns the path of a file as text for the documents.
pub(super) fn path(file: &SourceFile) -> Untrusted<'static> {
    file.path.to_string().into()
}

/// Returns a warning for each line table that was needed and cannot be read.
pub(super) fn line_warnings(info: &DebugInfo<'_>) -> Vec<Untrusted<'static>> {
    let problems = info.line_problems().into_iter();
    problems
        .map(|problem| format!("lines and files are missing: {problem}").into())
        .collect()
}
