//! Makes the verdict on a core: what happened, in one sentence.

use serde::{Deserialize, Serialize};

use super::super::text::{FileNames, source_place};
use super::CoreWaveDocument;
use super::assertion::AssertionDocument;
use super::fault::{FaultCandidateDocument, FaultDocument};
use super::report::Stacks;
use super::workgroups::{
    DivergentDocument, LoopLines, MOST_POLLED, PolledDocument, WavePlace, WorkgroupDocument,
};
use crate::gpu_core::{StopReason, WaveState};
use crate::plural::counted;
use crate::untrusted::Untrusted;

/// The verdict on a core: what happened.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VerdictDocument {
    /// The kind of the stop reason, such as `memory-violation`, `assert` or `illegal-instruction`, or `hang`, or `none`.
    pub kind: String,
    /// The index of the wave that the verdict describes; null if it describes several.
    pub wave: Option<usize>,
    /// The kernel.
    pub kernel: Option<Untrusted<'static>>,
    /// The function.
    pub function: Option<Untrusted<'static>>,
    /// The path of the source file.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
    /// The verdict in one sentence.
    pub text: Untrusted<'static>,
}

impl VerdictDocument {
    /// Creates a verdict from a message of the runtime.
    pub(super) fn of_runtime(kind: &str, text: String) -> VerdictDocument {
        VerdictDocument {
            kind: kind.to_owned(),
            wave: None,
            kernel: None,
            function: None,
            file: None,
            line: None,
            text: text.into(),
        }
    }
}

/// The facts from which the verdict is made.
pub(super) struct Found<'f> {
    pub(super) waves: &'f [CoreWaveDocument],
    pub(super) places: &'f [WavePlace],
    pub(super) workgroups: &'f [WorkgroupDocument],
    pub(super) stacks: &'f Stacks,
    pub(super) names: &'f FileNames<'f>,
    /// True if the host's half of the core was not given.
    pub(super) is_gpu_half: bool,
}

/// Returns the name of a stop reason in [`VerdictDocument::kind`].
fn kind_of(reason: StopReason) -> String {
    let name = reason.name();
    name.strip_suffix("_trap")
        .filter(|_| reason == StopReason::AssertTrap)
        .unwrap_or(name)
        .replace('_', "-")
}

