//! Opening files.

use std::path::Path;

use crate::arch::{Lane, WaveSize};
use crate::eval::LaneFocus;
use crate::expr::Dialect;
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
