//! What a value is that the debugging information does not give, in documents.

use core::fmt;

use serde::Serialize;

use crate::inspect::{Recovered, RecoveredFrom, Stop};
use crate::report::frame::path;
use crate::report::number::Hex;
use crate::untrusted::Untrusted;

/// What a value is that the debugging information does not give.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecoveredDocument {
    /// What keeps it.
    pub from: RecoveredFrom,
    /// Where the debugging information gave it last. `None` for what a parameter was on entry to its function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<AsOfDocument>,
}

/// An address at which the debugging information gave a value.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AsOfDocument {
    /// The address, in the process.
    pub pc: Hex,
    /// The path of the source file, if the line table has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
    /// The line, if the line table has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl RecoveredDocument {
    /// Describes a value of a stop.
    #[must_use]
    pub fn new(recovered: &Recovered, stop: &Stop<'_, '_>) -> RecoveredDocument {
        let as_of = recovered.as_of.map(|pc| {
            let address = stop.options().load_address.to_code(pc);
            // Without a line the address says enough.
            let line = stop.program().info().line_at(address.0).ok().flatten();
            AsOfDocument {
                pc: Hex::from(pc.0),
                file: line.as_ref().and_then(|line| line.file.as_ref()).map(path),
                line: line.map(|line| line.line).filter(|line| *line != 0),
            }
        });
        RecoveredDocument {
            from: recovered.from,
            as_of,
        }
    }
}

/// `at entry`, `as of line 12` or, without a line, `as of 0x1a40`.
impl fmt::Display for RecoveredDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.as_of {
            None => f.write_str("at entry"),
            Some(AsOfDocument {
                line: Some(line), ..
            }) => write!(f, "as of line {line}"),
            Some(AsOfDocument { pc, .. }) => write!(f, "as of {:#x}", pc.0),
        }
    }
}
