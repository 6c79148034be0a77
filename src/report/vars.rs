//! `hetdwarf-vars/1`: the variables of a frame.

use core::ops::Range;

use serde::Serialize;

use super::number::{Hex, hex_bytes};
use crate::arch::Lane;
use crate::debug_info::types::TypeTable;
use crate::debug_info::{Budget, SourceFile, VariableKind};
use crate::display::Options;
use crate::error::{Limit, Result};
use crate::eval::LocationAttribute;
use crate::inspect::{LaneState, StopFrame, VariableValue};

/// As how many letters or entries a line of output counts.
pub(super) const PER_LINE: u64 = 64;

/// The document.
#[derive(Clone, Debug, Serialize)]
pub struct VarsDocument {
    /// `hetdwarf-vars/1`.
    pub format: &'static str,
    /// The frame's program location, in the process.
    pub pc: Hex,
    /// Where that is in the source.
    pub frame: VarsFrame,
    /// The variables, the innermost scope first.
    pub variables: Vec<VariableDocument>,
}

/// A frame, and where it is in the source.
#[derive(Clone, Debug, Serialize)]
pub struct VarsFrame {
    /// Its level; 0 is the innermost.
    pub index: usize,
    /// The function.
    pub function: Option<String>,
    /// The functions inlined into it here, the innermost first.
    pub inlined: Vec<String>,
    /// The source file's name.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u64>,
}

/// A variable.
#[derive(Clone, Debug, Serialize)]
pub struct VariableDocument {
    /// Its name; empty if it has none.
    pub name: String,
    /// `parameter`, `variable`, `constant` or `global`.
    pub kind: &'static str,
    /// Its type's name.
    #[serde(rename = "type")]
    pub ty: String,
    /// The offset of its entry.
    pub die: Hex,
    /// Where it is declared.
    pub decl: DeclarationDocument,
    /// The function or namespace it is in.
    pub scope: Option<String>,
    /// `dwarf` or `legacy-llvm`.
    pub reading: &'static str,
    /// Its value in each lane.
    pub lanes: Vec<LaneDocument>,
}

/// Where something is declared.
#[derive(Clone, Debug, Serialize)]
pub struct DeclarationDocument {
    /// The file's name.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u64>,
}

/// A variable in a lane.
#[derive(Clone, Debug, Serialize)]
pub struct LaneDocument {
    /// The lane.
    pub lane: u8,
    /// `ok`, `optimized-out`, `partial`, `unavailable`, `error` or `inactive`.
    pub state: &'static str,
    /// As a debugger of C prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// As in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Half-open ranges of bits that were optimised away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<[u64; 2]>,
    /// Half-open ranges of bits that are not available.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<[u64; 2]>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The name without its directory.
pub(super) fn file_name(file: Option<&SourceFile>) -> Option<String> {
    file.map(|file| file.name().to_owned())
}

impl VarsFrame {
    /// Describes a frame.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn new(frame: &StopFrame<'_, '_, '_>) -> Result<VarsFrame> {
        VarsFrame::within(frame, &mut Budget::reading(frame.stop().limits()))
    }

    /// The same; entries that are read are paid for.
    pub(super) fn within(frame: &StopFrame<'_, '_, '_>, entries: &mut Budget) -> Result<VarsFrame> {
        let function = frame.function()?;
        let line = frame.line()?;
        let inlined = match &function {
            Some(function) => frame.inlined_within(function, entries)?,
            None => Vec::new(),
        };
        entries.charge(
            function
                .as_ref()
                .map_or(0, |function| function.ranges.len() as u64),
        )?;
        for call in &inlined {
            let length = call.name.as_ref().map_or(0, |name| name.len());
            entries.charge(PER_LINE.saturating_add(length as u64))?;
        }
        let name =
            |name: &Option<std::borrow::Cow<'_, str>>| name.as_ref().map(|name| name.to_string());
        Ok(VarsFrame {
            index: frame.call_frame().level(),
            function: function.as_ref().and_then(|function| name(&function.name)),
            inlined: inlined
                .iter()
                .map(|call| name(&call.name).unwrap_or_default())
                .collect(),
            file: line.as_ref().and_then(|line| file_name(line.file.as_ref())),
            line: line.as_ref().map(|line| line.line),
        })
    }
}

