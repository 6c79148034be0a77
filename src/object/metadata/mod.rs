//! Reads code object metadata: the compiler's data for the runtime about kernels and their arguments.
//!
//! The tables below follow the document, with one row for each key. An unknown key, or a value of another type than in the table, is kept in `other`.
//! The effect of the values on a launch is left to the runtime.
//!
//! Source: [USAGE](crate) "Code Object Metadata", V2 to V6, "AMDPAL Code Object Metadata"; MsgPack.

mod read;
mod value;
mod version2;
mod yaml;

pub use value::MetadataValue;

use read::FromValue;

use super::elf::Elf;
use super::note;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::meter::Meter;

/// A key of one of the tables.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key as the file has it.
    pub name: &'static str,
    /// True if it is required.
    pub required: bool,
    /// The first version of code objects with this key: 3 to 6.
    pub since: u8,
    /// The meaning.
    pub description: &'static str,
}

macro_rules! metadata_map {
    ($(#[$doc:meta])* $map:ident {
        $($field:ident: $kind:ty = $key:literal $presence:ident V $since:literal $what:literal;)*
    }) => {
        $(#[$doc])*
        #[non_exhaustive]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $map {
            $(#[doc = concat!("`", $key, "`: ", $what, ".")] pub $field: Option<$kind>,)*
            /// The entries with unknown keys, in the order of the file.
            pub other: Vec<(MetadataValue, MetadataValue)>,
        }

        impl $map {
            /// The table: every key of this map, in the order of the document.
            pub const KEYS: &'static [Key] = &[$(Key {
                name: $key,
                required: metadata_map!(@ $presence),
                since: $since,
                description: $what,
            },)*];
        }

        impl FromValue for $map {
            fn from_value(value: &rmpv::ValueRef<'_>) -> Option<$map> {
                let rmpv::ValueRef::Map(entries) = value else {
                    return None;
                };
                let mut map = $map::default();
                for (key, value) in entries {
                    let known = match read::text(key) {
                        $(Some($key) if map.$field.is_none() => {
                            map.$field = FromValue::from_value(value);
                            map.$field.is_some()
                        })*
                        _ => false,
                    };
                    if !known {
                        map.other.push((MetadataValue::from(key), MetadataValue::from(value)));
                    }
                }
                Some(map)
            }
        }
    };
    (@ required) => { true };
    (@ optional) => { false };
}

metadata_map! {
    /// The metadata of the whole code object.
    ///
    /// An object can have several notes (GCC writes one for each kernel). `kernels` and `printf` are then collected from all of them, and the rest is
    /// from the first note.
    Metadata {
        version: [u64; 2]            = "amdhsa.version" required V 3 "major and minor version of the metadata: 1.0 in V3, 1.1 in V4, 1.2 in V5";
        target: String               = "amdhsa.target"  required V 4 "the target triple, then `-` and the target ID";
        printf: Vec<String>          = "amdhsa.printf"  optional V 3 "one string for each printf call, `ID:N:S[0]:…:S[N-1]:FormatString`";
        kernels: Vec<KernelMetadata> = "amdhsa.kernels" required V 3 "the kernels";
        pipelines: Vec<PipelineMetadata> = "amdpal.pipelines" optional V 3 "the pipelines, of `amdpal`";
    }
}

