//! Translates the location lists of variables into machine registers. These are the starting points for following values into ranges without a
//! location.
//!
//! Each range of a list is evaluated as for a stop at its first address, with an empty wave. Register locations do not need the contents of
//! registers.

use core::ops::Range;
use std::sync::Arc;

use fallible_iterator::FallibleIterator;

use super::kernel_argument::is_body_of;
use super::kernel_entry::{descriptor_of, kernel_entry};
use super::plan::FramePlan;
use super::program::Program;
use super::prologue::{entry_range, prologue_end};
use super::stop::{Stop, StopOptions};
use super::value::VariableValue;
use crate::arch::{LoadAddress, ProcessAddress, Register, RegisterClass, WaveSize};
use crate::debug_info::types::{TypeId, TypeKind, TypeTable};
use crate::debug_info::{Function, InlinedCall, Variable, VariableKind};
use crate::display::shape;
use crate::error::Result;
use crate::eval::{BaseTypeEncoding, LocationAttribute, LocationRange};
use crate::isa::MachineRegister;
use crate::location::{Arena, Location, Place, Storage};
use crate::meter::Meter;
use crate::value_flow::{ARGUMENTS, Cell, Covered, Dword, KernelEntry, OnEntry, Watched};
use crate::wave::{AccessError, Memory, Wave};

/// The maximum number of location list ranges evaluated for a function.
const MOST_RANGES: usize = 1 << 12;
/// The maximum size in dwords of a variable that is followed.
const MOST_DWORDS: u64 = 64;

/// A wave without registers and memory.
struct UnknownWave(WaveSize);

impl Wave for UnknownWave {
    fn wave_size(&self) -> WaveSize {
        self.0
    }

    fn read_register(
        &self,
        _: Register,
        _: Range<u32>,
        _: &mut [u8],
    ) -> core::result::Result<(), AccessError> {
        Err(AccessError::Unavailable)
    }

    fn read_memory(
        &self,
        _: Memory,
        _: u64,
        _: &mut [u8],
    ) -> core::result::Result<(), AccessError> {
        Err(AccessError::Unavailable)
    }
}

/// A variable to follow.
pub(super) struct Followed<'v, 'a> {
    pub(super) variable: &'v Arc<Variable<'a>>,
    /// The innermost inlined call that it is in.
    pub(super) call: Option<&'v InlinedCall<'a>>,
}

/// The ranges in which the debugging information locates the variables of a function.
pub(super) struct Given<'c, 'a> {
    program: &'c Program<'a>,
    wave: UnknownWave,
    function: &'c Function<'a>,
    meter: &'c Meter,
    kernel: Option<KernelEntry>,
    left: usize,
}

impl<'c, 'a> Given<'c, 'a> {
    pub(super) fn new(
        program: &'c Program<'a>,
        wave_size: WaveSize,
        function: &'c Function<'a>,
        meter: &'c Meter,
    ) -> Given<'c, 'a> {
        Given {
            program,
            wave: UnknownWave(wave_size),
            function,
            meter,
            kernel: descriptor_of(program, function).map(kernel_entry),
            left: MOST_RANGES,
        }
    }

    /// Returns the steps charged for finding it. The result is kept, so the charge must not depend on earlier results.
    pub(super) fn steps(&self) -> u64 {
        /// The cost of evaluating a range as for a stop, in steps.
        const PER_RANGE: u64 = 64;
        (MOST_RANGES - self.left) as u64 * PER_RANGE
    }

