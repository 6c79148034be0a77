//! Maps addresses to lines of the source.
//!
//! gimli decodes line programs and executes their instructions; this module keeps the rows in an order
//! that can be searched. The names of files are left to `source_file`. Source: DWARF 5 §6.2.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use gimli::{LineInstruction, LineRow, SectionId};

use super::id::UnitId;
use super::line_header::{Header, Refusal, overflows, parse_program};
use super::line_rows::{LineRows, Row};
use super::range_map::RangeMap;
use super::raw_list::is_discarded;
use super::{Bytes, DebugInfo, complete};
use crate::error::{Error, Result};
use crate::meter::Held;
use crate::sync::lock;

/// The maximum number of bytes of all line table headers together, as a multiple of their section's size. Each table is read once, so a factor of 1
/// suffices unless tables overlap.
const OVERLAP: usize = 8;

/// A line table: the files it names, and its rows.
#[derive(Debug)]
pub struct LineTable<'a> {
    version: u16,
    /// The offset in the section.
    pub(super) offset: usize,
    /// The parsed header. `None` if it names no files. The rows are known then.
    program: Option<gimli::IncompleteLineProgram<Bytes<'a>>>,
    /// The number of the file with the table.
    pub(super) file: usize,
    executed: OnceLock<Executed<'a>>,
    /// The memory charged for the rows.
    held: Held,
}

/// The row that an address belongs to, by its number in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundRow {
    number: usize,
    /// The number of the first row of its sequence.
    first: usize,
}

/// The result of executing a line program.
#[derive(Debug, Default)]
struct Executed<'a> {
    rows: LineRows,
    /// Ranges of numbers in `rows`, by address.
    sequences: RangeMap<(usize, usize)>,
    /// Further ranges with the same addresses, in program order: functions that a linker merged because their code is identical.
    twins: BTreeMap<(u64, u64), Vec<(usize, usize)>>,
    /// The files that `DW_LNE_define_file` added to the header's.
    added: Vec<gimli::FileEntry<Bytes<'a>>>,
    /// The error that ended the program early.
    broken: Option<Error>,
}

impl<'a> LineTable<'a> {
    /// Returns the version of the table.
    #[must_use]
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Returns how many files the header lists.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.header().map_or(0, |header| header.file_names().len())
    }

    /// Returns the number of the first file in the header: 1 before DWARF 5, otherwise 0.
    #[must_use]
    pub fn first_file(&self) -> u64 {
        u64::from(self.version() < 5)
    }

    /// Returns all rows, in the order of the program. If the program ends early, it returns the rows before the error;
    /// [`problem`](LineTable::problem) has the error.
    #[must_use]
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = Row> + ExactSizeIterator + Clone {
        let rows = &self.executed().rows;
        rows.each(0..rows.len())
    }

    /// Returns the error that ended the program early, if there is one.
    #[must_use]
    pub fn problem(&self) -> Option<&Error> {
        self.executed().broken.as_ref()
    }

    /// Returns the row that `pc` belongs to, and the address of the next row: the last row at or before `pc` in
    /// the sequence that contains it.
    ///
    /// If sequences have the same addresses, it is the first: a linker that merges identical functions keeps the first one's code.
    #[must_use]
    pub fn find(&self, pc: u64) -> Option<(Row, Range<u64>)> {
        let found = self.find_declared(pc, || None)?;
        Some((self.row_of(found)?, self.range_of(found)?))
    }

    /// Returns the row that `pc` belongs to. If sequences have the same addresses, it selects the sequence of one function.
    ///
    /// * `declaration`: returns the number of the file and the line of the function's declaration. Called only if needed.
    pub(super) fn find_declared(
        &self,
        pc: u64,
        declaration: impl FnOnce() -> Option<(u64, u64)>,
    ) -> Option<FoundRow> {
        let executed = self.executed();
        let mut found = executed.sequences.get(pc)?;
        if let Some(twins) = executed.twins_of(found) {
            let first = twins.first().copied()?;
            let own = declaration().and_then(|place| executed.nearest(twins, place));
            found = own.unwrap_or(first);
        }
        let (first, end) = found;
        let after = executed.rows.first_after(pc, first..end);
        let number = after.checked_sub(1).filter(|number| *number >= first)?;
        (after < end).then_some(FoundRow { number, first })
    }

    /// Returns the row that was found.
    #[inline]
    pub(super) fn row_of(&self, found: FoundRow) -> Option<Row> {
        self.executed().rows.get(found.number)
    }

    /// Returns the addresses that belong to the row.
    pub(super) fn range_of(&self, found: FoundRow) -> Option<Range<u64>> {
        let rows = &self.executed().rows;
        let next = rows.address_of(found.number.checked_add(1)?)?;
        Some(rows.address_of(found.number)?..next)
    }

    /// Returns the rows before it in its sequence.
    pub(super) fn rows_before(
        &self,
        found: FoundRow,
    ) -> impl DoubleEndedIterator<Item = Row> + ExactSizeIterator + Clone {
        self.executed().rows.each(found.first..found.number)
    }

    /// Returns the header, if the table names files.
    pub(super) fn header(&self) -> Option<&gimli::LineProgramHeader<Bytes<'a>>> {
        (self.program.as_ref()).map(gimli::IncompleteLineProgram::header)
    }

    /// Returns a file by its number: a file from the header, or before DWARF 5 a file that the program adds.
    pub(crate) fn file_entry(&self, index: u64) -> Option<&gimli::FileEntry<Bytes<'a>>> {
        let header = self.header()?;
        if let Some(entry) = header.file(index) {
            return Some(entry);
        }
        let after = index.checked_sub(self.first_file())?;
        let after = usize::try_from(after)
            .ok()?
            .checked_sub(self.file_count())?;
        if self.version() >= 5 {
            return None;
        }
        self.executed().added.get(after)
    }

    fn executed(&self) -> &Executed<'a> {
        self.executed.get_or_init(|| match self.header() {
            Some(header) => execute(header, self.offset, &self.held),
            None => Executed::default(),
        })
    }
}

