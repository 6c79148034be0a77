//! Arguments of kernels: what a parameter was when the kernel started is in memory that nothing writes while it runs.
//!
//! Sources: USAGE "Code Object Metadata" (`.args`), "Kernel Dispatch", "Initial Kernel Execution State".

use std::sync::Arc;

use super::plan::FramePlan;
use super::program::Program;
use super::recovered::{Recovered, RecoveredFrom};
use super::stop::StopFrame;
use crate::arch::AddressSpace;
use crate::debug_info::{Function, Variable, VariableKind};
use crate::isa::MachineRegister;
use crate::location::{LaneSelect, Location, Place, Storage};
use crate::object::Kernel;
use crate::object::descriptor::{InitialRegisters, InitialValue, RegisterFile};
use crate::object::metadata::ArgumentMetadata;

/// How clang names the function with the code of a kernel of OpenCL, which the kernel calls.
const KERNEL_BODY: &str = "__clang_ocl_kern_imp_";

impl<'p, 'a> StopFrame<'_, 'p, 'a> {
    /// Returns the place of the argument that a parameter of a kernel had, for all lanes.
    ///
    /// * `function`: that of the frame.
    /// * `bytes`: the size of the parameter's type. An argument of another size is none.
    /// * `plan`: finds what registers have.
    pub(super) fn kernel_argument(
        &self,
        variable: &Variable<'a>,
        function: &Function<'a>,
        bytes: u64,
        plan: impl FnOnce() -> Option<Arc<FramePlan<'a>>>,
    ) -> Option<(Location<'p>, Recovered)> {
        let program = self.stop.program();
        let offset = program.argument_offset(variable, function, bytes)?;
        let address = self.kernarg_address(plan)?.checked_add(offset)?;
        let storage = Storage::Memory {
            space: AddressSpace::None,
            lane: LaneSelect::None,
        };
        let place = Place::new(storage, u128::from(address).checked_mul(8)?);
        let recovered = Recovered {
            from: RecoveredFrom::Kernarg,
            as_of: None,
        };
        Some((Location::One(place), recovered))
    }

    /// Returns the address of the kernel's arguments in global memory: as the debugger knows it, or from registers that still have it.
    ///
    /// * `plan`: finds what registers have.
    fn kernarg_address(&self, plan: impl FnOnce() -> Option<Arc<FramePlan<'a>>>) -> Option<u64> {
        let dispatch = self.stop.wave().dispatch();
        if let Some(address) = dispatch.and_then(|dispatch| dispatch.kernarg_address) {
            return Some(address);
        }
        self.read_kernarg_pointer(&*plan()?)
    }
}

impl<'a> Program<'a> {
    /// Returns where the argument that a parameter of a kernel had is among the kernel's arguments, in bytes from their start.
    ///
    /// * `function`: the kernel.
    /// * `bytes`: the size of the parameter's type. An argument of another size is none.
    pub(super) fn argument_offset(
        &self,
        variable: &Variable<'a>,
        function: &Function<'a>,
        bytes: u64,
    ) -> Option<u64> {
        let position = variable
            .position
            .filter(|_| variable.kind == VariableKind::Parameter)?;
        let kernel = self.kernel_of(function)?;
        // The function with the code of a kernel has its name, and can be called by another one with other arguments.
        let entry = kernel.descriptor.as_ref()?.entry();
        if !function.ranges.iter().any(|range| range.contains(&entry)) {
            return None;
        }
        let is_own = variable.scope_die == Some(function.die);
        if !is_own && !self.is_in_body_of(kernel, variable) {
            return None;
        }
        let arguments = kernel.metadata.as_ref()?.args.as_ref()?;
        let argument = arguments
            .iter()
            .filter(|one| !is_hidden(one))
            .nth(usize::try_from(position).ok()?)?;
        let is_same =
            argument.size == Some(bytes) && is_plain(argument) && has_name(argument, variable);
        argument.offset.filter(|_| is_same)
    }

    /// Returns true if a variable is of the function with the code of a kernel of OpenCL, inlined in the kernel.
    fn is_in_body_of(&self, kernel: &Kernel, variable: &Variable<'a>) -> bool {
        let info = self.info();
        let name = variable.scope_die.and_then(|die| info.linkage_name_of(die));
        name.is_some_and(|name| is_body_of(kernel, &name))
    }
}

/// Returns the registers that have the address of a kernel's arguments when it starts.
pub(super) fn kernarg_pointer(registers: &[InitialRegisters]) -> Option<[MachineRegister; 2]> {
    let mut registers = registers.iter();
    let pointer = registers.find(|one| one.holds == InitialValue::KernargSegmentPointer)?;
    let is_pair = pointer.file == RegisterFile::Scalar && pointer.count == 2;
    let first = u8::try_from(pointer.first).ok().filter(|_| is_pair)?;
    Some([first, first.checked_add(1)?].map(MachineRegister::Sgpr))
}

/// Returns true if a function of this name for the linker has the code of a kernel of OpenCL.
pub(super) fn is_body_of(kernel: &Kernel, name: &str) -> bool {
    name.strip_prefix(KERNEL_BODY) == Some(kernel.name.as_str())
}

fn is_hidden(argument: &ArgumentMetadata) -> bool {
    argument
        .value_kind
        .as_ref()
        .is_some_and(|kind| kind.starts_with("hidden_"))
}

/// Returns true for an argument whose bytes are the parameter's: what stands for an image, a sampler or a queue is not.
fn is_plain(argument: &ArgumentMetadata) -> bool {
    const PLAIN: [&str; 3] = ["by_value", "global_buffer", "dynamic_shared_pointer"];
    argument
        .value_kind
        .as_ref()
        .is_some_and(|kind| PLAIN.contains(&kind.as_str()))
}

/// Returns false if both have names, and these differ.
fn has_name(argument: &ArgumentMetadata, variable: &Variable<'_>) -> bool {
    match (&argument.name, &variable.name) {
        (Some(one), Some(other)) => one.as_str() == other,
        (_, _) => true,
    }
}
