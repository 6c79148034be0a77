//! `hetdwarf-core-wave/1`, as far as reports about many cores need it.

use serde::Deserialize;

use super::super::core::{CoreWaveLine, VerdictDocument};
use super::super::frame::FrameDocument;
use crate::untrusted::Untrusted;
use crate::wave::StopReason;

/// What a line says of a wave.
#[non_exhaustive]
#[derive(Clone, Debug, Deserialize)]
pub struct WaveRecord {
    /// What the core is called.
    pub file: Untrusted<'static>,
    /// As in [`CoreWaveLine`].
    pub fingerprint: Untrusted<'static>,
    /// What happened to the wave, or else to the whole core.
    pub verdict: VerdictDocument,
    /// The wave.
    pub wave: WaveFacts,
    /// Its frames, the innermost first.
    pub stack: Vec<FrameRecord>,
}

/// What is said of a wave by itself.
#[non_exhaustive]
#[derive(Clone, Debug, Deserialize)]
pub struct WaveFacts {
    /// Its number, from 1.
    pub index: u64,
    /// Why it stopped, the most telling reason first.
    pub stop: Vec<Untrusted<'static>>,
    /// The kernel that it runs.
    pub kernel: Option<Untrusted<'static>>,
}

/// What is said of a frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FrameRecord {
    /// `call`, `inlined` or `symbol`.
    pub kind: Untrusted<'static>,
    /// The function, or the symbol.
    pub function: Option<Untrusted<'static>>,
    /// The path of the source file.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
}

impl WaveRecord {
    /// Returns true if the wave stopped because the program is at fault.
    #[must_use]
    pub fn has_faulted(&self) -> bool {
        let reasons = self.wave.stop.iter();
        let mut reasons = reasons.filter_map(|name| StopReason::from_name(name.raw()));
        reasons.any(StopReason::is_fault)
    }
}

impl From<&CoreWaveLine<'_>> for WaveRecord {
    fn from(line: &CoreWaveLine<'_>) -> WaveRecord {
        let stop = line.wave.stop.iter();
        WaveRecord {
            file: line.file.clone().into_owned(),
            fingerprint: line.fingerprint.clone().into(),
            verdict: line.verdict.clone(),
            wave: WaveFacts {
                index: line.wave.index as u64,
                stop: stop.map(|name| Untrusted::from(*name)).collect(),
                kernel: line.wave.kernel.clone(),
            },
            stack: line.stack.iter().map(|frame| (*frame).into()).collect(),
        }
    }
}

impl From<&FrameDocument> for FrameRecord {
    fn from(frame: &FrameDocument) -> FrameRecord {
        FrameRecord {
            kind: frame.kind.name().into(),
            function: frame.function.clone(),
            file: frame.file.clone(),
            line: frame.line,
        }
    }
}