impl Executed<'_> {
    /// Returns the other sequences with the same addresses, if any.
    fn twins_of(&self, (first, end): (usize, usize)) -> Option<&[(usize, usize)]> {
        if self.twins.is_empty() {
            return None;
        }
        let last = end.checked_sub(1)?;
        let key = (self.rows.address_of(first)?, self.rows.address_of(last)?);
        self.twins.get(&key).map(Vec::as_slice)
    }

    /// Returns the sequence whose first line is nearest after the declaration of a function.
    fn nearest(
        &self,
        twins: &[(usize, usize)],
        (file, line): (u64, u64),
    ) -> Option<(usize, usize)> {
        /// The maximum number of functions to compare.
        const MOST: usize = 64;
        let after = |twin: &(usize, usize)| {
            let mut rows = self.rows.each(twin.0..twin.1).take(MOST);
            let first = rows.find(|row| row.line != 0)?;
            let lines = first.line.checked_sub(line)?;
            (first.file == file).then_some((lines, *twin))
        };
        let found = twins.iter().take(MOST).filter_map(after);
        found.min_by_key(|(lines, _)| *lines).map(|(_, twin)| twin)
    }
}

/// Sequences that have the same addresses as others.
fn twins(sequences: &[(Range<u64>, (usize, usize))]) -> BTreeMap<(u64, u64), Vec<(usize, usize)>> {
    let mut sorted: Vec<_> = sequences.iter().collect();
    sorted.sort_by_key(|(range, _)| (range.start, range.end));
    let groups = sorted.chunk_by(|(one, _), (other, _)| one == other);
    let several = groups.filter(|group| group.len() > 1);
    several
        .filter_map(|group| {
            let (range, _) = group.first()?;
            let rows = group.iter().map(|(_, rows)| *rows).collect();
            Some(((range.start, range.end), rows))
        })
        .collect()
}

