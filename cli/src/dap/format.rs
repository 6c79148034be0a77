//! The formats that the editor requests for values and frames. Source: Debug Adapter Protocol, `ValueFormat` and `StackFrameFormat`.

use hetdwarf::arch::Lane;
use hetdwarf::debug_info::VariableKind;
use hetdwarf::display::Options;
use hetdwarf::report::VariableDocument;
use serde_json::Value;

use super::message::{Request, field};
use super::value::{lane_text, summary};

/// The format of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Format {
    /// True if integers are hexadecimal.
    pub(super) hex: bool,
    /// True if the name of a frame includes its parameters. The next three fields select their types, names and values.
    pub(super) parameters: bool,
    types: bool,
    names: bool,
    values: bool,
    /// True if the name of a frame includes its line.
    line: bool,
    /// True if the name of a frame includes its code object.
    module: bool,
}

impl Format {
    /// Reads the `format` of a request.
    ///
    /// # Errors
    /// If it is not an object, or a field is not a Boolean.
    pub(super) fn of(request: &Request) -> Result<Format, String> {
        let format = field(&request.arguments, "format");
        if !(format.is_null() || format.is_object()) {
            return Err("format: an object is expected".to_owned());
        }
        let flag = |name: &str| match field(format, name) {
            Value::Null => Ok(false),
            Value::Bool(flag) => Ok(*flag),
            Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                Err(format!("format.{name}: true or false is expected"))
            }
        };
        let format = Format {
            hex: flag("hex")?,
            parameters: flag("parameters")?,
            types: flag("parameterTypes")?,
            names: flag("parameterNames")?,
            values: flag("parameterValues")?,
            line: flag("line")?,
            module: flag("module")?,
        };
        // If neither names, types nor values are selected, names are shown.
        let names = format.names || !(format.types || format.values);
        Ok(Format { names, ..format })
    }

    /// Returns the options for printing values.
    pub(super) fn options(self) -> Options {
        let mut options = Options::default();
        options.hexadecimal = self.hex;
        options
    }

    /// Returns the name of a frame in this format.
    ///
    /// * `variables`: the variables of the frame, if parameters were requested and could be read.
    /// * `lane`: the lane in focus.
    pub(super) fn frame_name(
        self,
        name: String,
        variables: Option<&[VariableDocument]>,
        lane: Option<Lane>,
        line: Option<u64>,
        module: Option<&str>,
    ) -> String {
        let mut text = String::new();
        if let Some(module) = module.filter(|_| self.module) {
            text.push_str(module);
            text.push('!');
        }
        text.push_str(&name);
        if let Some(variables) = variables {
            let parameters = variables
                .iter()
                .filter(|one| one.kind == VariableKind::Parameter);
            let parameters: Vec<String> = parameters.map(|one| self.parameter(one, lane)).collect();
            text.push_str(&format!("({})", parameters.join(", ")));
        }
        if let Some(line) = line.filter(|_| self.line) {
            text.push_str(&format!(" line {line}"));
        }
        text
    }

    fn parameter(self, one: &VariableDocument, lane: Option<Lane>) -> String {
        let mut texts = Vec::new();
        if self.types {
            texts.push(one.ty.to_string());
        }
        if self.names {
            texts.push(one.name.to_string());
        }
        let text = texts.join(" ");
        if !self.values {
            return text;
        }
        let of_lane = lane.and_then(|lane| one.lanes.iter().find(|of| of.lane == lane.0));
        let value = of_lane.map_or_else(|| summary(&one.lanes), lane_text);
        match text.is_empty() {
            true => value,
            false => format!("{text}={value}"),
        }
    }
}
