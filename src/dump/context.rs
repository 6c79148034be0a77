//! What the function that prints a part is given.

use std::io::{self, Write};

use super::output::Output;
use super::part::Part;
use super::sources::Sources;
use super::{Selection, Style, View};

/// What the function that prints a part is given.
#[derive(Clone, Copy)]
pub(super) struct Context<'c, 'a> {
    pub(super) part: Part,
    pub(super) sources: &'c Sources<'a>,
    pub(super) style: Style,
    pub(super) selection: &'c Selection<'c>,
    pub(super) view: &'c View,
    /// The only offset to print, in bytes from the start of the section.
    pub(super) offset: Option<u64>,
    /// True if the part was asked for by name. Then empty sections have titles too.
    pub(super) explicit: bool,
    /// The offsets that are printed alone, by parts.
    pub(super) offsets: &'c [(Part, u64)],
    /// All parts that are printed.
    pub(super) parts: &'c [Part],
}

impl Context<'_, '_> {
    /// What the function that prints another part is given.
    pub(super) fn of(self, part: Part) -> Self {
        let offset = self.offsets.iter().find(|(of, _)| *of == part);
        Context {
            part,
            offset: offset.map(|(_, offset)| *offset),
            ..self
        }
    }

    /// Prints the title of a section, and returns true if the section is to be printed.
    ///
    /// * `size`: of the section, in bytes.
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
