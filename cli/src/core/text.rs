//! Prints a core as text: the waves that faulted, then all others in groups, then the parts that could not be read.

mod groups;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use hetdwarf::arch::Lane;
use hetdwarf::gpu_core::{FenceScope, StopReason, WaveState};
use hetdwarf::inspect::{Stop, StopFrame};
use hetdwarf::plural::counted;
use hetdwarf::report::source_text::SourceTexts;
use hetdwarf::report::{
    CoreDocument, CoreReport, CoreWaveDocument, DispatchDocument, LaneChoice, VarsDocument,
    VarsRequest, own_frame,
};
use hetdwarf::untrusted::Untrusted;
use hetdwarf::wave::Wave;

use super::super::arguments::CoreArguments;
use super::super::failure::Failure;
use super::super::lane_places::{inactive_places, print_inactive};
use super::super::lanes::ranges;
use super::super::or_unknown;
use super::super::sources::{self, Sources};
use super::super::style::{ALARM, BOLD, FAINT};
use super::super::table::{bold, cells, faint, table};
use super::super::variables;
use super::source::WaveSource;

/// The most kinds of stopped waves that are shown in full, unless `--all` is given.
const IN_FULL: usize = 4;
/// The most frames of a stack, and numbers of waves, that are shown unless `--all` is given.
const SHOWN: usize = 12;

pub(super) fn print(
    report: &CoreReport,
    waves: &dyn WaveSource,
    arguments: &CoreArguments,
    width: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if let Some(found) = &report.document.whereabouts {
        writeln!(out, "{:#x}: {}", found.of.0, found.text)?;
        return Ok(());
    }
    let chosen = arguments.agents || arguments.queues || arguments.dispatches;
    let sources = Sources::new(&arguments.sources.source_dirs);
    let mut printer = Printer::new(report, waves, sources, width);
    printer.all = arguments.all;
    if !chosen {
        printer.first(out)?;
    }
    if arguments.all && !chosen {
        printer.waves(out)?;
    }
    if arguments.agents {
        printer.agents(out)?;
    }
    if arguments.queues {
        printer.queues(out)?;
    }
    if arguments.dispatches {
        printer.dispatches(out)?;
    }
    printer.problems(out)
}

/// Prints parts of a document.
pub(crate) struct Printer<'p> {
    report: &'p CoreReport,
    document: &'p CoreDocument,
    source: &'p dyn WaveSource,
    sources: Sources,
    /// The source files of the lines that are shown.
    texts: SourceTexts,
    all: bool,
    width: usize,
}

