//! Describes, as text for people, the lanes that did not enter the function of a frame.

use std::collections::BTreeMap;

use super::lane_pc::LanePcDocument;
use super::text::source_place;
use crate::arch::Lane;
use crate::error::Result;
use crate::inspect::{Recovery, StopFrame};
use crate::untrusted::Untrusted;

/// The text for a lane that did not enter the function.
pub const NOT_ENTERED: &str = "did not enter this function";

/// The text for a lane that was never started.
pub const NOT_STARTED: &str = "not started by the dispatch";

/// The lanes that have no value in a frame because they did not enter its function, each with its message.
#[derive(Clone, Debug, Default)]
pub struct AbsentLanes(BTreeMap<Lane, Untrusted<'static>>);

impl AbsentLanes {
    /// Finds the current places of the given lanes that did not enter the function of a frame.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn find(frame: &StopFrame<'_, '_, '_>, lanes: &[Lane]) -> Result<AbsentLanes> {
        let mut missing = lanes
            .iter()
            .filter(|lane| !frame.has_entered(**lane))
            .peekable();
        if missing.peek().is_none() {
            return Ok(AbsentLanes::default());
        }
        let document = match LanePcDocument::within(frame, Recovery::default()) {
            Ok(document) => Some(document),
            Err(error) if error.is_limit() => return Err(error),
            // Without the document, the message does not name a place.
            Err(_) => None,
        };
        let place = |lane: Lane| {
            let places = document
                .as_ref()
                .map_or(&[][..], |document| &document.lanes);
            let place = places.get(usize::from(lane.0));
            match place.and_then(|place| place.caller.as_ref()) {
                Some(caller) => {
                    let function = caller.function.as_ref().map_or("?", Untrusted::raw);
                    let file = caller
                        .file
                        .as_ref()
                        .map(|file| super::text::base_name(file.raw()));
                    let at = source_place(file, caller.line);
                    let frame = caller.frame;
                    format!("{NOT_ENTERED}; waiting in frame {frame}, {function}{at}")
                }
                None => match place.and_then(|place| place.place.reason()) {
                    Some(_) => NOT_STARTED.to_owned(),
                    None => NOT_ENTERED.to_owned(),
                },
            }
        };
        Ok(AbsentLanes(
            missing.map(|lane| (*lane, place(*lane).into())).collect(),
        ))
    }

    /// Returns the message for a lane, if the lane is in this set.
    #[must_use]
    pub fn message(&self, lane: Lane) -> Option<&Untrusted<'static>> {
        self.0.get(&lane)
    }
}
