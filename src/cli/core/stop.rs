//! `--core FILE --wave SEL`: the stop of a wave of a core, for the commands that ask about one wave.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::eval::Reading;
use crate::gpu_core::{GpuCore, Process, WaveSelector};
use crate::inspect::{Programs, Stop, StopOptions};
use crate::limits::Limits;
use crate::location::Arena;
use crate::untrusted::Untrusted;

use super::super::arguments::{CoreChoice, ObjectArguments};
use super::super::contents::Contents;
use super::super::failure::Failure;
use super::super::input::{check_lengths, read_file, read_wave_of, with_program};
use super::objects;

/// A wave that arguments choose: that of a file, with the code object that it runs, or one of a core.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<'c> {
    pub(crate) object: Option<&'c Path>,
    pub(crate) wave: Option<&'c Path>,
    pub(crate) core: &'c CoreChoice,
    pub(crate) which: &'c ObjectArguments,
    pub(crate) reading: Reading,
}

/// Calls `then` with the stop of the wave that is chosen, and with the file that messages name.
pub(crate) fn with_chosen<T>(
    chosen: &Chosen<'_>,
    err: &mut dyn Write,
    then: impl FnOnce(&Stop<'_, '_>, &Path, &mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Chosen { core, reading, .. } = *chosen;
    let (Some(object), Some(wave)) = (chosen.object, chosen.wave) else {
        let limits = chosen.which.limits.limits();
        let file = core.core.first().map_or(Path::new(""), PathBuf::as_path);
        return with_stop(core, chosen.wave, reading, &limits, |stop| {
            then(stop, file, err)
        });
    };
    if !core.objects.given.is_empty() || !core.objects.folders.is_empty() {
        let message = "--object and --object-path are for code objects of a --core";
        return Err(Failure::new(message));
    }
    with_program(object, chosen.which, |program| {
        let wave = read_wave_of(program, wave, err)?;
        let arena = Arena::new();
        let options = StopOptions::loaded_at(wave.load_address).reading(reading);
        let stop = Stop::new(program, &wave, wave.pc(), options, &arena);
        then(&stop, object, err)
    })
}

/// Opens the core, chooses the wave and calls `then` with its stop; it lives no longer, since it borrows from the files.
/// Without a choice it is the first wave that faulted.
fn with_stop<T>(
    choice: &CoreChoice,
    wave: Option<&Path>,
    reading: Reading,
    limits: &Limits,
    then: impl FnOnce(&Stop<'_, '_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let contents = choice
        .core
        .iter()
        .map(|path| read_file(path))
        .collect::<Result<Vec<Contents>, Failure>>()?;
    let files: Vec<&[u8]> = contents.iter().map(|contents| &**contents).collect();
    let place =
        |error: crate::Error| Failure::new(format!("{}: {error}", super::names(&choice.core)));
    let core = GpuCore::open(&files, limits).map_err(place)?;
    let selector = match wave {
        Some(text) => {
            let text = text.to_string_lossy();
            let parsed = text.parse::<WaveSelector>();
            parsed.map_err(|error| {
                Failure::new(format!("--wave {}: {error}", Untrusted::from(text.clone())))
            })?
        }
        None => WaveSelector::default(),
    };
    let wave = core.select(selector).map_err(place)?;
    let found = objects::find(&core, &choice.objects)?;
    let process = Process::open(&core, &found.images);
    let programs = Programs::new(&process).reading(reading);
    let arena = Arena::new();
    match programs.stop(&wave, &arena) {
        Some(stop) => {
            let answer = then(&stop)?;
            check_lengths(choice.core.iter().map(PathBuf::as_path).zip(&contents))?;
            Ok(answer)
        }
        None => Err(Failure::new(format!(
            "{}: wave {} is at {:#x}, in no code object that was found; see hetdwarf core",
            super::names(&choice.core),
            wave.index().saturating_add(1),
            wave.pc()
        ))),
    }
}
