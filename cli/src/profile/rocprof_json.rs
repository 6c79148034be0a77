//! Reads rocprofv3's JSON output: PC samples, with the tables of code objects, kernels and dispatches.
//!
//! Unknown fields are noted and are not errors. Source: `spec-notes/profiles.md`.

use std::path::Path;

use hetdwarf::meter::Meter;
use hetdwarf::profile::DispatchShape;
use serde::de::{DeserializeSeed, MapAccess};

use super::reader::{Reader, Triple};
use super::recording::{Dispatch, ListedObject, Recording};
use super::rocprof_samples::SampleFields;
use super::stream::{Fields, List, Number, Object, Text, Values, skip};
use super::trace::{RowSeed, add_row};

/// Reads a file. Returns false if it has another format.
///
/// * `release`: releases the memory of the bytes that were read so far.
///
/// # Errors
/// Returns the problem with the file. Everything read before it is counted.
pub(super) fn read(
    recording: &mut Recording,
    path: &Path,
    bytes: &[u8],
    meter: &Meter,
    release: &dyn Fn(),
) -> Result<bool, String> {
    let first = u32::try_from(recording.processes.len()).unwrap_or(u32::MAX);
    let mut header = None;
    let mut is_known = false;
    let earlier = recording.samples.clone();
    let discarded = recording.discarded.clone();
    let mut result = Ok(());
    for again in [false, true] {
        let mut reader = Reader {
            recording: &mut *recording,
            meter,
            scope: first,
            path,
            again,
            is_known: false,
            first,
            release,
            since: 0,
            header: header.take(),
        };
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        result = Object(&mut Root(&mut reader)).deserialize(&mut deserializer);
        if result.is_ok() {
            result = deserializer.end();
        }
        header = reader.header.take();
        is_known |= reader.is_known;
        // If a dispatch or a header comes after the samples that need it, a second pass finds it.
        let is_late = core::mem::take(&mut recording.is_late) && recording.limit.is_none();
        if again || !is_late {
            break;
        }
        recording.samples = earlier.clone();
        recording.discarded = discarded.clone();
    }
    match result {
        Ok(()) => Ok(is_known),
        Err(error) => Err(error.to_string()),
    }
}

/// The whole document.
struct Root<'s, 'r>(&'s mut Reader<'r>);

impl<'de> Fields<'de> for Root<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"rocprofiler-sdk-tool" => {
                self.0.is_known = true;
                self.0.scope = self.0.first;
                map.next_value_seed(List(&mut ProcessFields {
                    reader: &mut *self.0,
                    has_begun: false,
                }))
            }
            b"code" => {
                self.0.is_known = true;
                self.0.scope = self.0.first;
                if !self.0.again {
                    self.0.recording.begin(self.0.path.to_owned());
                }
                let reader = &mut *self.0;
                let mut add = |row: Vec<String>| add_row(reader, &row);
                map.next_value_seed(Values(RowSeed, &mut add))
            }
            b"header" => {
                let header = map.next_value_seed(Text)?;
                let names = header.split(',').map(|name| name.trim().to_owned());
                if self.0.header.is_none() {
                    self.0.recording.is_late |= !self.0.recording.samples.places().is_empty();
                    self.0.header = Some(names.collect());
                }
                Ok(())
            }
            b"version" => skip(map),
            other => {
                self.0.recording.note_unknown(other);
                skip(map)
            }
        }
    }
}

/// A process.
struct ProcessFields<'s, 'r> {
    reader: &'s mut Reader<'r>,
    has_begun: bool,
}

impl ProcessFields<'_, '_> {
    fn begin(&mut self) {
        if !core::mem::replace(&mut self.has_begun, true) && !self.reader.again {
            self.reader.scope = self.reader.recording.begin(self.reader.path.to_owned());
        }
    }
}

