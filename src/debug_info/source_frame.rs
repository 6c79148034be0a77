//! Finds the source position of an address: the function that contains it, and its inlined calls.
//!
//! It combines the results of [`find_function`](DebugInfo::find_function), [`inlined_chain`](DebugInfo::inlined_chain) and
//! [`line_at`](DebugInfo::line_at), as far as a backtrace needs them. Names and paths are read on demand. Source: DWARF 5 §3.3.8.

use std::borrow::Cow;
use std::sync::Arc;

use super::DebugInfo;
use super::id::{DieId, UnitId};
use super::line::{FoundRow, LineTable};
use super::line_rows::Row;
use super::scope_tree::ScopeTree;
use super::source_file::SourceFile;
use crate::error::Result;
use crate::meter::Meter;

/// A function at an address, inlined or not, and the place in it.
#[derive(Clone, Debug)]
pub struct SourceFrame<'d, 'a> {
    info: &'d DebugInfo<'a>,
    function: Option<FrameFunction<'d, 'a>>,
    place: Option<Place>,
}

/// The function of a frame.
#[derive(Clone, Debug)]
enum FrameFunction<'d, 'a> {
    /// A scope, whose name is read on demand.
    Scope(&'d ScopeTree<'a>, u32),
    Read(DieId, Option<Cow<'a, str>>),
}

/// A place in the source, with the numbers from the line table.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The unit whose line table has the file.
    unit: UnitId,
    file: Option<u64>,
    line: u64,
    column: u64,
    /// True if the address has line 0, and this is the place of an earlier row.
    is_approximate: bool,
}

impl<'d, 'a> SourceFrame<'d, 'a> {
    /// Returns the entry of the function or of the inlined call, or `None` if the address has a line but no function.
    #[must_use]
    pub fn die(&self) -> Option<DieId> {
        match self.function.as_ref()? {
            FrameFunction::Scope(tree, number) => Some(tree.scope(*number)?.id),
            FrameFunction::Read(id, _) => Some(*id),
        }
    }

    /// Returns the name of the function in the source, without namespace or class.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.function.as_ref()? {
            FrameFunction::Scope(tree, number) => {
                self.info.scope_name(tree, *number).map(AsRef::as_ref)
            }
            FrameFunction::Read(_, name) => name.as_deref(),
        }
    }

    /// Returns the linkage name of the function, if its entry has one.
    #[must_use]
    pub fn linkage_name(&self) -> Option<Cow<'a, str>> {
        let die = self.info.die(self.die()?).ok()?;
        self.info.linkage_name(&self.info.chain(die))
    }

    /// Returns the unit whose line table has the file.
    #[must_use]
    pub fn unit(&self) -> Option<UnitId> {
        Some(self.place?.unit)
    }

    /// Returns true if the address has line 0, so that the line comes from the nearest row before it.
    #[must_use]
    pub fn is_approximate(&self) -> bool {
        self.place.is_some_and(|place| place.is_approximate)
    }

    /// Returns the file. For the innermost frame, this is the file of the address. For the others, it is the file of the call.
    #[must_use]
    pub fn file(&self) -> Option<SourceFile> {
        let place = self.place?;
        self.info.source_file(place.unit, place.file?).ok()?
    }

    /// Returns the line there, from 1, or `None` for code that belongs to no line.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.place.map(|place| place.line).filter(|line| *line != 0)
    }

    /// Returns the column there, from 1, or `None` for the line as a whole, or if there is no line.
    #[must_use]
    pub fn column(&self) -> Option<u64> {
        let place = self.place.filter(|place| place.line != 0)?;
        Some(place.column).filter(|column| *column != 0)
    }
    /// Returns the line and the column in the row or the call, with 0 for a missing one.
    #[must_use]
    pub fn raw_position(&self) -> Option<(u64, u64)> {
        self.place.map(|place| (place.line, place.column))
    }
}

/// The frames at an address, innermost first. This is a plain iterator, since [`DebugInfo::source_frames`] did everything that can fail.
#[derive(Clone, Debug)]
pub struct SourceFrames<'d, 'a> {
    info: &'d DebugInfo<'a>,
    /// The place of the next frame.
    place: Option<Place>,
    rest: Rest<'d, 'a>,
}

/// The remaining frames.
#[derive(Clone, Debug)]
enum Rest<'d, 'a> {
    /// Nothing but a line.
    NoFunction,
    /// The next scope.
    Scopes(&'d ScopeTree<'a>, u32),
    Read(std::vec::IntoIter<SourceFrame<'d, 'a>>),
    None,
}

impl<'a> DebugInfo<'a> {
    /// Returns the source position of `pc`, an address of the code object: innermost inlined call first, the function with the code last. For a
    /// return address look up the address before it.
    ///
    /// # Errors
    /// If nothing is found, but something that might have led to it could not be read.
    pub fn source_frames(&self, pc: u64) -> Result<SourceFrames<'_, 'a>> {
        self.source_frames_within(pc, &self.for_query())
    }

    /// Returns the frames of [`source_frames`](DebugInfo::source_frames), and charges a meter.
    ///
    /// # Errors
    /// Fails like `source_frames`, or if the cost exceeds `meter`.
    pub(crate) fn source_frames_within(
        &self,
        pc: u64,
        meter: &Meter,
    ) -> Result<SourceFrames<'_, 'a>> {
        let Some(unit) = self.find_unit(pc)? else {
            return Ok(self.no_frames());
        };
        let place = self.place_in(unit, self.lines_of(unit)?, pc);
        self.frames_from((unit, pc), place.map(|(place, ..)| place), meter)
    }