/// The kind of a stopped wave: true if no reason is a fault, the reasons, and the stack.
type Kind<'p> = (bool, &'p [&'static str], &'p [Untrusted<'static>]);

/// Waves that stopped for the same reasons at the same position.
struct Alike<'p> {
    first: &'p CoreWaveDocument,
    others: Vec<usize>,
}

impl<'p> Printer<'p> {
    /// * `source`: the waves of the document.
    pub(crate) fn new(
        report: &'p CoreReport,
        source: &'p dyn WaveSource,
        sources: Sources,
        width: usize,
    ) -> Printer<'p> {
        Printer {
            report,
            document: &report.document,
            source,
            sources,
            texts: SourceTexts::default(),
            all: false,
            width,
        }
    }

    /// Prints the overview: the waves that stopped, and then all waves in groups.
    pub(crate) fn first(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        self.verdict(out)?;
        self.summary(out)?;
        self.stopped(out)?;
        self.groups(out)
    }

    fn summary(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let waves = &self.document.waves;
        let count = |state: WaveState| {
            let of_state = waves.iter().filter(|wave| wave.state == state);
            of_state.count()
        };
        // The verdict already says that there are no waves, and why.
        if waves.is_empty() {
            return Ok(());
        }
        // Idle GPUs of the computer are left out.
        let busy: BTreeSet<u32> = waves.iter().map(|wave| wave.gpu_id).collect();
        let targets: BTreeSet<String> = self
            .document
            .agents
            .iter()
            .filter(|agent| busy.contains(&agent.gpu_id))
            .map(|agent| agent.target.to_string())
            .collect();
        let objects = self.document.code_objects.iter();
        let of_objects = objects.filter_map(|object| Some(object.target.as_ref()?.to_string()));
        let targets: Vec<String> = match targets.is_empty() {
            true => of_objects.collect(),
            false => targets.into_iter().collect(),
        };
        write!(out, "{BOLD}{}{BOLD:#}", counted(waves.len() as u64, "wave"),)?;
        if !targets.is_empty() {
            write!(out, " on {}", targets.join(", "))?;
        }
        for state in [WaveState::Stopped, WaveState::Running, WaveState::Unsure] {
            let waves = count(state);
            if waves != 0 {
                write!(out, ", {waves} {}", state.name())?;
            }
        }
        writeln!(out)?;
        Ok(())
    }

    /// Prints the stopped waves, those with faults first, and one of each kind in full.
    fn stopped(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut kinds: BTreeMap<Kind<'p>, Alike<'p>> = BTreeMap::new();
        let document = self.document;
        for wave in &document.waves {
            if wave.stop.is_empty() {
                continue;
            }
            let is_fault = StopReason::ALL
                .iter()
                .any(|reason| reason.is_fault() && wave.stop.contains(&reason.name()));
            let key = (!is_fault, wave.stop.as_slice(), self.report.stack(wave));
            kinds
                .entry(key)
                .and_modify(|alike| alike.others.push(wave.index))
                .or_insert(Alike {
                    first: wave,
                    others: Vec::new(),
                });
        }
        let mut kinds: Vec<(Kind<'p>, Alike<'p>)> = kinds.into_iter().collect();
        kinds.sort_by_key(|((is_no_fault, ..), alike)| (*is_no_fault, alike.first.index));
        let shown = if self.all { kinds.len() } else { IN_FULL };
        for (_, alike) in kinds.iter().take(shown) {
            self.stopped_wave(alike, out)?;
        }
        for (_, alike) in kinds.iter().skip(shown) {
            let wave = alike.first;
            writeln!(
                out,
                "\n{}: {ALARM}{}{ALARM:#} in {}{}",
                title(wave),
                wave.stop.join(", "),
                or_unknown(self.report.stack(wave).first()),
                others(&alike.others, self.all)
            )?;
        }
        if kinds.len() > shown {
            writeln!(out, "{FAINT}(--all shows these in full){FAINT:#}")?;
        }
        let warnings = self.texts.warnings();
        for text in warnings
            .into_iter()
            .chain(sources::missing(&self.texts.missing()))
        {
            writeln!(out, "\n{FAINT}{text}{FAINT:#}")?;
        }
        Ok(())
    }

    fn stopped_wave(&mut self, alike: &Alike<'_>, out: &mut dyn Write) -> Result<(), Failure> {
        let document = alike.first;
        let source = self.source;
        source.with(document.index, &mut |wave, stop| {
            self.stopped_wave_in_full(alike, wave, stop, out)
        })
    }

    fn stopped_wave_in_full(
        &mut self,
        alike: &Alike<'_>,
        wave: Option<&dyn Wave>,
        stop: Option<&Stop<'_, '_>>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let document = alike.first;
        writeln!(
            out,
            "\n{BOLD}{}{BOLD:#}: {ALARM}{}{ALARM:#}{}",
            title(document),
            document.stop.join(", "),
            others(&alike.others, self.all)
        )?;
        let named = document.stop.iter();
        for reason in named.filter_map(|name| StopReason::from_name(name)) {
            let late = match reason.is_late() {
                true => "\n  reported late: the faulting instruction is before this pc",
                false => "",
            };
            writeln!(out, "  {FAINT}{}{late}{FAINT:#}", reason.text())?;
        }
        if let Some(wave) = wave {
            writeln!(out, "  {}", lanes(wave, document.exec.0))?;
        }
        if let Some(stop) = stop {
            self.source(stop, out)?;
        }
        let most = if self.all { usize::MAX } else { SHOWN };
        let stack = self.report.stack(document);
        for (level, frame) in stack.iter().enumerate().take(most) {
            writeln!(out, "  #{level:<2} {frame}")?;
        }
        if let Some(more) = stack.len().checked_sub(most).filter(|&n| n != 0) {
            writeln!(out, "  {FAINT}… {more} more (--all){FAINT:#}")?;
        }
        if let Some(text) = variables::entry_text(&document.entry) {
            writeln!(out, "  {text}")?;
        }
        match stop {
            Some(stop) => self.variables(stop, out),
            None => Ok(()),
        }
    }

    /// Prints the source line of a wave, in the innermost frame of the user's own code.
    fn source(&mut self, stop: &Stop<'_, '_>, out: &mut dyn Write) -> Result<(), Failure> {
        match own_frame(stop) {
            Some(frame) => self.source_at(&frame, out),
            None => Ok(()),
        }
    }

    /// Prints the source line of a frame.
    fn source_at(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let stop = frame.stop();
        let Ok(at) = frame.description() else {
            return Ok(());
        };
        let (Some(unit), Some(file), Some(number)) = (at.unit, &at.file, at.line) else {
            return Ok(());
        };
        let read = |path: &str, folder: Option<&str>| {
            let bytes = self.sources.bytes(path, folder)?;
            Some(bytes.to_vec())
        };
        let info = stop.program().info();
        let index = self
            .texts
            .want(info, unit, file, number, &read, stop.meter());
        let text = self.texts.files().get(index);
        if let Some(line) = text.and_then(|text| text.line(number)) {
            let line = Untrusted::from(line.replace('\t', "    "));
            writeln!(out, "  {BOLD}> {:3}  {line}{BOLD:#}", number)?;
        }
        Ok(())
    }

    /// Prints the variables of the innermost frame of the user's own code.
    fn variables(&self, stop: &Stop<'_, '_>, out: &mut dyn Write) -> Result<(), Failure> {
        let Some(frame) = own_frame(stop) else {
            return Ok(());
        };
        // For waiting lanes, the variables at the position where they wait are shown.
        let lanes: Vec<Lane> = frame.wave_size().all_lanes().collect();
        let request = VarsRequest::default().lanes(LaneChoice::These(&lanes));
        let mut document = match VarsDocument::new(&frame.whole(), &request) {
            Ok(document) => document,
            Err(error) => {
                writeln!(out, "  {FAINT}no variables: {error}{FAINT:#}")?;
                return Ok(());
            }
        };
        document
            .frames
            .retain(|content| content.frame.index >= frame.index());
        if document
            .frames
            .iter()
            .all(|content| content.variables.is_empty())
        {
            return Ok(());
        }
        for content in &mut document.frames {
            // The wave's registers are already printed with its stack.
            content.entry.clear();
        }
        let places = inactive_places(&frame, None);
        let mut printer = variables::Printer::new(self.width, &document.frames).without_reading();
        printer.place_lanes(places.is_some());
        for content in &document.frames {
            printer.print(content, out)?;
        }
        match places {
            Some(places) => print_inactive(&places, self.width, out),
            None => Ok(()),
        }
    }

    fn waves(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let header = [
            "wave",
            "state",
            "queue:packet",
            "workgroup",
            "pc",
            "exec",
            "where",
        ];
        let rows = self.document.waves.iter().map(|wave| {
            let packet = wave.packet_id.map_or("?".to_owned(), |id| id.to_string());
            let reasons = match wave.stop.is_empty() {
                true => String::new(),
                false => format!(" {}", wave.stop.join(", ")),
            };
            cells([
                wave.index.to_string(),
                format!("{}{reasons}", wave.state.name()),
                format!("{}:{packet}", wave.queue_id),
                place(wave),
                format!("{:#x}", wave.pc.0),
                format!("{:#x}", wave.exec.0),
                self.report
                    .stack(wave)
                    .first()
                    .map_or_else(String::new, ToString::to_string),
            ])
        });
        writeln!(out, "\n{BOLD}Waves{BOLD:#}")?;
        let header = header.map(faint).to_vec();
        writeln!(out, "{}", table(Some(header), rows.collect(), 0..1))?;
        Ok(())
    }

    fn agents(&self, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "\n{BOLD}GPUs{BOLD:#}")?;
        let header = [
            "agent", "gpu id", "target", "location", "XCCs", "engines", "SIMDs",
        ];
        let rows = self.document.agents.iter().map(|agent| {
            let mut row = vec![bold(agent.index)];
            row.extend(cells([
                agent.gpu_id.to_string(),
                agent.target.to_string(),
                agent.location.clone(),
                agent.xcc.to_string(),
                agent.shader_engines.to_string(),
                agent.simds.to_string(),
            ]));
            row
        });
        let header = header.map(faint).to_vec();
        writeln!(out, "{}", table(Some(header), rows.collect(), 0..0))?;
        Ok(())
    }

    fn queues(&self, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "\n{BOLD}Queues{BOLD:#}")?;
        let header = [
            "queue", "id", "gpu id", "type", "waves", "read", "write", "ring",
        ];
        let id = |id: Option<u64>| id.map_or_else(String::new, |id| id.to_string());
        let rows = self.document.queues.iter().map(|queue| {
            let mut row = vec![bold(queue.index)];
            row.extend(cells([
                queue.queue_id.to_string(),
                queue.gpu_id.to_string(),
                queue.kind.to_owned(),
                queue.waves.to_string(),
                id(queue.read_id),
                id(queue.write_id),
                format!("{} bytes at {:#x}", queue.ring_size, queue.ring_address.0),
            ]));
            row
        });
        let header = header.map(faint).to_vec();
        writeln!(out, "{}", table(Some(header), rows.collect(), 0..0))?;
        Ok(())
    }

    fn dispatches(&self, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "\n{BOLD}Dispatches{BOLD:#}")?;
        let header = [
            "dispatch",
            "queue:packet",
            "kernel",
            "grid",
            "workgroup",
            "fence",
            "shared",
            "private",
            "descriptor",
            "arguments",
        ];
        let rows = self.document.dispatches.iter().map(|dispatch| {
            let mut row = vec![bold(dispatch.index)];
            row.extend(cells([
                format!("{}:{}", dispatch.queue_id, dispatch.packet_id),
                or_unknown(dispatch.kernel_name()).to_string(),
                triple(dispatch.grid_size),
                triple(dispatch.workgroup_size),
                fences(dispatch),
                dispatch.group_segment_size.to_string(),
                dispatch.private_segment_size.to_string(),
                format!("{:#x}", dispatch.kernel_object.0),
                format!("{:#x}", dispatch.kernarg.0),
            ]));
            row
        });
        let header = header.map(faint).to_vec();
        writeln!(out, "{}", table(Some(header), rows.collect(), 0..0))?;
        Ok(())
    }

    fn problems(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.document.problems.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{BOLD}What could not be read{BOLD:#}")?;
        for problem in &self.document.problems {
            let at = match problem.offset {
                Some(offset) => format!(" {FAINT}(at {:#x} of the file){FAINT:#}", offset.0),
                None => String::new(),
            };
            writeln!(
                out,
                "  {BOLD}{}{BOLD:#}: {}{at}",
                problem.place, problem.message
            )?;
        }
        Ok(())
    }
}

