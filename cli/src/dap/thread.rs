//! Waves as threads of the protocol, and why they stopped.

use serde_json::{Value, json};

use hetdwarf::gpu_core::WaveState;
use hetdwarf::report::CoreWaveDocument;
use hetdwarf::untrusted::Untrusted;

use super::message::Request;
use super::session::{Answer, Session};

/// How many waves are listed one by one. Of more, those that stopped are, one of each group of the others, and those that were gone to.
const MOST: usize = 20_000;

impl Session<'_> {
    /// Lists the waves: first those that faulted, then others that stopped, then one of each group of running ones, then the rest.
    pub(super) fn threads(&self) -> Value {
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
                () if first.contains(&wave.index) || self.seen.contains(&wave.index) => 3,
                () => 4,
            }
        };
        let mut sorted: Vec<(u8, &CoreWaveDocument)> =
            waves.iter().map(|wave| (rank(wave), wave)).collect();
        sorted.sort_by_key(|(rank, wave)| (*rank, wave.index));
        if sorted.len() > MOST {
            sorted.retain(|(rank, _)| *rank < 4);
            sorted.truncate(MOST);
        }
        let threads: Vec<Value> = sorted
            .into_iter()
            .map(|(_, wave)| json!({ "id": wave.index, "name": name(wave) }))
            .collect();
        json!({ "threads": threads })
    }

    /// Lists the groups of waves that are alike.
    pub(super) fn groups(&self) -> Value {
        json!({ "groups": self.document.groups })
    }

    /// The event that says why the core was written.
    pub(super) fn stopped(&self) -> Value {
        let verdict = &self.document.verdict;
        let first = self.document.waves.first().map(|wave| wave.index);
        let mut groups = self.document.workgroups.iter();
        let waiting = groups.find_map(|group| group.elsewhere.first().copied());
        let wave = verdict.wave.or(waiting).or(first);
        let reason = match verdict.kind.as_str() {
            "none" => "pause",
            _ => "exception",
        };
        json!({
            "reason": reason,
            "description": verdict.kind.replace('-', " "),
            "text": verdict.text,
            "threadId": wave,
            "allThreadsStopped": true,
        })
    }

    /// Says why a wave stopped.
    pub(super) fn exception_info(&self, request: &Request) -> Answer {
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
            false => Untrusted::from(name(wave)),
        };
        let fault = wave.fault.as_ref().map(|fault| json!(fault));
        Ok(json!({
            "exceptionId": kind,
            "description": description,
            "breakMode": "unhandled",
            "details": {
                "message": description,
                "typeName": wave.stop.join(", "),
                "fault": fault,
            },
        }))
    }
}

/// Returns a wave's name: `wave 1:382:(2,0,0)/0 k  memory violation`, with its queue, its packet, its workgroup and its number in that.
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