impl Found<'_> {
    pub(super) fn verdict(&self) -> VerdictDocument {
        let found = self.fault().or_else(|| self.of_hang());
        found.unwrap_or_else(|| self.of_nothing())
    }

    /// Returns the verdict on a wave that faulted.
    pub(super) fn fault(&self) -> Option<VerdictDocument> {
        let (reason, wave) = StopReason::ALL
            .iter()
            .filter(|reason| reason.is_fault())
            .find_map(|reason| Some((*reason, self.faulted(*reason)?)))?;
        Some(self.of_fault(reason, wave))
    }

    /// Returns the wave with this stop reason whose fault is known best. Waves whose records are unsure come last.
    fn faulted(&self, reason: StopReason) -> Option<&CoreWaveDocument> {
        let is_sure = |wave: &CoreWaveDocument| wave.state != WaveState::Unsure;
        let has_reason = move |wave: &&CoreWaveDocument| wave.stop.contains(&reason.name());
        let any_is_sure = self.waves.iter().filter(has_reason).any(is_sure);
        let stopped = || {
            let waves = self.waves.iter().filter(has_reason);
            waves.filter(move |wave| !any_is_sure || is_sure(wave))
        };
        let first = |wave: &CoreWaveDocument| wave.fault.as_ref()?.candidates.first().cloned();
        let is_certain = |wave: &&CoreWaveDocument| first(wave).is_some_and(|one| one.certain);
        let is_at_fault =
            |wave: &&CoreWaveDocument| first(wave).is_some_and(|one| one.has_address());
        stopped()
            .find(is_certain)
            .or_else(|| stopped().find(is_at_fault))
            .or_else(|| stopped().next())
    }

    /// Returns the end of the sentence on a fault: a doubt about the wave's record, and the other waves that stopped for the same reason.
    fn after(&self, reason: StopReason, wave: &CoreWaveDocument) -> String {
        let stopped = self.waves.iter();
        let others = stopped
            .filter(|one| one.index != wave.index && one.stop.contains(&reason.name()))
            .count();
        let more = match others {
            0 => String::new(),
            _ => format!(
                "; {} stopped for the same reason",
                counted(others as u64, "other wave")
            ),
        };
        match wave.state {
            WaveState::Unsure => {
                format!(
                    "; its record may belong to another wave, so nothing of this is certain{more}"
                )
            }
            WaveState::Stopped | WaveState::Running => more,
        }
    }

    fn of_fault(&self, reason: StopReason, wave: &CoreWaveDocument) -> VerdictDocument {
        let fault = wave.fault.as_ref();
        let candidate = fault.and_then(|fault| fault.candidates.first());
        let plain = VerdictDocument {
            kind: kind_of(reason),
            wave: Some(wave.index),
            kernel: wave.kernel.clone(),
            function: wave.function.clone(),
            file: wave.file.clone(),
            line: wave.line,
            text: Untrusted::default(),
        };
        let more = self.after(reason, wave);
        if let (Some(fault), Some(candidate)) = (fault, candidate) {
            let text = self.fault_text(wave, fault, candidate);
            return VerdictDocument {
                function: candidate.function.clone(),
                file: candidate.file.clone(),
                line: candidate.line,
                text: format!("{text}{more}").into(),
                ..plain
            };
        }
        // A failed assertion stops in library functions that the program calls.
        let frame = self.stacks.frames(wave).iter().find(|frame| {
            let name = frame.function.as_ref().map(Untrusted::raw);
            name.is_some_and(|name| !name.starts_with("__") && name != "abort")
        });
        let plain = match frame {
            Some(frame) if !reason.is_late() => VerdictDocument {
                function: frame.function.clone(),
                file: frame.file.clone(),
                line: frame.line,
                ..plain
            },
            _ => plain,
        };
        // If the library function is the only frame, its arguments name the source line of the call.
        let plain = match &wave.assertion {
            Some(AssertionDocument { file, line, .. }) if frame.is_none() && file.is_some() => {
                VerdictDocument {
                    function: None,
                    file: file.clone(),
                    line: *line,
                    ..plain
                }
            }
            _ => plain,
        };
        let at = self.at(plain.function.as_ref(), plain.file.as_ref(), plain.line);
        if reason.is_late() {
            // The access and its lanes are not known.
            let what = format!("{}, some instructions before the stop", reason.text());
            let page = fault.and_then(|fault| fault.address);
            let page = page.map(|page| format!("; the reported address is {:#x}", page.0));
            let page = page.unwrap_or_default();
            let text = format!("{}: {what}{at}{page}{more}", title(wave));
            return VerdictDocument {
                text: text.into(),
                ..plain
            };
        }
        let what = match (reason == StopReason::AssertTrap, &wave.assertion) {
            (true, Some(found)) => format!("assertion `{}` failed", found.condition),
            (true, None) => "abort, or an assertion that failed,".to_owned(),
            (false, _) => reason.text().to_owned(),
        };
        let lanes = lanes_text(&lanes_of(wave.exec.0));
        let text = format!("{}: {what}{at}{lanes}{more}", title(wave));
        VerdictDocument {
            text: text.into(),
            ..plain
        }
    }

    fn fault_text(
        &self,
        wave: &CoreWaveDocument,
        fault: &FaultDocument,
        candidate: &FaultCandidateDocument,
    ) -> String {
        let at = self.at(
            candidate.function.as_ref(),
            candidate.file.as_ref(),
            candidate.line,
        );
        let lanes: Vec<u8> = candidate.lanes.iter().map(|one| one.lane).collect();
        let lanes = lanes_text(&lanes);
        let sure = match (candidate.certain, candidate.has_address()) {
            (true, _) => "faulted",
            (false, true) => "probably faulted",
            (false, false) => "may have faulted",
        };
        let nearest = match (&fault.nearest, candidate.has_address(), fault.address) {
            (Some(nearest), true, _) | (Some(nearest), false, Some(_)) => {
                format!(": {:#x} is {}", nearest.of.0, nearest.text)
            }
            (_, _, _) => String::new(),
        };
        let name = candidate.instruction.split(' ').next().unwrap_or_default();
        format!(
            "{}: {} ({name}){at} {sure}{lanes}{nearest}",
            title(wave),
            candidate.kind,
        )
    }

    fn at(
        &self,
        function: Option<&Untrusted<'static>>,
        file: Option<&Untrusted<'static>>,
        line: Option<u64>,
    ) -> String {
        let function = function
            .map(|name| format!(" in {name}"))
            .unwrap_or_default();
        let file = file.map(|file| self.names.short(file));
        format!("{function}{}", source_place(file, line))
    }

    fn of_hang(&self) -> Option<VerdictDocument> {
        let groups = self.workgroups.iter();
        let mut waiting = groups.filter(|group| {
            let others = group.elsewhere.len().saturating_add(group.missing.len());
            !group.at_barrier.is_empty() && (others > 0 || !group.divergent.is_empty())
        });
        let Some(group) = waiting.next() else {
            return self.of_loop();
        };
        let others = waiting.count();
        let first = group.at_barrier.first()?;
        let wave = self.wave(*first)?;
        let (_, frame) = self.place(*first)?.barrier.as_ref()?;
        let frame = frame.as_ref();
        let barrier = frame.map(|frame| {
            let file = frame.file.as_ref().map(|file| self.names.short(file));
            source_place(file, frame.line).replacen(" at ", "", 1)
        });
        let barrier = barrier.filter(|text| !text.is_empty());
        let at = barrier
            .map(|text| format!(" of {text}"))
            .unwrap_or_default();
        let [x, y, z] = group.workgroup;
        let (who, verb) = self.named(&group.at_barrier);
        let mut text = format!("workgroup ({x},{y},{z}): {who} wait{verb} at the barrier{at}");
        for (place, waves) in self.elsewhere(group) {
            let (who, verb) = self.named(&waves);
            let is = if verb.is_empty() { "are" } else { "is" };
            text.push_str(&match place {
                Elsewhere::Loop(lines) => {
                    let polled = self.polled(&waves, verb);
                    format!("; {who} loop{verb} at {}{polled}", self.lines(&lines))
                }
                Elsewhere::At(at) => format!("; {who} {is} at {at}"),
            });
        }
        if !group.missing.is_empty() {
            let numbers = number_list(&group.missing);
            let (what, has) = match group.missing.len() {
                1 => ("wave", "has"),
                _ => ("waves", "have"),
            };
            text.push_str(&format!(
                "; {what} {numbers} {has} ended without reaching it, or {has} not been saved"
            ));
        }
        for divergent in &group.divergent {
            text.push_str(&self.divergent_text(divergent));
        }
        if others > 0 {
            let others = counted(others as u64, "other workgroup");
            text.push_str(&format!(" ({others} likewise)"));
        }
        // A wave that is neither at the barrier nor in a loop still runs, and may reach the barrier.
        let goes_on = group.elsewhere.iter().any(|index| {
            let place = self.place(*index);
            place.is_none_or(|place| place.looping.is_none())
        });
        let is_hang = !goes_on || !group.divergent.is_empty();
        Some(VerdictDocument {
            kind: if is_hang { "hang" } else { "none" }.to_owned(),
            wave: None,
            kernel: wave.kernel.clone(),
            function: frame.and_then(|frame| frame.function.clone()),
            file: frame.and_then(|frame| frame.file.clone()),
            line: frame.and_then(|frame| frame.line),
            text: text.into(),
        })
    }

    /// Describes the lanes of a wave that are not at the wave's barrier, and the places at which they go on.
    fn divergent_text(&self, divergent: &DivergentDocument) -> String {
        let number = self.number(divergent.wave);
        let is_known = |lane: &&u8| divergent.places.iter().any(|off| off.lanes.contains(lane));
        let (known, others): (Vec<u8>, Vec<u8>) =
            divergent.lanes.iter().partition(|lane| is_known(lane));
        let mut text = String::new();
        if !others.is_empty() || known.is_empty() {
            let (lanes, verb) = lanes_and_verb(&others, "is", "are");
            text = format!("; {lanes} of wave {number} {verb} not at the barrier");
        }
        for (n, off) in divergent.places.iter().enumerate() {
            let (lanes, verb) = lanes_and_verb(&off.lanes, "goes", "go");
            let (before, of) = match n {
                0 => ("; ", format!(" of wave {number} {verb} on elsewhere,")),
                _ => (", ", String::new()),
            };
            let at = self.at(off.function.as_ref(), off.file.as_ref(), off.line);
            text.push_str(&format!("{before}{lanes}{of}{at}"));
        }
        text
    }

    /// Returns the verdict if all waves are in loops.
    fn of_loop(&self) -> Option<VerdictDocument> {
        let looping = |place: &WavePlace| place.looping.clone();
        let loops: Vec<LoopLines> = self.places.iter().map(looping).collect::<Option<_>>()?;
        let lines = loops.first()?;
        let is_one = loops
            .iter()
            .all(|one| one.first == lines.first && one.last == lines.last);
        if !is_one {
            return None;
        }
        let first = self.waves.first()?;
        let count = counted(self.waves.len() as u64, "wave");
        let verb = if self.waves.len() == 1 {
            "loops"
        } else {
            "loop"
        };
        let all: Vec<usize> = self.waves.iter().map(|wave| wave.index).collect();
        let text = format!(
            "{count} of {} {verb} at {}{}; none waits at a barrier",
            kernel_text(first),
            self.lines(lines),
            self.polled(&all, verb.strip_prefix("loop").unwrap_or_default())
        );
        Some(VerdictDocument {
            kind: "hang".to_owned(),
            wave: None,
            kernel: first.kernel.clone(),
            function: lines.frame.function.clone(),
            file: lines.frame.file.clone(),
            line: Some(lines.first),
            text: text.into(),
        })
    }

    /// Continues a sentence about waves in a loop with the address that all of them access in each pass, as far as they were searched.
    fn polled(&self, waves: &[usize], ending: &str) -> String {
        let each = waves.iter().filter_map(|index| self.wave(*index));
        let found: Vec<&PolledDocument> = each.filter_map(|wave| wave.polled.as_ref()).collect();
        let is_of_all = found.len() >= waves.len().min(MOST_POLLED);
        match found.split_first() {
            Some((first, others))
                if is_of_all && others.iter().all(|one| one.address == first.address) =>
            {
                first.text(ending)
            }
            Some(_) | None => String::new(),
        }
    }

    fn of_nothing(&self) -> VerdictDocument {
        let count = |state: WaveState| {
            let of_state = self.waves.iter().filter(|wave| wave.state == state);
            of_state.count()
        };
        let states = [WaveState::Stopped, WaveState::Running, WaveState::Unsure];
        let parts: Vec<String> = states
            .into_iter()
            .filter(|state| count(*state) > 0)
            .map(|state| format!("{} {}", count(state), state.name()))
            .collect();
        let text = match (self.waves.is_empty(), self.is_gpu_half) {
            (true, true) => {
                "this is only the GPU's half of a core, and its waves are found through the host's half; \
                 give both: `hetdwarf core gpucore.PID core.PID`"
                    .to_owned()
            }
            (true, false) => "no wave was running".to_owned(),
            (false, _) => format!(
                "no wave has faulted, and none is known to hang: {}",
                parts.join(", ")
            ),
        };
        VerdictDocument {
            kind: "none".to_owned(),
            wave: None,
            kernel: None,
            function: None,
            file: None,
            line: None,
            text: text.into(),
        }
    }

    fn wave(&self, index: usize) -> Option<&CoreWaveDocument> {
        self.waves.get(index.checked_sub(1)?)
    }

    fn place(&self, index: usize) -> Option<&WavePlace> {
        self.places.get(index.checked_sub(1)?)
    }

    /// Returns the number of a wave in its workgroup.
    fn number(&self, index: usize) -> u64 {
        let number = self.wave(index).and_then(|wave| wave.wave_in_group);
        number.map_or(0, u64::from)
    }

    /// Returns the numbers of waves in their workgroup, with their indexes for `--wave`, and the ending of a verb that follows.
    fn named(&self, waves: &[usize]) -> (String, &'static str) {
        let sorted = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut numbers: Vec<u64> = numbers.collect();
            numbers.sort_unstable();
            number_list(&numbers)
        };
        let numbers = sorted(&mut waves.iter().map(|wave| self.number(*wave)));
        let indexes = sorted(&mut waves.iter().map(|wave| *wave as u64));
        let (what, verb) = match waves.len() {
            1 => ("wave", "s"),
            _ => ("waves", ""),
        };
        (format!("{what} {numbers} (--wave {indexes})"), verb)
    }

    fn lines(&self, lines: &LoopLines) -> String {
        let file = lines.frame.file.as_ref().map(|file| self.names.short(file));
        let file = file.map(|file| format!("{file}:")).unwrap_or_default();
        match lines.first == lines.last {
            true => format!("{file}{}", lines.first),
            false => format!("{file}{}-{}", lines.first, lines.last),
        }
    }

    /// Returns the places of the waves of a workgroup that do not wait at a barrier, in the order of their first waves.
    fn elsewhere(&self, group: &WorkgroupDocument) -> Vec<(Elsewhere, Vec<usize>)> {
        let mut found: Vec<(Elsewhere, Vec<usize>)> = Vec::new();
        for index in &group.elsewhere {
            let looping = self.place(*index).and_then(|place| place.looping.clone());
            let place = match looping {
                Some(lines) => Elsewhere::Loop(lines),
                None => {
                    let wave = self.wave(*index);
                    let stack = wave.and_then(|wave| self.stacks.text(wave).first());
                    Elsewhere::At(stack.map_or_else(String::new, ToString::to_string))
                }
            };
            match found.iter_mut().find(|(known, _)| *known == place) {
                Some((_, waves)) => waves.push(*index),
                None => found.push((place, vec![*index])),
            }
        }
        found
    }
}

