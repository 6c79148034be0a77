//! Makes the verdict on a core: what happened, in one sentence.

mod hang;

use serde::{Deserialize, Serialize};

use super::super::text::{FileNames, source_place};
use super::CoreWaveDocument;
use super::assertion::AssertionDocument;
use super::fault::{FaultCandidateDocument, FaultDocument};
use super::report::Stacks;
use super::workgroups::{WavePlace, WorkgroupDocument};
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
    /// The reason why no wave could be read.
    pub(super) unread: Option<String>,
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
        let is_reached = |wave: &CoreWaveDocument| {
            let fault = wave.fault.as_ref();
            fault.is_some_and(|fault| !fault.is_unreached)
        };
        stopped()
            .find(is_certain)
            .or_else(|| stopped().find(|wave| is_at_fault(wave) && is_reached(wave)))
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
            let page = fault.and_then(FaultDocument::reported).unwrap_or_default();
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
        let nearest = fault.nearest.as_ref().zip(fault.place());
        let place = nearest.map(|(nearest, place)| format!(": {:#x} is {place}", nearest.of.0));
        let place = place.unwrap_or_default();
        let is_named = nearest.is_some_and(|(nearest, _)| Some(nearest.of) == fault.address);
        let reported = match (candidate.certain, is_named, &fault.reason) {
            (true, _, _) | (false, true, None) => None,
            (false, true, Some(reason)) => Some(format!("; the runtime reported {reason}")),
            (false, false, _) => fault.reported(),
        };
        let reported = reported.unwrap_or_default();
        let name = candidate.instruction.split(' ').next().unwrap_or_default();
        format!(
            "{}: {} ({name}){at} {sure}{lanes}{place}{reported}",
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
        let text = match (self.waves.is_empty(), &self.unread) {
            (true, Some(reason)) => reason.clone(),
            (true, None) => "no wave was running".to_owned(),
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
        let last = rest.get(count - 1).unwrap_or(first);
        parts.push(match count {
            1 => first.to_string(),
            2 => format!("{first}, {last}"),
            _ => format!("{first}-{last}"),
        });
        rest = rest.get(count..).unwrap_or_default();
    }
    parts.join(", ")
}
