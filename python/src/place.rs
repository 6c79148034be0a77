//! Locates variables of a frame, to show, list or write them.

use pyo3::prelude::*;

use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::inspect::{StopFrame, VariableValue};
use hetdwarf::location::{Access, Destination};
use hetdwarf::report;

use crate::error::Failure;
use crate::statics::{self, Location};
use crate::stop::StopData;

/// The stop and the frame that a variable was read in.
pub struct Origin {
    pub stop: Py<StopData>,
    /// The number of the frame.
    pub frame: usize,
    /// The position among the variables of the frame; None for an expression.
    pub position: Option<usize>,
}

impl Origin {
    /// Returns the number of the frame, and the position among its variables.
    ///
    /// # Errors
    /// If the value is an expression.
    pub fn variable(&self) -> Result<(usize, usize), Failure> {
        let position = self.position.ok_or_else(|| {
            Failure::Unsupported("an expression is a value without a place".to_owned())
        })?;
        Ok((self.frame, position))
    }
}

/// Returns the bits of a variable of a frame in a lane, to write to.
pub fn destination(
    frame: &StopFrame<'_, '_, '_>,
    position: usize,
    lane: Lane,
    bit_size: u64,
) -> Result<Destination, Failure> {
    let values = frame.variables(&mut TypeTable::default())?;
    let location = values.get(position).and_then(|value| value.location(lane));
    let nowhere = || Failure::OptimizedOut("the variable has no place".to_owned());
    let location = location.ok_or_else(nowhere)?;
    let stop = frame.stop();
    let access = Access {
        wave: stop.wave(),
        lane: Some(lane),
        max_bits: stop.limits().bits,
        meter: None,
    };
    Ok(Destination::find(&location, bit_size, &access)?)
}

/// Returns the place of a variable of a frame in a lane, as a document.
pub fn places_of(
    frame: &StopFrame<'_, '_, '_>,
    position: usize,
    lane: Lane,
) -> Result<serde_json::Value, Failure> {
    let values = frame.variables(&mut TypeTable::default())?;
    let location = values.get(position).and_then(|value| value.location(lane));
    let parts = frame.stop().limits().parts;
    let found = location.map(|location| report::places(&location, Some(lane), parts));
    serde_json::to_value(found.unwrap_or_default())
        .map_err(|error| Failure::Other(error.to_string()))
}

/// Returns a variable of a frame by its position.
pub fn variable_at<'v, 'p>(
    values: &'v [VariableValue<'p>],
    position: usize,
) -> Result<&'v VariableValue<'p>, Failure> {
    let found = values.get(position);
    found.ok_or_else(|| Failure::Other(format!("there is no variable {position}")))
}

/// Returns the expressions for the location of a variable of a frame.
pub fn locations(frame: &StopFrame<'_, '_, '_>, position: usize) -> Result<Vec<Location>, Failure> {
    let values = frame.variables(&mut TypeTable::default())?;
    match &variable_at(&values, position)?.variable.location {
        Some(location) => statics::locations(frame.stop().program(), location),
        None => Ok(Vec::new()),
    }
}