metadata_map! {
    /// The metadata of one kernel. Counts of registers are for one lane, sizes in bytes.
    KernelMetadata {
        name: String                      = ".name"                       required V 3 "name in the source";
        symbol: String                    = ".symbol"                     required V 3 "symbol of the kernel descriptor";
        language: String                  = ".language"                   optional V 3 "source language, such as `OpenCL C` or `HIP`";
        language_version: [u64; 2]        = ".language_version"           optional V 3 "major and minor version of the language";
        args: Vec<ArgumentMetadata>       = ".args"                       optional V 3 "the arguments, hidden ones included";
        reqd_workgroup_size: [u64; 3]     = ".reqd_workgroup_size"        optional V 3 "the work-group size that a dispatch has to have; 0, 0, 0 for any";
        workgroup_size_hint: [u64; 3]     = ".workgroup_size_hint"        optional V 3 "the work-group size that a dispatch likely has";
        vec_type_hint: String             = ".vec_type_hint"              optional V 3 "the type that the kernel mainly computes with";
        device_enqueue_symbol: String     = ".device_enqueue_symbol"      optional V 3 "symbol through which other kernels enqueue this one";
        kernarg_segment_size: u64         = ".kernarg_segment_size"       required V 3 "size of the memory that holds the arguments";
        group_segment_fixed_size: u64     = ".group_segment_fixed_size"   required V 3 "local memory of a work-group, without what is allocated at dispatch";
        private_segment_fixed_size: u64   = ".private_segment_fixed_size" required V 3 "scratch of a work-item, without a dynamic stack";
        kernarg_segment_align: u64        = ".kernarg_segment_align"      required V 3 "alignment of the memory that holds the arguments";
        wavefront_size: u64               = ".wavefront_size"             required V 3 "lanes of a wavefront";
        sgpr_count: u64                   = ".sgpr_count"                 required V 3 "scalar registers of a wavefront, with VCC and the like, not rounded up";
        vgpr_count: u64                   = ".vgpr_count"                 required V 3 "vector registers; accumulation registers included where the register file is one";
        agpr_count: u64                   = ".agpr_count"                 required V 3 "accumulation registers, on targets that have them";
        max_flat_workgroup_size: u64      = ".max_flat_workgroup_size"    required V 3 "the largest work-group, in work-items";
        sgpr_spill_count: u64             = ".sgpr_spill_count"           optional V 3 "stores from scalar registers to spill slots";
        vgpr_spill_count: u64             = ".vgpr_spill_count"           optional V 3 "stores from vector registers to spill slots";
        kind: String                      = ".kind"                       optional V 3 "`normal`, `init` or `fini`; normal if missing";
        max_num_work_groups_x: u64        = ".max_num_work_groups_x"      optional V 3 "the most work-groups in dimension x";
        max_num_work_groups_y: u64        = ".max_num_work_groups_y"      optional V 3 "the most work-groups in dimension y";
        max_num_work_groups_z: u64        = ".max_num_work_groups_z"      optional V 3 "the most work-groups in dimension z";
        uses_dynamic_stack: bool          = ".uses_dynamic_stack"         optional V 5 "true if the size of the stack is unknown before the kernel runs";
        workgroup_processor_mode: bool    = ".workgroup_processor_mode"   optional V 5 "true if work-groups run on a whole work-group processor (GFX10 and above)";
        uniform_work_group_size: u64      = ".uniform_work_group_size"    optional V 5 "1 if the grid has to be a multiple of the work-group in each dimension";
        cluster_dims: [u64; 3]            = ".cluster_dims"               optional V 6 "work-groups of a cluster in each dimension";
    }
}

metadata_map! {
    /// The metadata of one argument of a kernel.
    ArgumentMetadata {
        name: String          = ".name"          optional V 3 "name in the source";
        type_name: String     = ".type_name"     optional V 3 "name of the type in the source";
        size: u64             = ".size"          required V 3 "size, in bytes";
        offset: u64           = ".offset"        required V 3 "offset in the memory for arguments, in bytes";
        value_kind: String    = ".value_kind"    required V 3 "kind of the argument, such as `by_value`, `global_buffer` or `hidden_block_count_x`";
        value_type: String    = ".value_type"    optional V 3 "deprecated";
        pointee_align: u64    = ".pointee_align" optional V 3 "alignment of the target of a pointer into dynamic local memory, in bytes";
        address_space: String = ".address_space" optional V 3 "the address space that it points to";
        access: String        = ".access"        optional V 3 "the allowed access to an image or pipe";
        actual_access: String = ".actual_access" optional V 3 "the actual access by the kernel";
        is_const: bool        = ".is_const"      optional V 3 "true if it is `const`";
        is_restrict: bool     = ".is_restrict"   optional V 3 "true if it is `restrict`";
        is_volatile: bool     = ".is_volatile"   optional V 3 "true if it is `volatile`";
        is_pipe: bool         = ".is_pipe"       optional V 3 "true if it is a pipe";
    }
}

