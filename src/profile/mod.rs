//! Analyses the samples of a profiler: the lines, functions, kernels and instructions of waves, the number of active lanes there, and the
//! branches that switched the other lanes off.
//!
//! The caller reads the files of profilers, and passes each [`Sample`] to [`Samples`]. It counts by place, so that its size does not grow
//! with the number of samples. [`Profile`] then looks the places up in code objects, and groups them ([`By`]). Known file formats:
//! `spec-notes/profiles.md`.
//!
//! ```
//! use hetdwarf::limits::Limits;
//! use hetdwarf::meter::Meter;
//! use hetdwarf::profile::{Activity, Sample, Samples, Site};
//!
//! let mut samples = Samples::new();
//! let meter = Meter::new(&Limits::DEFAULT, 0);
//! let site = Site::Code { object: 0, kernel: None, address: 0x1a08 };
//! for exec in [0xff, 0x0f] {
//!     let mut sample = Sample::new(site);
//!     sample.exec = Some(exec);
//!     samples.add(&sample, &meter)?;
//! }
//! let place = &samples.places()[0];
//! assert_eq!((place.counts.samples, place.counts.active), (2, [12, 0]));
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod counts;
mod dispatch;
mod divergence;
mod locate;
mod names;
mod rows;
mod samples;

pub use counts::{Activity, Counts, Off, Sample, Site};
pub use dispatch::{DispatchShape, Started};
pub use divergence::{Cause, Idle, divergence};
pub use locate::{Located, SourcePosition, locate};
pub use names::{NameId, Names};
#[cfg(feature = "serde")]
pub(crate) use rows::share;
pub use rows::{By, Key, Row, rows};
pub use samples::{Place, Samples};

use crate::error::Result;
use crate::inspect::Program;
use crate::meter::Meter;

/// The code of a place.
#[derive(Clone, Copy, Debug)]
pub struct CodeOf<'p, 'a> {
    /// The caller's number for the code object.
    pub object: u32,
    /// The code object.
    pub program: &'p Program<'a>,
    /// The address in the code object.
    pub address: u64,
}

/// A place of samples, with its source position.
#[derive(Clone, Debug)]
pub struct ProfilePlace<'p, 'a> {
    /// The counts there.
    pub counts: Counts,
    /// The source position.
    pub located: Located,
    /// The code, if it is known.
    pub code: Option<CodeOf<'p, 'a>>,
}

/// The places of samples, with their source positions.
#[derive(Clone, Debug, Default)]
pub struct Profile<'p, 'a> {
    /// The places, in the order of the samples.
    pub places: Vec<ProfilePlace<'p, 'a>>,
    /// The number of samples that could not be looked up.
    pub unresolved: u64,
    /// The names of stall reasons and types of instructions in the counts.
    pub names: Names,
}

impl<'p, 'a> Profile<'p, 'a> {
    /// Returns the number of samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        let all = self.places.iter().map(|place| place.counts.samples);
        all.fold(self.unresolved, u64::saturating_add)
    }

    /// Adds a place whose code is known. Returns false, and adds nothing, if there is no information about it.
    ///
    /// * `kernel`: the running kernel, if the samples contain it.
    /// * `meter`: the budget of the query.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn add_code(
        &mut self,
        counts: Counts,
        code: CodeOf<'p, 'a>,
        kernel: Option<&str>,
        meter: &Meter,
    ) -> Result<bool> {
        let Some(mut located) = locate(code, meter)? else {
            return Ok(false);
        };
        if let Some(kernel) = kernel {
            located.kernel = Some(kernel.to_owned());
        }
        meter.hold(located.bytes())?;
        self.places.push(ProfilePlace {
            counts,
            located,
            code: Some(code),
        });
        Ok(true)
    }
}
