//! What there is to say of a code object at a glance, as plain data.
//!
//! Sources: USAGE "Header", "Kernel Descriptor", "Code Object Metadata".

use super::compression::Method;
use super::descriptor::KernelDescriptor;
use super::kernel::{self, Kernel};
use super::metadata::{KernelMetadata, Metadata};
use super::symbol::{Symbol, SymbolKind, SymbolSection};
use super::{CodeObject, FunctionInfo, Section};
use crate::error::Result;
use crate::untrusted::Untrusted;

/// A code object at a glance.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ObjectInfo {
    /// The target ID, `gfx90a:xnack+` for example.
    pub target: String,
    /// The operating system, `amdhsa` for example.
    pub os: &'static str,
    /// The version of code objects, 3 to 6; only of `amdhsa`.
    pub code_object_version: Option<u8>,
    /// `e_flags`.
    pub flags: u32,
    /// Whether it has not been linked.
    pub relocatable: bool,
    /// How many functions have a symbol, the code of kernels included.
    pub functions: usize,
    /// The kernels, sorted by name.
    pub kernels: Vec<KernelInfo>,
    /// The shaders of the pipelines of `amdpal`: their stages and functions.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub shaders: Vec<ShaderInfo>,
    /// What the compiler tells the linker of each function, in the order of the file.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub function_infos: Vec<FunctionInfo>,
    /// Why that could not be read.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub function_infos_error: Option<String>,
    /// The debug sections, in the order of the file.
    pub debug_sections: Vec<DebugSectionInfo>,
    /// Why the metadata could not be read; the kernels are then what their descriptors say.
    pub metadata_error: Option<String>,
}

/// A kernel's resources. What is *allocated* is what the descriptor says, rounded up as the hardware
/// allocates; what is *used* is what the metadata say.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KernelInfo {
    /// The name as the linker sees it.
    pub name: Untrusted<'static>,
    /// The address of the first instruction.
    #[cfg_attr(feature = "serde", serde(serialize_with = "hexadecimal"))]
    pub entry: Option<u64>,
    /// Lanes of a wavefront.
    pub wave_size: Option<u32>,
    /// Scalar registers of a wavefront, allocated.
    pub sgprs_allocated: Option<u32>,
    /// Scalar registers of a wavefront, used.
    pub sgprs_used: Option<u64>,
    /// Vector registers of a lane, allocated; with the accumulation registers where both share one file.
    pub vgprs_allocated: Option<u32>,
    /// Vector registers of a lane, used; counted in the same way.
    pub vgprs_used: Option<u64>,
    /// Accumulation registers of a lane, allocated; nothing on targets without any.
    pub agprs_allocated: Option<u32>,
    /// Accumulation registers of a lane, used.
    pub agprs_used: Option<u64>,
    /// Local memory of a work-group, in bytes.
    pub group_segment_size: Option<u64>,
    /// Scratch of a lane, in bytes, without a dynamic stack.
    pub private_segment_size: Option<u64>,
    /// Whether the size of the stack is not known before the kernel runs.
    pub dynamic_stack: Option<bool>,
    /// The memory for arguments, in bytes.
    pub kernarg_size: Option<u64>,
    /// Stores from scalar registers to spill slots.
    pub sgpr_spills: Option<u64>,
    /// Stores from vector registers to spill slots.
    pub vgpr_spills: Option<u64>,
    /// The largest work-group, in work-items.
    pub max_workgroup_size: Option<u64>,
}

/// A stage of a pipeline of `amdpal`, or a function of a shader. What the metadata do not say is absent.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ShaderInfo {
    /// The name of the pipeline.
    pub pipeline: Option<Untrusted<'static>>,
    /// The stage, `cs` for example; nothing for a function.
    pub stage: Option<Untrusted<'static>>,
    /// The name of the entry point, or of the function.
    pub name: Option<Untrusted<'static>>,
    /// The symbol of the entry point.
    pub symbol: Option<Untrusted<'static>>,
    /// The address of the first instruction.
    #[cfg_attr(feature = "serde", serde(serialize_with = "hexadecimal"))]
    pub entry: Option<u64>,
    /// Lanes of a wavefront, if that is not the processor's default.
    pub wave_size: Option<u64>,
    /// Scalar registers of a wavefront, used.
    pub sgprs_used: Option<u64>,
    /// Vector registers of a lane, used.
    pub vgprs_used: Option<u64>,
    /// Accumulation registers of a lane, used.
    pub agprs_used: Option<u64>,
    /// Local memory, in bytes.
    pub lds_size: Option<u64>,
    /// Scratch, in bytes.
    pub scratch_size: Option<u64>,
    /// The stack of a function, in bytes.
    pub stack_size: Option<u64>,
}

/// A debug section.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DebugSectionInfo {
    /// The name as the file has it.
    pub name: Untrusted<'static>,
    /// The size, in bytes, decompressed; as the header claims.
    pub size: u64,
    /// The bytes occupied in the file.
    pub stored_size: u64,
    /// How it is compressed.
    pub compression: Option<Method>,
}

