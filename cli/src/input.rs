//! Opens the files of commands.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hetdwarf::arch::{Processor, TargetId};
use hetdwarf::eval::Reading;
use hetdwarf::expr::Dialect;
use hetdwarf::inspect::{Program, Stop, StopFrame, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::object::{
    CodeObject, EmbeddedCodeObject, Layout, Selector, code_objects_and_packages,
    code_objects_or_host, is_core_file, select,
};
use hetdwarf::plural::counted;
use hetdwarf::untrusted::Untrusted;
use hetdwarf::wave::{Snapshot, Wave};

use super::arguments::{DialectName, ObjectArguments, RecoveryArguments, StrictArguments};
use super::contents::{Contents, Input, input_name};
use super::failure::Failure;
use super::packages::ObjectFile;

/// Reads a code object, a file that contains some, or a core.
pub(crate) fn read_file(path: &Path) -> Result<Contents, Failure> {
    Contents::open(path, Input::Object).map_err(|error| Failure::in_file(path, error))
}

/// Fails if a file has become shorter since it was opened.
pub(crate) fn check_lengths<'a>(
    files: impl IntoIterator<Item = (&'a Path, &'a Contents)>,
) -> Result<(), Failure> {
    files.into_iter().try_for_each(|(path, data)| {
        let length = data.check_length();
        length.map_err(|error| Failure::in_file(path, error))
    })
}

/// The path that names standard output.
pub(crate) const STANDARD_OUTPUT: &str = "-";

/// Reads the snapshot that `--wave` names, which may be standard input, and checks that such a wave can exist.
pub(crate) fn read_wave(path: &Path) -> Result<Snapshot, Failure> {
    let bytes = Contents::of_argument(path, Input::Wave);
    let path = input_name(path);
    parse_wave(path, &bytes.map_err(|error| Failure::in_file(path, error))?)
}

/// Reads a snapshot from a file, and checks that such a wave can exist.
pub(crate) fn read_wave_file(path: &Path, input: Input) -> Result<Snapshot, Failure> {
    let bytes = Contents::open(path, input).map_err(|error| Failure::in_file(path, error))?;
    parse_wave(path, &bytes)
}

/// Fails if a file for which JSON is expected is an ELF file.
///
/// * `wanted`: the expected file, as the end of a sentence.
pub(crate) fn check_not_elf(path: &Path, bytes: &[u8], wanted: &str) -> Result<(), Failure> {
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(());
    }
    let found = match is_core_file(bytes) {
        true => "a core file",
        false => "a code object",
    };
    Err(Failure::in_file(
        path,
        format!("this is {found}, not {wanted} (JSON)"),
    ))
}

fn parse_wave(path: &Path, bytes: &[u8]) -> Result<Snapshot, Failure> {
    check_not_elf(path, bytes, "a wave snapshot")?;
    let wave = Snapshot::from_json(bytes).map_err(|error| Failure::in_file(path, error))?;
    let target = target_of(path, &wave)?;
    let check = target.processor().check_wave_size(wave.wave_size());
    check.map_err(|error| Failure::in_file(path, error))?;
    Ok(wave)
}

/// Reads the snapshot of a wave that runs `program`.
pub(crate) fn read_wave_of(
    program: &Program<'_>,
    path: &Path,
    err: &mut dyn Write,
) -> Result<Snapshot, Failure> {
    let wave = read_wave(path)?;
    check_wave(program, path, &wave, err)?;
    Ok(wave)
}

/// Checks that a wave can run `program`. A different wave size is an error; a different processor is a warning on `err`.
pub(crate) fn check_wave(
    program: &Program<'_>,
    path: &Path,
    wave: &Snapshot,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let path = input_name(path);
    let check = program.object().check_wave_size(wave.wave_size());
    check.map_err(|error| Failure::in_file(path, error))?;
    let (wanted, found) = (program.object().target(), target_of(path, wave)?);
    let known = [wanted, &found].map(|target| target.processor().is_known());
    let message = match known {
        [false, _] => format!(
            "the code is for an unknown processor, {wanted}: machine code is not read, and pointers into scratch memory cannot be \
             read because their unit is unknown"
        ),
        [true, false] => format!(
            "the wave runs on an unknown processor, {}; it is treated as {wanted}, the target of the code",
            wave.target
        ),
        [true, true] if wanted.processor().runs_on(found.processor()) => return Ok(()),
        [true, true] => format!(
            "the wave runs on {}, but the code is for {}",
            found.processor().name(),
            wanted.processor().name()
        ),
    };
    Failure::warn(err, path, &message);
    Ok(())
}

