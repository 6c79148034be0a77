//! Arguments of kernels: what a parameter was when the kernel started is in memory that nothing writes while it runs.
//!
//! Sources: USAGE "Code Object Metadata" (`.args`), "Kernel Dispatch", "Initial Kernel Execution State".

use super::recovered::{Recovered, RecoveredFrom};
use super::stop::StopFrame;
use crate::arch::{AddressSpace, Register};
use crate::debug_info::{Function, Variable, VariableKind};
use crate::eval::Frame as _;
use crate::location::{LaneSelect, Location, Place, Storage, read_value};
use crate::object::Kernel;
use crate::object::descriptor::{InitialValue, RegisterFile};
use crate::object::metadata::ArgumentMetadata;

/// How clang names the function with the code of a kernel of OpenCL, which the kernel calls.
const KERNEL_BODY: &str = "__clang_ocl_kern_imp_";

impl<'p, 'a> StopFrame<'_, 'p, 'a> {
    /// Returns the place of the argument that a parameter of a kernel had, for all lanes.
    ///
    /// * `function`: that of the frame.
    /// * `bytes`: the size of the parameter's type. An argument of another size is none.
    pub(super) fn kernel_argument(
        &self,
        variable: &Variable<'a>,
        function: &Function<'a>,
        bytes: u64,
    ) -> Option<(Location<'p>, Recovered)> {
        let position = variable
            .position
            .filter(|_| variable.kind == VariableKind::Parameter)?;
        let kernel = self.stop.program().kernel_of(function)?;
        let is_own = variable.scope_die == Some(function.die);
        if !is_own && !self.is_body_of(kernel, variable) {
            return None;
        }
        let arguments = kernel.metadata.as_ref()?.args.as_ref()?;
        let argument = arguments
            .iter()
            .filter(|one| !is_hidden(one))
            .nth(position)?;
        let is_same =
            argument.size == Some(bytes) && is_plain(argument) && has_name(argument, variable);
        let offset = argument.offset.filter(|_| is_same)?;
        let address = self.kernarg_address()?.checked_add(offset)?;
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

    /// Returns true if a variable is of the function with the code of a kernel of OpenCL, inlined in the kernel.
    fn is_body_of(&self, kernel: &Kernel, variable: &Variable<'a>) -> bool {
        let info = self.stop.program().info();
        let name = variable.scope_die.and_then(|die| info.linkage_name_of(die));
        name.is_some_and(|name| name.strip_prefix(KERNEL_BODY) == Some(kernel.name.as_str()))
    }

    /// Returns the address of the kernel's arguments in global memory: as the debugger knows it, or from the register that had it
    /// when the kernel started, if that has it still.
    fn kernarg_address(&self) -> Option<u64> {
        let dispatch = self.stop.wave().dispatch();
        if let Some(address) = dispatch.and_then(|dispatch| dispatch.kernarg_address) {
            return Some(address);
        }
        let registers = self.for_wave().whole().initial_registers().ok()?;
        let pointer = registers
            .into_iter()
            .find(|one| one.holds == InitialValue::KernargSegmentPointer)
            .filter(|one| one.file == RegisterFile::Scalar && one.count == 2)?;
        let half = |number: u16| {
            let location = self.call_frame().register(Register::sgpr(number)?).ok()?;
            read_value(&location, 32, &self.stop.access(None)).ok()
        };
        let (low, high) = (half(pointer.first)?, half(pointer.first.checked_add(1)?)?);
        u64::try_from(high << 32 | low).ok()
    }
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
