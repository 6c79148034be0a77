//! One lane alone: where it goes through the code of a function, and where it is while the wave runs.
//!
//! Nothing here knows of masks. A lane is where its next instruction is, but for one case: at an `if`
//! the wave runs one side first, and a lane of the other has not come past the decision yet.

use core::ops::Range;

use super::machine::SIZE;
use super::source::{Condition, Decisions, Trips};

/// A statement with the addresses of its code, as a lane goes through it.
#[derive(Clone, Debug)]
pub enum Placed {
    /// Instructions one after the other.
    Straight(Range<u64>),
    /// A decision. Both sides end with what goes to the end.
    If {
        /// The instruction where lanes part.
        decide: u64,
        /// What lanes decide by.
        condition: Condition,
        /// What lanes do that decide yes.
        then: Vec<Placed>,
        /// What the others do.
        otherwise: Vec<Placed>,
    },
    /// A loop.
    Loop {
        /// How often it is gone through.
        trips: Trips,
        /// In a loop that is tested first, the code up to where lanes leave, and from there to the body.
        header: Option<(Range<u64>, Range<u64>)>,
        /// One iteration.
        body: Vec<Placed>,
        /// Behind it: the code up to where lanes leave, if they do so here, and the way back.
        latch: (Range<u64>, Range<u64>),
    },
    /// Instructions, and then elsewhere.
    Leave(Range<u64>, Target),
}

/// Where a lane goes that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Behind a loop, so many around.
    Break(usize),
    /// To the next iteration of a loop, so many around.
    Continue(usize),
    /// To the end of the function.
    Return,
}

/// An instruction that a lane comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    pc: u64,
    /// It is past it only once the wave is where it goes next.
    stays: bool,
}

/// One lane on its way.
#[derive(Clone, Debug)]
pub struct Lane {
    way: Vec<Point>,
    at: usize,
    /// It has come to the end of the instruction, but is not past it.
    stays: bool,
}

impl Lane {
    /// The whole way of a lane through a function.
    ///
    /// * `end`: the last instruction, where all lanes come to.
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

    /// Where the lane is.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.way[self.at].pc
    }

    /// The next instruction that it takes part in.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.way[self.at + usize::from(self.stays)].pc
    }

    /// The last instruction that it took part in; nothing before the first.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        let passed = self.at + usize::from(self.stays);
        Some(self.way[passed.checked_sub(1)?].pc)
    }

    /// The wave comes to an instruction. Says whether the lane takes part in it.
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

    /// The wave has run an instruction that the lane took part in.
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
