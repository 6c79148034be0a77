//! Defines the arguments of functions that print a part.

use std::io::{self, Write};

use super::output::Output;
use super::part::Part;
use super::sources::Sources;
use super::{Selection, Style, View};

/// The arguments of a function that prints a part.
#[derive(Clone, Copy)]
pub(super) struct Context<'c, 'a> {
    pub(super) part: Part,
    pub(super) sources: &'c Sources<'a>,
    pub(super) style: Style,
    pub(super) selection: &'c Selection<'c>,
    pub(super) view: &'c View,
    /// The only offset to print, in bytes from the start of the section.
    pub(super) offset: Option<u64>,
    /// True if the part was requested by name. Empty sections have titles then.
    pub(super) explicit: bool,
    /// The offsets at which single entries are printed, by part.
    pub(super) offsets: &'c [(Part, u64)],
    /// All printed parts.
    pub(super) parts: &'c [Part],
}

impl Context<'_, '_> {
    /// Returns the context for the function that prints another part.
    pub(super) fn of(self, part: Part) -> Self {
        let offset = self.offsets.iter().find(|(of, _)| *of == part);
        Context {
            part,
            offset: offset.map(|(_, offset)| *offset),
            ..self
        }
    }

    /// Prints the title of a section. Returns true if the section is to be printed.
    ///
    /// * `size`: the size of the section, in bytes.
    pub(super) fn begin_section(
        &self,
        name: &str,
        size: usize,
        output: &mut Output<'_>,
    ) -> io::Result<bool> {
        let is_expected = self.explicit && !name.ends_with(".dwo");
        if size == 0 && !is_expected {
            return Ok(false);
        }
        if !output.json() {
            writeln!(output, "\n{name} contents:")?;
        }
        Ok(true)
    }
}
