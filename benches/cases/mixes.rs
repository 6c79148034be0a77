//! Measures all location expressions of real objects, by class, in this crate and in gimli, as a debugger evaluates them at a stop.
//!
//! The objects are the GPU code of the fixtures, and x86 code of a database and of a C++ program, if `benches/mixes.sh` has built it. Every
//! `DW_AT_location` counts as often as it occurs, including the expressions in lists. Expressions that only one library evaluates are left
//! out: gimli knows no heterogeneous operations, and a few others differ. The table has their number.
//!
//! Registers and memory always hold the same number. The frame has a CFA and a caller, whose call site gives the values of registers on
//! entry. This crate shares arena and context among [`AT_A_STOP`] evaluations. gimli makes an `Evaluation` for each expression, with its
//! stacks on the heap.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::ops::Range;
use std::path::PathBuf;

use super::evaluators::{AT_A_STOP, CFA};
use super::{Case, Maker, keep, maker};
use fallible_iterator::FallibleIterator;
use gimli::{EndianSlice, Evaluation, EvaluationResult, LittleEndian, Value, ValueType};
use hetdwarf::arch::{AddressSpace, Register, WaveSize};
use hetdwarf::error::Need;
use hetdwarf::eval::{
    BaseType, BaseTypeEncoding, CallPlace, CallSite, Context, DieReference, ExpressionBytes, Frame,
    LocationAttribute, LocationEntry, Outcome, Procedure, Reading, Resolver, ResultKind,
    Subprogram, Unit, evaluate,
};
use hetdwarf::expr::{Encoding, Opcode, operations};
use hetdwarf::location::{Arena, LaneSelect, Location, Place, Storage};
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{AccessError, Memory, Wave};
use object::{Object, ObjectSection};

type Bytes = EndianSlice<'static, LittleEndian>;

/// The contents of every register and of all memory: a number that fits the smallest register.
const CONTENTS: u64 = 0x3456_7890;
/// `DW_OP_call_frame_cfa`, the frame base of most functions.
const FRAME_BASE: &[u8] = &[0x9c];
/// The value that the call site gives for a register: `DW_OP_breg16 +0`, the value of another register.
const CALL_VALUE: &[u8] = &[0x80, 0];
const PC: u64 = 0x1000;

/// The class of a location expression, by its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    All,
    Register,
    Fbreg,
    Breg,
    Address,
    EntryValue,
    StackValue,
    Pieces,
    Implicit,
    Other,
}

const CLASSES: [(Class, &str); 10] = [
    (Class::All, "all"),
    (Class::Register, "register"),
    (Class::Fbreg, "fbreg"),
    (Class::Breg, "breg"),
    (Class::Address, "address"),
    (Class::EntryValue, "entry value"),
    (Class::StackValue, "other stack value"),
    (Class::Pieces, "pieces"),
    (Class::Implicit, "implicit"),
    (Class::Other, "other"),
];

fn class_of(bytes: &[u8]) -> Class {
    let found = operations(bytes, Encoding::AMDGPU).map(|item| Ok(item.operation.opcode()));
    let found: Vec<Opcode> = found.collect().unwrap_or_default();
    let has = |opcodes: &[Opcode]| found.iter().any(|opcode| opcodes.contains(opcode));
    match found.as_slice() {
        [Opcode::Reg | Opcode::Regx] => Class::Register,
        _ if has(&[Opcode::EntryValue]) => Class::EntryValue,
        _ if has(&[Opcode::Piece, Opcode::BitPiece]) => Class::Pieces,
        _ if has(&[Opcode::ImplicitValue, Opcode::ImplicitPointer]) => Class::Implicit,
        _ if has(&[Opcode::StackValue]) => Class::StackValue,
        [Opcode::Fbreg] => Class::Fbreg,
        [Opcode::Breg | Opcode::Bregx] => Class::Breg,
        [Opcode::Addr | Opcode::Addrx] => Class::Address,
        _ => Class::Other,
    }
}

