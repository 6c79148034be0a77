//! Walks through a program. Records the machine after each instruction, and the last value of each variable that its location list gave.

use std::collections::BTreeMap;

use super::program::{Action, CLOBBERED, Place, Program, Source, Vector};
use super::target::Target;
use dwarf_tests::simulator::Random;

/// A wave.
#[derive(Clone, Debug)]
pub struct Machine {
    lanes: usize,
    pub exec: u64,
    pub vcc: u64,
    scc: bool,
    pub scalars: BTreeMap<u8, u32>,
    /// The vector registers, lane by lane.
    pub vectors: BTreeMap<u8, Vec<u32>>,
    pub accs: BTreeMap<u8, Vec<u32>>,
    masks: BTreeMap<u8, u64>,
    /// The rows of the stack, by offset.
    pub rows: BTreeMap<u32, Vec<u32>>,
}

/// The value of a variable at the last instruction that a lane executed in one of its ranges.
pub type Given = BTreeMap<(usize, usize), (usize, u32)>;

/// A stop before an instruction.
#[derive(Clone, Debug)]
pub struct Stop {
    pub at: usize,
    pub machine: Machine,
    /// By variable and lane, the instruction and the value.
    pub given: Given,
}

/// A walk.
#[derive(Debug)]
pub struct Walk {
    pub start: Machine,
    pub stops: Vec<Stop>,
}

impl Machine {
    fn new(target: &Target, program: &Program, random: &mut Random) -> Machine {
        let lanes = usize::from(target.lanes);
        let all = u64::MAX >> (64 - lanes);
        let word = |random: &mut Random| match random.percent(50) {
            // Half of the numbers are small, so that equal values occur.
            true => u32::try_from(random.below(8)).unwrap(),
            false => u32::try_from(random.number() >> 32).unwrap(),
        };
        let row = |random: &mut Random| (0..lanes).map(|_| word(random)).collect::<Vec<u32>>();
        let mut vectors: BTreeMap<u8, Vec<u32>> = (0..=10).map(|n| (n, row(random))).collect();
        let accs = (0..3).map(|n| (n, row(random))).collect();
        let rows = (0..4).map(|n| (n * 4, row(random))).collect();
        let mut scalars: BTreeMap<u8, u32> = (0..64)
            .map(|n| (n, u32::try_from(random.number() >> 32).unwrap()))
            .collect();
        scalars.insert(32, 0);
        if program.is_kernel {
            // The wave is number 1 in work-group 2.
            let first = u32::try_from(lanes).unwrap();
            vectors.insert(0, (first..).take(lanes).collect());
            scalars.insert(0, 2);
        }
        let exec = match program.is_kernel {
            true => all,
            false => (random.number() | 1) & all,
        };
        Machine {
            lanes,
            exec,
            vcc: random.number() & all,
            scc: false,
            scalars,
            vectors,
            accs,
            masks: BTreeMap::new(),
            rows,
        }
    }

    /// Returns the masks as scalar registers.
    pub fn mask_scalars(&self) -> impl Iterator<Item = (u8, u32)> {
        let wide = self.lanes == 64;
        self.masks.iter().flat_map(move |(first, mask)| {
            let low = (*first, u32::try_from(mask & u64::from(u32::MAX)).unwrap());
            let high = wide.then(|| (first + 1, u32::try_from(mask >> 32).unwrap()));
            [low].into_iter().chain(high)
        })
    }

    fn is_on(&self, lane: usize) -> bool {
        self.exec >> lane & 1 == 1
    }

    fn on(&self) -> Vec<usize> {
        (0..self.lanes).filter(|lane| self.is_on(*lane)).collect()
    }

    fn read(&self, source: Source, lane: usize) -> u32 {
        match source {
            Source::Vector(n) => self.vectors[&n][lane],
            Source::Scalar(n) => self.scalars[&n],
            Source::Constant(n) => n.cast_unsigned(),
        }
    }

    fn place(&self, place: Place, lane: usize) -> u32 {
        match place {
            Place::Vector(n) => self.vectors[&n][lane],
            Place::Scalar(n) => self.scalars[&n],
            Place::Constant(n) => n.cast_unsigned(),
        }
    }

    fn results(&self, part: &Vector) -> Vec<(usize, u32)> {
        let result = |lane| (part.operation)(part.sources.map(|one| self.read(one, lane)));
        self.on()
            .into_iter()
            .map(|lane| (lane, result(lane)))
            .collect()
    }

    fn write(&mut self, vector: u8, results: Vec<(usize, u32)>) {
        let register = self.vectors.get_mut(&vector).unwrap();
        results
            .into_iter()
            .for_each(|(lane, word)| register[lane] = word);
    }

