//! Plants mistakes in the descriptions that a generator writes. The tests must detect each of them.

use hetdwarf::lane_pc::{Label, Operand, Program};

use super::machine::SIZE;
use super::random::Random;

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A procedure is built on a procedure that does not belong to the enclosing region.
    WrongParent,
    /// While `else` runs, lanes have the positions that they have while `then` runs.
    MissingElse,
    /// A mask is described by storage that it has left.
    StaleMask,
    /// A region begins one instruction too early or too late.
    OffByOne,
}

/// All mistakes.
pub const MISTAKES: [Mistake; 4] = [
    Mistake::WrongParent,
    Mistake::MissingElse,
    Mistake::StaleMask,
    Mistake::OffByOne,
];

/// Plants a mistake at random. Returns false if the program has no suitable position.
pub fn mutate(program: &mut Program, mistake: Mistake, random: &mut Random) -> bool {
    match mistake {
        Mistake::WrongParent => wrong_parent(program, random),
        Mistake::MissingElse => missing_else(program, random),
        Mistake::StaleMask => stale_mask(program, random),
        Mistake::OffByOne => off_by_one(program, random),
    }
}

fn wrong_parent(program: &mut Program, random: &mut Random) -> bool {
    // The first two procedures are shared by all regions.
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
