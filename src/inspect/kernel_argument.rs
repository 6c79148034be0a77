//! Arguments of kernels: what a parameter was when the kernel started is in memory that nothing writes while it runs.
//!
//! Sources: USAGE "Code Object Metadata" (`.args`), "Kernel Dispatch", "Initial Kernel Execution State".

use std::sync::Arc;

use super::kernel_entry::descriptor_of;
use super::plan::FramePlan;
use super::program::Program;
use super::recovered::{Recovered, RecoveredFrom};
use super::stop::StopFrame;
use crate::arch::AddressSpace;
use crate::debug_info::{Function, Variable, VariableKind};
use crate::location::{LaneSelect, Location, Place, Storage};
use crate::object::Kernel;
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
        let offset = argument_offset(program, function, variable, bytes)?;
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

/// Returns where the argument is, from the first on in bytes, that a parameter of a kernel has when the kernel starts.
///
/// * `bytes`: the size of the parameter's type. An argument of another size is none.
pub(super) fn argument_offset(
    program: &Program<'_>,
    function: &Function<'_>,
    variable: &Variable<'_>,
    bytes: u64,
) -> Option<u64> {
    let position = variable
        .position
        .filter(|_| variable.kind == VariableKind::Parameter)?;
    let kernel = program.kernel_of(function)?;
    descriptor_of(program, function)?;
    let is_own = variable.scope_die == Some(function.die);
    let is_of_body = || {
        let name = variable
            .scope_die
            .and_then(|die| program.info().linkage_name_of(die));
        name.is_some_and(|name| is_body_of(kernel, &name))
    };
    if !is_own && !is_of_body() {
        return None;
    }
    let arguments = kernel.metadata.as_ref()?.args.as_ref()?;
    let mut arguments = arguments.iter().filter(|one| !is_hidden(one));
    let argument = arguments.nth(usize::try_from(position).ok()?)?;
    let is_same =
        argument.size == Some(bytes) && is_plain(argument) && has_name(argument, variable);
    argument.offset.filter(|_| is_same)
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