    /// Returns the starting points for each variable of a plan, in the plan's order.
    ///
    /// * `calls`: the inlined calls at the address of the plan, innermost first.
    ///
    /// # Errors
    /// If the cost exceeds the limit.
    pub(super) fn watched(
        &mut self,
        plan: &FramePlan<'a>,
        calls: &[InlinedCall<'a>],
        types: &mut TypeTable,
    ) -> Result<Vec<Watched>> {
        let variables = plan.variables.iter().enumerate();
        let variables: Vec<Followed<'_, 'a>> = variables
            .map(|(index, planned)| Followed {
                variable: &planned.variable,
                call: calls.get(plan.depth_of(index)),
            })
            .collect();
        self.watched_of(&variables, types)
    }

    /// Returns the starting points for some variables of the function, including all its own parameters.
    ///
    /// # Errors
    /// If the cost exceeds the limit.
    pub(super) fn watched_of(
        &mut self,
        variables: &[Followed<'_, 'a>],
        types: &mut TypeTable,
    ) -> Result<Vec<Watched>> {
        let watched = variables.iter().map(|one| {
            let mut watched = self.of_variable(one.variable, types)?;
            if let Some(entry) = self.argument(one.variable, types)? {
                watched.on_entry = Some(entry);
            }
            // The function with the code of an OpenCL kernel, inlined in the kernel, is entered once.
            let call = one.call.filter(|call| !self.is_body_of_kernel(call));
            if let Some(call) = call {
                watched.activation.clone_from(&call.ranges);
            }
            Ok(watched)
        });
        let mut watched: Vec<Watched> = watched.collect::<Result<_>>()?;
        self.fill_parameters(variables, types, &mut watched)?;
        Ok(watched)
    }

    /// Returns true if some ranges of location lists were left out because of the limit.
    pub(super) fn is_cut(&self) -> bool {
        self.left == 0
    }

    fn is_body_of_kernel(&self, call: &InlinedCall<'a>) -> bool {
        let kernel = self.program.kernel_of(self.function);
        let name = call.linkage_name.as_deref();
        kernel
            .zip(name)
            .is_some_and(|(kernel, name)| is_body_of(kernel, name))
    }

    /// Returns the argument pointer of a kernel on entry, as a variable to follow. Returns an empty one for other functions.
    pub(super) fn kernarg_pointer(&self) -> Watched {
        let range = self.function.ranges.first();
        let on_entry = self.pointer().zip(range).map(|(pointer, range)| {
            let dwords = pointer.map(|register| Dword::In(Cell::Scalar(register)));
            OnEntry {
                address: range.start,
                dwords: dwords.to_vec(),
                is_assumed: false,
            }
        });
        Watched {
            on_entry,
            ..Watched::default()
        }
    }

    fn pointer(&self) -> Option<[MachineRegister; 2]> {
        self.kernel()?.kernarg_pointer
    }

    /// Returns the registers on entry, if the function is a kernel.
    pub(super) const fn kernel(&self) -> Option<&KernelEntry> {
        self.kernel.as_ref()
    }

    /// Returns the value of a kernel's parameter on entry: an argument in memory, which the kernel may have loaded.
    fn argument(&self, variable: &Variable<'a>, types: &mut TypeTable) -> Result<Option<OnEntry>> {
        let (Some(_), Some(range)) = (self.pointer(), self.function.ranges.first()) else {
            return Ok(None);
        };
        let ty = self
            .program
            .info()
            .read_type(types, variable.ty, self.meter)?;
        let bytes = shape::resolve(types, ty).ty.byte_size;
        let offset = bytes
            .filter(|bytes| bytes.div_ceil(4) <= MOST_DWORDS)
            .and_then(|bytes| {
                let offset = self
                    .program
                    .argument_offset(variable, self.function, bytes)?;
                Some((u32::try_from(offset).ok()?, bytes.div_ceil(4)))
            });
        let Some((first, count)) = offset.filter(|(offset, _)| offset % 4 == 0) else {
            return Ok(None);
        };
        let offsets = (0..count).zip((first..).step_by(4));
        Ok(Some(OnEntry {
            address: range.start,
            dwords: offsets.map(|(_, offset)| Dword::Kernarg(offset)).collect(),
            is_assumed: false,
        }))
    }

    /// Finds the registers on entry for parameters that the debugging information never locates there. Arguments are in consecutive vector registers
    /// from v0 on. Parameters between two known ones are therefore known if they exactly fill the gap.
    ///
    /// Source: USAGE "Non-Kernel Functions", "Call Convention".
    fn fill_parameters(
        &self,
        variables: &[Followed<'_, 'a>],
        types: &mut TypeTable,
        watched: &mut [Watched],
    ) -> Result<()> {
        let info = self.program.info();
        let (Some(range), false) = (
            entry_range(self.function),
            self.program.is_kernel(self.function),
        ) else {
            return Ok(());
        };
        let mut parameters: Vec<Argument> = Vec::new();
        for (index, (followed, one)) in variables.iter().zip(&*watched).enumerate() {
            let variable = followed.variable;
            let is_own = variable.scope_die == Some(self.function.die);
            let Some(position) = variable.position.filter(|_| is_own) else {
                continue;
            };
            let ty = info.read_type(types, variable.ty, self.meter)?;
            parameters.push(Argument {
                position,
                index,
                dwords: scalar_dwords(types, ty),
                first: one
                    .on_entry
                    .as_ref()
                    .and_then(|entry| first_register(&entry.dwords)),
            });
        }
        parameters.sort_by_key(|one| one.position);
        let is_complete = (0..).zip(&parameters).all(|(n, one)| one.position == n);
        if !is_complete {
            return Ok(());
        }
        // The next register, if known. The address for a large result is passed first.
        let result = info.read_type(types, self.function.result, self.meter)?;
        let is_plain = self.function.result.is_none() || scalar_dwords(types, result).is_some();
        let mut next = is_plain.then_some(0_u16);
        let mut unknown: Vec<&Argument> = Vec::new();
        for one in &parameters {
            if let Some(first) = one.first {
                let end = next.and_then(|next: u16| {
                    let mut unknown = unknown.iter();
                    unknown.try_fold(next, |end, one| end.checked_add(one.dwords?))
                });
                if end == Some(first)
                    && let Some(next) = next
                {
                    fill(&unknown, next, range.start, watched);
                }
                unknown.clear();
                next = one.dwords.and_then(|count| first.checked_add(count));
            } else {
                unknown.push(one);
            }
        }
        // A compiler must not omit a parameter of a function that other objects can call.
        if let Some(next) = next.filter(|_| self.function.external) {
            fill(&unknown, next, range.start, watched);
        }
        Ok(())
    }

    fn of_variable(
        &mut self,
        variable: &Arc<Variable<'a>>,
        types: &mut TypeTable,
    ) -> Result<Watched> {
        let mut watched = Watched::default();
        let is_own = match variable.kind {
            VariableKind::Parameter | VariableKind::Variable => variable.scope_die.is_some(),
            VariableKind::Constant | VariableKind::Global => false,
        };
        let Some(LocationAttribute::List { offset, .. }) = variable.location.filter(|_| is_own)
        else {
            return Ok(watched);
        };
        let info = self.program.info();
        let mut entries = info.location_list(variable.die.unit, offset, self.meter)?;
        // If a list is malformed, the entries before the error are used.
        while let Ok(Some(entry)) = entries.next() {
            let LocationRange::Bounded(addresses) = entry.range else {
                continue;
            };
            let Some(left) = self.left.checked_sub(1) else {
                break;
            };
            self.left = left;
            self.meter.work(1)?;
            let dwords = self.dwords_at(addresses.start, variable, types);
            if let Some(dwords) = dwords.filter(|_| !addresses.is_empty()) {
                watched.covered.push(Covered { addresses, dwords });
            }
        }
        watched.on_entry = self.on_entry(variable, &watched.covered)?;
        Ok(watched)
    }

    /// Returns the location of a parameter at the start of its first range, if no assignment can precede it.
    fn on_entry(&self, variable: &Variable<'a>, covered: &[Covered]) -> Result<Option<OnEntry>> {
        let is_parameter = variable.kind == VariableKind::Parameter
            && variable.scope_die == Some(self.function.die);
        let first = covered.iter().min_by_key(|one| one.addresses.start);
        let (Some(first), Some(range)) =
            (first.filter(|_| is_parameter), entry_range(self.function))
        else {
            return Ok(None);
        };
        let info = self.program.info();
        let table = info.lines_if_readable(self.function.die.unit)?;
        let end = table.and_then(|table| prologue_end(table, &range));
        let start = first.addresses.start;
        let is_early =
            start == range.start || end.is_some_and(|end| range.contains(&start) && start <= end);
        Ok(is_early.then(|| OnEntry {
            address: start,
            dwords: first.dwords.clone(),
            is_assumed: false,
        }))
    }

    /// Returns the dwords of a variable at an address, if all lanes share its location there.
    fn dwords_at(
        &self,
        address: u64,
        variable: &Arc<Variable<'a>>,
        types: &mut TypeTable,
    ) -> Option<Vec<Dword>> {
        let arena = Arena::new();
        let options = StopOptions::loaded_at(LoadAddress(0)).only_dwarf(true);
        let pc = ProcessAddress(address);
        let stop = Stop::within(self.program, &self.wave, pc, options, &arena, self.meter);
        let frame = stop.call_frame(0)?;
        let value = frame.read_variable(Arc::clone(variable), self.function, types);
        dwords_of(&value, types)
    }
}

fn dwords_of(value: &VariableValue<'_>, types: &TypeTable) -> Option<Vec<Dword>> {
    let bytes = types.get(value.ty).byte_size?;
    let location = value.location_of_all()?;
    if !value.doubts().is_empty() {
        return None;
    }
    let count = bytes.div_ceil(4);
    let numbers = (0..count).filter(|_| count <= MOST_DWORDS);
    // A range with only a part of the variable does not replace the earlier one.
    let dwords = numbers.map(|n| dword(&location, u128::from(n) * 32));
    let dwords: Vec<Dword> = dwords.collect::<Option<_>>()?;
    (!dwords.is_empty()).then_some(dwords)
}

/// A parameter in a call.
#[derive(Debug)]
struct Argument {
    position: u32,
    /// The index among the variables.
    index: usize,
    /// The number of vector registers in which it is passed, or `None` if it is passed otherwise.
    dwords: Option<u16>,
    /// The first of these registers, if the debugging information gives it.
    first: Option<u16>,
}

/// Assigns consecutive registers to arguments, as long as they are passed in registers.
fn fill(arguments: &[&Argument], first: u16, address: u64, watched: &mut [Watched]) {
    let mut register = first;
    for one in arguments {
        let end = one.dwords.and_then(|count| register.checked_add(count));
        let Some(end) = end.filter(|end| *end <= ARGUMENTS) else {
            return;
        };
        let registers = register..end;
        let dwords = registers.map(|n| Dword::In(Cell::Own(MachineRegister::Vgpr(n))));
        if let Some(watched) = watched.get_mut(one.index) {
            watched.on_entry = Some(OnEntry {
                address,
                dwords: dwords.collect(),
                is_assumed: true,
            });
        }
        register = end;
    }
}

/// Returns the number of registers for an argument of a type, if it is a number or a pointer.
fn scalar_dwords(types: &TypeTable, ty: TypeId) -> Option<u16> {
    let resolved = shape::resolve(types, ty).ty;
    let is_number = matches!(
        &resolved.kind,
        TypeKind::Base(base) if base.elements == 1 && base.encoding != BaseTypeEncoding::Boolean
    );
    let is_scalar = is_number || matches!(&resolved.kind, TypeKind::Pointer { .. });
    let bytes = resolved
        .byte_size
        .filter(|bytes| is_scalar && *bytes <= 8)?;
    u16::try_from(bytes.div_ceil(4)).ok()
}

/// Returns the first of the consecutive vector registers that hold the dwords.
fn first_register(dwords: &[Dword]) -> Option<u16> {
    let number = |dword: &Dword| match dword {
        Dword::In(Cell::Own(MachineRegister::Vgpr(number))) => Some(*number),
        Dword::In(_) | Dword::Word(_) | Dword::Kernarg(_) | Dword::Other => None,
    };
    let first = number(dwords.first()?)?;
    let all = dwords.iter().zip(first..);
    all.into_iter()
        .all(|(dword, n)| number(dword) == Some(n))
        .then_some(first)
}

/// Returns the place of 32 bits of a location, or `None` if they have none.
fn dword(location: &Location<'_>, bit: u128) -> Option<Dword> {
    let Some(place) = location.single() else {
        return Some(Dword::Other);
    };
    Some(match place.storage {
        Storage::Composite(composite) => {
            let at = place.bit_offset.checked_add(bit)?;
            let part = composite.part_at(at)?;
            // Parts other than whole dwords are not followed. The last may be smaller.
            let within = at - part.start;
            let is_last = part.start.checked_add(part.bit_size) == Some(composite.bit_size());
            let is_whole = part.bit_size.saturating_sub(within) >= 32;
            match within % 32 == 0 && (is_whole || is_last) {
                true => return dword(&part.location, within),
                false => Dword::Other,
            }
        }
        Storage::Register(register) => {
            in_register(place, register, bit).map_or(Dword::Other, Dword::In)
        }
        Storage::Value { bits, bit_size } if place.lane_step == 0 => {
            let at = place.bit_offset.checked_add(bit);
            let at = at.filter(|at| *at < u128::from(bit_size));
            let shifted = at.and_then(|at| bits.checked_shr(u32::try_from(at).ok()?));
            let word = shifted.and_then(|bits| u32::try_from(bits & u128::from(u32::MAX)).ok());
            word.map_or(Dword::Other, Dword::Word)
        }
        Storage::Undefined => return None,
        Storage::Value { .. }
        | Storage::Memory { .. }
        | Storage::Constant(_)
        | Storage::ImplicitPointer(_) => Dword::Other,
    })
}

/// Returns the machine register that holds 32 bits of a place. For a vector register, it is the lane's own dword.
fn in_register(place: &Place<'_>, register: Register, bit: u128) -> Option<Cell> {
    let at = place.bit_offset.checked_add(bit)?;
    // Higher numbers are not followed.
    let index = register.index().filter(|index| *index < 256)?;
    let class = register.class()?;
    let own = (place.lane_step == 32 && at == 0).then_some(index);
    let uniform = (place.lane_step == 0 && at == 0).then_some(index);
    if class == RegisterClass::Vgpr {
        return own.map(|index| Cell::Own(MachineRegister::Vgpr(index)));
    }
    if class == RegisterClass::Agpr {
        return own.map(|index| Cell::Own(MachineRegister::Agpr(index)));
    }
    let scalar = uniform.filter(|_| class == RegisterClass::Sgpr)?;
    Some(Cell::Scalar(MachineRegister::Sgpr(scalar.try_into().ok()?)))
}
