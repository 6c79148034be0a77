//! `hetdwarf-core-wave/1`: one line of JSON for each wave, for collections of crashes.

use std::rc::Rc;

use serde::Serialize;

use super::super::frame::FrameDocument;
use super::super::text::FileNames;
use super::super::verify::Fnv;
use super::verdict::{Found, VerdictDocument};
use super::{CoreReport, CoreWaveDocument};
use crate::arch::{CodeAddress, LoadAddress, ProcessAddress};
use crate::inspect::{FrameKind, Program};
use crate::untrusted::Untrusted;

/// A wave of a core, with a fingerprint by which similar crashes are found.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CoreWaveLine<'d> {
    /// `hetdwarf-core-wave/1`.
    pub format: &'static str,
    /// The file.
    pub file: Untrusted<'d>,
    /// A hash of the kernel, the stop reasons, and the functions and offsets of the stack. It has 16 hexadecimal digits, and is equal for crashes at
    /// the same place.
    pub fingerprint: String,
    /// The verdict on the wave, or else on the whole core.
    pub verdict: VerdictDocument,
    /// The wave.
    pub wave: &'d CoreWaveDocument,
    /// The frames, the innermost first.
    pub stack: Vec<&'d FrameDocument>,
}

impl CoreReport {
    /// Makes a line for each wave, in their order.
    ///
    /// * `offset`: returns the offset of an address of the process from the start of its function, given the index of the code object
    ///   ([`offset_in_function`]).
    /// * `file`: the name of the core.
    pub fn lines<'d>(
        &'d self,
        offset: &'d dyn Fn(usize, u64) -> Option<u64>,
        file: &'d Untrusted<'d>,
    ) -> impl Iterator<Item = CoreWaveLine<'d>> {
        let names = self.stacks.names();
        self.document.waves.iter().map(move |wave| {
            let frames = self.stacks.frames(wave);
            CoreWaveLine {
                format: "hetdwarf-core-wave/1",
                file: file.borrowed(),
                fingerprint: fingerprint(wave, frames, offset),
                verdict: self.verdict_of(wave, &names),
                wave,
                stack: frames.iter().map(Rc::as_ref).collect(),
            }
        })
    }

    fn verdict_of(&self, wave: &CoreWaveDocument, names: &FileNames<'_>) -> VerdictDocument {
        let alone = Found {
            waves: core::slice::from_ref(wave),
            places: &[],
            workgroups: &[],
            stacks: &self.stacks,
            names,
            unread: None,
        };
        match wave.stop.is_empty() {
            true => self.document.verdict.clone(),
            false => alone
                .fault()
                .unwrap_or_else(|| self.document.verdict.clone()),
        }
    }
}

/// Returns a hash that is equal for crashes at the same place, regardless of addresses, lanes and workgroups.
///
/// It is the FNV-1a hash with 64 bits of these texts in UTF-8, each followed by a zero byte, as 16 hexadecimal digits:
/// 1. The name of the kernel (`wave.kernel`), or nothing.
/// 2. The name of each stop reason, in the order of `wave.stop`.
/// 3. For each frame, the innermost first: the name of its function (`stack[].function`), or nothing. Then, unless the frame is an inlined call,
///    `+` and the distance of its pc from the start of the symbol that contains it, as hexadecimal digits in lower case. This text is absent if
///    the code object or the symbol is unknown.
///
/// Paths, lines, addresses, the version of hetdwarf and the state of other waves are not part of it. A change of this list changes all stored
/// fingerprints, so it needs another number in `format`.
fn fingerprint(
    wave: &CoreWaveDocument,
    frames: &[Rc<FrameDocument>],
    offset: &dyn Fn(usize, u64) -> Option<u64>,
) -> String {
    let mut hash = Fnv::default();
    let mut part = |text: &str| {
        hash.write(text.as_bytes());
        // A separator keeps adjacent parts distinct.
        hash.write(&[0]);
    };
    part(wave.kernel.as_ref().map_or("", Untrusted::raw));
    for reason in &wave.stop {
        part(reason);
    }
    for frame in frames {
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

/// Returns the offset of an address of the process from the start of its function, in bytes.
#[must_use]
pub fn offset_in_function(
    program: &Program<'_>,
    load_address: LoadAddress,
    pc: u64,
) -> Option<u64> {
    let CodeAddress(address) = load_address.checked_to_code(ProcessAddress(pc))?;
    // The address after a call may be the end of the function.
    let (_, offset) = program.symbol_at(address.checked_sub(1)?)?;
    offset.checked_add(1)
}
