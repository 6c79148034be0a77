//! Structured programs, and what each lane decides in them.

use core::fmt::{self, Display, Formatter};

use super::random::mix;

/// A program: one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What it does.
    pub body: Vec<Statement>,
    /// The lanes that are active on entry; of a wave of 32 lanes the low half counts.
    pub entry: u64,
    /// What the back end's choices depend on.
    pub choices: u64,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// So many instructions that change no control flow.
    Work(u8),
    /// So many instructions with all lanes, or with all lanes of each quad that has an active one.
    WholeWave {
        /// Whole quads only.
        quads: bool,
        /// How many instructions.
        work: u8,
    },
    /// `if (condition) then [else otherwise]`.
    If {
        /// What lanes decide by.
        condition: Condition,
        /// For lanes that decide yes.
        then: Vec<Statement>,
        /// For the others.
        otherwise: Option<Vec<Statement>>,
    },
    /// A loop with its own number of iterations for each lane.
    Loop {
        /// How often lanes go through it.
        trips: Trips,
        /// `while` and not `do … while`.
        tested_first: bool,
        /// What is done again and again.
        body: Vec<Statement>,
    },
    /// Leaves so many loops around it, and one.
    Break(usize),
    /// Leaves so many loops around it, and goes on with the next iteration of the one around those.
    Continue(usize),
    /// Leaves the function.
    Return,
}

/// What a lane decides by: it is another decision each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What tells it from others.
    pub seed: u64,
    /// How many times of a hundred it is yes.
    pub percent: u8,
}

/// How often a lane goes through a loop: another number each time it comes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trips {
    /// What tells it from others.
    pub seed: u64,
    /// The most iterations; at least one.
    pub most: u8,
}

/// What decisions of one lane depend on: nothing but the lane and how often it decided before.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    lane: u64,
    counts: Vec<(u64, u32)>,
    left: Vec<(u64, u8)>,
}

impl Decisions {
    /// Those of a lane that has decided nothing.
    #[must_use]
    pub fn of(lane: u64) -> Decisions {
        Decisions {
            lane,
            ..Decisions::default()
        }
    }

    /// What the lane decides now.
    pub fn decide(&mut self, condition: Condition) -> bool {
        self.next(condition.seed) % 100 < condition.percent.into()
    }

    /// The lane comes to a loop.
    pub fn start(&mut self, trips: Trips) {
        let count = 1 + self.next(trips.seed) % u64::from(trips.most.max(1));
        let count = u8::try_from(count).unwrap();
        match self.left.iter_mut().find(|(seed, _)| *seed == trips.seed) {
            Some((_, left)) => *left = count,
            None => self.left.push((trips.seed, count)),
        }
    }

    /// Returns true if the lane goes through a loop again. A loop that is tested first is gone through once less.
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

/// The same statements, with all lanes where they have whole quads: compute programs have no such sections.
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

/// Whether something holds for a statement that contains no others, at any depth.
///
/// * `loops`: how many loops are around the statements; the question is asked with the number around it.
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
