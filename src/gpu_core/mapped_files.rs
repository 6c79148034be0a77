//! Reads the list of mapped files of a core (`NT_FILE`), which tells memory of the GPU from memory of the host.
//!
//! Sources: core(5); the Linux kernel's `fs/binfmt_elf.c` (`fill_files_note`). ROCm's thunk library maps the memory of a GPU from
//! `/dev/dri/renderD*`, and `/dev/kfd` for doorbells.

use core::ops::Range;

use super::container::{CoreFile, notes};
use crate::meter::Meter;
use crate::object::bytes::{slice_at, u64_at};

/// The type and the name of the note.
const TYPE: u32 = 0x4649_4c45;
const NAME: &[u8] = b"CORE";
/// The size of the header, and of an entry: start, end and offset in the file.
const HEADER: u64 = 16;
const ENTRY: u64 = 24;
/// The starts of the paths of the GPU's device files.
const DEVICES: [&[u8]; 2] = [b"/dev/dri/", b"/dev/kfd"];

/// Returns the addresses that are mapped from device files of GPUs. Returns `None` if the file has no such list, only a part of it, or a list
/// without these device files.
pub(super) fn device_ranges(file: &CoreFile<'_>, meter: &Meter) -> Option<Vec<Range<u64>>> {
    let mut all = file
        .notes
        .iter()
        .flat_map(|extent| notes(file.data, *extent));
    let list = all
        .find(|note| note.kind == TYPE && note.name == NAME)?
        .contents;
    let count = u64_at(list, 0)?;
    let paths = count.checked_mul(ENTRY)?.checked_add(HEADER)?;
    let length = (list.len() as u64).checked_sub(paths)?;
    let text = slice_at(list, paths, length)?;
    // Each path ends with a zero byte.
    let ends = text.iter().filter(|byte| **byte == 0).count() as u64;
    if ends < count {
        return None;
    }
    let mut paths = text.split(|byte| *byte == 0);
    meter.work(count).ok()?;
    let mut found = Vec::new();
    for index in 0..count {
        let at = index.checked_mul(ENTRY)?.checked_add(HEADER)?;
        let (start, end) = (u64_at(list, at)?, u64_at(list, at.checked_add(8)?)?);
        let path = paths.next()?;
        if DEVICES.iter().any(|device| path.starts_with(device)) {
            meter.hold_all::<Range<u64>>(1).ok()?;
            found.push(start..end);
        }
    }
    Some(found).filter(|found| !found.is_empty())
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests {
    use super::super::container::Extent;
    use super::*;
    use crate::limits::Limits;

    /// Writes a note with a list of mapped files.
    fn note(files: &[(u64, u64, &str)]) -> Vec<u8> {
        let mut list: Vec<u8> = Vec::new();
        for number in [files.len() as u64, 4096] {
            list.extend(number.to_le_bytes());
        }
        for (start, end, _) in files {
            for number in [*start, *end, 0] {
                list.extend(number.to_le_bytes());
            }
        }
        for (_, _, path) in files {
            list.extend(path.as_bytes());
            list.push(0);
        }
        let mut note: Vec<u8> = Vec::new();
        for number in [5, list.len() as u32, TYPE] {
            note.extend(number.to_le_bytes());
        }
        note.extend(b"CORE\0\0\0\0");
        note.extend(list);
        note
    }

    fn found(data: &[u8]) -> Option<Vec<Range<u64>>> {
        let size = data.len() as u64;
        let file = CoreFile {
            data,
            is_gpu_half: false,
            segments: Vec::new(),
            mapped: Vec::new(),
            is_whole: true,
            notes: vec![Extent { offset: 0, size }],
        };
        device_ranges(&file, &Meter::new(&Limits::DEFAULT, size))
    }

    #[test]
    fn memory_of_devices_is_found() {
        let app = (0x1000, 0x2000, "/home/user/app");
        let gpu = (0x7000, 0x9000, "/dev/dri/renderD128");
        let listed = note(&[app, gpu, (0xa000, 0xb000, "/dev/kfd")]);
        assert_eq!(found(&listed), Some(vec![0x7000..0x9000, 0xa000..0xb000]));
        assert_eq!(found(&note(&[app])), None);
        // A list that is cut off proves nothing about the rest.
        for end in 0..listed.len() - 8 {
            assert_eq!(found(&listed[..end]), None, "{end}");
        }
        // More entries than the list has bytes.
        let mut many = note(&[gpu]);
        many[20..28].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(found(&many), None);
    }
}