impl<'a> DebugInfo<'a> {
    /// Returns the line table of a unit. A split unit has its skeleton's table. Units may share one.
    ///
    /// # Errors
    /// If the header of the table is malformed. Faults in the program are no error; see
    /// [`LineTable::problem`].
    pub fn line_table(&self, unit: UnitId) -> Result<Option<Arc<LineTable<'a>>>> {
        self.lines_of(unit).map(|table| table.map(Arc::clone))
    }

    /// Returns the errors of the line tables that were needed until now. Stops do not have the lines and files of these tables, and do not recognize
    /// prologues.
    #[must_use]
    pub fn line_problems(&self) -> Vec<Error> {
        let known = lock(&self.lines);
        let problem = |table: &Result<Arc<LineTable<'_>>>| match table {
            Ok(table) => table.executed.get()?.broken.clone(),
            Err(error) => Some(error.clone()),
        };
        known.tables.values().filter_map(problem).collect()
    }

    /// Returns the line table of a unit. A malformed one is as good as none.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn lines_if_readable(&self, unit: UnitId) -> Result<Option<&Arc<LineTable<'a>>>> {
        match self.lines_of(unit) {
            Err(error) if !error.is_limit() => Ok(None),
            found => found,
        }
    }

    /// Returns a reference to the line table of a unit.
    pub(super) fn lines_of(&self, unit: UnitId) -> Result<Option<&Arc<LineTable<'a>>>> {
        let read = || {
            let Some((unit, offset)) = self.line_offset(unit)? else {
                return Ok(None);
            };
            let key = (self.entry(unit)?.file, offset);
            let mut known = lock(&self.lines);
            if let Some(table) = known.tables.get(&key) {
                return table.clone().map(Some);
            }
            let table = self.read_line_table(unit, offset, &mut known.bytes);
            let table = table.map(Arc::new);
            known.tables.insert(key, table.clone());
            table.map(Some)
        };
        let table = self.cache(unit)?.lines.get_or_init(read);
        table.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    /// Returns the unit that has the line table of `unit`, and the offset of the table.
    ///
    /// # Errors
    /// If the unit cannot be read.
    pub(crate) fn line_offset(&self, unit: UnitId) -> Result<Option<(UnitId, usize)>> {
        if let Some(offset) = self.contents(unit)?.line_offset {
            return Ok(Some((unit, offset)));
        }
        let Some(partner) = self.entry(unit)?.partner else {
            return Ok(None);
        };
        let offset = self.contents(partner)?.line_offset;
        Ok(offset.map(|offset| (partner, offset)))
    }

    /// `read` is the size in bytes of all headers read before.
    fn read_line_table(
        &self,
        unit: UnitId,
        offset: usize,
        read: &mut usize,
    ) -> Result<LineTable<'a>> {
        let entry = self.entry(unit)?;
        let file = self.file(entry)?;
        let error = |error| file.error("line table", SectionId::DebugLine, offset, error);
        let place = |reason: &str| {
            let section = file.section_name(SectionId::DebugLine);
            Error::malformed("line table", reason).within(section, offset as u64)
        };
        let size = gimli::Section::reader(&file.dwarf.debug_line).slice().len();
        if *read > size.saturating_mul(OVERLAP) {
            return Err(place("too many line tables overlap"));
        }
        let held = Held::new(Arc::clone(self.meter()));
        let address_size = entry.header.address_size();
        let section = *gimli::Section::reader(&file.dwarf.debug_line);
        let program = match parse_program(section, offset, address_size, &held) {
            Ok(program) => program,
            Err(Refusal::Gimli(gimli::Error::MissingFileEntryFormatPath)) => {
                let length = section.len().saturating_sub(offset);
                *read = read.saturating_add(length);
                held.meter().charge_bytes(length)?;
                let rows = rows_without_names(section.slice(), offset, address_size, &held)?;
                let rows = rows.ok_or_else(|| error(gimli::Error::MissingFileEntryFormatPath))?;
                return Ok(LineTable {
                    // Older tables have no formats.
                    version: 5,
                    offset,
                    program: None,
                    file: entry.file,
                    executed: OnceLock::from(rows),
                    held,
                });
            }
            Err(Refusal::Gimli(other)) => return Err(error(other)),
            Err(Refusal::Limit(limit)) => return Err(limit),
        };
        let header = program.header();
        let length = header.header_length();
        *read = read.saturating_add(length);
        held.meter().charge_bytes(length)?;
        Ok(LineTable {
            version: header.version(),
            offset,
            program: Some(program),
            file: entry.file,
            executed: OnceLock::new(),
            held,
        })
    }
}