/// Returns the target of a wave. An unknown name with a processor's prefix may be a newer processor, and is accepted.
fn target_of(path: &Path, wave: &Snapshot) -> Result<TargetId, Failure> {
    let is_name = |text: &str| {
        let digits = text.rsplit("--").next().unwrap_or(text).strip_prefix("gfx");
        digits.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let name = wave.target.split([':', '+']).next().unwrap_or_default();
    match wave.target.parse() {
        Ok(target) => Ok(target),
        // The processor is known, so one of the features is wrong.
        Err(_) if is_name(name) && name.parse::<TargetId>().is_err() => {
            Ok(TargetId::new(Processor::UNKNOWN))
        }
        Err(error) => Err(Failure::in_file(path, format!("target: {error}"))),
    }
}

/// A `.dwo` file: its path and its bytes.
pub(crate) type DwoFile<'p> = (Cow<'p, Path>, Contents);

/// Reads the `.dwo` file that `--dwo` names, if it is given, for a command that takes only one.
pub(crate) fn read_dwo(which: &ObjectArguments) -> Result<Option<DwoFile<'_>>, Failure> {
    match which.dwo.as_slice() {
        [] => Ok(None),
        [path] => Ok(Some((path.into(), read_file(path)?))),
        [..] => Err(Failure::new("--dwo: this command takes only one .dwo file")),
    }
}

/// Parses an object file of any machine.
pub(crate) fn parse_any_machine<'d>(
    data: &'d [u8],
    layout: Layout,
    limits: &Limits,
) -> hetdwarf::Result<CodeObject<'d>> {
    CodeObject::parse_any_machine(
        data,
        layout,
        &Arc::new(Meter::new(limits, data.len() as u64)),
    )
}

/// Parses a `.dwo` file. Errors name this file, not the code object.
///
/// * `open`: the function that parses objects of the accepted machines.
pub(crate) fn parse_dwo<'d>(
    dwo: &'d Option<DwoFile<'_>>,
    limits: &Limits,
    open: impl Fn(&'d [u8], &Limits) -> hetdwarf::Result<CodeObject<'d>>,
) -> Result<Option<CodeObject<'d>>, Failure> {
    let parse = |(path, data): &'d DwoFile<'_>| {
        open(data, limits).map_err(|error| Failure::in_file(path, error))
    };
    dwo.as_ref().map(parse).transpose()
}

/// Loads the program that the arguments choose and calls `then` with it. The program borrows from the files, so it cannot be returned.
///
/// Fails if a `.dwo` file does not belong to the program.
pub(crate) fn with_program<T>(
    path: &Path,
    which: &ObjectArguments,
    then: impl FnOnce(&Program<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_split_program(path, which, |program, is_used| {
        check_dwo(which, [is_used], &[path])?;
        then(program)
    })
}

/// Returns an error that names a `.dwo` file that belongs to none of some programs.
///
/// * `is_used`: for each program, true for each `.dwo` file that belongs to it.
/// * `objects`: the files of the programs.
pub(crate) fn check_dwo<'u>(
    which: &ObjectArguments,
    is_used: impl IntoIterator<Item = &'u [bool]>,
    objects: &[impl AsRef<Path>],
) -> Result<(), Failure> {
    let mut is_used_anywhere = vec![false; which.dwo.len()];
    for is_used in is_used {
        for (anywhere, here) in is_used_anywhere.iter_mut().zip(is_used) {
            *anywhere |= *here;
        }
    }
    let mut files = which.dwo.iter().zip(is_used_anywhere);
    let Some((unused, _)) = files.find(|(_, is_used)| !is_used) else {
        return Ok(());
    };
    let names = objects.iter();
    let names = names.map(|path| Untrusted::from(input_name(path.as_ref())).to_string());
    let names: Vec<String> = names.collect();
    let message = format!("it belongs to no unit of {}", names.join(" or "));
    Err(Failure::in_file(unused, message))
}

