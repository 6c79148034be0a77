//! Checks line tables: each must be readable, and its rows must name valid files and addresses. Source: DWARF 5 §6.2.
//!
//! A table is read once, regardless of the number of units that use it, and no part of it is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::{LineInstruction, LineProgramHeader, LineRow, Section as _};

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::debug_info::{
    Bytes, LineHeader, Refusal, UnitId, UnitKind, next_instruction, parse_program,
};
use crate::error::{Error, Result};
use crate::meter::Held;
use crate::rule::Rule;

rules! {
    OFFSET "line-offset" Error "DWARF 5 §3.1.1"
        "a unit's line table is outside of the section"
        "DW_AT_stmt_list is the offset of the table's header in .debug_line. Without the table, the code of the unit has no lines, and files \
         have no names.";
    TABLE "line-table" Error "DWARF 5 §6.2.4"
        "a line table cannot be read"
        "Its header has an unknown version or unknown sizes, or an instruction goes past its end. The code after that place has no lines.";
    SHARED "line-shared" Warning "DWARF 5 §3.1.1"
        "two compilation units have the same line table"
        "Each unit must have its own table. A debugger that looks for the unit of a line finds either of them.";
    DIRECTORY "line-directory" Error "DWARF 5 §6.2.4"
        "a file is in a directory that is not listed"
        "A debugger uses another directory, or none, and does not find the source.";
    FILE "line-file" Error "DWARF 5 §6.2.4.1"
        "a row names a file that is not listed"
        "A debugger attributes this code to the wrong file, or to none.";
    BACKWARDS "line-backwards" Error "DWARF 5 §6.2.5"
        "addresses of a sequence decrease"
        "Addresses must ascend within a sequence. A debugger that searches unsorted rows attributes code to the wrong line, and some debuggers \
         drop the rest of the sequence.";
}

/// Checks the tables of all units.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let info = subject.program.info();
    // The key includes the section, because split and other units use different sections.
    let mut units: BTreeMap<(bool, usize), UnitId> = BTreeMap::new();
    for unit in info.unit_ids() {
        // The tables of a split unit without its skeleton are in another file.
        let Ok(Some((owner, offset))) = info.line_offset(unit) else {
            continue;
        };
        if owner != unit || subject.meter().work(1).is_err() {
            continue;
        }
        let (Ok(unit_info), Ok(sections)) = (info.unit_info(unit), info.raw_sections(unit)) else {
            continue;
        };
        // The section decides, because before DWARF 5 the kind of a unit does not show that it is split.
        let is_split = unit_info.section.ends_with(".dwo");
        let mut table = Table {
            section: if is_split {
                ".debug_line.dwo"
            } else {
                ".debug_line"
            },
            offset,
            findings: &mut *findings,
        };
        if let Some(first) = units.get(&(is_split, offset)) {
            let is_compile = |kind| matches!(kind, UnitKind::Compile | UnitKind::Skeleton);
            let first = info.unit_info(*first);
            if let Ok(first) = first
                && is_compile(first.kind)
                && is_compile(unit_info.kind)
            {
                let message = format!(
                    "the units at {:#x} and {:#x} have the table at {offset:#x}",
                    first.offset, unit_info.offset
                );
                let finding = Finding::new(&SHARED, unit_info.section, message);
                table.findings.add(finding.at(unit_info.offset));
            }
            continue;
        }
        units.insert((is_split, offset), unit);
        let bytes = *sections.debug_line.reader();
        if offset >= bytes.slice().len() {
            let message = format!(
                "DW_AT_stmt_list is {offset:#x}, and {} ends before",
                table.section
            );
            let finding = Finding::new(&OFFSET, unit_info.section, message);
            table.findings.add(finding.at(unit_info.offset));
            continue;
        }
        // Holds the charge for the header until the header is dropped.
        let held = Held::new(Arc::clone(subject.meter()));
        match parse_program(bytes, offset, unit_info.address_size, &held) {
            Ok(program) => {
                let checked = table.check(program.header(), &held);
                if let Err(error) = checked
                    && !error.is_limit()
                {
                    table.add(&TABLE, error.to_string());
                }
            }
            Err(Refusal::Limit(_)) => return,
            // Assemblers write such tables if no file has lines. These tables have rows but no names.
            Err(Refusal::Gimli(gimli::Error::MissingFileEntryFormatPath)) => {}
            Err(Refusal::Gimli(error)) => table.add(&TABLE, error.to_string()),
        }
    }
}