/// Returns the rows of a table that has no directories or no files, and no formats for these.
fn rows_without_names<'a>(
    section: &[u8],
    offset: usize,
    address_size: u8,
    held: &Held,
) -> Result<Option<Executed<'a>>> {
    let Some(bytes) = complete(section, offset) else {
        return Ok(None);
    };
    let bytes = Bytes::new(&bytes, gimli::LittleEndian);
    let program = match parse_program(bytes, 0, address_size, held) {
        Ok(program) => program,
        Err(Refusal::Gimli(_)) => return Ok(None),
        Err(Refusal::Limit(limit)) => return Err(limit),
    };
    let executed = execute(program.header(), offset, held);
    Ok(Some(Executed {
        rows: executed.rows,
        sequences: executed.sequences,
        twins: executed.twins,
        added: Vec::new(),
        broken: executed.broken,
    }))
}

/// Executes a line program. gimli executes each instruction. Its own loop is not used because it overflows on the lowest possible
/// `DW_LNS_advance_line`.
///
/// * `offset`: the offset of the table in the section.
fn execute<'a>(
    header: &gimli::LineProgramHeader<Bytes<'a>>,
    offset: usize,
    held: &Held,
) -> Executed<'a> {
    let mut made = Executed::default();
    let mut sequences = Vec::new();
    let fault = |error: gimli::Error| {
        Error::malformed("line program", error.to_string()).within(".debug_line", offset as u64)
    };
    made.broken = run(header, &mut made, &mut sequences, held, fault).err();
    made.rows.shrink();
    made.twins = twins(&sequences);
    made.sequences = RangeMap::new(sequences);
    made
}

fn run<'a>(
    header: &gimli::LineProgramHeader<Bytes<'a>>,
    made: &mut Executed<'a>,
    sequences: &mut Vec<(Range<u64>, (usize, usize))>,
    held: &Held,
    fault: impl Fn(gimli::Error) -> Error,
) -> Result<()> {
    let Executed { rows, added, .. } = made;
    let mut instructions = header.instructions();
    let mut row = LineRow::new(header);
    let mut first = 0;
    // Code that the linker discarded has no rows.
    let mut discarded = false;
    // `next_instruction` is not used: moving each instruction again would add a fifth to the time.
    while let Some(instruction) = instructions.next_instruction(header).map_err(&fault)? {
        if overflows(&instruction) {
            return Err(fault(gimli::Error::BadSignedLeb128));
        }
        held.meter().work(1)?;
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all other instructions are gimli's alone"
        )]
        match instruction {
            LineInstruction::SetAddress(address) => {
                let size = header.address_size();
                discarded = address < row.address() || is_discarded(address, size);
            }
            LineInstruction::DefineFile(file) => {
                // The charge includes room to grow: unlike rows, files are numerous only in malicious input.
                held.hold_all::<gimli::FileEntry<Bytes<'a>>>(2)?;
                added.push(file);
                continue;
            }
            _ => {}
        }
        if !row
            .execute(instruction, &mut Header(header))
            .map_err(&fault)?
        {
            continue;
        }
        if !discarded {
            rows.push(&to_row(&row), held)?;
        }
        if row.end_sequence() {
            if let Some(start) = rows.address_of(first) {
                sequences.push((start..row.address(), (first, rows.len())));
            }
            first = rows.len();
            discarded = false;
        }
        row.reset(header);
    }
    Ok(())
}

fn to_row(row: &LineRow) -> Row {
    let column = match row.column() {
        gimli::ColumnType::LeftEdge => 0,
        gimli::ColumnType::Column(column) => column.get(),
    };
    Row {
        address: row.address(),
        file: row.file_index(),
        line: row.line().map_or(0, core::num::NonZeroU64::get),
        column,
        isa: row.isa(),
        discriminator: row.discriminator(),
        is_stmt: row.is_stmt(),
        basic_block: row.basic_block(),
        prologue_end: row.prologue_end(),
        epilogue_begin: row.epilogue_begin(),
        end_sequence: row.end_sequence(),
    }
}
