//! Opening files.

use std::path::Path;

use crate::arch::{Lane, WaveSize};
use crate::eval::LaneFocus;
use crate::expr::Dialect;
use crate::inspect::{Program, Stop, StopFrame};
use crate::object::{CodeObject, EmbeddedCodeObject, Selector, code_objects, select};
use crate::wave::Snapshot;

use super::arguments::{DialectName, ObjectArguments, StrictArguments};
use super::failure::Failure;

/// Reads a whole file.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::in_file(path, error))
}

/// Reads a snapshot.
pub(crate) fn read_wave(path: &Path) -> Result<Snapshot, Failure> {
    let bytes = read_file(path)?;
    Snapshot::from_json(&bytes).map_err(|error| Failure::in_file(path, error))
}

/// The `.dwo` file that `--dwo` names, if it does: its path and its bytes.
pub(crate) fn read_dwo(which: &ObjectArguments) -> Result<Option<(&Path, Vec<u8>)>, Failure> {
    let path = which.dwo.as_deref();
    path.map(|path| Ok((path, read_file(path)?))).transpose()
}

/// What is in it. What is wrong with it is said of it, not of the code object.
pub(crate) fn parse_dwo<'d>(
    dwo: &'d Option<(&Path, Vec<u8>)>,
) -> Result<Option<CodeObject<'d>>, Failure> {
    let parse = |(path, data): &'d (&Path, Vec<u8>)| {
        CodeObject::parse(data).map_err(|error| Failure::in_file(path, error))
    };
    dwo.as_ref().map(parse).transpose()
}

/// Loads the program that the arguments choose and calls `then` with it; it lives no longer, since it borrows
/// from the files.
pub(crate) fn with_program<T>(
    path: &Path,
    which: &ObjectArguments,
    then: impl FnOnce(&Program<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let place = |error: crate::Error| Failure::in_file(path, error);
    let data = read_file(path)?;
    let embedded = choose(path, &data, which)?;
    let object = CodeObject::parse(&embedded.data).map_err(place)?;
    let dwo_data = read_dwo(which)?;
    let dwo = parse_dwo(&dwo_data)?;
    let mut program = Program::load(&object)
        .map_err(place)?
        .with_dialect(dialect(which.dialect));
    if let Some(dwo) = &dwo {
        program = program.with_split(dwo).map_err(place)?;
    }
    then(&program)
}

/// The frame that `--frame` names; if there is none, the error says where the call stack ends and why.
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
        let (are, plural) = if count == 1 { ("is", "") } else { ("are", "s") };
        Failure::new(format!(
            "--frame {level}: there {are} {count} frame{plural} ({reason})"
        ))
    })
}

/// The code object of a file that the arguments choose.
pub(crate) fn choose<'d>(
    path: &Path,
    data: &'d [u8],
    which: &ObjectArguments,
) -> Result<EmbeddedCodeObject<'d>, Failure> {
    let selector = match (&which.target, which.index) {
        (Some(target), _) => Selector::Target(target.clone()),
        (None, Some(index)) => Selector::Index(index),
        (None, None) => Selector::Only,
    };
    let found = code_objects(data).map_err(|error| Failure::in_file(path, error))?;
    let index = select(&found, &selector)
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
    }
}

impl StrictArguments {
    pub(crate) fn reading(self) -> crate::eval::Reading {
        if self.strict {
            crate::eval::Reading::ByTheLetter
        } else {
            crate::eval::Reading::Tolerant
        }
    }
}

/// The lane that `--lane` names; nothing if it is not given.
pub(crate) fn lane_focus(
    text: Option<&str>,
    wave_size: WaveSize,
) -> Result<Option<LaneFocus>, Failure> {
    let Some(text) = text else { return Ok(None) };
    if text == "all" {
        return Ok(Some(LaneFocus::All));
    }
    let lanes = wave_size.lanes();
    match text.parse::<u8>() {
        Ok(lane) if u32::from(lane) < lanes => Ok(Some(LaneFocus::One(Lane(lane)))),
        Ok(_) | Err(_) => {
            let last = lanes.saturating_sub(1);
            Err(Failure::new(format!(
                "--lane {text}: expected a lane from 0 to {last}, or `all`"
            )))
        }
    }
}

/// The lanes that a focus stands for.
pub(crate) fn lanes_of(focus: LaneFocus, wave_size: WaveSize) -> Vec<Lane> {
    match focus {
        LaneFocus::One(lane) => vec![lane],
        LaneFocus::None | LaneFocus::All => wave_size.all_lanes().collect(),
    }
}
