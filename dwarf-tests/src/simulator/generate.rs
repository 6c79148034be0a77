//! Generates random programs, and reduces failing programs.

use super::random::Random;
use super::source::{Condition, Source, Statement, Trips};

/// The deepest nesting of statements.
const DEPTH: usize = 6;
/// The deepest nesting of loops. More would only take longer.
const LOOPS: usize = 3;

/// Generates the program of a seed.
#[must_use]
pub fn generate(seed: u64) -> Source {
    let mut random = Random::new(seed);
    let budget = 2 + random.below(16);
    let mut maker = Maker { random, budget };
    let body = maker.block(0, 0);
    let entry = match maker.random.below(4) {
        0 => u64::MAX,
        1 => maker.random.number() & maker.random.number(),
        2 => maker.random.number() | maker.random.number(),
        _ => maker.random.number(),
    };
    Source {
        body,
        entry,
        choices: maker.random.number(),
    }
}

struct Maker {
    random: Random,
    /// The number of statements that may still be generated.
    budget: usize,
}

impl Maker {
    fn block(&mut self, depth: usize, loops: usize) -> Vec<Statement> {
        let mut block = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            block.push(self.statement(depth, loops));
        }
        block
    }

    fn statement(&mut self, depth: usize, loops: usize) -> Statement {
        let nest = depth < DEPTH;
        match self.random.below(100) {
            0..40 if nest => self.decision(depth, loops),
            40..60 if nest && loops < LOOPS => self.repeat(depth, loops),
            60..66 => Statement::WholeWave {
                quads: self.random.percent(50),
                work: self.few(),
            },
            66..74 if loops > 0 => Statement::Break(self.level(loops)),
            74..81 if loops > 0 => Statement::Continue(self.level(loops)),
            81..85 if depth > 0 => Statement::Return,
            _ => Statement::Work(self.few()),
        }
    }

    fn few(&mut self) -> u8 {
        u8::try_from(self.random.below(3)).unwrap()
    }

    /// Chooses a loop, mostly the innermost one.
    fn level(&mut self, loops: usize) -> usize {
        if self.random.percent(70) {
            0
        } else {
            self.random.below(loops)
        }
    }

    fn decision(&mut self, depth: usize, loops: usize) -> Statement {
        let percent = match self.random.below(10) {
            0 => 0,
            1 => 100,
            2 => 5,
            3 => 95,
            _ => 50,
        };
        let condition = Condition {
            seed: self.random.number(),
            percent,
        };
        let then = self.block(depth + 1, loops);
        let otherwise = match self.random.below(10) {
            0..4 => None,
            // A chain: another decision in place of a block.
            4..6 if depth + 1 < DEPTH && self.budget > 0 => {
                self.budget -= 1;
                Some(vec![self.decision(depth + 1, loops)])
            }
            _ => Some(self.block(depth + 1, loops)),
        };
        Statement::If {
            condition,
            then,
            otherwise,
        }
    }

    fn repeat(&mut self, depth: usize, loops: usize) -> Statement {
        // Inner loops run fewer iterations.
        let most = 1 + self.random.below(LOOPS + 1 - loops);
        Statement::Loop {
            trips: Trips {
                seed: self.random.number(),
                most: u8::try_from(most).unwrap(),
            },
            tested_first: self.random.percent(40),
            body: self.block(depth + 1, loops + 1),
        }
    }
}

/// Returns the programs that are slightly smaller than this one, the smallest first.
#[must_use]
pub fn smaller(source: &Source) -> Vec<Source> {
    let mut found: Vec<Source> = smaller_blocks(&source.body)
        .into_iter()
        .map(|body| Source {
            body,
            ..source.clone()
        })
        .collect();
    for width in [32, 16, 8, 4, 2, 1] {
        for start in (0..64).step_by(width) {
            let gone = (u64::MAX >> (64 - width)) << start;
            let entry = source.entry & !gone;
            if entry != source.entry && entry != 0 {
                found.push(Source {
                    entry,
                    ..source.clone()
                });
            }
        }
    }
    found
}

fn smaller_blocks(block: &[Statement]) -> Vec<Vec<Statement>> {
    let mut found = Vec::new();
    for (index, statement) in block.iter().enumerate() {
        let mut put = |replacement: Vec<Statement>| {
            let mut smaller = block.to_vec();
            smaller.splice(index..=index, replacement);
            found.push(smaller);
        };
        put(vec![]);
        match statement {
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = *condition;
                put(then.clone());
                if let Some(otherwise) = otherwise {
                    put(otherwise.clone());
                    put(vec![Statement::If {
                        condition,
                        then: then.clone(),
                        otherwise: None,
                    }]);
                    for block in smaller_blocks(otherwise) {
                        put(vec![Statement::If {
                            condition,
                            then: then.clone(),
                            otherwise: Some(block),
                        }]);
                    }
                }
                for block in smaller_blocks(then) {
                    put(vec![Statement::If {
                        condition,
                        then: block,
                        otherwise: otherwise.clone(),
                    }]);
                }
            }
            Statement::Loop {
                trips,
                tested_first,
                body,
            } => {
                put(body.clone());
                let again = |trips: Trips, body: Vec<Statement>| {
                    vec![Statement::Loop {
                        trips,
                        tested_first: *tested_first,
                        body,
                    }]
                };
                if trips.most > 1 {
                    let most = trips.most - 1;
                    put(again(Trips { most, ..*trips }, body.clone()));
                }
                for block in smaller_blocks(body) {
                    put(again(*trips, block));
                }
            }
            Statement::Work(count) if *count > 0 => put(vec![Statement::Work(count - 1)]),
            Statement::Work(_)
            | Statement::WholeWave { .. }
            | Statement::Break(_)
            | Statement::Continue(_)
            | Statement::Return => {}
        }
    }
    found
}
