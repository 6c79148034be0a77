//! Explains why the debugging information gives a variable no value.

use super::VariableValue;
use super::stop::StopFrame;
use crate::arch::CodeAddress;
use crate::eval::LocationAttribute;

/// The longest name of a file in a message, in bytes. Each lane has the message.
const LONGEST: usize = 256;

impl StopFrame<'_, '_, '_> {
    /// Explains why the debugging information gives a variable of this frame no value here, as text.
    #[must_use]
    pub fn no_location(&self, value: &VariableValue<'_>) -> String {
        let variable = &value.variable;
        match variable.location {
            _ if variable.is_omitted => "not present in this inlined copy".to_owned(),
            None => "the compiler gave it no location".to_owned(),
            Some(LocationAttribute::Expression(_)) => "its location is undefined".to_owned(),
            Some(LocationAttribute::List { .. }) => {
                let gap = value.rare.as_ref().and_then(|rare| rare.gap);
                let bounds = gap.map_or([None; 2], |gap| [gap.before, gap.after]);
                match bounds.map(|address| address.map(|address| self.place(address))) {
                    [None, None] => "it has no location at this address".to_owned(),
                    [Some(end), None] => format!("its last location ends at {end}"),
                    [None, Some(start)] => format!("its first location begins at {start}"),
                    [Some(end), Some(start)] => {
                        format!("it has no location from {end} to {start}")
                    }
                }
            }
        }
    }

    /// Returns an address of the code object as `k.cl:12 (0x7f4000001870)`; without a line, as an address.
    fn place(&self, address: u64) -> String {
        let stop = self.stop();
        let shown = stop.options().load_address.to_process(CodeAddress(address));
        let line = stop.program().info().line_at(address).ok().flatten();
        let line = line.filter(|line| line.line > 0);
        match line.and_then(|line| Some((line.file?, line.line))) {
            Some((file, line)) if file.name().len() <= LONGEST => {
                format!("{}:{line} ({shown:#x})", file.name())
            }
            Some(_) | None => format!("{shown:#x}"),
        }
    }
}
