//! Samples, counted by place.

use foldhash::HashMap;

use super::counts::{Counts, Sample, Site};
use super::names::Names;
use crate::error::Result;
use crate::meter::Meter;

/// A place, with its counts.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Place {
    /// The place itself.
    pub site: Site,
    /// The counts.
    pub counts: Counts,
    /// The profiler's number for the text of the instruction.
    pub text: Option<u32>,
}

/// Samples, counted by place.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    places: Vec<Place>,
    by_site: HashMap<Site, usize>,
    /// The names in the counts.
    pub names: Names,
}

impl Samples {
    /// Creates an empty set of samples.
    #[must_use]
    pub fn new() -> Samples {
        Samples::default()
    }

    /// Counts a sample.
    ///
    /// * `meter`: charged one step, and the memory of a new place.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn add(&mut self, sample: &Sample, meter: &Meter) -> Result<()> {
        /// The size of the place, and of its entry in the table.
        const BYTES: u64 = 2 * (size_of::<Place>() + size_of::<(Site, usize)>()) as u64;
        meter.work(1)?;
        let index = match self.by_site.get(&sample.site) {
            Some(index) => *index,
            None => {
                meter.hold(BYTES)?;
                let index = self.places.len();
                self.by_site.insert(sample.site, index);
                self.places.push(Place {
                    site: sample.site,
                    counts: Counts::default(),
                    text: sample.text,
                });
                index
            }
        };
        if let Some(place) = self.places.get_mut(index) {
            place.counts.add(sample);
        }
        Ok(())
    }

    /// Returns the places, in the order in which they first occurred.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        let all = self.places.iter().map(|place| place.counts.samples);
        all.fold(0, u64::saturating_add)
    }
}