    /// Returns the frames of [`source_frames`](DebugInfo::source_frames). If the address has line 0, the innermost frame gets the place of the
    /// nearest row before it with a line. That row must be in the same function and inlined call ([`SourceFrame::is_approximate`]). A line table that
    /// cannot be read gives no place, and its error is in [`line_problems`](DebugInfo::line_problems).
    ///
    /// * `symbol`: returns the start of the ELF symbol that covers the code. Called for code without a function entry.
    ///
    /// # Errors
    /// Fails like `source_frames`, except for a line table, or if the cost exceeds `meter`.
    pub(crate) fn source_frames_near(
        &self,
        pc: u64,
        symbol: impl FnOnce() -> Option<u64>,
        meter: &Meter,
    ) -> Result<SourceFrames<'_, 'a>> {
        let Some(unit) = self.find_unit(pc)? else {
            return Ok(self.no_frames());
        };
        let place = match self.place_in(unit, self.lines_if_readable(unit)?, pc) {
            Some((place, table, found)) if place.line == 0 => {
                let rows = table.rows_before(found);
                let before = self.place_before((unit, pc), rows, symbol, meter)?;
                Some(before.unwrap_or(place))
            }
            found => found.map(|(place, ..)| place),
        };
        self.frames_from((unit, pc), place, meter)
    }

    fn no_frames(&self) -> SourceFrames<'_, 'a> {
        SourceFrames {
            info: self,
            place: None,
            rest: Rest::None,
        }
    }

    fn frames_from(
        &self,
        (unit, pc): (UnitId, u64),
        place: Option<Place>,
        meter: &Meter,
    ) -> Result<SourceFrames<'_, 'a>> {
        let frames = |rest| SourceFrames {
            info: self,
            place,
            rest,
        };
        let Some(entry) = self.function_entry_in(unit, pc)? else {
            return Ok(frames(match place {
                Some(_) => Rest::NoFunction,
                None => Rest::None,
            }));
        };
        if let Some(tree) = self.scope_tree_of(entry) {
            return Ok(frames(Rest::Scopes(tree, tree.innermost_function(pc))));
        }
        let function = self.function(entry.id)?;
        let calls = self.inlined_chain(&function, pc, meter)?;
        let mut place = place;
        let mut read = Vec::with_capacity(calls.len().saturating_add(1));
        let mut add = |function, place| {
            read.push(SourceFrame {
                info: self,
                function: Some(function),
                place,
            });
        };
        for call in calls {
            add(FrameFunction::Read(call.die, call.name), place);
            place = Some(Place {
                unit: call.die.unit,
                file: call.call_file.map(|file| file.index),
                line: call.call_line.unwrap_or(0),
                column: call.call_column.unwrap_or(0),
                is_approximate: false,
            });
        }
        add(FrameFunction::Read(function.die, function.name), place);
        Ok(frames(Rest::Read(read.into_iter())))
    }

    /// Returns the place of the row of `pc` in a unit, and the row with its table.
    fn place_in<'d>(
        &'d self,
        unit: UnitId,
        table: Option<&'d Arc<LineTable<'a>>>,
        pc: u64,
    ) -> Option<(Place, &'d LineTable<'a>, FoundRow)> {
        let table = table?;
        let found = self.row_at(table, pc)?;
        let row = table.row_of(found)?;
        Some((Place::of_row(unit, &row, false), table, found))
    }

    /// Returns the place of the last of `rows` with a line that is in the same function and inlined call as `pc`.
    fn place_before(
        &self,
        (unit, pc): (UnitId, u64),
        rows: impl DoubleEndedIterator<Item = Row>,
        symbol: impl FnOnce() -> Option<u64>,
        meter: &Meter,
    ) -> Result<Option<Place>> {
        let found = self.function_entry_in(unit, pc)?;
        let tree = found.and_then(|entry| self.scope_tree_of(entry));
        let entry = found.map(|entry| entry.id);
        // Rows that begin before this address belong to another function.
        let first = match (entry, tree) {
            (Some(_), Some(_)) => Some(0),
            (Some(_), None) => None,
            (None, _) => symbol(),
        };
        let Some(first) = first else {
            return Ok(None);
        };
        let innermost = |pc| tree.map(|tree| tree.innermost_function(pc));
        let function = innermost(pc);
        for row in rows.rev() {
            meter.work(1)?;
            let other = self.function_entry(row.address)?.map(|entry| entry.id);
            if row.address < first || other != entry {
                break;
            }
            if row.line != 0 && innermost(row.address) == function {
                return Ok(Some(Place::of_row(unit, &row, true)));
            }
        }
        Ok(None)
    }
}

impl Place {
    fn of_row(unit: UnitId, row: &Row, is_approximate: bool) -> Place {
        Place {
            unit,
            file: Some(row.file),
            line: row.line,
            column: row.column,
            is_approximate,
        }
    }
}

impl<'d, 'a> Iterator for SourceFrames<'d, 'a> {
    type Item = SourceFrame<'d, 'a>;

    fn next(&mut self) -> Option<SourceFrame<'d, 'a>> {
        let frame = |function| SourceFrame {
            info: self.info,
            function,
            place: self.place,
        };
        match &mut self.rest {
            Rest::None => None,
            Rest::NoFunction => {
                let frame = frame(None);
                self.rest = Rest::None;
                Some(frame)
            }
            Rest::Scopes(tree, number) => {
                let frame = frame(Some(FrameFunction::Scope(tree, *number)));
                let scope = tree.scope(*number)?;
                self.place = Some(Place {
                    unit: scope.id.unit,
                    file: scope.call.file,
                    line: scope.call.line,
                    column: scope.call.column,
                    is_approximate: false,
                });
                match tree.caller_of(*number) {
                    Some(caller) => *number = caller,
                    None => self.rest = Rest::None,
                }
                Some(frame)
            }
            Rest::Read(frames) => frames.next(),
        }
    }
}
