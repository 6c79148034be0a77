//! `hetdwarf-core-wave/1`: a wave in a line, for collections of crashes.

use std::rc::Rc;

use serde::Serialize;

use super::super::frame::FrameDocument;
use super::super::text::FileNames;
use super::super::verify::Fnv;
use super::verdict::{Found, VerdictDocument};
use super::{CoreDocument, CoreWaveDocument};
use crate::arch::{CodeAddress, LoadAddress, ProcessAddress};
use crate::inspect::{FrameKind, Program};
use crate::untrusted::Untrusted;

/// A wave of a core, with what it takes to find others like it.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoreWaveLine<'d> {
    /// `hetdwarf-core-wave/1`.
    pub format: &'static str,
    /// The file.
    pub file: Untrusted<'d>,
    /// A hash of the kernel, the stop reasons, and the functions and offsets of the stack: equal for crashes at the same place. 16 hexadecimal digits.
    pub fingerprint: String,
    /// The verdict on the wave, or else on the whole core.
    pub verdict: VerdictDocument,
    /// The wave.
    pub wave: &'d CoreWaveDocument,
    /// Its frames, the innermost first.
    pub stack: Vec<&'d FrameDocument>,
}

impl CoreDocument {
    /// Makes a line for each wave, in their order.
    ///
    /// * `offset`: how far after the start of its function an address of the process is that is in the code object with a number
    ///   ([`offset_in_function`]).
    /// * `file`: what the core is called.
    pub fn lines<'d>(
        &'d self,
        offset: &'d dyn Fn(usize, u64) -> Option<u64>,
        file: &'d Untrusted<'d>,
    ) -> impl Iterator<Item = CoreWaveLine<'d>> {
        let frames = self.waves.iter().flat_map(|wave| &wave.frames);
        let files = frames.filter_map(|frame| frame.file.as_ref());
        let names = FileNames::of(files.map(Untrusted::raw));
        self.waves.iter().map(move |wave| CoreWaveLine {
            format: "hetdwarf-core-wave/1",
            file: file.borrowed(),
            fingerprint: fingerprint(wave, offset),
            verdict: self.verdict_of(wave, &names),
            wave,
            stack: wave.frames.iter().map(Rc::as_ref).collect(),
        })
    }

    fn verdict_of(&self, wave: &CoreWaveDocument, names: &FileNames<'_>) -> VerdictDocument {
        let alone = Found {
            waves: core::slice::from_ref(wave),
            places: &[],
            workgroups: &[],
            names,
        };
        match wave.stop.is_empty() {
            true => self.verdict.clone(),
            false => alone.fault().unwrap_or_else(|| self.verdict.clone()),
        }
    }
}

/// Returns what crashes at the same place have in common, whatever the addresses, lanes and workgroups are.
fn fingerprint(wave: &CoreWaveDocument, offset: &dyn Fn(usize, u64) -> Option<u64>) -> String {
    let mut hash = Fnv::default();
    let mut part = |text: &str| {
        hash.write(text.as_bytes());
        // No part runs into the next.
        hash.write(&[0]);
    };
    part(wave.kernel.as_ref().map_or("", Untrusted::raw));
    for reason in &wave.stop {
        part(reason);
    }
    for frame in &wave.frames {
        part(frame.function.as_ref().map_or("", Untrusted::raw));
        if frame.kind != FrameKind::Inlined
            && let Some(index) = wave.code_object
            && let Ok(pc) = u64::try_from(frame.pc.0)
            && let Some(offset) = offset(index, pc)
        {
            part(&format!("+{offset:x}"));
        }
    }
    format!("{:016x}", hash.0)
}

/// Returns how far after the start of its function an address of the process is.
#[must_use]
pub fn offset_in_function(
    program: &Program<'_>,
    load_address: LoadAddress,
    pc: u64,
) -> Option<u64> {
    let CodeAddress(address) = load_address.checked_to_code(ProcessAddress(pc))?;
    // A function may end with a call.
    let (_, offset) = program.symbol_at(address.checked_sub(1)?)?;
    offset.checked_add(1)
}