    /// Executes an instruction. Returns the next one.
    fn step(&mut self, at: usize, action: Action) -> Option<usize> {
        let next = at + 1;
        match action {
            Action::Nothing => {}
            Action::Vector(part) => {
                let results = self.results(&part);
                self.write(part.dst, results);
            }
            Action::Dual(parts) => {
                let results = parts.each_ref().map(|part| self.results(part));
                for (part, results) in parts.iter().zip(results) {
                    self.write(part.dst, results);
                }
            }
            Action::AccWrite { acc, vector } => {
                for lane in self.on() {
                    let word = self.vectors[&vector][lane];
                    self.accs.get_mut(&acc).unwrap()[lane] = word;
                }
            }
            Action::AccRead { vector, acc } => {
                let words = self
                    .on()
                    .into_iter()
                    .map(|lane| (lane, self.accs[&acc][lane]));
                let words = words.collect();
                self.write(vector, words);
            }
            Action::Scalar {
                dst,
                operation,
                sources: [a, b],
            } => {
                let (a, b) = (self.read(a, 0), self.read(b, 0));
                self.scalars.insert(dst, operation([a, b, 0]));
            }
            Action::CompareBelow { constant, vector } => {
                let below = |lane: &usize| constant < self.vectors[&vector][*lane].cast_signed();
                let lanes = self.on().into_iter().filter(below);
                self.vcc = lanes.fold(0, |mask, lane| mask | 1 << lane);
            }
            Action::CompareEqual { scalar, constant } => {
                self.scc = self.scalars[&scalar] == constant.cast_unsigned();
            }
            Action::WriteLane {
                vector,
                scalar,
                lane,
            } => {
                let word = self.scalars[&scalar];
                self.vectors.get_mut(&vector).unwrap()[usize::from(lane)] = word;
            }
            Action::ReadLane {
                scalar,
                vector,
                lane,
            } => {
                self.scalars
                    .insert(scalar, self.vectors[&vector][usize::from(lane)]);
            }
            Action::ReadFirstLane { scalar, vector } => {
                // If no lane is active, lane 0 is read.
                let lane = self.on().first().copied().unwrap_or(0);
                self.scalars.insert(scalar, self.vectors[&vector][lane]);
            }
            Action::Store { row, vector } => {
                for lane in self.on() {
                    let word = self.vectors[&vector][lane];
                    self.rows.get_mut(&row).unwrap()[lane] = word;
                }
            }
            Action::Load { row, vector } => {
                let words = self
                    .on()
                    .into_iter()
                    .map(|lane| (lane, self.rows[&row][lane]));
                let words = words.collect();
                self.write(vector, words);
            }
            Action::SaveAnd { mask } => {
                self.masks.insert(mask, self.exec);
                self.exec &= self.vcc;
            }
            Action::Others { mask } => *self.masks.get_mut(&mask).unwrap() ^= self.exec,
            Action::Else { mask } => {
                let others = self.masks[&mask] & !self.exec;
                self.masks.insert(mask, self.exec);
                self.exec = others;
            }
            Action::Join { mask } => self.exec |= self.masks[&mask],
            Action::Clear { mask } => {
                self.masks.insert(mask, 0);
            }
            Action::Leave { mask } => *self.masks.get_mut(&mask).unwrap() |= self.vcc,
            Action::Without { mask } => self.exec &= !self.masks[&mask],
            Action::Jump { to } => return Some(to),
            Action::JumpIfNone { to } if self.exec == 0 => return Some(to),
            Action::JumpIfSome { to } if self.exec != 0 => return Some(to),
            Action::JumpIf { scc, to } if self.scc == scc => return Some(to),
            Action::JumpIfNone { .. } | Action::JumpIfSome { .. } | Action::JumpIf { .. } => {}
            Action::Call => {
                let (vectors, scalars) = CLOBBERED;
                for vector in vectors {
                    let words = self.on().into_iter().map(|lane| (lane, 9)).collect();
                    self.write(vector, words);
                }
                for scalar in scalars {
                    self.scalars.insert(scalar, 9);
                }
            }
            Action::End => return None,
        }
        Some(next)
    }
}

impl Walk {
    /// Walks through a program, with a stop before some of the instructions.
    pub fn new(target: &Target, program: &Program, seed: u64) -> Walk {
        /// The most instructions that are executed.
        const MOST: usize = 3000;
        let mut random = Random::new(seed);
        let start = Machine::new(target, program, &mut random);
        let mut machine = start.clone();
        let mut given = Given::new();
        let mut stops = Vec::new();
        let mut at = Some(0);
        for _ in 0..MOST {
            let Some(index) = at else { break };
            if stops.len() < 8 && random.percent(8) {
                stops.push(Stop {
                    at: index,
                    machine: machine.clone(),
                    given: given.clone(),
                });
            }
            for (n, variable) in program.variables.iter().enumerate() {
                let covers =
                    |range: &&super::program::Range| (range.start..range.end).contains(&index);
                if let Some(range) = variable.ranges.iter().find(covers) {
                    for lane in machine.on() {
                        given.insert((n, lane), (index, machine.place(range.place, lane)));
                    }
                }
            }
            at = machine.step(index, program.code[index].action);
        }
        Walk { start, stops }
    }
}