/// The place of waves that do not wait at a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Elsewhere {
    Loop(LoopLines),
    At(String),
}

impl FaultCandidateDocument {
    /// Returns true if an address at fault is known.
    pub(super) fn has_address(&self) -> bool {
        !self.lanes.is_empty() || self.address.is_some()
    }
}

fn kernel_text(wave: &CoreWaveDocument) -> String {
    wave.kernel_name().map_or_else(
        || "an unknown kernel".to_owned(),
        |name| format!("kernel {name}"),
    )
}

fn title(wave: &CoreWaveDocument) -> String {
    let place = match (wave.workgroup, wave.wave_in_group) {
        (Some([x, y, z]), Some(number)) => format!(" (workgroup ({x},{y},{z}), wave {number})"),
        (_, _) => String::new(),
    };
    format!("wave {}{place} of {}", wave.index, kernel_text(wave))
}

fn lanes_of(mask: u128) -> Vec<u8> {
    (0..64).filter(|lane| mask >> lane & 1 != 0).collect()
}

/// Returns ` in lane 3` or ` in lanes 0-7, 9`. The text is empty if there are no lanes.
fn lanes_text(lanes: &[u8]) -> String {
    match lanes {
        [] => String::new(),
        [..] => format!(" in {}", lanes_named(lanes)),
    }
}

fn lanes_and_verb(
    lanes: &[u8],
    one: &'static str,
    several: &'static str,
) -> (String, &'static str) {
    let verb = match lanes.len() {
        1 => one,
        _ => several,
    };
    (lanes_named(lanes), verb)
}

fn lanes_named(lanes: &[u8]) -> String {
    let numbers: Vec<u64> = lanes.iter().copied().map(u64::from).collect();
    match lanes {
        [_] => format!("lane {}", number_list(&numbers)),
        [..] => format!("lanes {}", number_list(&numbers)),
    }
}

/// Formats numbers in ascending order as `0-3, 7`.
fn number_list(numbers: &[u64]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let run = rest
            .iter()
            .zip(*first..)
            .take_while(|(one, expected)| **one == *expected);
        let count = run.count();
        let last = rest.get(count.saturating_sub(1)).unwrap_or(first);
        parts.push(match count {
            1 => first.to_string(),
            2 => format!("{first}, {last}"),
            _ => format!("{first}-{last}"),
        });
        rest = rest.get(count..).unwrap_or_default();
    }
    parts.join(", ")
}