fn title(wave: &CoreWaveDocument) -> String {
    let kernel = or_unknown(wave.kernel_name());
    format!("wave {} of {kernel} {}", wave.index, place(wave))
}

/// Returns the workgroup and the number of the wave in it, as ROCgdb prints them.
fn place(wave: &CoreWaveDocument) -> String {
    match (wave.workgroup, wave.wave_in_group) {
        (Some([x, y, z]), Some(number)) => format!("({x},{y},{z})/{number}"),
        _ => "(?,?,?)/?".to_owned(),
    }
}

/// Returns the active lanes, and their work-items by position in the grid.
fn lanes(wave: &dyn Wave, exec: u128) -> String {
    let active: Vec<u8> = wave
        .wave_size()
        .all_lanes()
        .filter(|lane| exec >> lane.0 & 1 == 1)
        .map(|lane| lane.0)
        .collect();
    let item = |lane: Option<&u8>| {
        let [x, y, z] = wave.work_item(Lane(*lane?))?;
        Some(format!("({x},{y},{z})"))
    };
    let Some(first) = active.first() else {
        return "no lane is active".to_owned();
    };
    let items = match (item(Some(first)), item(active.last())) {
        (Some(first), Some(last)) if active.len() > 1 => format!(", work-items {first} to {last}"),
        (Some(first), _) => format!(", work-item {first}"),
        (None, _) => String::new(),
    };
    let plural = if active.len() == 1 { "lane" } else { "lanes" };
    format!("active: {plural} {}{items}", ranges(&active))
}