/// Does the work of [`with_program`] for one of several programs. Uses only the `.dwo` files that belong to it, and also passes to `then`, for
/// each `--dwo`, true if its file does.
pub(crate) fn with_split_program<T>(
    path: &Path,
    which: &ObjectArguments,
    then: impl FnOnce(&Program<'_>, &[bool]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let limits = which.limits.limits();
    let file = ObjectFile::open(path, Input::Object, &limits)?;
    let path = input_name(path);
    let place = |error: hetdwarf::Error| Failure::in_file(path, error);
    let embedded = choose(path, &file, which)?;
    let object = CodeObject::parse_with(&embedded.data, &limits).map_err(place)?;
    let data = which.dwo.iter().map(|path| read_file(path));
    let data = data.collect::<Result<Vec<Contents>, Failure>>()?;
    let files = || which.dwo.iter().map(PathBuf::as_path).zip(&data);
    let parts = files().map(|(path, data)| {
        CodeObject::parse_with(data, &limits).map_err(|error| Failure::in_file(path, error))
    });
    let parts = parts.collect::<Result<Vec<CodeObject<'_>>, Failure>>()?;
    let mut program = Program::load(&object)
        .map_err(place)?
        .with_dialect(dialect(which.dialect));
    let mut is_used = Vec::with_capacity(parts.len());
    for (path, part) in which.dwo.iter().zip(&parts) {
        let has_skeleton = program.has_skeleton_of(part);
        let has_skeleton = has_skeleton.map_err(|error| Failure::in_file(path, error))?;
        if has_skeleton {
            program = program.with_split(part).map_err(place)?;
        }
        is_used.push(has_skeleton);
    }
    let answer = then(&program, &is_used)?;
    check_lengths(files())?;
    file.check_lengths(path)?;
    Ok(answer)
}

/// Returns the frame that `--frame` names. Without it, returns the innermost call frame, including the functions inlined into it. If there
/// is no such frame, the error says where the call stack ends and why.
pub(crate) fn chosen_frame<'s, 'p, 'a>(
    stop: &'s Stop<'p, 'a>,
    number: Option<usize>,
) -> Result<StopFrame<'s, 'p, 'a>, Failure> {
    match (number, stop.call_frame(0)) {
        (None, Some(innermost)) => Ok(innermost),
        (number, _) => frame_at(stop, number.unwrap_or(0)),
    }
}

/// Returns the frame with this number. If there is none, the error says where the call stack ends and why.
pub(crate) fn frame_at<'s, 'p, 'a>(
    stop: &'s Stop<'p, 'a>,
    level: usize,
) -> Result<StopFrame<'s, 'p, 'a>, Failure> {
    stop.frame(level).ok_or_else(|| {
        let reason = stop
            .stack()
            .error()
            .map_or_else(|| stop.stopped().text().to_owned(), ToString::to_string);
        let count = stop.frames().len();
        let are = if count == 1 { "is" } else { "are" };
        let frames = counted(count as u64, "frame");
        Failure::new(format!("--frame {level}: there {are} {frames} ({reason})"))
    })
}

/// Returns the code object that the arguments choose from a file or from the packages that it names.
pub(crate) fn choose<'d>(
    path: &Path,
    file: &'d ObjectFile,
    which: &ObjectArguments,
) -> Result<EmbeddedCodeObject<'d>, Failure> {
    let selector = selector(which.target.as_deref(), which.index);
    let found = code_objects_and_packages(file, &file.packages(), &which.limits.limits());
    chosen(path, found, &selector)
}

/// Chooses as [`choose`] does. A file for another machine that contains no code object is returned itself.
pub(crate) fn choose_of_any_machine<'d>(
    path: &Path,
    file: &'d ObjectFile,
    which: &ObjectArguments,
) -> Result<EmbeddedCodeObject<'d>, Failure> {
    let selector = selector(which.target.as_deref(), which.index);
    let found = code_objects_or_host(file, &file.packages(), &selector, &which.limits.limits());
    chosen(path, found, &selector)
}

/// Returns the selector for one of several code objects.
pub(crate) fn selector(target: Option<&str>, index: Option<usize>) -> Selector {
    match (target, index) {
        (Some(target), _) => Selector::Target(target.to_owned()),
        (None, Some(index)) => Selector::Index(index),
        (None, None) => Selector::Only,
    }
}

fn chosen<'d>(
    path: &Path,
    found: hetdwarf::Result<Vec<EmbeddedCodeObject<'d>>>,
    selector: &Selector,
) -> Result<EmbeddedCodeObject<'d>, Failure> {
    let found = found.map_err(|error| Failure::in_file(path, error))?;
    let index = select(&found, selector)
        .map_err(|error| Failure::in_file(path, error))?
        .index;
    found
        .into_iter()
        .find(|object| object.index == index)
        .ok_or_else(|| Failure::in_file(path, "it contains no code object"))
}

pub(crate) fn dialect(name: DialectName) -> Dialect {
    match name {
        DialectName::User => Dialect::User,
        DialectName::OneByte => Dialect::OneByte,
        DialectName::Draft => Dialect::Draft,
        DialectName::Dwarf6 => Dialect::Dwarf6,
    }
}

impl StrictArguments {
    /// Returns the options for reading a wave. They include no load address.
    pub(crate) fn options(self) -> StopOptions {
        let reading = match self.strict {
            true => Reading::Strict,
            false => Reading::Tolerant,
        };
        self.recovery.options().reading(reading)
    }
}

impl RecoveryArguments {
    /// Returns the options for reading a wave. See [`StrictArguments::options`].
    pub(crate) fn options(self) -> StopOptions {
        StopOptions::default().only_dwarf(self.only_dwarf)
    }
}
