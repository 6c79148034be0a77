//! Reads the results of the emulated runs: `cfi-check.json` of each wave case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dwarf_tests::{json, number};
use fallible_iterator::FallibleIterator;
use hetdwarf::arch::RegisterClass;
use hetdwarf::cfi_check::{Contradiction, Subject};
use hetdwarf::isa::{Decoder, Effect, Instruction};
use hetdwarf::object::{CodeObject, SymbolKind};

/// A contradiction at one instruction: the function, its kind, and the register.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    pub function: String,
    pub pc: u64,
    pub what: What,
    pub register: String,
}

/// The kinds of contradictions in `cfi-check.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Cfa,
    ReturnAddress,
    /// EXEC has no rule.
    Exec,
    /// A masked rule gives another value because EXEC has no rule.
    Masked,
    /// SP has no rule.
    StackPointer,
    /// A register that functions preserve has no rule.
    Preserved,
    /// A register that functions need not preserve is not marked as undefined.
    Clobbered,
    /// The rule of a scalar register gives another value.
    Scalar,
    /// The rule of a vector register gives another value.
    Vector,
}

/// The runs of one case.
pub struct Truth {
    pub wrong: BTreeSet<Item>,
    /// The instructions that were run, by function.
    pub executed: BTreeMap<String, BTreeSet<u64>>,
}

fn what(text: &str, registers: &[String]) -> What {
    match text {
        "cfa" => What::Cfa,
        "return-address" => What::ReturnAddress,
        "exec:no-rule" => What::Exec,
        "v*:wrong-because-exec-has-no-rule" => What::Masked,
        "s*:no-rule" => {
            assert_eq!(registers, ["s32"]);
            What::StackPointer
        }
        _ if text.ends_with(":no-rule-csr") => What::Preserved,
        _ if text.ends_with(":no-rule-clobbered") => What::Clobbered,
        "s*:wrong" => What::Scalar,
        _ if text.starts_with("v*:wrong") => What::Vector,
        _ => panic!("{text}"),
    }
}

/// Reads `cfi-check.json`. It lists contradictions, not executed code. A block with a listed instruction was executed completely, and so
/// was the first block of a called function. A function without any contradiction, in which a wave stopped, counts as executed throughout,
/// so every finding there is a false positive.
pub fn read(case: &Path) -> Truth {
    let name = case.file_name().unwrap().to_str().unwrap();
    let check = json(&case.join("cfi-check.json"));
    let mut wrong = BTreeSet::new();
    for finding in check["findings"].as_array().unwrap() {
        let strings = |field: &str| -> Vec<String> {
            let list = finding[field].as_array().unwrap();
            list.iter()
                .map(|one| one.as_str().unwrap().to_string())
                .collect()
        };
        let registers = strings("registers");
        let what = what(finding["what"].as_str().unwrap(), &registers);
        for pc in finding["pcs"].as_array().unwrap() {
            for register in &registers {
                wrong.insert(Item {
                    function: finding["function"].as_str().unwrap().to_string(),
                    pc: u64::try_from(number(pc)).unwrap(),
                    what,
                    register: register.clone(),
                });
            }
        }
    }
    let data = std::fs::read(case.join(format!("{name}.hsaco"))).unwrap();
    let object = CodeObject::parse(&data).unwrap();
    let decoder = Decoder::new(object.target().processor(), None).unwrap();
    let stops = json(&case.join("truth.json"));
    let called: BTreeSet<&str> = (stops["snapshots"].as_array().unwrap().iter())
        .flat_map(|stop| stop["frames"].as_array().unwrap())
        .map(|frame| frame["symbol"].as_str().unwrap())
        .collect();
    let mut executed = BTreeMap::new();
    for symbol in object.symbols().unwrap() {
        if symbol.kind != SymbolKind::Function {
            continue;
        }
        let size = usize::try_from(symbol.size).unwrap();
        let code = object.read_image(symbol.address, size).unwrap();
        let instructions = decoder.instructions(code, symbol.address);
        let instructions: Vec<Instruction> = instructions.collect().unwrap();
        let listed: BTreeSet<u64> = (wrong.iter())
            .filter(|item| item.function == symbol.name)
            .map(|item| item.pc)
            .collect();
        let pcs = if !listed.is_empty() {
            run(&instructions, &listed)
        } else if called.contains(&*symbol.name) {
            instructions.iter().map(|one| one.address).collect()
        } else {
            BTreeSet::new()
        };
        executed.insert(symbol.name.to_string(), pcs);
    }
    Truth { wrong, executed }
}

fn run(instructions: &[Instruction], listed: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut leaders = BTreeSet::from([instructions[0].address]);
    for one in instructions {
        match one.effect {
            Effect::Branch { target, .. } => leaders.extend([target, one.end()]),
            Effect::SetPc { .. } | Effect::EndProgram => drop(leaders.insert(one.end())),
            _ => {}
        }
    }
    let mut executed = BTreeSet::new();
    for (n, block) in instructions
        .chunk_by(|_, next| !leaders.contains(&next.address))
        .enumerate()
    {
        let block: BTreeSet<u64> = block.iter().map(|one| one.address).collect();
        if n == 0 || !block.is_disjoint(listed) {
            executed.extend(block);
        }
    }
    executed
}

/// Returns the contradiction at each address in the terms of the runs. Returns nothing for kinds that the runs do not distinguish.
pub fn items(function: &str, one: &Contradiction, pcs: &BTreeSet<u64>) -> Vec<Item> {
    let register = match one.subject {
        Subject::Cfa => "cfa".to_string(),
        Subject::ReturnAddress => "return-address".to_string(),
        Subject::Register(register) => register.to_string(),
        Subject::Row => return Vec::new(),
        other => panic!("{other:?}"),
    };
    let class = match one.subject {
        Subject::Register(register) => register.class(),
        _ => None,
    };
    let what = match (one.rule.id, one.subject, class) {
        (_, Subject::Cfa, _) => What::Cfa,
        (_, Subject::ReturnAddress, _) => What::ReturnAddress,
        (_, _, Some(RegisterClass::Exec)) => What::Exec,
        ("cfi-exec-without-rule", _, _) => What::Masked,
        ("cfi-stack-pointer-without-rule", _, _) => What::StackPointer,
        ("cfi-scalar-without-rule" | "cfi-vector-without-rule", _, _) => What::Preserved,
        ("cfi-clobbered-not-undefined", _, _) => What::Clobbered,
        (_, _, Some(RegisterClass::Sgpr)) => What::Scalar,
        _ => What::Vector,
    };
    let in_ranges = |pc: &&u64| one.ranges.iter().any(|range| range.contains(pc));
    (pcs.iter().filter(in_ranges))
        .map(|pc| Item {
            function: function.to_string(),
            pc: *pc,
            what,
            register: register.clone(),
        })
        .collect()
}
