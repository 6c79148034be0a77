//! Evaluates the location in an attribute, for one lane or for all.
//!
//! Sources: HET A.2.5.5 (location lists); A.4.1 and A.3.3.5 for the evaluation of attributes.

use smallvec::SmallVec;

use super::budget::Budget;
use super::context::{Context, LaneFocus, Outcome, ResultKind};
use super::location_list::Matching;
use super::machine::run;
use super::resolver::LocationAttribute;
use crate::arch::Lane;
use crate::error::{Error, ErrorKind, Limit, Need, Result};
use crate::location::Location;

/// The location of an object in each lane.
///
/// Intentionally exhaustive: either all lanes share a location, or each has its own.
#[derive(Clone, Debug)]
pub enum PerLane<'a> {
    /// One location that is the same for all lanes or stands for all of them.
    All(Location<'a>),
    /// A location, or the reason why there is none, for each lane from 0.
    Each(Vec<Result<Location<'a>>>),
}

impl<'a> PerLane<'a> {
    /// Returns the location for a lane.
    ///
    /// # Errors
    /// The reason why the lane has none.
    pub fn lane(&self, lane: Lane) -> Result<Location<'a>> {
        match self {
            PerLane::All(location) => Ok(*location),
            PerLane::Each(lanes) => lanes
                .get(usize::from(lane.0))
                .cloned()
                .unwrap_or(Err(Need::Lane.into())),
        }
    }
}

/// Evaluates the location of an attribute (`DW_AT_location`, `DW_AT_frame_base`, …).
///
/// For a location list, all entries that hold at the program location are evaluated. The result has the places of all of them, and is undefined if
/// none holds.
///
/// # Errors
/// Fails like [`evaluate`](super::evaluate), or with [`Need::Pc`] for a list without a program location.
pub fn locate<'a>(
    attribute: &LocationAttribute<'a>,
    context: &Context<'_, 'a>,
) -> Result<Location<'a>> {
    locate_within(attribute, context, &mut Budget::new(context))
}

/// Evaluates the location in an attribute for every lane of the wave, with a single evaluation if possible.
///
/// # Errors
/// If it fails for every lane. Errors of single lanes are in [`PerLane::Each`].
pub fn locate_lanes<'a>(
    attribute: &LocationAttribute<'a>,
    context: &Context<'_, 'a>,
) -> Result<PerLane<'a>> {
    let wave = context.wave.ok_or_else(|| Error::from(Need::Wave))?;
    let all = Context {
        lane: LaneFocus::All,
        ..*context
    };
    let mut budget = Budget::new(&all);
    match locate_within(attribute, &all, &mut budget) {
        Ok(location) => Ok(PerLane::All(location)),
        // If the evaluation did not depend on the lane, the error is the same for every lane.
        Err(error) if !budget.used_lane && !budget.needs_lane => Err(error),
        // No steps are left, so trying each lane would fail as well.
        Err(error) if is_end_of_steps(&error) => Err(error),
        Err(_) => {
            let each = wave.wave_size().all_lanes().map(|lane| {
                let context = Context {
                    lane: LaneFocus::One(lane),
                    ..*context
                };
                locate(attribute, &context)
            });
            Ok(PerLane::Each(each.collect()))
        }
    }
}

fn is_end_of_steps(error: &Error) -> bool {
    let limit = Limit::Work;
    matches!(error.kind(), ErrorKind::Limit { limit: found, .. } if *found == limit)
}

pub(super) fn locate_within<'a>(
    attribute: &LocationAttribute<'a>,
    context: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<Location<'a>> {
    match attribute {
        LocationAttribute::Expression(expression) => {
            let outcome = run(expression, ResultKind::Location, context, budget)?;
            Ok(location(outcome))
        }
        &LocationAttribute::List { unit, offset } => {
            let resolver = context.resolver.ok_or_else(|| Error::from(Need::Unit))?;
            let pc = super::control::pc(context)?;
            let context = Context {
                object: None,
                initial_stack: &[],
                ..*context
            };
            let mut locations = SmallVec::<[Location<'a>; 1]>::new();
            let mut matching = Matching::at(pc);
            resolver.location_list(unit, offset, pc, &mut |entry| {
                budget.charge(1, &context)?;
                entry.map_or(Ok(()), |entry| matching.add(entry))
            })?;
            for expression in matching.into_expressions() {
                let expression = resolver.as_meant(expression)?;
                let outcome = run(&expression, ResultKind::Location, &context, budget)?;
                let location = location(outcome);
                // Charged for each place: nested lists can multiply their number, within the limit on steps.
                let places = u32::try_from(location.places().len()).unwrap_or(u32::MAX);
                budget.charge(places, &context)?;
                locations.push(location);
            }
            Ok(match locations.as_slice() {
                [] => Location::UNDEFINED,
                [location] => *location,
                locations => Location::union(locations, context.arena),
            })
        }
    }
}

/// Returns the location of a result that was required to be one.
fn location(outcome: Outcome<'_>) -> Location<'_> {
    match outcome {
        Outcome::Location(location) => location,
        Outcome::Value(_) => Location::UNDEFINED,
    }
}
