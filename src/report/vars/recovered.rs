//! Describes values that the debugging information does not locate.

use core::fmt;

use serde::Serialize;

use crate::debug_info::SourceFrame;
use crate::inspect::{Recovered, RecoveredFrom, Stop};
use crate::report::frame::path;
use crate::report::number::Hex;
use crate::untrusted::Untrusted;

/// A value that the debugging information does not locate.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecoveredDocument {
    /// The storage that still holds the value.
    pub from: RecoveredFrom,
    /// The last address at which the debugging information locates the value. `None` for the value of a parameter on entry to its function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<AsOfDocument>,
}

/// An address at which the debugging information gives a value.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AsOfDocument {
    /// The address in the process.
    pub pc: Hex,
    /// The path of the source file, if the line table has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
    /// The line. For an address of line 0, this is the line of the nearest row before it with a line. None without a line table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl RecoveredDocument {
    /// Describes a value of a stop.
    #[must_use]
    pub fn new(recovered: &Recovered, stop: &Stop<'_, '_>) -> RecoveredDocument {
        let as_of = recovered.as_of.map(|pc| {
            let address = stop.options().load_address.to_code(pc);
            let info = stop.program().info();
            // Without a line, the address is shown.
            let frames = info.source_frames_near(address.0, || None, stop.meter());
            let frame = frames.ok().and_then(|mut frames| frames.next());
            AsOfDocument {
                pc: Hex::from(pc.0),
                file: (frame.as_ref())
                    .and_then(SourceFrame::file)
                    .as_ref()
                    .map(path),
                line: frame.as_ref().and_then(SourceFrame::line),
            }
        });
        RecoveredDocument {
            from: recovered.from,
            as_of,
        }
    }
}

/// Writes `at entry`, `as of line 12` or, without a line, `as of 0x1a40`.
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

/// The most recent document of a recovered value. Lanes of a variable often share one.
#[derive(Debug, Default)]
pub struct RecoveredDocuments(Option<(Recovered, RecoveredDocument)>);

impl RecoveredDocuments {
    /// Returns the document of a value. Makes a new document only if the value differs from the most recent one.
    pub fn get(&mut self, recovered: &Recovered, stop: &Stop<'_, '_>) -> Box<RecoveredDocument> {
        let (_, document) = match self.0.take() {
            Some(known) if known.0 == *recovered => self.0.insert(known),
            Some(_) | None => self
                .0
                .insert((*recovered, RecoveredDocument::new(recovered, stop))),
        };
        Box::new(document.clone())
    }
}