impl ObjectInfo {
    /// Collects it.
    ///
    /// # Errors
    /// If the symbol table is malformed; malformed metadata are not an error.
    pub fn of(object: &CodeObject<'_>) -> Result<ObjectInfo> {
        let (metadata, metadata_error) = match object.metadata() {
            Ok(metadata) => (metadata, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let functions = object.symbols()?.iter().filter(|s| {
            s.kind == SymbolKind::Function && matches!(s.section, SymbolSection::Index(_))
        });
        let functions = functions.count();
        let kernels = kernel::read_all(object, metadata.as_ref())?;
        let (function_infos, function_infos_error) = match object.function_infos() {
            Ok(infos) => (infos, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Ok(ObjectInfo {
            shaders: match &metadata {
                Some(metadata) => shaders(object, metadata)?,
                None => Vec::new(),
            },
            function_infos,
            function_infos_error,
            target: object.target().to_string(),
            os: object.os_abi().name(),
            code_object_version: object.code_object_version(),
            flags: object.flags(),
            relocatable: object.is_relocatable(),
            functions,
            kernels: kernels.iter().map(KernelInfo::of).collect(),
            debug_sections: object
                .sections()
                .iter()
                .filter(|s| s.is_debug())
                .map(DebugSectionInfo::of)
                .collect(),
            metadata_error,
        })
    }
}

/// The stages and functions of all pipelines, in the order of the metadata.
fn shaders(object: &CodeObject<'_>, metadata: &Metadata) -> Result<Vec<ShaderInfo>> {
    let symbols = object.symbols()?;
    let text = |text: &Option<String>| text.clone().map(Untrusted::from);
    let mut shaders = Vec::new();
    for pipeline in metadata.pipelines.iter().flatten() {
        let stages = pipeline.hardware_stages.iter().flatten();
        let stages = stages.map(|(stage, said)| (Some(stage), said.entry_point.as_ref(), said));
        let functions = pipeline.shader_functions.iter().flatten();
        let functions = functions.map(|(name, said)| (None, Some(name), said));
        for (stage, name, said) in stages.chain(functions) {
            object.meter().work(symbols.len() as u64)?;
            object.meter().hold_all::<ShaderInfo>(1)?;
            let symbol = said.entry_point_symbol.as_ref().or(name);
            let is_its = |s: &&Symbol<'_>| {
                Some(&*s.name) == symbol.map(String::as_str)
                    && matches!(s.section, SymbolSection::Index(_))
            };
            let found = symbols.iter().find(is_its);
            let stage = stage.map(|stage| stage.strip_prefix('.').unwrap_or(stage).to_owned());
            shaders.push(ShaderInfo {
                pipeline: text(&pipeline.name),
                stage: stage.map(Untrusted::from),
                name: name.cloned().map(Untrusted::from),
                symbol: found.map(|symbol| symbol.name.to_string().into()),
                entry: found.map(|symbol| symbol.address),
                wave_size: said.wavefront_size,
                sgprs_used: said.sgpr_count,
                vgprs_used: said.vgpr_count,
                agprs_used: said.agpr_count,
                lds_size: said.lds_size,
                scratch_size: said.scratch_memory_size,
                stack_size: said.stack_frame_size,
            });
        }
    }
    Ok(shaders)
}

impl KernelInfo {
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
        self.sgpr_spills = metadata.sgpr_spill_count;
        self.vgpr_spills = metadata.vgpr_spill_count;
        self.max_workgroup_size = metadata.max_flat_workgroup_size;
    }

    /// The descriptor is what the hardware sees, so its sizes replace those of the metadata.
    fn add_descriptor(&mut self, descriptor: &KernelDescriptor) {
        self.sgprs_allocated = descriptor.scalar_registers();
        self.vgprs_allocated = descriptor.vector_registers();
        self.agprs_allocated = descriptor.accumulation_registers();
        self.group_segment_size = Some(descriptor.group_segment_fixed_size().into());
        self.private_segment_size = Some(descriptor.private_segment_fixed_size().into());
        // 0 means that the descriptor does not say.
        if descriptor.kernarg_size() != 0 || self.kernarg_size.is_none() {
            self.kernarg_size = Some(descriptor.kernarg_size().into());
        }
    }
}

impl DebugSectionInfo {
    fn of(section: &Section<'_>) -> DebugSectionInfo {
        DebugSectionInfo {
            name: section.name.to_string().into(),
            size: section.size,
            stored_size: section.stored_size,
            compression: section.compression,
        }
    }
}

/// Addresses are text in JSON: they can pass 2^53.
#[cfg(feature = "serde")]
#[expect(
    clippy::ref_option,
    reason = "the signature that serde's attribute calls"
)]
fn hexadecimal<S: serde::Serializer>(
    address: &Option<u64>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    match address {
        Some(address) => serializer.serialize_some(&format!("{address:#x}")),
        None => serializer.serialize_none(),
    }
}
