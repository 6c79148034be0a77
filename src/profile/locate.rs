//! Looks up the source position of an address, as a profile shows it.

use std::sync::Arc;

use super::CodeOf;
use crate::arch::WaveSize;
use crate::debug_info::{SourceFile, SourceFrame, UnitId};
use crate::error::Result;
use crate::isa::Decoder;
use crate::meter::Meter;
use crate::object::Kernel;

/// A function, inlined or not, and the position in it.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// The name of the function in the source, or of its symbol.
    pub function: Option<Arc<str>>,
    /// The path of the file.
    pub file: Option<Arc<str>>,
    /// The line; `None` for code without a line.
    pub line: Option<u64>,
    /// The file in the line table of its unit.
    pub source: Option<(UnitId, SourceFile)>,
}

impl SourcePosition {
    /// Returns a position with the file and the line that the profiler reports.
    #[must_use]
    pub fn of_line(file: &str, line: Option<u64>) -> SourcePosition {
        SourcePosition {
            file: Some(file.into()),
            line,
            ..SourcePosition::default()
        }
    }
}

/// The facts about an address.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located {
    /// The calls, the innermost first.
    pub frames: Vec<SourcePosition>,
    /// The kernel to which the code belongs.
    pub kernel: Option<String>,
    /// The address in the code object.
    pub address: Option<u64>,
    /// The text of the instruction.
    pub instruction: Option<String>,
    /// The size of the waves.
    pub wave_size: Option<WaveSize>,
}

impl Located {
    /// Returns its approximate size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let frames = self
            .frames
            .len()
            .saturating_mul(size_of::<SourcePosition>());
        let text = self.instruction.as_ref().map_or(0, String::len);
        let kernel = self.kernel.as_ref().map_or(0, String::len);
        let all = frames.saturating_add(text).saturating_add(kernel);
        (all.saturating_add(size_of::<Located>())) as u64
    }
}

/// Returns the facts about an address; `None` if no code is known there.
///
/// * `meter`: the budget.
///
/// # Errors
/// If a limit is reached. Malformed debugging information is ignored.
pub fn locate(code: CodeOf<'_, '_>, meter: &Meter) -> Result<Option<Located>> {
    let CodeOf {
        program, address, ..
    } = code;
    let symbol = program.symbol_at(address);
    let start = symbol.and_then(|(_, offset)| address.checked_sub(offset));
    let found = program.info().source_frames_near(address, || start, meter);
    let mut frames = Vec::new();
    match found {
        Ok(found) => {
            for frame in found {
                meter.work(1)?;
                frames.push(position(&frame));
            }
        }
        Err(error) if error.is_limit() => return Err(error),
        Err(_) => {}
    }
    if let (Some((name, _)), Some(outermost)) = (symbol, frames.last_mut())
        && outermost.function.is_none()
    {
        outermost.function = Some(name.into());
    }
    if let (Some((name, _)), []) = (symbol, &*frames) {
        frames.push(SourcePosition {
            function: Some(name.into()),
            ..SourcePosition::default()
        });
    }
    if frames.is_empty() {
        return Ok(None);
    }
    let object = program.object();
    let kernel = symbol.and_then(|(name, _)| program.kernel_named(name));
    let of_object = || object.wave_size().ok().flatten();
    let wave_size = kernel.and_then(Kernel::wave_size).or_else(of_object);
    Ok(Some(Located {
        frames,
        kernel: kernel.map(|kernel| kernel.name.clone()),
        address: Some(address),
        instruction: instruction(code, wave_size),
        wave_size,
    }))
}

fn position(frame: &SourceFrame<'_, '_>) -> SourcePosition {
    let file = frame.file();
    SourcePosition {
        function: frame.name().map(Arc::from),
        line: frame.line(),
        source: frame.unit().zip(file.clone()),
        file: file.map(|file| file.path),
    }
}

/// Returns the text of an instruction.
fn instruction(code: CodeOf<'_, '_>, wave_size: Option<WaveSize>) -> Option<String> {
    /// The longest instruction, in bytes.
    const LONGEST: usize = 20;
    let decoder = Decoder::new(code.program.processor(), wave_size)?;
    let object = code.program.object();
    let mut lengths = (4..=LONGEST).rev().step_by(4);
    let bytes = lengths.find_map(|length| object.read_image(code.address, length))?;
    decoder.print(bytes, code.address).ok()
}
