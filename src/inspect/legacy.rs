//! Reads the locations of units without the extensions, for a frame or for a program.

use smallvec::SmallVec;

use super::plan::PlannedVariable;
use super::program::Program;
use super::stop::StopFrame;
use crate::arch::{AddressSpace, Register, ScratchAddressing, WaveSize};
use crate::debug_info::{
    DebugInfo, Function, LocationConvention, UnitConvention, UnitId, Variable, VariableKind,
};
use crate::error::{Ambiguity, ErrorKind, Result};
use crate::eval::{
    BaseType, CallPlace, CallSite, DieReference, Doubt, ExpressionBytes, IntegerType, LegacyBase,
    LegacyFrame, LegacyUnit, LocationAttribute, LocationEntry, Meaning, ObjectShape, Procedure,
    Reading, Resolver, SlotPointer, Subprogram, Unit, rewrite_legacy, single_register,
};
use crate::expr::{Encoding, Opcode, Operation, first_code, operations};
use crate::location::Arena;
use crate::meter::Meter;
use crate::object::descriptor::KernelDescriptor;
use crate::object::{Kernel, SymbolSection};
use fallible_iterator::FallibleIterator;

/// Returns a function's access to its stack. Without a function it is unknown.
fn legacy_frame(
    program: &Program<'_>,
    wave_size: WaveSize,
    function: Option<&Function<'_>>,
) -> LegacyFrame {
    let frame_base = function.map(|function| (function, function.frame_base));
    let base = match frame_base {
        Some((_, Some(LocationAttribute::Expression(expression)))) => {
            single_register(&expression).map_or(LegacyBase::Unknown, LegacyBase::Register)
        }
        Some((function, None)) if frame_starts_at_zero(program, function) => LegacyBase::Zero,
        Some((_, Some(LocationAttribute::List { .. }) | None)) | None => LegacyBase::Unknown,
    };
    match program.processor().scratch_addressing() {
        Some(ScratchAddressing::Buffer) => LegacyFrame {
            base,
            scaled_by: Some(wave_size),
        },
        Some(_) => LegacyFrame {
            base,
            scaled_by: None,
        },
        // A frame at address 0 does not depend on the processor.
        None => LegacyFrame {
            base: if base == LegacyBase::Zero {
                base
            } else {
                LegacyBase::Unknown
            },
            scaled_by: None,
        },
    }
}

/// Returns true for a kernel whose frame is the first in the lane's private memory. If waves can allocate more vector registers dynamically, memory
/// may be reserved for these before it.
fn frame_starts_at_zero(program: &Program<'_>, function: &Function<'_>) -> bool {
    let descriptor = program
        .kernel_of(function)
        .and_then(|kernel| kernel.descriptor.as_ref());
    program.is_kernel(function) && !descriptor.is_some_and(KernelDescriptor::has_dynamic_vgprs)
}

/// The base of `DW_OP_fbreg` in a kernel without `DW_AT_frame_base`.
const START_OF_PRIVATE: ExpressionBytes<'static> = {
    // DW_OP_lit0, DW_OP_lit5, DW_OP_LLVM_user DW_OP_LLVM_form_aspace_address
    let bytes = &[0x30, 0x35, 0xe9, 0x02];
    ExpressionBytes::alone(bytes, Unit::unknown(Encoding::AMDGPU))
};

/// Returns the attributes of a function that expressions need. An optimized kernel has no `DW_AT_frame_base`: LLVM omits it if no register holds the
/// start of the frame.
pub(super) fn subprogram<'p>(
    program: &Program<'p>,
    function: &Function<'p>,
    reader: &UnitReader<'_, '_>,
) -> Subprogram<'p> {
    let subprogram = function.subprogram();
    let is_left_out = subprogram.frame_base.is_none()
        && !matches!(reader, UnitReader::Strict)
        && frame_starts_at_zero(program, function);
    if is_left_out {
        return Subprogram {
            frame_base: Some(LocationAttribute::Expression(START_OF_PRIVATE)),
            ..subprogram
        };
    }
    subprogram
}

