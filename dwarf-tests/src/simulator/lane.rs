//! Runs one lane alone through the code of a function, and follows its position while the wave runs.
//!
//! This module does not use masks. A lane is at its next instruction, with one exception: at an `if` the wave runs one side first, and the
//! lanes of the other side have not passed the decision yet.

use core::ops::Range;

use super::machine::SIZE;
use super::source::{Condition, Decisions, Trips};

/// A statement with the addresses of its code, as a lane executes it.
#[derive(Clone, Debug)]
pub enum Placed {
    /// A sequence of instructions.
    Straight(Range<u64>),
    /// A decision. Both sides end with the jump to the end.
    If {
        /// The instruction at which lanes diverge.
        decide: u64,
        /// The condition.
        condition: Condition,
        /// The statements of lanes whose condition is true.
        then: Vec<Placed>,
        /// The statements of the other lanes.
        otherwise: Vec<Placed>,
    },
    /// A loop.
    Loop {
        /// The number of iterations.
        trips: Trips,
        /// In a loop that is tested first, the code up to the point where lanes leave, and from there to the body.
        header: Option<(Range<u64>, Range<u64>)>,
        /// One iteration.
        body: Vec<Placed>,
        /// The code after the body: up to the point where lanes leave, if they leave here, and the jump back.
        latch: (Range<u64>, Range<u64>),
    },
    /// Instructions that end with a jump.
    Leave(Range<u64>, Target),
}

/// The target of a lane that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The end of a loop this many levels out.
    Break(usize),
    /// The next iteration of a loop this many levels out.
    Continue(usize),
    /// The end of the function.
    Return,
}

/// An instruction on the path of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    pc: u64,
    /// True if the lane passes it only when the wave reaches the lane's next instruction.
    stays: bool,
}

/// A lane on its path.
#[derive(Clone, Debug)]
pub struct Lane {
    way: Vec<Point>,
    at: usize,
    /// True if the lane has executed its instruction, but has not passed it.
    stays: bool,
}

impl Lane {
    /// Computes the whole path of a lane through a function.
    ///
    /// * `end`: the last instruction, which all lanes reach.
    #[must_use]
    pub fn alone(number: u64, body: &[Placed], end: u64) -> Lane {
        let mut runner = Runner {
            decisions: Decisions::of(number),
            way: Vec::new(),
        };
        runner.run(body);
        runner.straight(end..end + SIZE);
        Lane {
            way: runner.way,
            at: 0,
            stays: false,
        }
    }

    /// Returns the position of the lane.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.way[self.at].pc
    }

    /// Returns the next instruction that the lane takes part in.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.way[self.at + usize::from(self.stays)].pc
    }

    /// Returns the last instruction that the lane took part in. Returns None before the first.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        let passed = self.at + usize::from(self.stays);
        Some(self.way[passed.checked_sub(1)?].pc)
    }

    /// Advances the lane when the wave reaches an instruction. Returns true if the lane takes part in it.
    pub fn comes_to(&mut self, pc: u64) -> bool {
        if self.stays {
            if self.way[self.at + 1].pc != pc {
                return false;
            }
            self.at += 1;
            self.stays = false;
        }
        self.pc() == pc
    }

    /// Records that the wave has run an instruction that the lane took part in.
    pub fn took_part(&mut self) {
        if self.way[self.at].stays {
            self.stays = true;
        } else if self.at + 1 < self.way.len() {
            self.at += 1;
        }
    }

    /// Returns true if the lane is at its last instruction.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.at + 1 == self.way.len()
    }
}

struct Runner {
    decisions: Decisions,
    way: Vec<Point>,
}

impl Runner {
    /// Runs statements until one leaves.
    fn run(&mut self, block: &[Placed]) -> Option<Target> {
        block.iter().find_map(|statement| self.one(statement))
    }

    fn one(&mut self, statement: &Placed) -> Option<Target> {
        match statement {
            Placed::Straight(range) => {
                self.straight(range.clone());
                None
            }
            Placed::If {
                decide,
                condition,
                then,
                otherwise,
            } => {
                let yes = self.decisions.decide(*condition);
                self.way.push(Point {
                    pc: *decide,
                    stays: !yes,
                });
                self.run(if yes { then } else { otherwise })
            }
            Placed::Leave(range, target) => {
                self.straight(range.clone());
                Some(*target)
            }
            Placed::Loop {
                trips,
                header,
                body,
                latch,
            } => {
                self.decisions.start(*trips);
                loop {
                    if let Some((test, onwards)) = header {
                        self.straight(test.clone());
                        if !self.decisions.again(*trips) {
                            return None;
                        }
                        self.straight(onwards.clone());
                    }
                    match self.run(body) {
                        None | Some(Target::Continue(0)) => {}
                        Some(Target::Break(0)) => return None,
                        Some(Target::Break(further)) => return Some(Target::Break(further - 1)),
                        Some(Target::Continue(further)) => {
                            return Some(Target::Continue(further - 1));
                        }
                        Some(Target::Return) => return Some(Target::Return),
                    }
                    let (test, back) = latch;
                    self.straight(test.clone());
                    if header.is_none() && !self.decisions.again(*trips) {
                        return None;
                    }
                    self.straight(back.clone());
                }
            }
        }
    }

    fn straight(&mut self, range: Range<u64>) {
        let points = range.step_by(usize::try_from(SIZE).unwrap());
        self.way.extend(points.map(|pc| Point { pc, stays: false }));
    }
}
