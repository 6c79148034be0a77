//! Mistakes that a generator could make, made in what it says: the tests must find each.

use hetdwarf::lane_pc::{Label, Operand, Program};

use super::machine::SIZE;
use super::random::Random;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A procedure is built upon another than that of the region around it.
    WrongParent,
    /// While `else` runs, lanes are said to be where they are while `then` runs.
    MissingElse,
    /// A mask that has moved is looked for where it was.
    StaleMask,
    /// A region begins an instruction too early or too late.
    OffByOne,
}

/// All of them.
pub const MISTAKES: [Mistake; 4] = [
    Mistake::WrongParent,
    Mistake::MissingElse,
    Mistake::StaleMask,
    Mistake::OffByOne,
];

/// Makes a mistake somewhere. Says whether there was a place for it.
pub fn mutate(program: &mut Program, mistake: Mistake, random: &mut Random) -> bool {
    match mistake {
        Mistake::WrongParent => wrong_parent(program, random),
        Mistake::MissingElse => missing_else(program, random),
        Mistake::StaleMask => stale_mask(program, random),
        Mistake::OffByOne => off_by_one(program, random),
    }
}

fn wrong_parent(program: &mut Program, random: &mut Random) -> bool {
    // The first two are for all regions.
    if program.procedures.len() < 4 {
        return false;
    }
    let number = 3 + random.below(program.procedures.len() - 3);
    let Some(Operand::Call(parent)) = program.procedures[number].expression.first_mut() else {
        return false;
    };
    let others: Vec<usize> = (0..number)
        .filter(|one| *one != 1 && one != parent)
        .collect();
    *parent = others[random.below(others.len())];
    true
}

fn missing_else(program: &mut Program, random: &mut Random) -> bool {
    let find = |name: &str| {
        let mut procedures = program.procedures.iter();
        procedures.position(|procedure| procedure.name == name)
    };
    let sides: Vec<(usize, usize)> = program
        .procedures
        .iter()
        .enumerate()
        .filter_map(|(number, procedure)| {
            let region = procedure.name.strip_suffix("_else")?;
            Some((number, find(&format!("{region}_then"))?))
        })
        .collect();
    if sides.is_empty() {
        return false;
    }
    let (otherwise, then) = sides[random.below(sides.len())];
    for (_, expression) in &mut program.lane_pc {
        if expression.first() == Some(&Operand::Call(otherwise)) {
            expression[0] = Operand::Call(then);
        }
    }
    true
}

fn stale_mask(program: &mut Program, random: &mut Random) -> bool {
    let moved: Vec<(usize, usize)> = program
        .variables
        .iter()
        .enumerate()
        .filter(|(_, variable)| variable.name.ends_with("_save_exec"))
        .flat_map(|(number, variable)| (1..variable.locations.len()).map(move |at| (number, at)))
        .collect();
    if moved.is_empty() {
        return false;
    }
    let (number, at) = moved[random.below(moved.len())];
    let locations = &mut program.variables[number].locations;
    let stale = locations[at - 1].1.clone();
    let changes = locations[at].1 != stale;
    locations[at].1 = stale;
    changes
}

fn off_by_one(program: &mut Program, random: &mut Random) -> bool {
    if program.lane_pc.len() < 2 {
        return false;
    }
    let number = 1 + random.below(program.lane_pc.len() - 1);
    let Label::Offset(boundary) = program.lane_pc[number].0.start else {
        return false;
    };
    let boundary = if random.percent(50) {
        boundary + SIZE
    } else {
        boundary - SIZE
    };
    program.lane_pc[number - 1].0.end = boundary.into();
    program.lane_pc[number].0.start = boundary.into();
    true
}
