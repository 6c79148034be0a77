//! Prints the verdict in one sentence, with the source line, the instruction and the lanes.

use std::collections::BTreeMap;
use std::io::Write;

use hetdwarf::arch::ProcessAddress;
use hetdwarf::inspect::{Stop, StopFrame};
use hetdwarf::plural::counted;
use hetdwarf::report::{CoreWaveDocument, FaultCandidateDocument};
use hetdwarf::untrusted::Untrusted;

use super::Printer;
use crate::failure::Failure;
use crate::lanes::ranges;
use crate::style::{ALARM, BOLD, FAINT};
use crate::wrap::filled;

/// The most lanes and candidates that are listed, and the most waves of a hang whose source lines are printed.
const LANES: usize = 4;
const CANDIDATES: usize = 4;
const LINES: usize = 4;

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
                let before = kind.chars().count() + 2;
                let text = filled(&text, before, self.width);
                writeln!(out, "{ALARM}{kind}{ALARM:#}: {text}")?;
            }
        }
        let wave = |index: usize| document.waves.get(index.checked_sub(1)?);
        match verdict.wave.and_then(wave) {
            Some(wave) => self.verdict_place(wave, out)?,
            None => self.hang_lines(out)?,
        }
        // Without waves, only the problems follow.
        if !document.waves.is_empty() {
            writeln!(out)?;
        }
        Ok(())
    }

    /// Prints the source lines of a hang: the barrier and the lines of the waves that have not reached it, or the lines of a loop.
    fn hang_lines(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let document = self.document;
        if document.verdict.kind != "hang" {
            return Ok(());
        }
        let mut groups = document.workgroups.iter();
        let at_barrier = groups.find(|group| !group.at_barrier.is_empty());
        let waves: Vec<usize> = match at_barrier {
            Some(group) => {
                let waiting = group.at_barrier.iter().take(1);
                waiting.chain(&group.elsewhere).copied().collect()
            }
            None => document.waves.iter().map(|wave| wave.index).collect(),
        };
        let mut lines: BTreeMap<(Option<Untrusted<'_>>, Option<u64>), usize> = BTreeMap::new();
        for index in waves {
            let wave = index.checked_sub(1).and_then(|n| document.waves.get(n));
            if let Some(wave) = wave {
                let line = (wave.file.clone(), wave.line);
                lines.entry(line).or_insert(index);
            }
        }
        let source = self.source;
        for index in lines.into_values().take(LINES) {
            source.with(index, &mut |_, stop| {
                let Some(stop) = stop else { return Ok(()) };
                let frame = stop.call_frame(0);
                let Some(frame) = frame else { return Ok(()) };
                let frame = match stop.barrier() {
                    Some(barrier) => frame.for_waiting(barrier, 0),
                    None => frame,
                };
                self.source_at(&frame.innermost(), out)
            })?;
        }
        Ok(())
    }

    fn verdict_place(
        &mut self,
        wave: &CoreWaveDocument,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Some(fault) = &wave.fault else {
            // The wave and its line are shown in full below.
            return Ok(());
        };
        let Some((first, others)) = fault.candidates.split_first() else {
            return Ok(());
        };
        instruction(first, out)?;
        let source = self.source;
        source.with(wave.index, &mut |_, stop| {
            self.fault_frames(first, stop, out)
        })?;
        lanes_of(first, out)?;
        less_likely(others, out)
    }

    /// Prints the frames of an access, each with its source line.
    fn fault_frames(
        &mut self,
        access: &FaultCandidateDocument,
        stop: Option<&Stop<'_, '_>>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let pc = u64::try_from(access.pc.0).ok().map(ProcessAddress);
        let frame = stop.zip(pc).and_then(|(stop, pc)| {
            let frame = stop.call_frame(0)?;
            Some(frame.for_waiting(pc, 0))
        });
        let parts = frame.as_ref().map(StopFrame::parts).transpose();
        let mut parts = parts.ok().flatten();
        for line in &access.inlined {
            writeln!(out, "    {line}")?;
            if let Some(part) = parts.as_mut().and_then(Iterator::next) {
                self.source_at(&part, out)?;
            }
        }
        Ok(())
    }
}

fn instruction(access: &FaultCandidateDocument, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "  {:#x}  {BOLD}{}{BOLD:#}",
        access.pc.0, access.instruction
    )?;
    Ok(())
}

/// Prints the faulting lanes with their addresses.
fn lanes_of(first: &FaultCandidateDocument, out: &mut dyn Write) -> Result<(), Failure> {
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
        writeln!(out, "  {FAINT}lanes unknown: {why}{FAINT:#}")?;
    }
    Ok(())
}

/// Prints the less likely candidates.
fn less_likely(others: &[FaultCandidateDocument], out: &mut dyn Write) -> Result<(), Failure> {
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
