//! Reads the arguments of kernels from memory, which nothing writes while the kernel runs.
//!
//! Sources: USAGE "Code Object Metadata" (`.args`), "Kernel Dispatch", "Initial Kernel Execution State".

use super::kernel_entry::descriptor_of;
use super::plan::KeptPlans;
use super::program::Program;
use super::recovered::{Recovered, RecoveredFrom};
use super::stop::StopFrame;
use crate::arch::AddressSpace;
use crate::debug_info::types::{TypeKind, TypeTable};
use crate::debug_info::{Function, Variable, VariableKind};
use crate::error::Result;
use crate::location::{LaneSelect, Location, Place, Storage};
use crate::object::Kernel;
use crate::object::metadata::ArgumentMetadata;
use crate::wave::Memory;

/// The prefix that clang gives to the function with the code of an OpenCL kernel, which the kernel calls.
const KERNEL_BODY: &str = "__clang_ocl_kern_imp_";

impl<'p, 'a> StopFrame<'_, 'p, 'a> {
    /// Returns the place of the argument for a parameter of a kernel, for all lanes.
    ///
    /// * `function`: the frame's function.
    /// * `bytes`: the size of the parameter's type. An argument of another size does not match.
    /// * `plans`: finds the contents of registers.
    pub(super) fn kernel_argument(
        &self,
        variable: &Variable<'a>,
        function: &Function<'a>,
        bytes: u64,
        plans: impl FnOnce() -> Option<KeptPlans<'a>>,
    ) -> Option<(Location<'p>, Recovered)> {
        let program = self.stop.program();
        let offset = program.argument_offset(variable, function, bytes)?;
        let address = self.kernarg_address(plans)?.checked_add(offset)?;
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

    /// Returns the address of the kernel's arguments in global memory, from the debugger or from registers that still have it.
    ///
    /// * `plans`: finds the contents of registers.
    fn kernarg_address(&self, plans: impl FnOnce() -> Option<KeptPlans<'a>>) -> Option<u64> {
        let dispatch = self.stop.wave().dispatch();
        if let Some(address) = dispatch.and_then(|dispatch| dispatch.kernarg_address) {
            return Some(address);
        }
        self.read_kernarg_pointer(&plans()?)
    }
}

impl<'a> Program<'a> {
    /// Returns the offset of the argument for a parameter, in bytes from the start of the kernel's arguments.
    ///
    /// * `function`: the kernel.
    /// * `bytes`: the size of the parameter's type. An argument of another size does not match.
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
        descriptor_of(self, function)?;
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

    /// Finds the source parameter for an argument of a kernel.
    ///
    /// * `position`: the argument's position in the kernel's metadata, from 0.
    pub(super) fn source_parameter(
        &self,
        kernel: &Kernel,
        position: usize,
    ) -> Option<SourceParameter> {
        let info = self.info();
        let entry = kernel.descriptor.as_ref()?.entry();
        let function = info.find_function(entry).ok()??;
        let arguments = kernel.metadata.as_ref()?.args.as_ref()?;
        let argument = arguments.get(position).filter(|one| !is_hidden(one))?;
        let before = arguments.get(..position)?;
        let hidden = before.iter().filter(|one| is_hidden(one)).count();
        let number = u32::try_from(position.checked_sub(hidden)?).ok()?;
        let variables = info.variables_at(&function, entry).ok()?;
        let is_own = |one: &&Variable<'a>| {
            one.kind == VariableKind::Parameter
                && (one.scope_die == Some(function.die) || self.is_in_body_of(kernel, one))
        };
        let parameter = variables
            .iter()
            .filter(is_own)
            .find(|one| one.position == Some(number) && has_name(argument, one))?;
        let (meter, mut types) = (self.meter().for_query(), TypeTable::default());
        let ty = info.read_type(&mut types, parameter.ty, &meter).ok();
        let element_size = ty.and_then(|ty| {
            let TypeKind::Pointer { target, .. } = types.resolved(ty).kind else {
                return None;
            };
            types.get(target).byte_size
        });
        Some(SourceParameter {
            name: parameter.name.as_deref().map(str::to_owned),
            element_size,
        })
    }

    /// Returns true if a variable belongs to the function with the code of an OpenCL kernel, inlined in the kernel.
    fn is_in_body_of(&self, kernel: &Kernel, variable: &Variable<'a>) -> bool {
        let info = self.info();
        let name = variable.scope_die.and_then(|die| info.linkage_name_of(die));
        name.is_some_and(|name| is_body_of(kernel, &name))
    }
}

