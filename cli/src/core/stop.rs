//! Creates the stop of the chosen wave: from a snapshot with its code object, or from a core.

use std::io::Write;
use std::path::{Path, PathBuf};

use hetdwarf::gpu_core::{GpuCore, Process, WaveSelector};
use hetdwarf::inspect::{Programs, Stop, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::meter::Meter;
use hetdwarf::report::{Completeness, ProblemDocument, unread};
use hetdwarf::untrusted::Untrusted;

use super::super::arguments::{
    CoreChoice, CoreObjects, ObjectArguments, StopArguments, WaveArguments,
};
use super::super::contents::{Contents, Input, input_name};
use super::super::failure::Failure;
use super::super::input::{check_lengths, read_wave_of, with_program};
use super::super::progress::Progress;
use super::source::{Ask, WaveSource};
use super::{in_files, log, objects};

/// The choice of a wave by arguments.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<'c> {
    pub(crate) object: Option<&'c Path>,
    pub(crate) wave: Option<&'c Path>,
    pub(crate) core: &'c CoreChoice,
    pub(crate) which: &'c ObjectArguments,
    pub(crate) options: StopOptions,
}

impl<'c> Chosen<'c> {
    pub(crate) fn of(arguments: &'c StopArguments, options: StopOptions) -> Chosen<'c> {
        Chosen::new(arguments.object.as_deref(), &arguments.wave, options)
    }

    /// * `object`: the code object. None with a core.
    pub(crate) fn new(
        object: Option<&'c Path>,
        arguments: &'c WaveArguments,
        options: StopOptions,
    ) -> Chosen<'c> {
        Chosen {
            object,
            wave: arguments.wave.as_deref(),
            core: &arguments.core,
            which: &arguments.which,
            options,
        }
    }

    /// Returns the files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'c Path> {
        let (core, which) = (self.core, self.which);
        let files = core.files().chain(which.files());
        let wave = self.wave.filter(|_| self.object.is_some());
        self.object.into_iter().chain(wave).chain(files)
    }
}

/// Calls `then` with the stop of the chosen wave, and with the path that messages name.
pub(crate) fn with_chosen<T>(
    chosen: &Chosen<'_>,
    err: &mut dyn Write,
    then: impl FnOnce(&Stop<'_, '_>, &Path) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Chosen { core, options, .. } = *chosen;
    let (Some(object), Some(wave)) = (chosen.object, chosen.wave) else {
        let limits = chosen.which.limits.limits();
        check_which(chosen.which)?;
        return with_stop(core, chosen.wave, options, &limits, |stop| {
            then(stop, first_file(core))
        });
    };
    if !core.objects.given.is_empty() || !core.objects.folders.is_empty() {
        let message = "--object and --object-path are for code objects of a --core";
        return Err(Failure::new(message));
    }
    with_program(object, chosen.which, |program| {
        let wave = read_wave_of(program, wave, err)?;
        let arena = Arena::new();
        let options = options.at(wave.load_address);
        let stop = Stop::new(program, &wave, wave.pc(), options, &arena);
        then(&stop, input_name(object))
    })
}

/// Rejects the options that choose a code object of a file, because they do not apply to a core.
pub(crate) fn check_which(which: &ObjectArguments) -> Result<(), Failure> {
    let given = [
        ("--target", which.target.is_some()),
        ("--index", which.index.is_some()),
        ("--dwo", !which.dwo.is_empty()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::new(format!(
            "{option} works with OBJECT; a wave of a core uses the code object that contains its pc"
        ))),
        None => Ok(()),
    }
}

/// Returns the path that messages name.
pub(crate) fn first_file(core: &CoreChoice) -> &Path {
    let first = core.core.first();
    first.map_or(Path::new(""), |path| input_name(path))
}

/// An open core with its code objects.
pub(crate) struct Opened<'c> {
    pub(crate) core: &'c GpuCore<'c>,
    pub(crate) programs: &'c Programs<'c>,
    pub(super) found: &'c objects::Found<'c>,
}

impl Opened<'_> {
    /// Returns the code objects that were not found, and the problems with those that the user gave.
    pub(crate) fn problems(&self) -> Vec<ProblemDocument> {
        let mut problems = objects::lost(self.programs.process(), self.found);
        problems.extend(self.found.problems.iter().cloned());
        problems
    }
}

