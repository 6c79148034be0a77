//! Reads a PC sample of rocprofv3's JSON output.

use hetdwarf::profile::NameId;
use serde::de::MapAccess;

use super::reader::{Reader, Triple};
use super::recording::{INSTRUCTION_TYPE, RawSample, STALL_REASON};
use super::stream::{Fields, Number, Object, Text, skip};

/// Reads the fields of a sample.
pub(super) struct SampleFields<'s, 'r> {
    reader: &'s mut Reader<'r>,
    sample: RawSample,
    /// The last instruction type and the last stall reason, with their numbers.
    last_names: [Option<(String, NameId)>; 2],
}

impl<'de> Fields<'de> for SampleFields<'_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"record" => map.next_value_seed(Object(&mut RecordFields(&mut *self))),
            b"inst_index" => {
                self.sample.text = map.next_value_seed(Number)?;
                Ok(())
            }
            other => {
                self.reader.recording.note_unknown(other);
                skip(map)
            }
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let sample = core::mem::take(&mut self.sample);
        let reader = &mut *self.reader;
        reader.go_on();
        let added = reader.recording.add(reader.scope, &sample, reader.meter);
        reader.check(added)
    }
}

impl<'s, 'r> SampleFields<'s, 'r> {
    pub(super) fn new(reader: &'s mut Reader<'r>) -> SampleFields<'s, 'r> {
        SampleFields {
            reader,
            sample: RawSample::default(),
            last_names: [None, None],
        }
    }

    /// Returns the number of a name.
    fn name(&mut self, text: &str, prefix: &str, which: usize) -> Option<NameId> {
        let last = self.last_names.get_mut(which)?;
        if let Some((known, id)) = last
            && known == text
        {
            return Some(*id);
        }
        let name = text.strip_prefix(prefix).unwrap_or(text);
        let id = self.reader.recording.samples.names.id(name);
        *last = Some((text.to_owned(), id));
        Some(id)
    }
}

struct RecordFields<'s, 'd, 'r>(&'s mut SampleFields<'d, 'r>);

impl<'de> Fields<'de> for RecordFields<'_, '_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        let sample = &mut self.0.sample;
        match name {
            b"pc" => map.next_value_seed(Object(&mut PcFields(sample)))?,
            b"exec_mask" => sample.exec = map.next_value_seed(Number)?,
            b"dispatch_id" => sample.dispatch = map.next_value_seed(Number)?,
            b"wrkgrp_id" => {
                let mut workgroup = Triple::default();
                map.next_value_seed(Object(&mut workgroup))?;
                sample.workgroup = workgroup.0;
            }
            b"wave_in_grp" => sample.wave = map.next_value_seed(Number)?,
            b"wave_issued" => sample.issued = map.next_value_seed(Number)?,
            b"inst_type" => {
                let text = map.next_value_seed(Text)?;
                self.0.sample.kind = self.0.name(&text, INSTRUCTION_TYPE, 0);
            }
            // An issued instruction has no meaningful stall reason.
            b"snapshot" if sample.issued.is_some_and(|issued| issued != 0) => skip(map)?,
            b"snapshot" => map.next_value_seed(Object(&mut SnapshotFields(&mut *self.0)))?,
            b"hw_id" | b"flags" | b"timestamp" | b"corr_id" | b"wave_cnt" | b"size" => skip(map)?,
            other => {
                self.0.reader.recording.note_unknown(other);
                skip(map)?;
            }
        }
        Ok(())
    }
}

struct PcFields<'s>(&'s mut RawSample);

impl<'de> Fields<'de> for PcFields<'_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match name {
            b"code_object_id" => self.0.code_object = map.next_value_seed(Number)?,
            b"code_object_offset" => self.0.offset = map.next_value_seed(Number)?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct SnapshotFields<'s, 'd, 'r>(&'s mut SampleFields<'d, 'r>);

impl<'de> Fields<'de> for SnapshotFields<'_, '_, '_> {
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        if name != b"stall_reason" {
            return skip(map);
        }
        let text = map.next_value_seed(Text)?;
        self.0.sample.stall = self.0.name(&text, STALL_REASON, 1);
        Ok(())
    }
}