/// A parameter of a kernel in the source.
pub(super) struct SourceParameter {
    pub name: Option<String>,
    /// The size in bytes of the type that it points to, or `None` if it is no pointer or the size is unknown.
    pub element_size: Option<u64>,
}

/// An argument that the compiler adds to those in the source: sizes of the dispatch, buffers of the runtime.
///
/// Source: USAGE "Code Object Metadata", `.value_kind`.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenArgument<'a> {
    /// The kind, such as `hidden_block_count_x`.
    pub name: &'a str,
    /// The address in global memory, or `None` if the address of the arguments is unknown.
    pub address: Option<u64>,
    /// The size in bytes.
    pub size: u64,
    /// The bytes in memory order, or `None` if they cannot be read.
    pub bytes: Option<Vec<u8>>,
}

impl<'a> StopFrame<'_, '_, 'a> {
    /// Returns the hidden arguments of a kernel, in memory order. Nothing writes them while it runs.
    ///
    /// Empty for a function that is no kernel, and for one without metadata.
    ///
    /// # Errors
    /// If the debugging information is malformed, or a limit is reached.
    pub fn hidden_arguments(&self) -> Result<Vec<HiddenArgument<'a>>> {
        let Some(function) = self.function()? else {
            return Ok(Vec::new());
        };
        let program = self.stop.program();
        let kernel = descriptor_of(program, &function).and_then(|_| program.kernel_of(&function));
        let metadata = kernel.and_then(|kernel| kernel.metadata.as_ref());
        let arguments = metadata.and_then(|metadata| metadata.args.as_ref());
        let hidden = arguments.into_iter().flatten().filter(|one| is_hidden(one));
        let mut hidden = hidden.peekable();
        if hidden.peek().is_none() {
            return Ok(Vec::new());
        }
        let find = || self.kept_values(&function).ok().flatten();
        let start = self.kernarg_address(find);
        if let (None, Some(refused)) = (start, self.stop.meter().refused()) {
            return Err(refused);
        }
        let hidden = hidden.filter_map(|one| {
            let (offset, size) = (one.offset?, one.size?);
            let address = start.and_then(|start| start.checked_add(offset));
            Some(HiddenArgument {
                name: one.value_kind.as_ref()?.as_str(),
                address,
                size,
                bytes: address.and_then(|address| self.read_global(address, size)),
            })
        });
        Ok(hidden.collect())
    }

    fn read_global(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        /// The existing ones have at most eight bytes.
        const MOST: u64 = 64;
        let size = usize::try_from(size).ok().filter(|_| size <= MOST)?;
        let mut bytes = vec![0; size];
        let read = self
            .stop
            .wave()
            .read_memory(Memory::Global, address, &mut bytes);
        read.ok().map(|()| bytes)
    }
}

/// Returns true if a function with this linkage name has the code of an OpenCL kernel.
pub(super) fn is_body_of(kernel: &Kernel, name: &str) -> bool {
    name.strip_prefix(KERNEL_BODY) == Some(kernel.name.as_str())
}

fn is_hidden(argument: &ArgumentMetadata) -> bool {
    argument
        .value_kind
        .as_ref()
        .is_some_and(|kind| kind.starts_with("hidden_"))
}

/// Returns true for an argument with the same bytes as the parameter, which excludes images, samplers and queues.
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