metadata_map! {
    /// The metadata of one pipeline of `amdpal`.
    PipelineMetadata {
        name: String                               = ".name"             optional V 3 "name in the source";
        pipeline_type: String                      = ".type"             optional V 3 "`Cs` or `VsPs` for example";
        api: String                                = ".api"              optional V 3 "the graphics API";
        hardware_stages: Vec<(String, StageMetadata)> = ".hardware_stages" optional V 3 "the stages by their names, `.cs` for example";
        shader_functions: Vec<(String, StageMetadata)> = ".shader_functions" optional V 3 "the functions of shaders by their symbols";
    }
}

metadata_map! {
    /// The metadata of a stage of a pipeline, or of a function of a shader. Sizes are in bytes.
    StageMetadata {
        entry_point: String        = ".entry_point"        optional V 3 "name of the entry point, `_amdgpu_cs_main` for example";
        entry_point_symbol: String = ".entry_point_symbol" optional V 3 "symbol of the entry point, if that is another name";
        scratch_memory_size: u64   = ".scratch_memory_size" optional V 3 "scratch of a lane";
        lds_size: u64              = ".lds_size"           optional V 3 "local memory";
        sgpr_count: u64            = ".sgpr_count"         optional V 3 "scalar registers used";
        vgpr_count: u64            = ".vgpr_count"         optional V 3 "vector registers used";
        agpr_count: u64            = ".agpr_count"         optional V 3 "accumulation registers used";
        wavefront_size: u64        = ".wavefront_size"     optional V 3 "lanes of a wavefront, if not the default";
        stack_frame_size: u64      = ".stack_frame_size_in_bytes" optional V 3 "stack of a function";
    }
}

/// Reads the metadata notes of a code object. Returns `None` if it has none. The YAML of version 2 is converted to the form of a version 3 note.
///
/// # Errors
/// If a note is malformed, or the YAML of version 2 has syntax that compilers do not write.
pub(super) fn read_notes(elf: &Elf<'_>) -> Result<Option<Metadata>> {
    let notes = note::read_all(elf)?;
    let mut all: Option<Metadata> = None;
    for note in &notes {
        if note.kind == note::METADATA {
            let one = read::document(note.contents, elf.held.meter())?;
            match &mut all {
                Some(first) => first.add(one),
                None => all = Some(one),
            }
        }
    }
    let version2 = || notes.iter().find(|note| note.kind == note::METADATA_V2);
    match (all, version2()) {
        (None, Some(note)) => version2::document(note.contents, elf.held.meter()).map(Some),
        (all, _) => Ok(all),
    }
}

impl Metadata {
    /// Reads one metadata note's contents.
    ///
    /// # Errors
    /// If they are not MsgPack or not a map, or if a limit is reached.
    pub fn parse(note: &[u8]) -> Result<Metadata> {
        let meter = Meter::new(&Limits::DEFAULT, note.len() as u64);
        read::document(note, &meter)
    }

    fn add(&mut self, next: Metadata) {
        fn join<T>(list: &mut Option<Vec<T>>, next: Option<Vec<T>>) {
            match (list.as_mut(), next) {
                (Some(list), Some(next)) => list.extend(next),
                (None, next) => *list = next,
                (Some(_), None) => {}
            }
        }
        join(&mut self.kernels, next.kernels);
        join(&mut self.printf, next.printf);
        join(&mut self.pipelines, next.pipelines);
        self.version = self.version.or(next.version);
        self.target = self.target.take().or(next.target);
        self.other.extend(next.other);
    }

    /// Returns the kernels, or an empty slice if the key is missing.
    #[must_use]
    pub fn kernels(&self) -> &[KernelMetadata] {
        self.kernels.as_deref().unwrap_or(&[])
    }
}

fn malformed(reason: impl Into<String>) -> Error {
    Error::malformed("metadata note", reason).within(".note", 0)
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests;
