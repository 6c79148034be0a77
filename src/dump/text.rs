//! Entries as text, aligned as llvm-dwarfdump aligns them.

use std::io::{self, Write};

use super::attribute::{Meaning, Shown};
use super::digits::spaces;
use super::entries::Sink;
use super::header::Header;
use super::list::address;
use super::output::Output;
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
        let offset = address(die.id().offset, 4);
        let tag = if die.is_null() {
            "NULL".into()
        } else {
            tag_name(die.tag())
        };
        let indent = spaces(self.indent);
        self.output
            .texts(&["\n", &offset, ": ", indent, &tag, "\n"])
    }

    fn attribute(&mut self, shown: &Shown<'a>, _meaning: Option<&Meaning>) -> io::Result<()> {
        let width = self.indent.saturating_add(BASE).saturating_add(2);
        let parts = [spaces(width), &*shown.name, "\t(", &shown.text];
        self.output.texts(&parts)?;
        if let Some(note) = shown.note() {
            write!(self.output, " \"{note}\"")?;
        }
        let width = width.saturating_add(3);
        for item in &shown.list {
            self.output.texts(&["\n", spaces(width), &item.head])?;
            if let Some((text, _)) = &item.expression {
                self.output.texts(&[": ", text])?;
            }
        }
        if let Some(error) = &shown.problem {
            self.output.note(error);
            write!(self.output, "<error: {error}>")?;
        }
        self.output.texts(&[")\n"])
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
