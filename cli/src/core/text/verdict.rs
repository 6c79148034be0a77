//! The verdict in one sentence, with the line of source, the instruction and the lanes.

use std::io::Write;

use hetdwarf::arch::ProcessAddress;
use hetdwarf::inspect::Stop;
use hetdwarf::plural::counted;
use hetdwarf::report::{CoreWaveDocument, FaultCandidateDocument, FaultDocument};

use super::Printer;
use crate::failure::Failure;
use crate::lanes::ranges;
use crate::style::{ALARM, BOLD, FAINT};

/// How many lanes are shown one by one, and how many candidates.
const LANES: usize = 4;
const CANDIDATES: usize = 4;

impl Printer<'_> {
    /// Prints the verdict.
    pub(super) fn verdict(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let document = self.document;
        let verdict = &document.verdict;
        let text = verdict.text.to_string();
        match verdict.kind.as_str() {
            "none" => writeln!(out, "{}", filled(&text, 0, self.width))?,
            kind => {
                let kind = kind.replace('-', " ");
                let before = kind.chars().count().saturating_add(2);
                let text = filled(&text, before, self.width);
                writeln!(out, "{ALARM}{kind}{ALARM:#}: {text}")?;
            }
        }
        let index = verdict.wave.or_else(|| self.waiting());
        let wave = index.and_then(|index| document.waves.get(index.checked_sub(1)?));
        if let Some(wave) = wave {
            self.verdict_place(wave, out)?;
        }
        writeln!(out)?;
        Ok(())
    }

    /// The first wave that waits at a barrier.
    fn waiting(&self) -> Option<usize> {
        let mut groups = self.document.workgroups.iter();
        groups.find_map(|group| group.at_barrier.first().copied())
    }

    fn verdict_place(
        &mut self,
        wave: &CoreWaveDocument,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let source = self.source;
        source.with(wave.index, &mut |_, stop| match stop {
            Some(stop) => self.verdict_line(wave, stop, out),
            None => Ok(()),
        })?;
        match &wave.fault {
            Some(fault) => fault_lines(fault, out),
            None => Ok(()),
        }
    }

    /// The line of source of the verdict.
    fn verdict_line(
        &mut self,
        wave: &CoreWaveDocument,
        stop: &Stop<'_, '_>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let first = wave
            .fault
            .as_ref()
            .and_then(|fault| fault.candidates.first());
        let pc = match first {
            Some(candidate) => u64::try_from(candidate.pc.0).ok().map(ProcessAddress),
            None => stop
                .barrier()
                .filter(|_| self.document.verdict.wave.is_none()),
        };
        // Otherwise the wave is shown in full below, with its line.
        if let (Some(pc), Some(frame)) = (pc, stop.call_frame(0)) {
            self.source_at(&frame.for_waiting(pc, 0).innermost(), out)?;
        }
        Ok(())
    }
}

/// Breaks a text at spaces, where lines would be longer than the width.
///
/// * `before`: how many characters are before it in its first line.
fn filled(text: &str, before: usize, width: usize) -> String {
    const INDENT: &str = "  ";
    let mut filled = String::new();
    let mut column = before;
    for word in text.split(' ') {
        let length = word.chars().count();
        if !filled.is_empty() && column.saturating_add(length).saturating_add(1) > width {
            filled.push('\n');
            filled.push_str(INDENT);
            column = INDENT.len();
        } else if !filled.is_empty() {
            filled.push(' ');
            column = column.saturating_add(1);
        }
        filled.push_str(word);
        column = column.saturating_add(length);
    }
    filled
}

/// The instruction and the lanes, and the other candidates.
fn fault_lines(fault: &FaultDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let Some((first, others)) = fault.candidates.split_first() else {
        return Ok(());
    };
    writeln!(
        out,
        "  {:#x}  {BOLD}{}{BOLD:#}",
        first.pc.0, first.instruction
    )?;
    for frame in &first.inlined {
        writeln!(out, "    {frame}")?;
    }
    for one in first.lanes.iter().take(LANES) {
        let item = one
            .work_item
            .map(|[x, y, z]| format!(", work-item ({x},{y},{z})"));
        let item = item.unwrap_or_default();
        writeln!(out, "  lane {}{item}: {:#x}", one.lane, one.address.0)?;
    }
    if let Some(more) = first
        .lanes
        .len()
        .checked_sub(LANES)
        .filter(|more| *more > 0)
    {
        let lanes: Vec<u8> = first.lanes.iter().skip(LANES).map(|one| one.lane).collect();
        let more = counted(more as u64, "lane");
        writeln!(out, "  {FAINT}{more} more: {}{FAINT:#}", ranges(&lanes))?;
    }
    if let Some(address) = first.address {
        writeln!(out, "  all lanes: {:#x}", address.0)?;
    }
    if first.lanes.is_empty() && first.address.is_none() {
        let why = "registers of its address were overwritten since";
        writeln!(out, "  {FAINT}which lanes is not known: {why}{FAINT:#}")?;
    }
    if !others.is_empty() {
        writeln!(out, "  {FAINT}or, less likely:{FAINT:#}")?;
    }
    for other in others.iter().take(CANDIDATES) {
        other_line(other, out)?;
    }
    if let Some(more) = others
        .len()
        .checked_sub(CANDIDATES)
        .filter(|more| *more > 0)
    {
        writeln!(
            out,
            "  {FAINT}{} more{FAINT:#}",
            counted(more as u64, "access")
        )?;
    }
    Ok(())
}

fn other_line(other: &FaultCandidateDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let at = other.inlined.first().map(|frame| format!("  {frame}"));
    let at = at.unwrap_or_default();
    writeln!(
        out,
        "  {FAINT}{:#x}  {}{at}{FAINT:#}",
        other.pc.0, other.instruction
    )?;
    Ok(())
}