/// A line table.
struct Table<'f> {
    section: &'static str,
    offset: usize,
    findings: &'f mut Findings,
}

impl Table<'_> {
    fn add(&mut self, rule: &'static Rule, message: String) {
        let finding = Finding::new(rule, self.section, message);
        self.findings.add(finding.at(self.offset as u64));
    }

    /// Checks the lists of the header, and every row. Reports the first finding of each rule.
    fn check(&mut self, header: &LineProgramHeader<Bytes<'_>>, held: &Held) -> Result<()> {
        let directories = directories(header);
        for (n, file) in (first_file(header)..).zip(header.file_names()) {
            held.meter().work(1)?;
            if file.directory_index() >= directories {
                let directory = file.directory_index();
                let message = match directories.checked_sub(1) {
                    Some(last) => format!(
                        "file {n} is in directory {directory}, but directories are 0 to {last}"
                    ),
                    None => format!(
                        "file {n} is in directory {directory}, but there are no directories"
                    ),
                };
                self.add(&DIRECTORY, message);
                break;
            }
        }
        let mut files = header.file_names().len() as u64 + first_file(header);
        let (mut bad_file, mut backwards) = (None, None);
        let fault = |error: gimli::Error| Error::malformed("line program", error.to_string());
        let mut row = LineRow::new(header);
        // The address of the previous row of the sequence.
        let mut before = None;
        let mut instructions = header.instructions();
        while let Some(instruction) = next_instruction(&mut instructions, header).map_err(fault)? {
            held.meter().work(1)?;
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "all other instructions are gimli's alone"
            )]
            match instruction {
                LineInstruction::DefineFile(_) => files += 1,
                LineInstruction::SetAddress(address) => {
                    let is_back = before.is_some_and(|before| address < before);
                    backwards =
                        backwards.or(before.filter(|_| is_back).map(|from| (from, address)));
                }
                _ => {}
            }
            if !row
                .execute(instruction, &mut LineHeader(header))
                .map_err(fault)?
            {
                continue;
            }
            let file = row.file_index();
            // Before DWARF 5, files are numbered from 1, and 0 means no file, which is valid.
            if !row.end_sequence() && file >= files && bad_file.is_none() {
                bad_file = Some((row.address(), file));
            }
            before = (!row.end_sequence()).then(|| row.address());
            row.reset(header);
        }
        if let Some((address, file)) = bad_file {
            let first = first_file(header);
            let listed = match files.checked_sub(1).filter(|last| *last >= first) {
                Some(last) => format!("files are {first} to {last}"),
                None => "there are no files".to_owned(),
            };
            let message = format!("the row of {address:#x} names file {file}, but {listed}");
            let finding = Finding::new(&FILE, self.section, message).at(self.offset as u64);
            self.findings.add(finding.pc(address));
        }
        if let Some((from, to)) = backwards {
            let message = format!("the row of {to:#x} follows the row of {from:#x}");
            let finding = Finding::new(&BACKWARDS, self.section, message).at(self.offset as u64);
            self.findings.add(finding.pc(to));
        }
        Ok(())
    }
}

/// Returns the number of the first file in the header's list.
fn first_file(header: &LineProgramHeader<Bytes<'_>>) -> u64 {
    u64::from(header.version() < 5)
}

/// Returns the number of directories. Before DWARF 5, the directory of the unit has the number 0 and is not listed.
fn directories(header: &LineProgramHeader<Bytes<'_>>) -> u64 {
    header.include_directories().len() as u64 + u64::from(header.version() < 5)
}
