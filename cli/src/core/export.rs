//! Implements `hetdwarf core --export DIR`: writes waves as snapshots, and code objects as files.

use core::ops::Range;
use std::path::Path;

use super::super::failure::Failure;
use super::super::outputs::{Kind, Outputs};
use super::super::progress::Progress;
use super::stop::{Budget, Opened};
use hetdwarf::arch::LoadAddress;
use hetdwarf::gpu_core::{CoreWave, GpuCore};
use hetdwarf::inspect::{Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::meter::Meter;
use hetdwarf::report::{ProblemDocument, UnwindDocument, VarsDocument, VarsRequest};
use hetdwarf::wave::{Memory, Recorder, Snapshot, Wave};

/// The most bytes of memory in a snapshot. The file has two hexadecimal digits for each byte, and commands read files of up to 256 MiB.
const MOST: u64 = 100 << 20;

/// The output limits: in bytes for any core, and in bytes for each byte of the core. The output for a real core is about ten times its
/// size. The limits stop a small malicious file that names the same memory for each of its waves.
const MOST_WRITTEN: u64 = 1 << 30;
const PER_BYTE: u64 = 1 << 10;

/// The number of pointer levels that are followed from variables.
const LEVELS: u32 = 3;

/// Writes `wave-INDEX.json` for each wave, with INDEX from 1, and `object-N.hsaco` for each code object that was found, with N from 0.
///
/// * `all`: true if snapshots contain all memory, and not only the memory that the variables of frames reach.
/// * `most`: the most bytes that all files may have together.
/// * `meter`: charged for the queries about waves.
pub(super) fn export(
    opened: &Opened<'_>,
    folder: &Path,
    all: bool,
    most: Option<u64>,
    meter: &Meter,
    outputs: &mut Outputs,
) -> Result<Option<ProblemDocument>, Failure> {
    let length = opened.core.length();
    let most = most.unwrap_or_else(|| MOST_WRITTEN.saturating_add(length.saturating_mul(PER_BYTE)));
    let budget = Budget::new(meter);
    let mut left = most;
    let in_folder = |error: std::io::Error| Failure::in_file(folder, error);
    std::fs::create_dir_all(folder).map_err(in_folder)?;
    // All output paths are checked before anything is written.
    let mut objects = Vec::new();
    for (index, (_, image)) in opened.found.images.iter().enumerate() {
        if let Some(image) = image {
            let path = folder.join(format!("object-{index}.hsaco"));
            objects.push((outputs.plan(&path, Kind::Object)?, image));
        }
    }
    let mut waves = Vec::new();
    for wave in opened.core.waves() {
        let path = folder.join(format!("wave-{}.json", wave.index() + 1));
        waves.push(outputs.plan(&path, Kind::Wave)?);
    }
    for (output, image) in objects {
        let Some(rest) = left.checked_sub(image.len() as u64) else {
            return Ok(Some(too_much("code objects", most)));
        };
        left = rest;
        output.write(image)?;
    }
    let mut progress = Progress::new(opened.core.waves().len(), "waves");
    for (wave, output) in opened.core.waves().zip(waves) {
        progress.show(wave.index());
        let number = wave.index() + 1;
        if let Err(error) = budget.wave() {
            let message = format!("waves from {number} on were not exported: {error}");
            return Ok(Some(ProblemDocument::of("--export", message)));
        }
        let snapshot = snapshot(opened, &wave, all, &budget)
            .map_err(|error| Failure::new(format!("--export: wave {number}: {error}")))?;
        let text = snapshot.to_json();
        let Some(rest) = left.checked_sub(text.len() as u64) else {
            let what = format!("waves from {number} on");
            return Ok(Some(too_much(&what, most)));
        };
        left = rest;
        output.write(text.as_bytes())?;
    }
    Ok(None)
}

fn too_much(what: &str, most: u64) -> ProblemDocument {
    let message = format!(
        "{what} were not exported: together all files would have more than {most} bytes; see --export-limit"
    );
    ProblemDocument::of("--export", message)
}

fn snapshot(
    opened: &Opened<'_>,
    wave: &CoreWave<'_, '_>,
    all: bool,
    budget: &Budget<'_>,
) -> hetdwarf::Result<Snapshot> {
    let process = opened.programs.process();
    let pc = wave.pc();
    let index = opened.programs.object_of(wave);
    let loaded = index.and_then(|index| process.objects().get(index));
    let object = loaded.and_then(|loaded| loaded.object.as_ref());
    let target = match (object, wave.agent()) {
        (Some(object), _) => object.target().to_string(),
        (None, Some(agent)) => agent.target.clone(),
        (None, None) => String::new(),
    };
    let mut snapshot = Snapshot::of_registers(target, pc, wave)?;
    let load_address = loaded.map_or_else(LoadAddress::default, |loaded| loaded.load_address);
    snapshot.load_address = load_address;
    snapshot.stop = wave.stop_reasons();
    let mut copy = Copy {
        core: opened.core,
        left: MOST,
    };
    let mut lds = vec![0; wave.lds_size() as usize];
    if wave.read_memory(Memory::Local, 0, &mut lds).is_ok() {
        snapshot.add_memory(Memory::Local, 0, &lds)?;
    }
    if let Some(scratch) = wave.scratch() {
        let end = scratch.address.saturating_add(scratch.size);
        let to = Some((Memory::PrivateWave, scratch.address));
        copy.range(scratch.address..end, to, &mut snapshot)?;
    }
    if all {
        copy.range(0..u64::MAX, None, &mut snapshot)?;
        return Ok(snapshot);
    }
    if let Some(dispatch) = wave.dispatch() {
        let kernel = process.kernel(dispatch).map(|(_, kernel)| kernel);
        let stated = kernel.and_then(|kernel| kernel.metadata.as_ref()?.kernarg_segment_size);
        let descriptor = || Some(kernel?.descriptor.as_ref()?.kernarg_size().into());
        let size: u64 = stated.or_else(descriptor).unwrap_or(0);
        let start = dispatch.packet.kernarg_address;
        copy.range(start..start.saturating_add(size), None, &mut snapshot)?;
    }
    if let Some(Ok(program)) = index.and_then(|index| opened.programs.get(index)) {
        let recorder = Recorder::new(wave);
        let arena = Arena::new();
        let options = StopOptions::loaded_at(load_address);
        let stop = Stop::new(program, &recorder, pc, options, &arena);
        // A query that fails on a damaged code object also fails on the snapshot, so errors are ignored.
        let _ = UnwindDocument::new(&stop);
        let _ = VarsDocument::of_all_frames(&stop, &VarsRequest::default());
        let _ = VarsDocument::of_all_frames(&stop, &VarsRequest::default().children(LEVELS));
        budget.count(&stop);
        for range in recorder.seen() {
            copy.range(range, None, &mut snapshot)?;
        }
    }
    Ok(snapshot)
}

/// Copies memory of the process into a snapshot.
struct Copy<'c> {
    core: &'c GpuCore<'c>,
    left: u64,
}

impl Copy<'_> {
    /// Copies the parts of a range that the core contains.
    ///
    /// * `to`: the memory to copy to, and the process address of its start. None for global memory.
    fn range(
        &mut self,
        range: Range<u64>,
        to: Option<(Memory, u64)>,
        snapshot: &mut Snapshot,
    ) -> hetdwarf::Result<()> {
        let (memory, base) = to.unwrap_or((Memory::Global, 0));
        for piece in self.core.memory_ranges() {
            let (start, end) = (piece.start.max(range.start), piece.end.min(range.end));
            let Some(size) = end.checked_sub(start).filter(|&size| size != 0) else {
                continue;
            };
            self.left = self.left.checked_sub(size).ok_or_else(|| {
                let most = MOST >> 20;
                hetdwarf::Error::malformed(
                    "wave snapshot",
                    format!("it would have more than {most} MiB of memory"),
                )
            })?;
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
            if self.core.read_memory(start, &mut bytes) {
                snapshot.add_memory(memory, start.wrapping_sub(base), &bytes)?;
            }
        }
        Ok(())
    }
}