impl<'de> Fields<'de> for ProcessFields<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        self.begin();
        let again = self.reader.again;
        match name {
            b"buffer_records" => map.next_value_seed(Object(&mut Buffers(&mut *self.reader))),
            _ if again => skip(map),
            b"metadata" => map.next_value_seed(Object(&mut Metadata(&mut *self.reader))),
            b"agents" => map.next_value_seed(List(&mut Agent {
                reader: &mut *self.reader,
                handle: None,
                name: String::new(),
                lanes: None,
            })),
            b"strings" => map.next_value_seed(Object(&mut Strings(&mut *self.reader))),
            b"code_objects" => map.next_value_seed(List(&mut CodeObjectFields {
                reader: &mut *self.reader,
                object: ListedObject::default(),
                has_id: false,
            })),
            b"kernel_symbols" => map.next_value_seed(List(&mut KernelSymbol {
                reader: &mut *self.reader,
                id: None,
                name: String::new(),
            })),
            b"counters" | b"host_functions" | b"summary" | b"callback_records"
            | b"scratch_memory" | b"memory_copy" => skip(map),
            other => {
                self.reader.recording.note_unknown(other);
                skip(map)
            }
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.begin();
        self.has_begun = false;
        if self.reader.again {
            self.reader.scope = self.reader.scope.saturating_add(1);
        }
        Ok(())
    }
}

struct Metadata<'s, 'r>(&'s mut Reader<'r>);

impl<'de> Fields<'de> for Metadata<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        if name != b"pid" {
            return skip(map);
        }
        let pid = map.next_value_seed(Number)?;
        let scope = self.0.scope;
        if let Some(process) = self.0.recording.process(scope) {
            process.pid = pid;
        }
        Ok(())
    }
}

/// A field that contains a handle.
struct Handle(Option<u64>);

impl<'de> Fields<'de> for Handle {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        if name != b"handle" {
            return skip(map);
        }
        self.0 = map.next_value_seed(Number)?;
        Ok(())
    }
}

struct Agent<'s, 'r> {
    reader: &'s mut Reader<'r>,
    handle: Option<u64>,
    name: String,
    lanes: Option<u64>,
}

impl<'de> Fields<'de> for Agent<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"id" => {
                let mut handle = Handle(None);
                map.next_value_seed(Object(&mut handle))?;
                self.handle = handle.0;
                Ok(())
            }
            b"name" => {
                self.name = map.next_value_seed(Text)?.into_owned();
                Ok(())
            }
            b"wave_front_size" => {
                self.lanes = map.next_value_seed(Number)?;
                Ok(())
            }
            _ => skip(map),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let name = core::mem::take(&mut self.name);
        let lanes = self.lanes.take();
        let Some(handle) = self.handle.take() else {
            return Ok(());
        };
        self.reader.hold(2 * (name.len() + 64))?;
        let scope = self.reader.scope;
        if let Some(process) = self.reader.recording.process(scope) {
            process.agents.insert(handle, (name, lanes));
        }
        Ok(())
    }
}

struct Strings<'s, 'r>(&'s mut Reader<'r>);

impl<'de> Fields<'de> for Strings<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        let mut texts = Vec::new();
        let reader = &mut *self.0;
        let is_comment = match name {
            b"pc_sample_instructions" => false,
            b"pc_sample_comments" => true,
            _ => return skip(map),
        };
        let mut add = |text: std::borrow::Cow<'_, str>| {
            reader.hold(2 * (text.len() + size_of::<String>()))?;
            texts.push(text.into_owned());
            Ok(())
        };
        map.next_value_seed(Values(Text, &mut add))?;
        let scope = self.0.scope;
        if let Some(process) = self.0.recording.process(scope) {
            match is_comment {
                true => process.comments = texts,
                false => process.instructions = texts,
            }
        }
        Ok(())
    }
}

struct CodeObjectFields<'s, 'r> {
    reader: &'s mut Reader<'r>,
    object: ListedObject,
    has_id: bool,
}

impl<'de> Fields<'de> for CodeObjectFields<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        let object = &mut self.object;
        match name {
            b"code_object_id" => {
                let id = map.next_value_seed(Number)?;
                self.has_id = id.is_some();
                object.id = id.unwrap_or(0);
            }
            b"uri" => object.uri = map.next_value_seed(Text)?.into_owned(),
            b"load_base" => object.load_base = map.next_value_seed(Number)?,
            b"load_size" => object.load_size = map.next_value_seed(Number)?,
            b"load_delta" => object.load_delta = map.next_value_seed(Number)?,
            b"rocp_agent" | b"agent_id" => {
                let mut handle = Handle(None);
                map.next_value_seed(Object(&mut handle))?;
                object.agent = handle.0.or(object.agent);
            }
            b"size" | b"hsa_agent" | b"storage_type" | b"storage_file" | b"memory_base"
            | b"memory_size" => skip(map)?,
            other => {
                self.reader.recording.note_unknown(other);
                skip(map)?;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let found = core::mem::take(&mut self.object);
        // Unused numbers of code objects have an empty entry.
        if !core::mem::take(&mut self.has_id) || found.id == 0 {
            return Ok(());
        }
        let reader = &mut *self.reader;
        reader.hold(found.uri.len())?;
        let number = reader
            .recording
            .object(reader.scope, found.id, reader.meter);
        let number = reader.check(number)?;
        let known = usize::try_from(number).ok();
        if let Some(known) = known.and_then(|known| reader.recording.objects.get_mut(known)) {
            if known.is_listed {
                let id = found.id;
                let note = format!("code object {id} is listed twice; the first entry is used");
                reader.recording.notes.insert(note);
                return Ok(());
            }
            *known = ListedObject {
                scope: known.scope,
                is_listed: true,
                ..found
            };
        }
        Ok(())
    }
}

