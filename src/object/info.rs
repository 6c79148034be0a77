//! Summarizes a code object as plain data.
//!
//! Source: USAGE "Header".

use super::compression::Method;
use super::kernel;
use super::kernel_info::KernelInfo;
use super::shader_info::{ShaderInfo, shaders};
use super::symbol::{SymbolKind, SymbolSection};
use super::{CodeObject, FunctionInfo, Section};
use crate::error::Result;
use crate::untrusted::Untrusted;

/// A summary of a code object.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ObjectInfo {
    /// The target ID, such as `gfx90a:xnack+`.
    pub target: String,
    /// The operating system, such as `amdhsa`.
    pub os: &'static str,
    /// The version of code objects, 3 to 6, for `amdhsa` only.
    pub code_object_version: Option<u8>,
    /// `e_flags`.
    pub flags: u32,
    /// True if it has not been linked.
    pub relocatable: bool,
    /// The number of functions with a symbol, including the code of kernels.
    pub functions: usize,
    /// The kernels, sorted by name.
    pub kernels: Vec<KernelInfo>,
    /// The shaders of the pipelines of `amdpal`: their stages and functions.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub shaders: Vec<ShaderInfo>,
    /// The compiler's facts for the linker about each function, in the order of the file.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub function_infos: Vec<FunctionInfo>,
    /// The reason why these facts could not be read.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub function_infos_error: Option<String>,
    /// The debug sections, in the order of the file.
    pub debug_sections: Vec<DebugSectionInfo>,
    /// The reason why the metadata could not be read. The kernels then have only the facts in their descriptors.
    pub metadata_error: Option<String>,
}

/// A debug section.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DebugSectionInfo {
    /// The name as the file has it.
    pub name: Untrusted<'static>,
    /// The decompressed size in bytes, according to the header.
    pub size: u64,
    /// The bytes occupied in the file.
    pub stored_size: u64,
    /// The compression.
    pub compression: Option<Method>,
}

impl ObjectInfo {
    /// Collects the summary.
    ///
    /// # Errors
    /// If the symbol table is malformed, or a limit is reached. Malformed metadata is not an error.
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
            kernels: KernelInfo::of_all(&kernels, object.meter())?,
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
