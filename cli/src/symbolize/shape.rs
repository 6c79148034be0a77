//! Selects the parts of frames that are shown, by the options that text, JSON and llvm-symbolizer's output share.

use hetdwarf::inspect::{FrameDescription, FrameKind, Symbolized};

use super::super::arguments::{FunctionNames, SymbolizeArguments};

/// The selection of frames and names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) inlines: bool,
    pub(super) basenames: bool,
    pub(super) functions: FunctionNames,
}

impl Shape {
    pub(super) fn of(arguments: &SymbolizeArguments) -> Shape {
        Shape {
            inlines: !arguments.no_inlines,
            basenames: arguments.basenames,
            functions: arguments.functions,
        }
    }

    /// Removes the parts that were not selected.
    pub(super) fn apply(self, mut symbolized: Symbolized) -> Symbolized {
        if !self.inlines {
            symbolized.frames = call_frame(core::mem::take(&mut symbolized.frames))
                .into_iter()
                .collect();
        }
        for frame in &mut symbolized.frames {
            if let Some(file) = frame.file.as_mut().filter(|_| self.basenames) {
                file.path = file.name().into();
            }
            match self.functions {
                FunctionNames::Linkage => {}
                FunctionNames::Short => frame.linkage_name = None,
                FunctionNames::None => (frame.function, frame.linkage_name) = (None, None),
            }
        }
        symbolized
    }
}

/// Returns the function that contains the code, with the line of the innermost frame.
fn call_frame(frames: Vec<FrameDescription>) -> Option<FrameDescription> {
    let innermost = frames.first()?.clone();
    let mut call = frames.into_iter().next_back()?;
    if innermost.kind == FrameKind::Inlined {
        call.file = innermost.file;
        call.unit = innermost.unit;
        call.line = innermost.line;
        call.column = innermost.column;
        call.is_approximate = innermost.is_approximate;
    }
    Some(call)
}
