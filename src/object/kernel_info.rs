//! Describes a kernel as plain data: resources, limits, arguments and initial registers.
//!
//! Sources: USAGE "Kernel Descriptor", "Code Object Metadata", "Initial Kernel Execution State".

use super::descriptor::{InitialRegisters, KernelDescriptor};
use super::kernel::Kernel;
use super::metadata::{ArgumentMetadata, KernelMetadata};
use crate::error::Result;
use crate::meter::Meter;
use crate::untrusted::Untrusted;

/// A kernel's resources, limits, arguments and initial registers. *Allocated* amounts are from the descriptor, rounded up to the hardware's
/// granularity; *used* amounts are from the metadata.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KernelInfo {
    /// The linkage name.
    pub name: Untrusted<'static>,
    /// The address of the first instruction.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "entry_address", serialize_with = "hexadecimal")
    )]
    pub entry: Option<u64>,
    /// The initial contents of registers. Empty without a descriptor, and for processors whose descriptors are unknown.
    #[cfg_attr(feature = "serde", serde(rename = "entry"))]
    pub initial_registers: Vec<InitialRegisters>,
    /// The number of lanes of a wavefront.
    pub wave_size: Option<u32>,
    /// The scalar registers of a wavefront, allocated.
    pub sgprs_allocated: Option<u32>,
    /// The scalar registers of a wavefront, used.
    pub sgprs_used: Option<u64>,
    /// The vector registers of a lane, allocated. They include the accumulation registers if both share one file.
    pub vgprs_allocated: Option<u32>,
    /// The vector registers of a lane, used, counted in the same way.
    pub vgprs_used: Option<u64>,
    /// The accumulation registers of a lane, allocated. `None` on targets without any.
    pub agprs_allocated: Option<u32>,
    /// The accumulation registers of a lane, used.
    pub agprs_used: Option<u64>,
    /// The local memory of a work-group, in bytes.
    pub group_segment_size: Option<u64>,
    /// The scratch of a lane, in bytes, without a dynamic stack.
    pub private_segment_size: Option<u64>,
    /// True if the stack size depends on run-time values.
    pub dynamic_stack: Option<bool>,
    /// The memory for arguments, in bytes.
    pub kernarg_size: Option<u64>,
    /// The alignment of the memory for arguments, in bytes.
    pub kernarg_align: Option<u64>,
    /// The number of stores from scalar registers to spill slots.
    pub sgpr_spills: Option<u64>,
    /// The number of stores from vector registers to spill slots.
    pub vgpr_spills: Option<u64>,
    /// The largest work-group, in work-items.
    pub max_workgroup_size: Option<u64>,
    /// The required size of a work-group in each dimension, or `None` if any size is allowed.
    #[cfg_attr(feature = "serde", serde(rename = "reqd_workgroup_size"))]
    pub required_workgroup_size: Option<[u64; 3]>,
    /// The expected size of a work-group in each dimension.
    pub workgroup_size_hint: Option<[u64; 3]>,
    /// The maximum number of work-groups in each dimension, or `None` without a limit.
    pub max_workgroups: [Option<u64>; 3],
    /// True if the grid must be a multiple of the work-group in each dimension.
    pub uniform_workgroup_size: Option<bool>,
    /// The number of work-groups of a cluster in each dimension.
    pub cluster_dims: Option<[u64; 3]>,
    /// The arguments in the order of the metadata, hidden ones included. `None` without metadata about them.
    #[cfg_attr(feature = "serde", serde(rename = "args"))]
    pub arguments: Option<Vec<ArgumentInfo>>,
    /// The kernel descriptor. It is serialized as its fields by name, and left out if there is none.
    #[cfg_attr(
        feature = "serde",
        serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "descriptor_fields"
        )
    )]
    pub descriptor: Option<KernelDescriptor>,
}

/// One argument of a kernel.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ArgumentInfo {
    /// The name in the source. A hidden argument is not in the source, and is named by its kind.
    pub name: Option<Untrusted<'static>>,
    /// The name of the type in the source.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub type_name: Option<Untrusted<'static>>,
    /// The offset in the memory for arguments, in bytes.
    pub offset: Option<u64>,
    /// The size, in bytes.
    pub size: Option<u64>,
    /// The kind of its value, such as `by_value`, `global_buffer` or `hidden_block_count_x`.
    pub value_kind: Option<Untrusted<'static>>,
    /// True if the runtime sets it instead of the program: its kind begins with `hidden_`.
    pub hidden: bool,
    /// The address space that it points to.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub address_space: Option<Untrusted<'static>>,
    /// The allowed access to an image or pipe.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub access: Option<Untrusted<'static>>,
}

impl KernelInfo {
    /// Describes kernels, after charging for the memory.
    pub(super) fn of_all(kernels: &[Kernel], meter: &Meter) -> Result<Vec<KernelInfo>> {
        /// The maximum number of items in a kernel's initial state.
        const ITEMS: usize = 16;
        const KERNEL: usize = size_of::<KernelInfo>() + ITEMS * size_of::<InitialRegisters>();
        let arguments = kernels.iter().filter_map(|kernel| kernel.metadata.as_ref());
        let arguments = arguments.filter_map(|metadata| metadata.args.as_ref());
        let arguments: usize = arguments.map(Vec::len).sum();
        let bytes = kernels
            .len()
            .saturating_mul(KERNEL)
            .saturating_add(arguments.saturating_mul(size_of::<ArgumentInfo>()));
        meter.hold(bytes as u64)?;
        Ok(kernels.iter().map(KernelInfo::of).collect())
    }

