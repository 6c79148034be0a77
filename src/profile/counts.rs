//! The counts at one place.
//!
//! The analysis of machine code does not distinguish lanes of one half of a wave. Therefore sums of lanes are kept instead of masks, and
//! the size of a place does not depend on the number of masks.

use smallvec::SmallVec;

use super::dispatch::{Started, lowest};
use super::names::NameId;

/// The place of a wave, in a profiler's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// An address in a code object.
    Code {
        /// The caller's number for the code object.
        object: u32,
        /// The caller's number for the kernel, if it is known.
        kernel: Option<u32>,
        /// The address, in the profiler's units.
        address: u64,
    },
    /// An instruction of which only the text is known.
    Text(u32),
}

/// One sample, or several equal ones.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The place of the wave.
    pub site: Site,
    /// The EXEC mask.
    pub exec: Option<u64>,
    /// The lanes that the dispatch started.
    pub started: Started,
    /// The activity of the wave.
    pub activity: Activity,
    /// The number of samples.
    pub count: u64,
    /// For counts of a thread trace, the cycles of latency, of stalls, and idle.
    pub cycles: [u64; 3],
    /// The profiler's number for the text of the instruction.
    pub text: Option<u32>,
}

impl Sample {
    /// Creates a sample with a known place only.
    #[must_use]
    pub const fn new(site: Site) -> Sample {
        Sample {
            site,
            exec: None,
            started: Started::UNKNOWN,
            activity: Activity::Unknown,
            count: 1,
            cycles: [0; 3],
            text: None,
        }
    }
}

/// The activity of a wave when it was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The profiler does not report the activity.
    Unknown,
    /// The wave issued an instruction of this type.
    Issued(Option<NameId>),
    /// The wave did not issue an instruction, for this reason.
    Stalled(Option<NameId>),
}

/// Inactive lanes, summed over samples: lanes 0 to 31, and lanes 32 to 63.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Off {
    /// The lanes that the dispatch started.
    pub started: [u64; 2],
    /// The lanes that the dispatch did not start.
    pub never: [u64; 2],
    /// The lanes that the dispatch may have started.
    pub unsure: [u64; 2],
}

/// The counts at one place.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of samples, or of executions in a thread trace.
    pub samples: u64,
    /// The number of samples with an EXEC mask.
    pub masked: u64,
    /// The number of active lanes in those: lanes 0 to 31, and lanes 32 to 63.
    pub active: [u64; 2],
    /// The inactive lanes, for a wave of 32 lanes and for a wave of 64.
    pub off: [Off; 2],
    /// The number of samples that issued an instruction.
    pub issued: u64,
    /// The number of samples that did not issue one.
    pub stalled: u64,
    /// The reasons of stalls, with their counts.
    pub stalls: SmallVec<[(NameId, u64); 4]>,
    /// The types of issued instructions, with their counts.
    pub types: SmallVec<[(NameId, u64); 2]>,
    /// Cycles of latency, of stalls, and idle.
    pub cycles: [u64; 3],
}

fn add_to(sum: &mut u64, number: u64) {
    *sum = sum.saturating_add(number);
}

fn add_name<A: smallvec::Array<Item = (NameId, u64)>>(
    names: &mut SmallVec<A>,
    name: NameId,
    count: u64,
) {
    match names.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => add_to(sum, count),
        None => names.push((name, count)),
    }
}

impl Counts {
    /// Counts a sample.
    pub fn add(&mut self, sample: &Sample) {
        let count = sample.count;
        add_to(&mut self.samples, count);
        for (sum, cycles) in self.cycles.iter_mut().zip(sample.cycles) {
            add_to(sum, cycles);
        }
        match sample.activity {
            Activity::Unknown => {}
            Activity::Issued(name) => {
                add_to(&mut self.issued, count);
                if let Some(name) = name {
                    add_name(&mut self.types, name, count);
                }
            }
            Activity::Stalled(name) => {
                add_to(&mut self.stalled, count);
                if let Some(name) = name {
                    add_name(&mut self.stalls, name, count);
                }
            }
        }
        if let Some(exec) = sample.exec {
            self.add_mask(exec, sample.started, count);
        }
    }

    fn add_mask(&mut self, exec: u64, started: Started, count: u64) {
        add_to(&mut self.masked, count);
        for (sum, lanes) in self.active.iter_mut().zip(halves(exec)) {
            add_to(sum, lanes.saturating_mul(count));
        }
        for (off, size) in self.off.iter_mut().zip([32, 64]) {
            let all = lowest(size);
            let exec = exec & all;
            let (sure, never) = match started.lanes(size) {
                // An active lane that was not started contradicts the dispatch.
                Some(lanes) if exec & !lanes == 0 => (lanes, all & !lanes),
                // Work-items are packed into the lowest lanes.
                _ => (lowest(64_u32.saturating_sub(exec.leading_zeros())), 0),
            };
            let (sure, unsure) = (!exec & sure, all & !exec & !sure & !never);
            let sums = [&mut off.started, &mut off.never, &mut off.unsure];
            for (sums, lanes) in sums.into_iter().zip([sure, never, unsure]) {
                if lanes == 0 {
                    continue;
                }
                for (sum, lanes) in sums.iter_mut().zip(halves(lanes)) {
                    add_to(sum, lanes.saturating_mul(count));
                }
            }
        }
    }

    /// Adds the counts at another place.
    pub fn add_all(&mut self, other: &Counts) {
        add_to(&mut self.samples, other.samples);
        add_to(&mut self.masked, other.masked);
        add_to(&mut self.issued, other.issued);
        add_to(&mut self.stalled, other.stalled);
        let pairs = self.active.iter_mut().zip(other.active);
        let cycles = self.cycles.iter_mut().zip(other.cycles);
        for (sum, number) in pairs.chain(cycles) {
            add_to(sum, number);
        }
        for (own, other) in self.off.iter_mut().zip(&other.off) {
            let own = [&mut own.started, &mut own.never, &mut own.unsure];
            let other = [other.started, other.never, other.unsure];
            for (own, other) in own.into_iter().zip(other) {
                for (sum, number) in own.iter_mut().zip(other) {
                    add_to(sum, number);
                }
            }
        }
        for (name, count) in &other.stalls {
            add_name(&mut self.stalls, *name, *count);
        }
        for (name, count) in &other.types {
            add_name(&mut self.types, *name, *count);
        }
    }
}

/// Returns the number of lanes in each half of a mask.
fn halves(mask: u64) -> [u64; 2] {
    let low = mask & u64::from(u32::MAX);
    [low, mask >> 32].map(|half| half.count_ones().into())
}
