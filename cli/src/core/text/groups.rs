//! Prints the waves of a core in groups.

use std::collections::BTreeSet;
use std::io::Write;

use hetdwarf::report::GroupDocument;
use hetdwarf::untrusted::Untrusted;

use super::{Printer, numbers};
use crate::failure::Failure;
use crate::or_unknown;
use crate::style::{BOLD, FAINT};

/// The text for waves at a barrier, regardless of whether they were saved as running or as stopped.
const WAITING: &str = "waiting";

/// Groups of a document with the same stack and state, as one line.
struct Row<'d> {
    first: &'d GroupDocument,
    state: &'static str,
    waves: Vec<usize>,
}

impl<'p> Printer<'p> {
    /// Prints the groups, one line each.
    pub(super) fn groups(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let rows = self.rows();
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{BOLD}Waves by call stack{BOLD:#}")?;
        rows.iter().try_for_each(|row| self.row(row, out))
    }

    /// Returns the lines. Waves that wait at a barrier with the same stack share a line, because whether they were saved as running or
    /// stopped says nothing about a hang.
    fn rows(&self) -> Vec<Row<'p>> {
        let workgroups = self.document.workgroups.iter();
        let waiting: BTreeSet<usize> = workgroups
            .flat_map(|group| group.at_barrier.iter().copied())
            .collect();
        let mut rows: Vec<Row<'p>> = Vec::new();
        for group in &self.document.groups {
            let is_waiting = group.waves.iter().all(|wave| waiting.contains(wave));
            let state = if is_waiting {
                WAITING
            } else {
                group.state.name()
            };
            let is_same = |row: &&mut Row<'p>| {
                is_waiting
                    && row.state == WAITING
                    && row.first.kernel == group.kernel
                    && row.first.stack == group.stack
            };
            if let Some(known) = rows.iter_mut().find(is_same) {
                known.waves.extend(&group.waves);
                known.waves.sort_unstable();
                continue;
            }
            rows.push(Row {
                first: group,
                state,
                waves: group.waves.clone(),
            });
        }
        rows
    }

    fn row(&self, row: &Row<'_>, out: &mut dyn Write) -> Result<(), Failure> {
        let stack = &row.first.stack;
        let start = format!("  {:>5} {:<8} ", row.waves.len(), row.state);
        let kernel = or_unknown(self.kernel_of(row)).to_string();
        let outermost = stack.last().map(|line| line.raw());
        // The outermost frame names the kernel, unless the stack is cut.
        let is_named = outermost.is_some_and(|line| {
            let rest = line.strip_prefix(kernel.as_str());
            rest.is_some_and(|rest| rest.starts_with(" at "))
        });
        let kernel = if is_named {
            String::new()
        } else {
            format!("{kernel}: ")
        };
        let mut stack = stack.iter();
        let at = or_unknown(stack.next()).to_string();
        let from: String = stack.map(|caller| format!(" ← {caller}")).collect();
        let plural = if row.waves.len() == 1 { "" } else { "s" };
        let numbers = numbers(&row.waves, self.all);
        let end = format!("  wave{plural} {numbers}");
        // If the line is too long, callers are left out first.
        let taken = [&start, &kernel, &at, &end].map(|text| text.chars().count());
        let room = self.width.saturating_sub(taken.iter().sum());
        let from = match self.all || from.chars().count() <= room {
            true => from,
            false => from
                .chars()
                .take(room.saturating_sub(1))
                .chain(['…'])
                .collect(),
        };
        writeln!(
            out,
            "{start}{BOLD}{kernel}{BOLD:#}{at}{FAINT}{from}{end}{FAINT:#}"
        )?;
        Ok(())
    }

    /// Returns the name of the kernel that the waves of a line run.
    fn kernel_of(&self, row: &Row<'_>) -> Option<&Untrusted<'static>> {
        let first = row.waves.first()?.checked_sub(1)?;
        self.document.waves.get(first)?.kernel_name()
    }
}