impl VarsDocument {
    /// Reads the variables of a frame for some lanes; those that `wanted` says yes to by their names.
    ///
    /// # Errors
    /// If the debugging information of the frame is malformed; [`Limit::Output`] if there are more
    /// variables or longer names than in any program.
    pub fn new(
        frame: &StopFrame<'_, '_, '_>,
        lanes: &[Lane],
        wanted: &dyn Fn(&str) -> bool,
        options: &Options,
    ) -> Result<VarsDocument> {
        let mut types = TypeTable::default();
        let mut values = frame.variables(&mut types)?;
        values.retain(|value| wanted(value.variable.name.as_deref().unwrap_or_default()));
        let limits = frame.stop().limits();
        let count = values.len().saturating_mul(lanes.len()) as u64;
        if count.saturating_mul(PER_LINE) > limits.output {
            return Err(limits.reached(Limit::Output));
        }
        let mut writer = Writer {
            lanes,
            types: &types,
            options,
            names: Budget::text(limits),
            values: Budget::text(limits),
        };
        let variables = values.iter().map(|value| writer.variable(value));
        let variables = variables.collect::<Result<_>>()?;
        Ok(VarsDocument {
            format: "hetdwarf-vars/1",
            pc: Hex::from(frame.call_frame().pc()),
            frame: VarsFrame::new(frame)?,
            variables,
        })
    }
}

/// Describes variables.
struct Writer<'w> {
    lanes: &'w [Lane],
    types: &'w TypeTable,
    options: &'w Options,
    names: Budget,
    values: Budget,
}

impl Writer<'_> {
    fn variable(&mut self, value: &VariableValue<'_>) -> Result<VariableDocument> {
        let variable = &value.variable;
        let lanes = self.lanes;
        let name = variable.name.as_deref().unwrap_or_default();
        let scope = variable.scope.as_deref();
        for text in [name, &value.type_name, scope.unwrap_or_default()] {
            self.names.charge(text.len() as u64)?;
        }
        Ok(VariableDocument {
            name: name.to_owned(),
            kind: match variable.kind {
                VariableKind::Parameter => "parameter",
                VariableKind::Variable => "variable",
                VariableKind::Constant => "constant",
                VariableKind::Global => "global",
            },
            ty: value.type_name.clone(),
            die: Hex::from(variable.die.offset),
            decl: DeclarationDocument {
                file: file_name(variable.declaration.file.as_ref()),
                line: variable.declaration.line,
            },
            scope: scope.map(str::to_owned),
            reading: value.reading.name(),
            lanes: lanes.iter().map(|lane| self.lane(value, *lane)).collect(),
        })
    }

    fn lane(&mut self, value: &VariableValue<'_>, lane: Lane) -> LaneDocument {
        let state = value.state(lane);
        let mut document = LaneDocument {
            lane: lane.0,
            state: state.name(),
            value: None,
            bytes: None,
            undefined: Vec::new(),
            unavailable: Vec::new(),
            message: None,
        };
        match state {
            LaneState::Ok | LaneState::Partial => {
                if let Err(error) = self.value(value, lane, &mut document) {
                    document.state = "error";
                    document.message = Some(error.to_string());
                }
            }
            LaneState::Error(error) => document.message = Some(error.to_string()),
            LaneState::OptimizedOut => document.message = Some(reason(value).to_owned()),
            LaneState::Unavailable => {
                document.message = Some("the wave does not say what is there".to_owned());
            }
            LaneState::Inactive => {}
        }
        document
    }

    /// Adds what a lane holds.
    fn value(
        &mut self,
        value: &VariableValue<'_>,
        lane: Lane,
        document: &mut LaneDocument,
    ) -> Result<()> {
        let Some(bits) = value.bits(lane)? else {
            return Ok(());
        };
        let (undefined, unavailable) = (bits.undefined.ranges(), bits.unavailable.ranges());
        let ranges = undefined.len().saturating_add(unavailable.len());
        let size = bits.bytes.len().saturating_mul(2);
        self.values
            .charge(size.saturating_add(ranges.saturating_mul(16)) as u64)?;
        let text = value.text(lane, self.types, self.options);
        self.values
            .charge(text.as_ref().map_or(0, |text| text.len() as u64))?;
        document.value = text;
        document.bytes = Some(hex_bytes(&bits.bytes));
        let pairs = |ranges: &[Range<u64>]| ranges.iter().map(|r| [r.start, r.end]).collect();
        document.undefined = pairs(undefined);
        document.unavailable = pairs(unavailable);
        Ok(())
    }
}

/// Why there is no value where nothing went wrong.
fn reason(value: &VariableValue<'_>) -> &'static str {
    let variable = &value.variable;
    match variable.location {
        _ if variable.is_omitted => "this instance of the function is without it",
        None => "it has no location",
        Some(LocationAttribute::List { .. }) => "it has no location at this address",
        Some(LocationAttribute::Expression(_)) => "its location is undefined",
    }
}
