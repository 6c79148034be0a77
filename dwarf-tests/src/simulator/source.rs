//! Defines structured programs, and the decisions of each lane in them.

use core::fmt::{self, Display, Formatter};

use super::random::mix;

/// A program: one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The statements of the function.
    pub body: Vec<Statement>,
    /// The lanes that are active on entry. For a wave of 32 lanes, only the low half counts.
    pub entry: u64,
    /// The seed of the back end's choices.
    pub choices: u64,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// This many instructions that do not change control flow.
    Work(u8),
    /// This many instructions executed by all lanes, or by all lanes of each quad with an active lane.
    WholeWave {
        /// True for whole quads only.
        quads: bool,
        /// The number of instructions.
        work: u8,
    },
    /// `if (condition) then [else otherwise]`.
    If {
        /// The condition that each lane evaluates.
        condition: Condition,
        /// The statements for lanes whose condition is true.
        then: Vec<Statement>,
        /// The statements for the other lanes.
        otherwise: Option<Vec<Statement>>,
    },
    /// A loop with an individual number of iterations for each lane.
    Loop {
        /// The number of iterations.
        trips: Trips,
        /// True for `while`, false for `do … while`.
        tested_first: bool,
        /// The body of the loop.
        body: Vec<Statement>,
    },
    /// Leaves this many enclosing loops, plus one.
    Break(usize),
    /// Leaves this many enclosing loops, and continues with the next iteration of the loop around them.
    Continue(usize),
    /// Leaves the function.
    Return,
}

/// A condition of lanes, which yields a new decision each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The seed of this condition.
    pub seed: u64,
    /// The percentage of true decisions.
    pub percent: u8,
}

/// The number of iterations of a loop, which is drawn anew each time a lane enters the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trips {
    /// The seed of this loop.
    pub seed: u64,
    /// The most iterations, at least one.
    pub most: u8,
}

/// The decisions of one lane, which depend only on the lane and on the number of its earlier decisions.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    lane: u64,
    counts: Vec<(u64, u32)>,
    left: Vec<(u64, u8)>,
}

impl Decisions {
    /// Returns the state of a lane that has decided nothing.
    #[must_use]
    pub fn of(lane: u64) -> Decisions {
        Decisions {
            lane,
            ..Decisions::default()
        }
    }

    /// Evaluates a condition for the lane.
    pub fn decide(&mut self, condition: Condition) -> bool {
        self.next(condition.seed) % 100 < condition.percent.into()
    }

    /// Draws the number of iterations when the lane enters a loop.
    pub fn start(&mut self, trips: Trips) {
        let count = 1 + self.next(trips.seed) % u64::from(trips.most.max(1));
        let count = u8::try_from(count).unwrap();
        match self.left.iter_mut().find(|(seed, _)| *seed == trips.seed) {
            Some((_, left)) => *left = count,
            None => self.left.push((trips.seed, count)),
        }
    }

    /// Returns true if the lane runs another iteration. A loop that is tested first runs one iteration less.
    pub fn again(&mut self, trips: Trips) -> bool {
        let found = self.left.iter_mut().find(|(seed, _)| *seed == trips.seed);
        let (_, left) = found.expect("a loop that was started");
        *left = left.saturating_sub(1);
        *left > 0
    }

    fn next(&mut self, seed: u64) -> u64 {
        let found = self.counts.iter().position(|(known, _)| *known == seed);
        let index = found.unwrap_or_else(|| {
            self.counts.push((seed, 0));
            self.counts.len() - 1
        });
        let (_, count) = &mut self.counts[index];
        *count += 1;
        mix(seed ^ mix(self.lane ^ (u64::from(*count) << 32)))
    }
}

/// Replaces sections for whole quads by sections for all lanes. Compute programs have no sections for quads.
#[must_use]
pub fn without_quads(statements: &[Statement]) -> Vec<Statement> {
    let without = |statement: &Statement| match statement.clone() {
        Statement::WholeWave { work, .. } => Statement::WholeWave { quads: false, work },
        Statement::If {
            condition,
            then,
            otherwise,
        } => Statement::If {
            condition,
            then: without_quads(&then),
            otherwise: otherwise.map(|block| without_quads(&block)),
        },
        Statement::Loop {
            trips,
            tested_first,
            body,
        } => Statement::Loop {
            trips,
            tested_first,
            body: without_quads(&body),
        },
        leaf => leaf,
    };
    statements.iter().map(without).collect()
}

/// Returns true if a predicate holds for a statement without nested statements, at any depth.
///
/// * `loops`: the number of loops around the statements. The predicate gets the number of loops around its statement.
pub fn any_leaf(
    statements: &[Statement],
    loops: usize,
    here: &dyn Fn(&Statement, usize) -> bool,
) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::If {
            then, otherwise, ..
        } => {
            any_leaf(then, loops, here)
                || otherwise
                    .as_ref()
                    .is_some_and(|otherwise| any_leaf(otherwise, loops, here))
        }
        Statement::Loop { body, .. } => any_leaf(body, loops + 1, here),
        leaf => here(leaf, loops),
    })
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "// entry {:#x}, choices {:#x}", self.entry, self.choices)?;
        print(&self.body, 0, f)
    }
}

fn print(statements: &[Statement], depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
    let indent = "  ".repeat(depth);
    for statement in statements {
        match statement {
            Statement::Work(count) => writeln!(f, "{indent}work {count};")?,
            Statement::WholeWave { quads, work } => {
                let kind = if *quads { "quads" } else { "wave" };
                writeln!(f, "{indent}whole {kind} {{ work {work}; }}")?;
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                let Condition { seed, percent } = condition;
                writeln!(f, "{indent}if ({percent} % by {seed:#x}) {{")?;
                print(then, depth + 1, f)?;
                if let Some(otherwise) = otherwise {
                    writeln!(f, "{indent}}} else {{")?;
                    print(otherwise, depth + 1, f)?;
                }
                writeln!(f, "{indent}}}")?;
            }
            Statement::Loop {
                trips,
                tested_first,
                body,
            } => {
                let kind = if *tested_first { "while" } else { "do" };
                writeln!(
                    f,
                    "{indent}{kind} (up to {} by {:#x}) {{",
                    trips.most, trips.seed
                )?;
                print(body, depth + 1, f)?;
                writeln!(f, "{indent}}}")?;
            }
            Statement::Break(levels) => writeln!(f, "{indent}break {levels};")?,
            Statement::Continue(levels) => writeln!(f, "{indent}continue {levels};")?,
            Statement::Return => writeln!(f, "{indent}return;")?,
        }
    }
    Ok(())
}
