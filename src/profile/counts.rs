//! The counts at one place.
//!
//! Lanes of one half of a wave are alike to the analysis of machine code, so that sums of lanes are kept and not the masks
//! themselves: a place takes the same room whatever the masks are.

use smallvec::SmallVec;

use super::dispatch::{Started, lowest};
use super::names::NameId;

/// The place of a wave, in a profiler's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// At an address of a code object.
    Code {
        /// The number that the caller has for the code object.
        object: u32,
        /// The number that the caller has for the kernel, if it is known.
        kernel: Option<u32>,
        /// The address, as the profiler counts it.
        address: u64,
    },
    /// At an instruction of which only a text is known.
    Text(u32),
}

/// One sample, or several that are equal.
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
    /// For counts of a thread trace: cycles of latency, of stalls, and idle.
    pub cycles: [u64; 3],
    /// The number that the profiler has for the text of the instruction.
    pub text: Option<u32>,
}

impl Sample {
    /// Creates a sample of which only the place is known.
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
    /// The profiler does not tell.
    Unknown,
    /// It issued an instruction, of this type.
    Issued(Option<NameId>),
    /// It did not, for this reason.
    Stalled(Option<NameId>),
}

/// Lanes that were off, summed over samples: those of lanes 0 to 31, and the others.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Off {
    /// The dispatch started them.
    pub started: [u64; 2],
    /// The dispatch did not start them.
    pub never: [u64; 2],
    /// It is not known whether the dispatch started them.
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
    /// The number of active lanes in those, of lanes 0 to 31 and of the others.
    pub active: [u64; 2],
    /// Those that were off, if the wave has 32 lanes and if it has 64.
    pub off: [Off; 2],
    /// The number of samples that issued an instruction.
    pub issued: u64,
    /// The number of samples that did not.
    pub stalled: u64,
    /// Why they did not.
    pub stalls: SmallVec<[(NameId, u64); 4]>,
    /// The types of instructions that were issued.
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
                // A lane that is active and was not started contradicts the dispatch.
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

    /// Adds what was counted at another place.
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

/// Returns how many lanes of each half of a wave are in a mask.
fn halves(mask: u64) -> [u64; 2] {
    let low = mask & u64::from(u32::MAX);
    [low, mask >> 32].map(|half| half.count_ones().into())
}