/// Replaces the registers in an x86 expression by AMDGPU registers of the same width, for both libraries. The evaluation otherwise does the
/// same.
fn with_amdgpu_registers(bytes: &[u8]) -> &'static [u8] {
    const BREG16: u8 = 0x80;
    let mut changed = bytes.to_vec();
    let mut items = operations(bytes, Encoding::AMDGPU);
    while let Ok(Some(item)) = items.next() {
        let at = item.offset;
        match item.operation.opcode() {
            Opcode::Breg => changed[at] = BREG16,
            // The first operand is the register, in one byte.
            Opcode::RegvalType => changed[at + 1] = 16,
            _ => {}
        }
    }
    keep(changed)
}

/// Returns the mixes: for each, its name, its objects, and true if they use AMDGPU's registers.
fn mixes() -> Vec<(&'static str, Vec<PathBuf>, bool)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut gpu = Vec::new();
    for folder in [
        "clang18",
        "gcc12",
        "llvm22",
        "llvm24",
        "rocm-style",
        "triton",
    ] {
        let files = std::fs::read_dir(root.join("dwarf-tests/fixtures/corpus").join(folder));
        let files = files.unwrap().map(|file| file.unwrap().path());
        gpu.extend(files.filter(|path| path.extension().is_some_and(|end| end == "hsaco")));
    }
    gpu.sort();
    let mut mixes = vec![("GPU", gpu, true)];
    for name in ["gcc", "clang", "c++"] {
        let path = root.join("target/mixes").join(name);
        if path.exists() {
            mixes.push((name, vec![path], false));
        }
    }
    mixes
}

