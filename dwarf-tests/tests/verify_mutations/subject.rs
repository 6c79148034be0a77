//! A code object with call frame information to damage.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use fallible_iterator::FallibleIterator;
use hetdwarf::frame::{Cie, Entry, Fde, FrameSection, Instruction, Instructions};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Finding, verify};

/// A file, with the position of its call frame information.
pub struct Subject {
    pub name: String,
    pub data: Vec<u8>,
    /// The bytes of `.debug_frame` in the file.
    pub section: Range<usize>,
    /// The position of the section's size in its header.
    pub size_at: usize,
    /// The findings in the undamaged file.
    before: BTreeSet<String>,
}

/// Returns a text that identifies a finding.
fn identity(finding: &Finding) -> String {
    format!(
        "{} {:?} {:?} {}",
        finding.rule.id, finding.offset, finding.pc, finding.message
    )
}

fn check(data: &[u8]) -> Vec<Finding> {
    let object = CodeObject::parse(data).unwrap();
    let program = Program::load(&object).unwrap();
    verify(&program).findings
}

impl Subject {
    pub fn read(path: &Path) -> Subject {
        let data = std::fs::read(path).unwrap();
        let object = CodeObject::parse(&data).unwrap();
        let sections = object.sections().iter();
        let section = sections
            .clone()
            .find(|section| section.name == ".debug_frame")
            .unwrap();
        let start = usize::try_from(section.offset).unwrap();
        let size = usize::try_from(section.size).unwrap();
        let word = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap());
        let headers = usize::try_from(word(40)).unwrap();
        // Searches for the section header of 64 bytes with this file offset. The size follows the offset.
        let header = (0..)
            .map(|number| headers + 64 * number)
            .find(|header| word(header + 24) == section.offset && word(header + 32) == section.size)
            .unwrap();
        Subject {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            section: start..start + size,
            size_at: header + 32,
            before: check(&data).iter().map(identity).collect(),
            data: data.clone(),
        }
    }

    pub fn frame(&self) -> FrameSection<'_> {
        FrameSection::debug_frame(&self.data[self.section.clone()])
    }

    pub fn cies(&self) -> Vec<Cie<'_>> {
        let entries = self.frame().entries().filter_map(|entry| match entry {
            Entry::Cie(cie) => Ok(Some(cie)),
            Entry::Fde(_) | Entry::Terminator(_) => Ok(None),
        });
        entries.collect().unwrap()
    }

    pub fn fdes(&self) -> Vec<Fde<'_>> {
        let entries = self.frame().entries().filter_map(|entry| match entry {
            Entry::Fde(fde) => Ok(Some(fde)),
            Entry::Cie(_) | Entry::Terminator(_) => Ok(None),
        });
        entries.collect().unwrap()
    }

    /// Returns the file with other bytes at an offset of the section.
    pub fn put(&self, offset: u64, bytes: &[u8]) -> Vec<u8> {
        let mut data = self.data.clone();
        let at = self.section.start + usize::try_from(offset).unwrap();
        assert!(at + bytes.len() <= self.section.end);
        data[at..at + bytes.len()].copy_from_slice(bytes);
        data
    }

    /// Returns the file with other instructions in an entry. Returns `None` if there is no room for them.
    pub fn rewrite(&self, fde: &Fde<'_>, instructions: &[Instruction<'_>]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for instruction in instructions {
            instruction.encode(8, &mut bytes).ok()?;
        }
        if bytes.len() > fde.instructions.len() {
            return None;
        }
        bytes.resize(fde.instructions.len(), 0);
        Some(self.put(fde.instructions_offset, &bytes))
    }

    /// Returns the findings that the damaged file has and the original has not.
    pub fn new_findings(&self, data: &[u8]) -> Vec<Finding> {
        let mut findings = check(data);
        findings.retain(|finding| !self.before.contains(&identity(finding)));
        findings
    }
}

/// Returns the instructions of an entry, without padding.
pub fn instructions<'a>(fde: &Fde<'a>) -> Vec<Instruction<'a>> {
    let mut list: Vec<_> = Instructions::new(fde.instructions, 0, 8, ".debug_frame")
        .map(|item| Ok(item.instruction))
        .collect()
        .unwrap();
    while list.last() == Some(&Instruction::Nop) {
        list.pop();
    }
    list
}