fn others(others: &[usize], all: bool) -> String {
    if others.is_empty() {
        return String::new();
    }
    let (count, numbers) = (others.len(), numbers(others, all));
    format!(" {FAINT}({count} more so: waves {numbers}){FAINT:#}")
}

/// Formats numbers in ascending order, as `1-3, 7`.
pub(crate) fn numbers(numbers: &[usize], all: bool) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let most = if all { runs.len() } else { SHOWN };
    let mut texts: Vec<String> = runs
        .iter()
        .take(most)
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    if runs.len() > most {
        texts.push("…".to_owned());
    }
    texts.join(", ")
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("[{x},{y},{z}]")
}

/// Returns the barrier bit and the acquire and release fences, as ROCgdb prints them: `B|As|Ra`.
fn fences(dispatch: &DispatchDocument) -> String {
    let mut texts = Vec::new();
    if dispatch.barrier {
        texts.push("B".to_owned());
    }
    for (letter, scope) in [("A", dispatch.acquire_scope), ("R", dispatch.release_scope)] {
        match scope {
            FenceScope::Agent => texts.push(format!("{letter}a")),
            FenceScope::System => texts.push(format!("{letter}s")),
            FenceScope::None | FenceScope::Reserved => {}
        }
    }
    texts.join("|")
}
