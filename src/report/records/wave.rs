//! Represents `hetdwarf-core-wave/1`, as far as reports about many cores need it.

use serde::Deserialize;

use super::super::core::{CoreWaveLine, VerdictDocument};
use super::super::frame::FrameDocument;
use crate::untrusted::Untrusted;
use crate::wave::StopReason;

/// A wave of a core.
#[non_exhaustive]
#[derive(Clone, Debug, Deserialize)]
pub struct WaveRecord {
    /// The name of the core.
    pub file: Untrusted<'static>,
    /// The fingerprint, see [`CoreWaveLine`].
    pub fingerprint: Untrusted<'static>,
    /// The verdict on the wave, or else on the whole core.
    pub verdict: VerdictDocument,
    /// The wave.
    pub wave: WaveFacts,
    /// The frames of the wave, the innermost first.
    pub stack: Vec<FrameRecord>,
}

/// Facts about a single wave.
#[non_exhaustive]
#[derive(Clone, Debug, Deserialize)]
pub struct WaveFacts {
    /// The number of the wave, from 1.
    pub index: u64,
    /// The reasons for the stop, the most specific first.
    pub stop: Vec<Untrusted<'static>>,
    /// The kernel of the wave.
    pub kernel: Option<Untrusted<'static>>,
}

/// A frame.
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