    fn of(kernel: &Kernel) -> KernelInfo {
        let mut info = KernelInfo {
            name: kernel.name.clone().into(),
            entry: kernel.entry(),
            wave_size: kernel.wave_size().map(crate::arch::WaveSize::lanes),
            ..KernelInfo::default()
        };
        if let Some(metadata) = &kernel.metadata {
            info.add_metadata(metadata);
        }
        if let Some(descriptor) = &kernel.descriptor {
            info.add_descriptor(descriptor);
        }
        info
    }

    fn add_metadata(&mut self, metadata: &KernelMetadata) {
        self.sgprs_used = metadata.sgpr_count;
        self.vgprs_used = metadata.vgpr_count;
        self.agprs_used = metadata.agpr_count;
        self.group_segment_size = metadata.group_segment_fixed_size;
        self.private_segment_size = metadata.private_segment_fixed_size;
        self.dynamic_stack = metadata.uses_dynamic_stack;
        self.kernarg_size = metadata.kernarg_segment_size;
        self.kernarg_align = metadata.kernarg_segment_align;
        self.sgpr_spills = metadata.sgpr_spill_count;
        self.vgpr_spills = metadata.vgpr_spill_count;
        self.max_workgroup_size = metadata.max_flat_workgroup_size;
        // Three zeros mean that any size will do.
        self.required_workgroup_size = metadata
            .reqd_workgroup_size
            .filter(|size| *size != [0, 0, 0]);
        self.workgroup_size_hint = metadata
            .workgroup_size_hint
            .filter(|size| *size != [0, 0, 0]);
        self.max_workgroups = [
            metadata.max_num_work_groups_x,
            metadata.max_num_work_groups_y,
            metadata.max_num_work_groups_z,
        ];
        self.uniform_workgroup_size = metadata.uniform_work_group_size.map(|is| is == 1);
        self.cluster_dims = metadata.cluster_dims;
        let arguments = metadata.args.as_ref();
        self.arguments = arguments.map(|all| all.iter().map(ArgumentInfo::of).collect());
    }

    /// The hardware uses the descriptor, so its sizes replace those in the metadata.
    fn add_descriptor(&mut self, descriptor: &KernelDescriptor) {
        self.initial_registers = descriptor.initial_registers();
        self.sgprs_allocated = descriptor.scalar_registers();
        self.vgprs_allocated = descriptor.vector_registers();
        self.agprs_allocated = descriptor.accumulation_registers();
        self.group_segment_size = Some(descriptor.group_segment_fixed_size().into());
        self.private_segment_size = Some(descriptor.private_segment_fixed_size().into());
        // 0 means that the descriptor does not give the size.
        if descriptor.kernarg_size() != 0 || self.kernarg_size.is_none() {
            self.kernarg_size = Some(descriptor.kernarg_size().into());
        }
        self.descriptor = Some(descriptor.clone());
    }
}

impl ArgumentInfo {
    fn of(argument: &ArgumentMetadata) -> ArgumentInfo {
        let text = |text: &Option<String>| text.clone().map(Untrusted::from);
        let kind = argument.value_kind.as_ref();
        let hidden = kind.is_some_and(|kind| kind.starts_with("hidden_"));
        let name = text(&argument.name);
        ArgumentInfo {
            name: name.or_else(|| kind.filter(|_| hidden).cloned().map(Untrusted::from)),
            type_name: text(&argument.type_name),
            offset: argument.offset,
            size: argument.size,
            value_kind: text(&argument.value_kind),
            hidden,
            address_space: text(&argument.address_space),
            access: text(&argument.access),
        }
    }
}

/// Writes addresses as text in JSON, since they can exceed 2^53.
#[cfg(feature = "serde")]
#[expect(
    clippy::ref_option,
    reason = "the signature that serde's attribute calls"
)]
pub(super) fn hexadecimal<S: serde::Serializer>(
    address: &Option<u64>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    match address {
        Some(address) => serializer.serialize_some(&format!("{address:#x}")),
        None => serializer.serialize_none(),
    }
}

/// Writes the fields of a descriptor by name, as numbers, or as text if they can exceed 2^53.
#[cfg(feature = "serde")]
#[expect(
    clippy::ref_option,
    reason = "the signature that serde's attribute calls"
)]
fn descriptor_fields<S: serde::Serializer>(
    descriptor: &Option<KernelDescriptor>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = serializer.serialize_map(None)?;
    for (field, value) in descriptor.iter().flat_map(KernelDescriptor::fields) {
        let mut placements = field.placements().iter();
        if placements.all(|placement| placement.width() <= 53) {
            map.serialize_entry(field.name(), &value)?;
        } else {
            map.serialize_entry(field.name(), &format!("{value:#x}"))?;
        }
    }
    map.end()
}
