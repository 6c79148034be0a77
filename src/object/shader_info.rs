//! Describes the shaders of a pipeline. Source: USAGE "AMDPAL Code Object Metadata".

use super::CodeObject;
#[cfg(feature = "serde")]
use super::kernel_info::hexadecimal;
use super::metadata::Metadata;
use super::symbol::{Symbol, SymbolSection};
use crate::error::Result;
use crate::untrusted::Untrusted;

/// A stage of an `amdpal` pipeline, or a function of a shader. Values missing from the metadata are `None`.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ShaderInfo {
    /// The name of the pipeline.
    pub pipeline: Option<Untrusted<'static>>,
    /// The stage, such as `cs`, or `None` for a function.
    pub stage: Option<Untrusted<'static>>,
    /// The name of the entry point, or of the function.
    pub name: Option<Untrusted<'static>>,
    /// The symbol of the entry point.
    pub symbol: Option<Untrusted<'static>>,
    /// The address of the first instruction.
    #[cfg_attr(feature = "serde", serde(serialize_with = "hexadecimal"))]
    pub entry: Option<u64>,
    /// The number of lanes of a wavefront, if that is not the processor's default.
    pub wave_size: Option<u64>,
    /// The scalar registers of a wavefront, used.
    pub sgprs_used: Option<u64>,
    /// The vector registers of a lane, used.
    pub vgprs_used: Option<u64>,
    /// The accumulation registers of a lane, used.
    pub agprs_used: Option<u64>,
    /// The local memory, in bytes.
    pub lds_size: Option<u64>,
    /// The scratch, in bytes.
    pub scratch_size: Option<u64>,
    /// The stack of a function, in bytes.
    pub stack_size: Option<u64>,
}

/// Returns the stages and functions of all pipelines, in the order of the metadata.
pub(super) fn shaders(object: &CodeObject<'_>, metadata: &Metadata) -> Result<Vec<ShaderInfo>> {
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
