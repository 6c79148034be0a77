//! Code objects: opening one, finding a function, and all that `verify` looks at.

use std::process::Command;

use hetdwarf::dump::{Dump, Part};
use hetdwarf::inspect::Program;
use hetdwarf::limits::Limits;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::verify;

use super::{Case, Maker, fixture, keep, maker, path_of};

/// What is opened: three functions in one unit, and 1.1 MB of GCC's.
const OPENED: [(&str, u64); 2] = [
    ("waves/calls-O2/calls-O2.rocm.hsaco", 0x1630),
    ("corpus/gcc12/offload-gfx906-O1.hsaco", 0x7090),
];

/// What is verified: not optimised code of LLVM, optimised code with ROCm's locations, and GCC's.
const VERIFIED: [&str; 3] = [
    "corpus/llvm24/pressure-gfx90a-O0.hsaco",
    "corpus/rocm-style/pressure-gfx90a-O2.hsaco",
    "corpus/gcc12/offload-gfx906-O1.hsaco",
];

/// What is dumped, and its sections as llvm-dwarfdump has them in its options.
const DUMPED: &str = "corpus/gcc12/offload-gfx906-O1.hsaco";
const DUMPS: [(&str, Part); 3] = [
    ("--debug-info", Part::Info),
    ("--debug-line", Part::Line),
    ("--debug-loclists", Part::Loclists),
];

/// The command that prints the same as the case of a name, of those of `dump`.
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

/// The debug sections of what the case of a name verifies, in bytes; 0 for any other case.
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

/// A code object that stays loaded.
pub(super) fn load(file: &'static [u8]) -> &'static Program<'static> {
    load_with(file, &Limits::DEFAULT)
}

/// The same within limits.
pub(super) fn load_with(file: &'static [u8], limits: &Limits) -> &'static Program<'static> {
    let object = keep(CodeObject::parse_with(file, limits).unwrap());
    keep(Program::load(object).unwrap())
}

/// From the bytes of a file to the function at an address.
fn open_and_find(file: &[u8], pc: u64) -> bool {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let function = program.info().find_function(pc).unwrap();
    function.is_some_and(|function| function.name.is_some())
}
