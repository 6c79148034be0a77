//! Prints entries as text, aligned as in llvm-dwarfdump.

use std::io::{self, Write};

use super::attribute::{Attributes, Meaning, Shown};
use super::digits::spaces;
use super::encoding::form_name;
use super::entries::{Encoded, Sink};
use super::header::Header;
use super::list::address;
use super::output::Output;
use crate::debug_info::Die;
use crate::debug_info::attribute::tag_name;
use crate::error::Error;

/// The maximum depth of indentation. Deeper nesting is not readable, and would make lines as long as the nesting is deep.
const DEEPEST: usize = 64;

/// The width before an attribute, in addition to the indentation.
const BASE: usize = 12;

/// Prints entries as text.
pub(super) struct TextEntries<'p, 'o> {
    output: &'p mut Output<'o>,
    indent: usize,
    /// The start of the section, to which offsets are relative.
    shift: u64,
    verbose: bool,
    show_form: bool,
}

impl<'p, 'o> TextEntries<'p, 'o> {
    pub(super) fn new(
        output: &'p mut Output<'o>,
        attributes: &Attributes<'_, '_>,
    ) -> TextEntries<'p, 'o> {
        TextEntries {
            output,
            indent: 0,
            shift: 0,
            verbose: attributes.style.verbose,
            show_form: attributes.show_form,
        }
    }
}

impl<'a> Sink<'a> for TextEntries<'_, '_> {
    fn begin_unit(
        &mut self,
        unit: &Header<'a>,
        _section: &'static str,
        whole: bool,
    ) -> io::Result<()> {
        self.shift = unit.facts.shift;
        if whole {
            writeln!(self.output, "{}", unit.text(""))?;
        }
        Ok(())
    }

    fn summary(&mut self, unit: &Header<'a>, signature: u64) -> io::Result<()> {
        writeln!(self.output, "{}", unit.summary(signature))
    }

    fn begin_entry(&mut self, die: &Die<'a>, depth: usize, encoded: Encoded) -> io::Result<()> {
        self.indent = depth.min(DEEPEST).saturating_mul(2);
        let offset = address(die.id().offset.saturating_sub(self.shift), 4);
        let tag = if die.is_null() {
            "NULL".into()
        } else {
            tag_name(die.tag())
        };
        let indent = spaces(self.indent);
        self.output.texts(&["\n", &offset, ": ", indent, &tag])?;
        if self.verbose && !die.is_null() {
            let children = if die.has_children() { '*' } else { ' ' };
            write!(self.output, " [{}] {children}", encoded.code)?;
            if let Some(parent) = encoded.parent {
                let parent = address(parent.saturating_sub(self.shift), 4);
                self.output.texts(&[" (", &parent, ")"])?;
            }
        }
        self.output.texts(&["\n"])
    }

    fn attribute(&mut self, shown: &Shown<'a>, _meaning: Option<&Meaning>) -> io::Result<()> {
        let width = self.indent.saturating_add(BASE).saturating_add(2);
        let (name, text) = (&*shown.name, &*shown.text);
        if self.show_form {
            let form = form_name(shown.form);
            let parts = [spaces(width), name, " [", &form, "]\t(", text];
            self.output.texts(&parts)?;
        } else {
            self.output.texts(&[spaces(width), name, "\t(", text])?;
        }
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
            if !self.output.is_quiet() {
                write!(self.output, "<error: {error}>")?;
            }
        }
        self.output.texts(&[")\n"])
    }

    fn end_entry(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn problem(&mut self, error: &Error) -> io::Result<()> {
        if !self.output.is_quiet() {
            writeln!(self.output)?;
        }
        self.output.problem(error)
    }

    fn end_unit(&mut self) -> io::Result<()> {
        Ok(())
    }
}