struct KernelSymbol<'s, 'r> {
    reader: &'s mut Reader<'r>,
    id: Option<u64>,
    name: String,
}

impl<'de> Fields<'de> for KernelSymbol<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"kernel_id" => self.id = map.next_value_seed(Number)?,
            b"kernel_name" => self.name = map.next_value_seed(Text)?.into_owned(),
            _ => skip(map)?,
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let mut name = core::mem::take(&mut self.name);
        let Some(id) = self.id.take().filter(|_| !name.is_empty()) else {
            return Ok(());
        };
        if let Some(stem) = name.strip_suffix(".kd") {
            name.truncate(stem.len());
        }
        let reader = &mut *self.reader;
        reader.hold(name.len())?;
        let number = reader.recording.kernel(reader.scope, id, reader.meter);
        let number = usize::try_from(reader.check(number)?).ok();
        if let Some(known) = number.and_then(|one| reader.recording.kernels.get_mut(one)) {
            *known = Some(name);
        }
        Ok(())
    }
}

struct Buffers<'s, 'r>(&'s mut Reader<'r>);

impl<'de> Fields<'de> for Buffers<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"pc_sample_host_trap" | b"pc_sample_stochastic" => {
                map.next_value_seed(List(&mut SampleFields::new(&mut *self.0)))
            }
            b"kernel_dispatch" if !self.0.again => map.next_value_seed(List(&mut DispatchFields {
                reader: &mut *self.0,
                id: None,
                kernel: None,
                workgroup: Triple::default(),
                grid: Triple::default(),
            })),
            // Other traces in this file have no code addresses.
            _ => skip(map),
        }
    }
}

struct DispatchFields<'s, 'r> {
    reader: &'s mut Reader<'r>,
    id: Option<u64>,
    kernel: Option<u64>,
    workgroup: Triple,
    grid: Triple,
}

impl<'de> Fields<'de> for DispatchFields<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"dispatch_info" => map.next_value_seed(Object(&mut DispatchInfo(&mut *self))),
            _ => skip(map),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let workgroup = core::mem::take(&mut self.workgroup).all();
        let grid = core::mem::take(&mut self.grid).all();
        let kernel = self.kernel.take().filter(|id| *id != 0);
        let Some(id) = self.id.take() else {
            return Ok(());
        };
        let reader = &mut *self.reader;
        let kernel = match kernel {
            Some(id) => {
                let number = reader.recording.kernel(reader.scope, id, reader.meter);
                Some(reader.check(number)?)
            }
            None => None,
        };
        let shape = workgroup.zip(grid);
        let dispatch = Dispatch {
            shape: shape.and_then(|(workgroup, grid)| DispatchShape::new(workgroup, grid)),
            kernel,
        };
        let added = reader
            .recording
            .add_dispatch(reader.scope, id, dispatch, reader.meter);
        reader.check(added)
    }
}

struct DispatchInfo<'s, 'd, 'r>(&'s mut DispatchFields<'d, 'r>);

impl<'de> Fields<'de> for DispatchInfo<'_, '_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"dispatch_id" => self.0.id = map.next_value_seed(Number)?,
            b"kernel_id" => self.0.kernel = map.next_value_seed(Number)?,
            b"workgroup_size" => map.next_value_seed(Object(&mut self.0.workgroup))?,
            b"grid_size" => map.next_value_seed(Object(&mut self.0.grid))?,
            _ => skip(map)?,
        }
        Ok(())
    }
}