pub(super) fn makers() -> Vec<Maker> {
    let mut makers = Vec::new();
    for (mix, paths, gpu) in mixes() {
        for (class, name) in CLASSES {
            for (who, run) in [
                ("hetdwarf", ours as fn(&'static World, &[Expression])),
                ("gimli", theirs),
            ] {
                let paths = paths.clone();
                makers.push(maker(format!("mix/{mix}: {name}/{who}"), move || {
                    let (world, expressions, _) = World::read(&paths, gpu);
                    let chosen = |known: &Expression| class == Class::All || known.class == class;
                    let chosen: Vec<Expression> = expressions.into_iter().filter(chosen).collect();
                    let times = u32::try_from(chosen.len()).unwrap();
                    Case::repeated(times.max(1), move || run(world, &chosen))
                }));
            }
        }
    }
    makers
}

/// Returns the number of expressions in each class of each mix, and the number of expressions that are left out.
pub(crate) fn sizes() -> BTreeMap<String, usize> {
    let mut sizes = BTreeMap::new();
    for (mix, paths, gpu) in mixes() {
        let (_, expressions, left_out) = World::read(&paths, gpu);
        sizes.insert(format!("{mix}: left out"), left_out);
        for (class, name) in CLASSES {
            let is_one = |known: &&Expression| class == Class::All || known.class == class;
            let count = expressions.iter().filter(is_one).count();
            sizes.insert(format!("{mix}: {name}"), count);
        }
    }
    sizes
}

struct Expression {
    ours: ExpressionBytes<'static>,
    class: Class,
}

/// The context of the evaluations.
#[derive(Default)]
struct World {
    gpu: bool,
    /// The base types by unit and offset.
    types: HashMap<(u32, u64), (gimli::DwAte, u64)>,
}

impl World {
    /// Reads the expressions of some objects that both libraries can evaluate. Also returns the number of the other expressions.
    fn read(paths: &[PathBuf], gpu: bool) -> (&'static World, Vec<Expression>, usize) {
        let mut world = World {
            gpu,
            ..World::default()
        };
        let (mut found, mut units) = (Vec::new(), 0);
        for path in paths {
            let dwarf = load(path, gpu);
            let mut headers = dwarf.units();
            while let Some(header) = headers.next().unwrap() {
                let Ok(unit) = dwarf.unit(header) else {
                    continue;
                };
                units += 1;
                world.read_unit(&dwarf, &unit, units, &mut found);
            }
        }
        let world = keep(world);
        let all = found.len();
        found.retain(|known| world.both_evaluate(known));
        let left_out = all - found.len();
        (world, found, left_out)
    }

    fn read_unit(
        &mut self,
        dwarf: &gimli::Dwarf<Bytes>,
        unit: &gimli::Unit<Bytes>,
        id: u32,
        found: &mut Vec<Expression>,
    ) {
        let mut entries = unit.entries();
        let mut known = Unit::unknown(Encoding::AMDGPU);
        known.id = id;
        let gpu = self.gpu;
        let mut add = |bytes: Bytes| {
            let bytes = match gpu {
                true => bytes.slice(),
                false => with_amdgpu_registers(bytes.slice()),
            };
            found.push(Expression {
                ours: ExpressionBytes::alone(bytes, known),
                class: class_of(bytes),
            });
        };
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() == gimli::DW_TAG_base_type
                && let (Some(gimli::AttributeValue::Encoding(encoding)), Some(size)) = (
                    entry.attr_value(gimli::DW_AT_encoding),
                    entry
                        .attr(gimli::DW_AT_byte_size)
                        .and_then(gimli::Attribute::udata_value),
                )
            {
                self.types
                    .insert((id, entry.offset().0 as u64), (encoding, size));
            }
            match entry.attr_value(gimli::DW_AT_location) {
                Some(gimli::AttributeValue::Exprloc(expression)) => add(expression.0),
                Some(value) => {
                    let Ok(Some(mut list)) = dwarf.attr_locations(unit, value) else {
                        continue;
                    };
                    while let Ok(Some(entry)) = list.next() {
                        add(entry.data.0);
                    }
                }
                None => {}
            }
        }
    }

    /// Returns true if both libraries evaluate an expression and find the same.
    fn both_evaluate(&'static self, known: &Expression) -> bool {
        let arena = Arena::new();
        let ours = match evaluate(&known.ours, ResultKind::Location, &self.context(&arena)) {
            Ok(Outcome::Location(location)) => Found::ours(&location),
            Ok(Outcome::Value(_)) | Err(_) => return false,
        };
        let Ok(theirs) = self.gimli(&known.ours) else {
            return false;
        };
        let theirs = Found::theirs(&theirs.result());
        assert!(
            ours == theirs,
            "{ours:?} {theirs:?} {:x?}",
            known.ours.bytes
        );
        true
    }

    /// Returns the context of a wave that stopped in a function.
    fn context<'c, 'a>(&'a self, arena: &'a Arena<'a>) -> Context<'c, 'a>
    where
        'a: 'c,
    {
        let frame_base = ExpressionBytes::alone(FRAME_BASE, Unit::unknown(Encoding::AMDGPU));
        Context::new(arena)
            .with_wave(self)
            .with_resolver(self)
            .with_frame(self)
            .with_pc(PC)
            .with_reading(Reading::Tolerant)
            .with_subprogram(Subprogram {
                frame_base: Some(LocationAttribute::Expression(frame_base)),
                ..Subprogram::default()
            })
    }

    fn gimli(&self, known: &ExpressionBytes<'static>) -> gimli::Result<Evaluation<Bytes>> {
        let mut evaluation = Evaluation::new(Bytes::new(known.bytes, LittleEndian), GIMLI);
        let mut next = evaluation.evaluate()?;
        loop {
            next = match next {
                EvaluationResult::Complete => return Ok(evaluation),
                EvaluationResult::RequiresRegister { base_type, .. } => {
                    let value = self.value(known.unit.id, base_type)?;
                    evaluation.resume_with_register(value)
                }
                EvaluationResult::RequiresMemory { base_type, .. } => {
                    let value = self.value(known.unit.id, base_type)?;
                    evaluation.resume_with_memory(value)
                }
                EvaluationResult::RequiresFrameBase => {
                    let base = self.nested(FRAME_BASE, known)?;
                    evaluation.resume_with_frame_base(base)
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(CFA)
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address)
                }
                EvaluationResult::RequiresIndexedAddress { .. } => {
                    evaluation.resume_with_indexed_address(CONTENTS)
                }
                EvaluationResult::RequiresEntryValue(expression) => {
                    let value = match expression.0.slice() {
                        // The entry value belongs to a register for which the call site gives a value.
                        [0x50..=0x6f] | [0x90, ..] => self.nested(CALL_VALUE, known)?,
                        bytes => self.nested(bytes, known)?,
                    };
                    evaluation.resume_with_entry_value(Value::Generic(value))
                }
                EvaluationResult::RequiresBaseType(offset) => {
                    let ty = self.value_type(known.unit.id, offset)?;
                    evaluation.resume_with_base_type(ty)
                }
                _ => return Err(gimli::Error::UnsupportedEvaluation),
            }?;
        }
    }

    fn nested(&self, bytes: &'static [u8], known: &ExpressionBytes<'static>) -> gimli::Result<u64> {
        let nested = self.gimli(&ExpressionBytes { bytes, ..*known })?;
        match nested.as_result() {
            [piece] => match piece.location {
                gimli::Location::Address { address } => Ok(address),
                gimli::Location::Value { value } => value.to_u64(u64::MAX),
                _ => Err(gimli::Error::UnsupportedEvaluation),
            },
            _ => Err(gimli::Error::UnsupportedEvaluation),
        }
    }

    fn value_type(&self, unit: u32, offset: gimli::UnitOffset) -> gimli::Result<ValueType> {
        if offset.0 == 0 {
            return Ok(ValueType::Generic);
        }
        let known = self.types.get(&(unit, offset.0 as u64));
        let ty = known.and_then(|(encoding, size)| ValueType::from_encoding(*encoding, *size));
        ty.ok_or(gimli::Error::UnsupportedEvaluation)
    }

    fn value(&self, unit: u32, ty: gimli::UnitOffset) -> gimli::Result<Value> {
        let ty = self.value_type(unit, ty)?;
        Value::from_u64(ty, CONTENTS)
    }
}

/// A result, in the detail that both libraries report.
#[derive(Debug, PartialEq)]
enum Found {
    Value,
    Address(u64),
    Register,
    Bytes(usize),
    ImplicitPointer,
    Nothing,
    Pieces,
}

impl Found {
    fn ours(location: &Location<'_>) -> Found {
        match &location.single().unwrap().storage {
            Storage::Value { .. } => Found::Value,
            Storage::Composite(_) => Found::Pieces,
            Storage::Register(_) => Found::Register,
            Storage::Constant(bytes) => Found::Bytes(bytes.len()),
            Storage::ImplicitPointer(_) => Found::ImplicitPointer,
            Storage::Undefined => Found::Nothing,
            Storage::Memory { .. } => Found::Address(location.byte_address().unwrap().1),
        }
    }

    fn theirs(pieces: &[gimli::Piece<Bytes>]) -> Found {
        match pieces {
            [piece] if piece.size_in_bits.is_none() => match piece.location {
                gimli::Location::Value { .. } => Found::Value,
                gimli::Location::Address { address } => Found::Address(address),
                gimli::Location::Register { .. } => Found::Register,
                gimli::Location::Bytes { value } => Found::Bytes(value.len()),
                gimli::Location::ImplicitPointer { .. } => Found::ImplicitPointer,
                gimli::Location::Empty => Found::Nothing,
            },
            _ => Found::Pieces,
        }
    }
}

fn ours(world: &'static World, expressions: &[Expression]) {
    for stop in expressions.chunks(AT_A_STOP as usize) {
        let arena = Arena::new();
        let context = world.context(&arena);
        for known in stop {
            let outcome = evaluate(black_box(&known.ours), ResultKind::Location, &context);
            black_box(&outcome);
        }
    }
}

fn theirs(world: &'static World, expressions: &[Expression]) {
    for known in expressions {
        let evaluation = world.gimli(black_box(&known.ours)).unwrap();
        black_box(evaluation.as_result());
    }
}

const GIMLI: gimli::Encoding = gimli::Encoding {
    address_size: 8,
    format: gimli::Format::Dwarf32,
    version: 5,
};

fn load(path: &PathBuf, gpu: bool) -> gimli::Dwarf<Bytes> {
    let file: &'static [u8] = keep(std::fs::read(path).unwrap());
    let bytes = |bytes| Ok::<_, gimli::Error>(Bytes::new(bytes, LittleEndian));
    if gpu {
        let object = keep(CodeObject::parse(file).unwrap());
        let section = |name: &str| object.section(name).unwrap().unwrap_or_default();
        return gimli::Dwarf::load(|id| bytes(section(id.name()))).unwrap();
    }
    let file = object::File::parse(file).unwrap();
    let section = |name: &str| {
        file.section_by_name(name)
            .map(|section| section.data().unwrap())
    };
    gimli::Dwarf::load(|id| bytes(section(id.name()).unwrap_or_default())).unwrap()
}

/// Fills a buffer with the contents. Nearly all reads are of four or eight bytes.
fn fill(out: &mut [u8]) {
    for (out, byte) in out.iter_mut().zip(CONTENTS.to_le_bytes()) {
        *out = byte;
    }
}

impl Wave for World {
    fn wave_size(&self) -> WaveSize {
        WaveSize::Wave64
    }

    fn read_register(&self, _: Register, _: Range<u32>, out: &mut [u8]) -> Result<(), AccessError> {
        fill(out);
        Ok(())
    }

    fn read_memory(&self, _: Memory, _: u64, out: &mut [u8]) -> Result<(), AccessError> {
        fill(out);
        Ok(())
    }
}

impl<'a> Resolver<'a> for World {
    fn procedure(&self, _: Unit, _: DieReference) -> hetdwarf::Result<Procedure<'a>> {
        Err(Need::Unit.into())
    }

    fn base_type(&self, unit: Unit, offset: u64) -> hetdwarf::Result<BaseType> {
        let known = self.types.get(&(unit.id, offset));
        let (encoding, size) = known.ok_or(Need::Unit)?;
        let encoding = match *encoding {
            gimli::DW_ATE_signed => BaseTypeEncoding::Signed,
            gimli::DW_ATE_signed_char => BaseTypeEncoding::SignedChar,
            gimli::DW_ATE_unsigned_char => BaseTypeEncoding::UnsignedChar,
            gimli::DW_ATE_float => BaseTypeEncoding::Float,
            gimli::DW_ATE_boolean => BaseTypeEncoding::Boolean,
            _ => BaseTypeEncoding::Unsigned,
        };
        Ok(BaseType::scalar(encoding, u32::try_from(size * 8).unwrap()))
    }

    fn address(&self, _: Unit, _: u64) -> hetdwarf::Result<u64> {
        Ok(CONTENTS)
    }

    fn location_list(
        &self,
        _: Unit,
        _: u64,
        _: u64,
        _: &mut dyn FnMut(Option<LocationEntry<'a>>) -> hetdwarf::Result<()>,
    ) -> hetdwarf::Result<()> {
        Err(Need::Unit.into())
    }

    fn call_site(&self, _: Register, _: CallPlace) -> hetdwarf::Result<CallSite<'a>> {
        let unit = Unit::unknown(Encoding::AMDGPU);
        Ok(CallSite::Value {
            value: ExpressionBytes::alone(CALL_VALUE, unit),
            subprogram: Subprogram::default(),
        })
    }
}

/// The innermost frame, which is its own caller.
impl<'a> Frame<'a> for World {
    fn register(&self, register: Register) -> hetdwarf::Result<Location<'a>> {
        // This register is as wide as the registers of x86.
        let wide = Register::pc();
        Ok(Location::register(if self.gpu { register } else { wide }))
    }

    fn entry_register(&self, register: Register) -> hetdwarf::Result<Location<'a>> {
        Frame::register(self, register)
    }

    fn cfa(&self) -> hetdwarf::Result<Location<'a>> {
        let memory = Storage::Memory {
            space: AddressSpace::None,
            lane: LaneSelect::None,
        };
        Ok(Location::One(Place::new(memory, u128::from(CFA) * 8)))
    }

    fn with_caller(
        &self,
        visit: &mut dyn FnMut(&dyn Frame<'a>, u64) -> hetdwarf::Result<()>,
    ) -> hetdwarf::Result<bool> {
        visit(self, PC)?;
        Ok(true)
    }
}
