//! Shows waves as threads of the protocol, with the reasons why they stopped.

use hetdwarf::gpu_core::WaveState;
use hetdwarf::report::CoreWaveDocument;
use hetdwarf::untrusted::Untrusted;

use super::message::Request;
use super::protocol::{Body, ExceptionDetails, ExceptionInfo, Stopped, Thread};
use super::session::{Answer, Session};

/// The most waves that are listed. Beyond that, only these are: stopped waves, one wave of each group, and waves that the user selected.
const MOST: usize = 20_000;

impl<'s> Session<'s> {
    /// Lists the waves: first the wave of the verdict, then other stopped waves, then one of each group of running waves, then the rest.
    pub(super) fn threads(&self) -> Body<'s> {
        let waves = &self.document.waves;
        let groups = self.document.groups.iter();
        let first: std::collections::BTreeSet<usize> = groups
            .filter_map(|group| group.waves.first().copied())
            .collect();
        let rank = |wave: &CoreWaveDocument| {
            let is_stopped = wave.state == WaveState::Stopped;
            match () {
                () if self.document.verdict.wave == Some(wave.index) => 0,
                () if is_stopped && !wave.stop.is_empty() => 1,
                () if is_stopped => 2,
                () if first.contains(&wave.index) => 3,
                () => 4,
            }
        };
        let mut sorted: Vec<(u8, &CoreWaveDocument)> =
            waves.iter().map(|wave| (rank(wave), wave)).collect();
        sorted.sort_by_key(|(rank, wave)| (*rank, wave.index));
        if sorted.len() > MOST {
            let mut room = MOST;
            sorted.retain(|(rank, wave)| {
                let is_listed = *rank < 4 && room > 0;
                room -= usize::from(is_listed);
                is_listed || self.seen.contains(&wave.index)
            });
        }
        let threads = sorted.into_iter().map(|(_, wave)| Thread {
            id: wave.index,
            name: name(wave),
        });
        Body::Threads {
            threads: threads.collect(),
        }
    }

    /// Returns the event with the reason why the core was written.
    pub(super) fn stopped(&self) -> Stopped {
        let verdict = &self.document.verdict;
        let first = self.document.waves.first().map(|wave| wave.index);
        let mut groups = self.document.workgroups.iter();
        let waiting = groups.find_map(|group| group.elsewhere.first().copied());
        let wave = verdict.wave.or(waiting).or(first);
        let reason = match verdict.kind.as_str() {
            "none" => "pause",
            _ => "exception",
        };
        Stopped {
            reason,
            description: verdict.kind.replace('-', " "),
            text: Some(verdict.text.clone()),
            thread_id: wave,
            all_threads_stopped: true,
        }
    }

    /// Returns the reason why a wave stopped.
    pub(super) fn exception_info(&self, request: &Request) -> Answer<'s> {
        let index = usize::try_from(request.needed("threadId")?).unwrap_or(0);
        let wave = self.wave(index)?;
        let verdict = &self.document.verdict;
        let is_of_wave = verdict.wave.is_none_or(|of| of == index);
        let kind = match (is_of_wave, wave.stop.first()) {
            (true, _) => verdict.kind.clone(),
            (false, Some(reason)) => reason.replace('_', "-"),
            (false, None) => "none".to_owned(),
        };
        let description = match is_of_wave {
            true => verdict.text.clone(),
            false => Untrusted::from(match access(wave) {
                Some(access) => format!("{}: {access}", name(wave)),
                None => name(wave),
            }),
        };
        Ok(Body::ExceptionInfo(ExceptionInfo {
            exception_id: kind,
            description: description.clone(),
            break_mode: "unhandled",
            details: ExceptionDetails {
                message: description,
                type_name: (!wave.stop.is_empty()).then(|| wave.stop.join(", ")),
                fault: wave.fault.as_ref(),
            },
        }))
    }
}

/// Describes the likeliest access at which a wave faulted: `store (flat_store_b32) in k at calls.cl:34 may have faulted`.
fn access(wave: &CoreWaveDocument) -> Option<String> {
    let likeliest = wave.fault.as_ref()?.candidates.first()?;
    let (name, _) = likeliest.instruction.split_once(' ')?;
    let mut text = format!("{} ({name})", likeliest.kind);
    if let Some(function) = &likeliest.function {
        text.push_str(&format!(" in {function}"));
    }
    if let (Some(file), Some(line)) = (&likeliest.file, likeliest.line) {
        let raw = file.raw();
        let file = Untrusted::from(raw.rsplit('/').next().unwrap_or(raw));
        text.push_str(&format!(" at {file}:{line}"));
    }
    text.push_str(match likeliest.certain {
        true => " faulted",
        false => " may have faulted",
    });
    Some(text)
}

/// Returns a wave's name with its queue, packet, workgroup and number in the workgroup: `wave 1:382:(2,0,0)/0 k  memory violation`.
pub(super) fn name(wave: &CoreWaveDocument) -> String {
    let place = match (wave.workgroup, wave.wave_in_group) {
        (Some([x, y, z]), Some(number)) => {
            let packet = wave.packet_id.map_or("?".to_owned(), |id| id.to_string());
            format!("{}:{packet}:({x},{y},{z})/{number}", wave.queue_id)
        }
        (_, _) => wave.index.to_string(),
    };
    let kernel = wave.kernel_name().or(wave.function.as_ref());
    let kernel = kernel.map_or_else(|| "?".to_owned(), ToString::to_string);
    let state = match wave.stop.first() {
        Some(reason) => reason.replace('_', " "),
        None => wave.state.name().to_owned(),
    };
    format!("wave {place} {kernel}  {state}")
}
