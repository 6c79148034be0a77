//! Describes the functions and lines of an address, as a line of output of `hetdwarf symbolize`.

use serde::Serialize;

use super::frame::path;
use super::number::Hex;
use crate::arch::ProcessAddress;
use crate::inspect::{FrameDescription, FrameKind, Symbolized};
use crate::untrusted::Untrusted;

/// An address with its functions and lines.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct SymbolizedDocument {
    /// The address in the process.
    pub address: Hex,
    /// The index of the code object that contains the address; `null` if none or several contain it.
    pub object: Option<usize>,
    /// The indexes of the code objects that contain the address, if there are several. The address was then not looked up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<usize>,
    /// The frames, the innermost first and the function last; empty if nothing is known about the address.
    pub frames: Vec<SymbolizedFrame>,
    /// The ELF symbol that covers the address.
    pub symbol: Option<SymbolDocument>,
    /// The problem that prevented reading the frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Untrusted<'static>>,
}

/// A frame at an address without a stopped wave.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct SymbolizedFrame {
    /// `call`, `inlined` or `symbol`.
    pub kind: FrameKind,
    /// The function, or the symbol.
    pub function: Option<Untrusted<'static>>,
    /// The linkage name of the function.
    pub linkage_name: Option<Untrusted<'static>>,
    /// The path of the source file, as the line table gives it.
    pub file: Option<Untrusted<'static>>,
    /// The line. If the frame contains an inlined call, this is the line of the call.
    pub line: Option<u64>,
    /// The column.
    pub column: Option<u64>,
    /// Set if the address has line 0. The line is then taken from the nearest row before it.
    pub approximate: bool,
}

/// An ELF symbol that covers an address.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct SymbolDocument {
    /// The name of the symbol.
    pub name: Untrusted<'static>,
    /// The distance of the address from the symbol's start, in bytes.
    pub offset: u64,
}

impl SymbolizedDocument {
    /// Describes an address.
    ///
    /// * `objects`: the indexes of the code objects that contain the address.
    #[must_use]
    pub fn new(
        address: ProcessAddress,
        objects: &[usize],
        symbolized: &Symbolized,
    ) -> SymbolizedDocument {
        SymbolizedDocument {
            address: Hex::from(address),
            object: symbolized.object,
            objects: match objects {
                [_] => Vec::new(),
                several => several.to_vec(),
            },
            frames: symbolized.frames.iter().map(frame).collect(),
            symbol: (symbolized.symbol.clone()).map(|(name, offset)| SymbolDocument {
                name: name.into(),
                offset,
            }),
            problem: (symbolized.problem.as_ref()).map(|problem| problem.to_string().into()),
        }
    }
}

fn frame(frame: &FrameDescription) -> SymbolizedFrame {
    SymbolizedFrame {
        kind: frame.kind,
        function: frame.function.clone().map(Untrusted::from),
        linkage_name: frame.linkage_name.clone().map(Untrusted::from),
        file: frame.file.as_ref().map(path),
        line: frame.line,
        column: frame.column,
        approximate: frame.is_approximate,
    }
}
