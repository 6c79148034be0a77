//! Entries as text, aligned as llvm-dwarfdump aligns them.

use std::io::{self, Write};

use super::attribute::{Meaning, Shown};
use super::entries::Sink;
use super::output::Output;
use super::unit::Header;
use crate::debug_info::Die;
use crate::debug_info::attribute::tag_name;
use crate::error::Error;

/// How deep entries are still indented. Deeper nesting is no longer to be seen, and would make every line
/// as long as the nesting is deep.
const DEEPEST: usize = 64;

/// What stands before an attribute, beside the indentation.
const BASE: usize = 12;

/// Prints entries as text.
pub(super) struct TextEntries<'p, 'o> {
    pub(super) output: &'p mut Output<'o>,
    pub(super) indent: usize,
}

impl<'a> Sink<'a> for TextEntries<'_, '_> {
    fn begin_unit(
        &mut self,
        unit: &Header<'a>,
        _section: &'static str,
        whole: bool,
    ) -> io::Result<()> {
        if whole {
            writeln!(self.output, "{}", unit.text())?;
        }
        Ok(())
    }

    fn begin_entry(&mut self, die: &Die<'a>, depth: usize) -> io::Result<()> {
        self.indent = depth.min(DEEPEST).saturating_mul(2);
        let width = self.indent;
        let offset = die.id().offset;
        let tag = if die.is_null() {
            "NULL".into()
        } else {
            tag_name(die.tag())
        };
        writeln!(self.output, "\n{offset:#010x}: {:width$}{tag}", "")?;
        Ok(())
    }

    fn attribute(&mut self, shown: &Shown<'a>, _meaning: Option<&Meaning>) -> io::Result<()> {
        let width = self.indent.saturating_add(BASE).saturating_add(2);
        write!(self.output, "{:width$}{}\t({}", "", shown.name, shown.text)?;
        if let Some(note) = shown.note() {
            write!(self.output, " \"{note}\"")?;
        }
        let width = width.saturating_add(3);
        for item in &shown.list {
            write!(self.output, "\n{:width$}{}", "", item.head)?;
            if let Some((text, _)) = &item.expression {
                write!(self.output, ": {text}")?;
            }
        }
        if let Some(error) = &shown.problem {
            self.output.note(error);
            write!(self.output, "<error: {error}>")?;
        }
        writeln!(self.output, ")")?;
        Ok(())
    }

    fn end_entry(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn problem(&mut self, error: &Error) -> io::Result<()> {
        writeln!(self.output)?;
        self.output.problem(error)
    }

    fn end_unit(&mut self) -> io::Result<()> {
        Ok(())
    }
}