/// Opens a core and calls `then` with it. It borrows from the files, so it cannot be returned.
pub(crate) fn with_core<T>(
    files: &[PathBuf],
    wanted: &CoreObjects,
    options: StopOptions,
    limits: &Limits,
    then: impl FnOnce(&Opened<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let contents = files
        .iter()
        .map(|path| {
            let opened = Contents::of_argument(path, Input::Object);
            opened.map_err(|error| Failure::in_file(input_name(path), error))
        })
        .collect::<Result<Vec<Contents>, Failure>>()?;
    let bytes: Vec<&[u8]> = contents.iter().map(|contents| &**contents).collect();
    let core = GpuCore::open(&bytes, limits).map_err(|error| in_files(files, error))?;
    let answer = with_objects(&core, wanted, options, then)?;
    check_lengths(files.iter().map(PathBuf::as_path).zip(&contents))?;
    Ok(answer)
}

/// Opens a core from bytes in memory, with the code objects in it, and calls `then` with it.
pub(crate) fn with_bytes<T>(
    bytes: &[u8],
    then: impl FnOnce(&Opened<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let core = GpuCore::open(&[bytes], &Limits::default())?;
    with_objects(&core, &CoreObjects::default(), StopOptions::default(), then)
}

fn with_objects<T>(
    core: &GpuCore<'_>,
    wanted: &CoreObjects,
    options: StopOptions,
    then: impl FnOnce(&Opened<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let found = objects::find(core, wanted)?;
    let process = Process::open(core, &found.images);
    let programs = Programs::new(&process).options(options);
    then(&Opened {
        core,
        programs: &programs,
        found: &found,
    })
}

impl WaveSource for Opened<'_> {
    fn with(&self, index: usize, ask: &mut Ask<'_>) -> Result<(), Failure> {
        let Some(wave) = self.core.wave(index.saturating_sub(1)) else {
            return Ok(());
        };
        let arena = Arena::new();
        let stop = self.programs.stop(&wave, &arena);
        ask(Some(&wave), stop.as_ref())
    }
}

/// Fails if the core has no waves, because there is no wave to choose.
fn check_waves(core: &GpuCore<'_>, files: &[PathBuf]) -> Result<(), Failure> {
    match core.waves().len() {
        0 => {
            let reason = unread(core).unwrap_or_else(|| "it contains no wave".to_owned());
            Err(in_files(files, format!("{reason}; see hetdwarf core")))
        }
        _ => Ok(()),
    }
}

/// Chooses a wave of a core and calls `then` with its stop. By default this is the first wave that faulted.
fn with_stop<T>(
    choice: &CoreChoice,
    wave: Option<&Path>,
    options: StopOptions,
    limits: &Limits,
    then: impl FnOnce(&Stop<'_, '_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if log::is_log(&choice.core) {
        return with_stop_of_log(choice, wave, options, limits, then);
    }
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
    let files = &choice.core;
    with_core(files, &choice.objects, options, limits, |opened| {
        check_waves(opened.core, files)?;
        let selected = opened.core.select(selector);
        let wave = selected.map_err(|error| in_files(files, error))?;
        let arena = Arena::new();
        match opened.programs.stop(&wave, &arena) {
            Some(stop) => then(&stop),
            None => {
                let message = format!(
                    "wave {} is at {:#x}, in no code object that was found; see hetdwarf core",
                    wave.index() + 1,
                    wave.pc()
                );
                Err(in_files(files, message))
            }
        }
    })
}

/// Chooses a wave of a log and calls `then` with its stop.
fn with_stop_of_log<T>(
    choice: &CoreChoice,
    wave: Option<&Path>,
    options: StopOptions,
    limits: &Limits,
    then: impl FnOnce(&Stop<'_, '_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (files, objects) = (&choice.core, &choice.objects);
    log::with_log(files, objects, options, limits, |log, _, _| {
        let wanted = wave.map(|text| text.to_string_lossy());
        let index = log.select(wanted.as_deref())?;
        let (mut then, mut answer) = (Some(then), None);
        log.ask(index, &mut |_, stop| {
            if let (Some(stop), Some(then)) = (stop, then.take()) {
                answer = Some(then(stop));
            }
            Ok(())
        })?;
        answer.unwrap_or_else(|| {
            let message = format!(
                "wave {} is in no code object given with --object, or its registers are incomplete; see hetdwarf core",
                index + 1
            );
            Err(in_files(files, message))
        })
    })
}

/// Limits the total work of a command on all waves of a core to the steps of one query. Each wave also has the limit of a whole query.
/// After the total is exceeded, no further wave is queried.
#[derive(Debug)]
pub(super) struct Budget<'m> {
    meter: &'m Meter,
}

impl<'m> Budget<'m> {
    /// The fixed cost of a wave in steps.
    const PER_WAVE: u64 = 1 << 10;

    /// * `meter`: the command's meter, shared with its other work on the core.
    pub(super) fn new(meter: &'m Meter) -> Budget<'m> {
        Budget { meter }
    }

    /// Charges the fixed cost of a wave.
    ///
    /// # Errors
    /// The limit, if it is reached.
    pub(super) fn wave(&self) -> hetdwarf::Result<()> {
        self.meter.work(Budget::PER_WAVE)
    }

    /// Charges the cost of the queries about a wave.
    pub(super) fn count(&self, stop: &Stop<'_, '_>) {
        // An exceeded limit is reported at the next wave.
        let _ = self.meter.work(stop.meter().steps_of_all());
    }
}

/// Queries every wave of a core, in order, and groups waves with equal answers. They share one budget, and waves beyond it have no answer.
///
/// A failed query counts as an answer, with its reason.
pub(crate) fn ask_all_waves<T: serde::Serialize>(
    choice: &CoreChoice,
    options: StopOptions,
    limits: &Limits,
    mut ask: impl FnMut(&Stop<'_, '_>, &Path) -> Result<T, Failure>,
) -> Result<(Vec<hetdwarf::report::WaveGroup<T>>, Completeness), Failure> {
    let file = first_file(choice);
    with_core(&choice.core, &choice.objects, options, limits, |opened| {
        check_waves(opened.core, &choice.core)?;
        let mut groups = hetdwarf::report::WaveGroups::default();
        let mut progress = Progress::new(opened.core.waves().len(), "waves");
        let meter = opened.core.meter().for_query();
        let budget = Budget::new(&meter);
        let mut completeness = Completeness::default();
        for wave in opened.core.waves() {
            progress.show(wave.index());
            if let Err(error) = budget.wave() {
                completeness.note(&error);
                groups.add(wave.index() + 1, Err(format!("not asked: {error}")))?;
                continue;
            }
            let arena = Arena::new();
            let answer = match opened.programs.stop(&wave, &arena) {
                Some(stop) => {
                    let answer = ask(&stop, file).map_err(|failure| failure.to_string());
                    budget.count(&stop);
                    answer
                }
                None => Err("it is in no code object that was found".to_owned()),
            };
            groups.add(wave.index() + 1, answer)?;
        }
        Ok((groups.into_groups(), completeness))
    })
}