/// Translates the locations of a unit without the extensions. As a [`Resolver`], it returns translated locations for references in expressions.
pub(super) struct LegacyReader<'p, 'a> {
    asked: Asked<'p, 'a>,
    info: &'p DebugInfo<'a>,
    convention: UnitConvention,
    legacy_frame: LegacyFrame,
    kernel: Option<&'p Kernel>,
    /// True if the unit's version of DWARF has `DW_OP_stack_value`.
    has_stack_value: bool,
}

/// The setting in which units are read: a frame, or a program without a frame.
#[derive(Clone, Copy)]
pub(super) struct Asked<'p, 'a> {
    pub(super) program: &'p Program<'a>,
    pub(super) reading: Reading,
    /// The size of the waves, by which frame registers can be scaled.
    pub(super) wave_size: WaveSize,
    /// The arena for translated expressions.
    pub(super) arena: &'p Arena<'p>,
    pub(super) meter: &'p Meter,
}

impl<'p, 'a> Asked<'p, 'a> {
    pub(super) fn of_frame(frame: &StopFrame<'_, 'p, 'a>) -> Asked<'p, 'a> {
        let stop = frame.stop();
        Asked {
            program: stop.program(),
            reading: stop.options().reading,
            wave_size: frame.wave_size(),
            arena: stop.arena(),
            meter: stop.meter(),
        }
    }
}

impl<'p, 'a> LegacyReader<'p, 'a> {
    fn new(
        asked: Asked<'p, 'a>,
        function: Option<&Function<'a>>,
        convention: UnitConvention,
        version: u16,
    ) -> LegacyReader<'p, 'a> {
        let program = asked.program;
        LegacyReader {
            asked,
            info: program.info(),
            convention,
            legacy_frame: legacy_frame(program, asked.wave_size, function),
            kernel: function.and_then(|function| program.kernel_of(function)),
            has_stack_value: version >= 4,
        }
    }

