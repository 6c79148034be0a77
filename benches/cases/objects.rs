//! Measures code objects: opening one, finding a function, dumping sections, and everything that `verify` checks.

use std::process::Command;

use hetdwarf::dump::{Dump, Part};
use hetdwarf::inspect::Program;
use hetdwarf::limits::Limits;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::verify;

use super::{Case, Maker, fixture, keep, maker, path_of};

/// The objects to open, each with an address to find: three functions in one unit, and 1.1 MB of GCC's code.
const OPENED: [(&str, u64); 2] = [
    ("waves/calls-O2/calls-O2.rocm.hsaco", 0x1630),
    ("corpus/gcc12/offload-gfx906-O1.hsaco", 0x7090),
];

/// The objects to verify: unoptimized code of LLVM, optimized code with ROCm's locations, and GCC's code.
const VERIFIED: [&str; 3] = [
    "corpus/llvm24/pressure-gfx90a-O0.hsaco",
    "corpus/rocm-style/pressure-gfx90a-O2.hsaco",
    "corpus/gcc12/offload-gfx906-O1.hsaco",
];

/// The object to dump, and its sections by llvm-dwarfdump's option names.
const DUMPED: &str = "corpus/gcc12/offload-gfx906-O1.hsaco";
const DUMPS: [(&str, Part); 3] = [
    ("--debug-info", Part::Info),
    ("--debug-line", Part::Line),
    ("--debug-loclists", Part::Loclists),
];

/// Returns the llvm-dwarfdump command with the same output as a `dump` case. Returns None for other cases.
pub(crate) fn dump_command(name: &str) -> Option<Command> {
    let (option, _) = DUMPS
        .iter()
        .find(|(option, _)| name == format!("dump/{option}"))?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command
        .args(["llvm-dwarfdump-22", option])
        .arg(path_of(DUMPED));
    Some(command)
}

pub(super) fn makers() -> Vec<Maker> {
    let mut makers = Vec::new();
    for (option, part) in DUMPS {
        makers.push(maker(format!("dump/{option}"), move || {
            let file = fixture(DUMPED);
            Case::new(move || {
                let object = CodeObject::parse(file).unwrap();
                let mut out = std::io::sink();
                let parts = [part];
                let dump = Dump::new("object", &object, None).parts(&parts);
                assert_eq!(dump.write(&mut out).unwrap(), None);
            })
        }));
    }
    for (path, pc) in OPENED {
        makers.push(maker(format!("open/{}", file_name(path)), move || {
            let file = fixture(path);
            assert!(open_and_find(file, pc));
            Case::new(move || open_and_find(file, pc))
        }));
    }
    for path in VERIFIED {
        makers.push(maker(format!("verify/{}", file_name(path)), move || {
            let program = load(fixture(path));
            Case::new(move || verify(program))
        }));
    }
    makers
}

/// Returns the size of the debug sections that a case verifies, in bytes. Returns 0 for other cases.
pub(crate) fn debug_bytes(name: &str) -> usize {
    let verified = VERIFIED
        .iter()
        .find(|path| name == format!("verify/{}", file_name(path)));
    let Some(path) = verified else { return 0 };
    let object = CodeObject::parse(fixture(path)).unwrap();
    let debug = object
        .sections()
        .iter()
        .filter(|section| section.name.starts_with(".debug_"));
    debug
        .map(|section| {
            object
                .section(&section.name)
                .unwrap()
                .unwrap_or_default()
                .len()
        })
        .sum()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Loads a code object that is never freed.
pub(super) fn load(file: &'static [u8]) -> &'static Program<'static> {
    load_with(file, &Limits::DEFAULT)
}

/// Loads a code object with limits. It is never freed.
pub(super) fn load_with(file: &'static [u8], limits: &Limits) -> &'static Program<'static> {
    let object = keep(CodeObject::parse_with(file, limits).unwrap());
    keep(Program::load(object).unwrap())
}

/// Opens a code object, and returns true if there is a function at the address.
fn open_and_find(file: &[u8], pc: u64) -> bool {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let function = program.info().find_function(pc).unwrap();
    function.is_some_and(|function| function.name.is_some())
}