    /// Translates an expression for an object, if its size is known. Charges for its length, since translating is work like evaluating.
    pub(super) fn meaning(
        &self,
        expression: &ExpressionBytes<'p>,
        object: Option<ObjectShape>,
    ) -> Result<Meanings<'p>> {
        self.pay(expression)?;
        let meaning = rewrite_legacy(expression, object, &self.legacy_frame, self);
        Ok(self.keep(expression, &meaning))
    }

    /// Translates the location of a variable, and keeps the result in its plan. A repeated query is charged the same.
    pub(super) fn planned_meaning(
        &self,
        expression: &ExpressionBytes<'p>,
        object: ObjectShape,
        variable: &PlannedVariable<'_>,
    ) -> Result<Meanings<'p>> {
        /// The maximum length in real code. A longer location is not kept, because many variables could share it.
        const LONGEST: usize = 128;
        if expression.bytes.len() > LONGEST {
            return self.meaning(expression, Some(object));
        }
        let wave_size = self.asked.wave_size;
        let read = || {
            let frame = &self.legacy_frame;
            let meaning = rewrite_legacy(expression, Some(object), frame, self);
            (object, wave_size, meaning)
        };
        match variable.meaning.get_or_init(read) {
            (known, size, meaning) if (*known, *size) == (object, wave_size) => {
                self.pay(expression)?;
                Ok(self.keep(expression, meaning))
            }
            _ => self.meaning(expression, Some(object)),
        }
    }

    /// Returns the pointer in a slot that leads to a variable, if it may differ from a generic one.
    ///
    /// For a result in memory from the caller, Clang keeps the address in a slot (`result.ptr`). If that address is in the private address space, it
    /// has 4 bytes. Such a variable has its function's result type, which is a class. For a variable whose location gives private memory for the slot
    /// itself, the pointer may be a private one too.
    ///
    /// * `address`: the address of the frame.
    pub(super) fn slot_pointer(
        &self,
        variable: &Variable<'_>,
        function: &Function<'_>,
        is_class: bool,
        address: u64,
    ) -> Result<SlotPointer> {
        let Some(LocationAttribute::Expression(expression)) = variable.location else {
            return Ok(SlotPointer::Generic);
        };
        // Hardly any location ends like this.
        if expression.bytes.last() != Some(&DEREF) {
            return Ok(SlotPointer::Generic);
        }
        let Some(slot) = Slot::of(&expression).filter(|slot| slot.leads_to_object) else {
            return Ok(SlotPointer::Generic);
        };
        let space = slot.space.and_then(|number| self.space(number));
        let is_own = variable.scope == function.name;
        let is_result = variable.kind == VariableKind::Variable
            && is_class
            && (!is_own || variable.ty == function.result);
        if space != Some(AddressSpace::PrivateLane) && !is_result {
            return Ok(SlotPointer::Generic);
        }
        let known = (self.info).known_variables(function.die, address);
        let others = known.iter().flat_map(|known| &known.variables);
        // Another variable begins before the end of a slot of 8 bytes.
        let is_cut = others.into_iter().any(|other| match other.location {
            Some(LocationAttribute::Expression(expression)) => {
                let start = Slot::of(&expression).map(|other| other.offset);
                let between = start.and_then(|start| start.checked_sub(slot.offset));
                between.is_some_and(|bytes| (1..8).contains(&bytes))
            }
            Some(LocationAttribute::List { .. }) | None => false,
        });
        Ok(if is_cut {
            SlotPointer::Private
        } else {
            SlotPointer::Unknown
        })
    }

    pub(super) fn asked(&self) -> &Asked<'p, 'a> {
        &self.asked
    }

    /// Translates the location of a boolean in scalar registers; see `truth`. Returns `None` if it needs no special treatment.
    pub(super) fn truth_meaning(
        &self,
        expression: &ExpressionBytes<'p>,
        pc: u64,
    ) -> Result<Option<Meanings<'p>>> {
        let meaning = self.truth_value(expression, pc)?;
        Ok(meaning.map(|meaning| self.keep(expression, &meaning)))
    }

    fn pay(&self, expression: &ExpressionBytes<'p>) -> Result<()> {
        let length = expression.bytes.len() as u64;
        self.asked.meter.work(length.div_ceil(8))
    }

    /// Returns the readings of an expression, stored in the arena.
    fn keep(&self, expression: &ExpressionBytes<'p>, meaning: &Meaning) -> Meanings<'p> {
        let unit = Unit {
            encoding: expression.unit.encoding.in_memory(),
            ..expression.unit
        };
        let keep = |bytes: &Vec<u8>| ExpressionBytes {
            bytes: self.asked.arena.keep(bytes),
            unit,
            ..*expression
        };
        Meanings {
            readings: meaning.readings.iter().map(keep).collect(),
            doubts: meaning.doubts.clone(),
        }
    }

    /// Rejects the location of an object with a run-time size, unless it is in memory: no register holds an array of variable length.
    pub(super) fn check_memory(&self, expression: &ExpressionBytes<'p>) -> Result<()> {
        let large = ObjectShape {
            bits: u64::MAX,
            byte_elements: false,
            slot_pointer: SlotPointer::Generic,
        };
        let doubts = self.meaning(expression, Some(large))?.doubts;
        doubts
            .first()
            .map_or(Ok(()), |doubt| Err(doubt.reason.into()))
    }

    /// Returns the translation of an expression if it is unambiguous.
    fn one(&self, expression: ExpressionBytes<'p>) -> Result<ExpressionBytes<'p>> {
        let meanings = self.meaning(&expression, None)?;
        if let Some(doubt) = meanings.doubts.first() {
            return Err(doubt.reason.into());
        }
        match meanings.readings.as_slice() {
            [reading] => Ok(*reading),
            _ => Err(Ambiguity::Reading.into()),
        }
    }

    /// Translates the expression of a value, which must be unambiguous. Only locations can be ambiguous, so it is translated as the location of a
    /// value, and the final `DW_OP_stack_value` is removed.
    fn one_value(&self, value: ExpressionBytes<'p>) -> Result<ExpressionBytes<'p>> {
        let bytes = [value.bytes, &[STACK_VALUE]].concat();
        let bytes = self.asked.arena.keep(bytes);
        let meant = self.one(ExpressionBytes { bytes, ..value })?;
        let bytes = meant.bytes.strip_suffix(&[STACK_VALUE]);
        let bytes = bytes.ok_or(ErrorKind::Unsupported(
            "a DW_AT_call_value of a legacy unit that gives a location",
        ))?;
        Ok(ExpressionBytes { bytes, ..meant })
    }

    /// Translates the location in an attribute, which must be unambiguous.
    pub(super) fn attribute(
        &self,
        attribute: LocationAttribute<'p>,
    ) -> Result<LocationAttribute<'p>> {
        match attribute {
            LocationAttribute::Expression(expression) => {
                self.one(expression).map(LocationAttribute::Expression)
            }
            // Its expressions are translated when they are selected.
            LocationAttribute::List { .. } => Ok(attribute),
        }
    }
}

/// The stack slot that a location begins with.
struct Slot {
    /// The operand of `DW_OP_fbreg`.
    offset: i64,
    /// The number of the slot's address space, if the location gives one.
    space: Option<u64>,
    /// True if the location is the target of the pointer in the slot.
    leads_to_object: bool,
}

impl Slot {
    fn of(expression: &ExpressionBytes<'_>) -> Option<Slot> {
        let mut items = operations(expression.bytes, expression.unit.encoding);
        let mut next = || items.next().ok().flatten().map(|item| item.operation);
        let Operation::Fbreg { offset } = next()? else {
            return None;
        };
        let mut second = next();
        let space = second.and_then(|operation| operation.constant());
        if space.is_some() {
            let is_space = next() == Some(Operation::Swap) && next() == Some(Operation::Xderef);
            second = if is_space { next() } else { None };
        }
        Some(Slot {
            offset,
            space,
            leads_to_object: second == Some(Operation::Deref) && next().is_none(),
        })
    }
}

/// The translations of an expression, one for each reading, and the unknown bits.
pub(super) struct Meanings<'p> {
    pub(super) readings: SmallVec<[ExpressionBytes<'p>; 1]>,
    pub(super) doubts: Vec<Doubt>,
}

impl LegacyUnit for LegacyReader<'_, '_> {
    fn space(&self, number: u64) -> Option<AddressSpace> {
        self.convention.address_spaces.space(number)
    }

    fn integer(&self, unit: Unit, offset: u64) -> Option<IntegerType> {
        self.info.integer_type(unit, offset)
    }

    fn address(&self, unit: Unit, index: u64) -> Result<u64> {
        (&self.info).address(unit, index)
    }

    fn is_loaded(&self, address: u64) -> bool {
        let object = self.asked.program.object();
        // Unlinked sections have synthetic addresses.
        !object.is_relocatable()
            && object.sections().iter().any(|section| {
                section.allocated
                    && address
                        .checked_sub(section.address)
                        .is_some_and(|within| within < section.size)
            })
    }

    fn has_stack_value(&self) -> bool {
        self.has_stack_value
    }

    fn is_local(&self, address: u64, object_bits: Option<u64>) -> bool {
        if address != 0 {
            return true;
        }
        let object = self.asked.program.object();
        let symbols = object.symbols().unwrap_or_default();
        let undefined = symbols
            .iter()
            .any(|symbol| symbol.section == SymbolSection::Undefined && !symbol.name.is_empty());
        if !symbols.is_empty() && !undefined {
            return true;
        }
        // An object that fills all of the kernel's local memory starts at its beginning.
        let size = |kernel: &Kernel| {
            let descriptor = kernel.descriptor.as_ref();
            descriptor.map(|descriptor| u64::from(descriptor.group_segment_fixed_size()))
        };
        let bytes = object_bits.map(|bits| bits.div_ceil(8));
        match self.kernel {
            Some(kernel) => bytes.is_some() && size(kernel) == bytes,
            None => {
                let kernels = object.kernels().unwrap_or_default();
                let mut sizes = kernels.iter().map(size).filter(|size| *size != Some(0));
                !kernels.is_empty() && bytes.is_some() && sizes.all(|size| size == bytes)
            }
        }
    }
}

impl<'p> Resolver<'p> for LegacyReader<'p, '_> {
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'p>> {
        let procedure = (&self.info).procedure(unit, die)?;
        let Procedure::Location(attribute) = procedure else {
            return Ok(procedure);
        };
        self.attribute(attribute).map(Procedure::Location)
    }

    fn base_type(&self, unit: Unit, offset: u64) -> Result<BaseType> {
        (&self.info).base_type(unit, offset)
    }

    fn address(&self, unit: Unit, index: u64) -> Result<u64> {
        (&self.info).address(unit, index)
    }

    fn location_list(
        &self,
        unit: Unit,
        offset: u64,
        pc: u64,
        visit: &mut dyn FnMut(Option<LocationEntry<'p>>) -> Result<()>,
    ) -> Result<()> {
        Resolver::location_list(&self.info, unit, offset, pc, visit)
    }

    fn as_meant(&self, expression: ExpressionBytes<'p>) -> Result<ExpressionBytes<'p>> {
        self.one(expression)
    }

    fn call_site(&self, register: Register, call: CallPlace) -> Result<CallSite<'p>> {
        let found = (&self.info).call_site(register, call)?;
        let CallSite::Value { value, subprogram } = found else {
            return Ok(found);
        };
        let mut items = operations(value.bytes, value.unit.encoding);
        while let Some(item) = items.next()? {
            if matches!(item.operation, Operation::Fbreg { .. }) {
                // The frame known here is the callee's.
                let what = "DW_OP_fbreg in the DW_AT_call_value of a legacy unit";
                return Err(ErrorKind::Unsupported(what).into());
            }
        }
        Ok(CallSite::Value {
            value: self.one_value(value)?,
            subprogram,
        })
    }
}

/// The convention for reading the locations of a unit.
pub(super) enum UnitReader<'p, 'a> {
    /// Strictly.
    Strict,
    /// Strictly, in a unit that uses lanes.
    NamedLanes,
    /// In LLVM's convention for units without the extensions.
    Legacy(LegacyReader<'p, 'a>),
}

impl<'p, 'a> UnitReader<'p, 'a> {
    /// * `function`: the frame's function, if there is one.
    pub(super) fn new(
        asked: Asked<'p, 'a>,
        function: Option<&Function<'a>>,
        unit: UnitId,
    ) -> Result<UnitReader<'p, 'a>> {
        if asked.reading == Reading::Strict {
            return Ok(UnitReader::Strict);
        }
        let convention = asked.program.info().convention(unit)?;
        Ok(match convention.locations {
            LocationConvention::Gnu => UnitReader::Strict,
            LocationConvention::Augmented | LocationConvention::Extended { .. } => {
                UnitReader::NamedLanes
            }
            LocationConvention::LaneDword => {
                let version = asked.program.info().version(unit)?;
                UnitReader::Legacy(LegacyReader::new(asked, function, convention, version))
            }
        })
    }

    /// Returns the reader of locations that follow the producer's conventions.
    pub(super) fn legacy(&self) -> Option<&LegacyReader<'p, 'a>> {
        match self {
            UnitReader::Legacy(legacy) => Some(legacy),
            UnitReader::Strict | UnitReader::NamedLanes => None,
        }
    }

    /// Rejects a location that takes an address from a vector register without a lane, in a unit that uses lanes. As specified, that is the address
    /// in lanes 0 and 1 together, for all lanes.
    pub(super) fn check(&self, expression: &ExpressionBytes<'_>) -> Result<()> {
        if !matches!(self, UnitReader::NamedLanes) || !expression.bytes.contains(&BREGX) {
            return Ok(());
        }
        let mut items = operations(expression.bytes, expression.unit.encoding);
        // Decoding errors are left to the evaluation.
        while let Ok(Some(item)) = items.next() {
            if let Operation::Bregx { register, .. } = item.operation
                && Register::from_number(register).is_some_and(Register::is_vector)
            {
                return Err(Ambiguity::LaneOfAddress.into());
            }
        }
        Ok(())
    }
}

/// The code of `DW_OP_stack_value`.
const STACK_VALUE: u8 = first_code(Opcode::StackValue);

/// The code of `DW_OP_deref`.
const DEREF: u8 = first_code(Opcode::Deref);

/// The code of `DW_OP_bregx`. No vector register has a number that `DW_OP_breg0` to `DW_OP_breg31` could name.
const BREGX: u8 = first_code(Opcode::Bregx);
