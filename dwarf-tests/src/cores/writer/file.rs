//! Writes the files of a process: both halves merged, and each half by itself.

use super::{Built, Region, put32, put64, set64};

impl Built {
    /// Returns both halves in one file, as `roccoremerge` and `gcore` write it.
    #[must_use]
    pub fn merged(&self) -> Vec<u8> {
        self.file(62, 0, |_| true, Some(&self.note))
    }

    /// Returns the half that the runtime writes.
    #[must_use]
    pub fn gpu_half(&self) -> Vec<u8> {
        let gpu: Vec<Region> = self.regions.iter().filter(|r| r.of_gpu).cloned().collect();
        let only = Built {
            regions: gpu,
            note: Vec::new(),
        };
        only.file(224, 64, |_| true, Some(&self.note))
    }

    /// Returns the half that the kernel writes. It has no bytes of GPU memory.
    #[must_use]
    pub fn host_half(&self) -> Vec<u8> {
        self.file(62, 0, |region| !region.of_gpu, None)
    }

    /// Returns a file with more than 65,534 program headers: their number is in section header 0, and most segments have one byte.
    #[must_use]
    pub fn with_many_segments(&self, count: u32) -> Vec<u8> {
        let mut many = self.clone();
        for n in 0..u64::from(count) {
            many.add(0x1000_0000 + n * 16, vec![n as u8], false);
        }
        let mut file = many.merged();
        let headers = many.regions.len() as u32 + 1;
        file[56..58].copy_from_slice(&0xffff_u16.to_le_bytes());
        let section = file.len() as u64;
        set64(&mut file, 40, section);
        let mut header = [0; 64];
        header[44..48].copy_from_slice(&headers.to_le_bytes());
        file.extend(header);
        file
    }

    fn file(
        &self,
        machine: u16,
        os_abi: u8,
        has_bytes: impl Fn(&Region) -> bool,
        note: Option<&[u8]>,
    ) -> Vec<u8> {
        let headers = self.regions.len() + 1;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.push(os_abi);
        file.resize(16, 0);
        file.extend(4_u16.to_le_bytes());
        file.extend(machine.to_le_bytes());
        put32(&mut file, &[1]);
        put64(&mut file, &[0, 64, 0]);
        put32(&mut file, &[0]);
        let count = u16::try_from(headers).unwrap_or(0xffff);
        for half in [64, 56, count, 0, 0, 0] {
            file.extend(u16::to_le_bytes(half));
        }
        let mut contents: Vec<u8> = Vec::new();
        let start = (64 + headers * 56) as u64;
        let mut notes = Vec::new();
        add_note(&mut notes, b"CORE\0", 1, &[0x55; 12]);
        // A note with this type and another name must be ignored.
        add_note(&mut notes, b"OTHER\0", 33, &[0x66; 8]);
        if let Some(note) = note {
            add_note(&mut notes, b"AMDGPU\0", 33, note);
        }
        put32(&mut file, &[4, 4]);
        put64(
            &mut file,
            &[start, 0, 0, notes.len() as u64, notes.len() as u64, 4],
        );
        contents.extend(&notes);
        for region in &self.regions {
            let stored: &[u8] = if has_bytes(region) {
                &region.bytes
            } else {
                &[]
            };
            put32(&mut file, &[1, 6]);
            let offset = start + contents.len() as u64;
            let size = region.bytes.len() as u64;
            put64(
                &mut file,
                &[offset, region.address, 0, stored.len() as u64, size, 4],
            );
            contents.extend(stored);
        }
        file.extend(contents);
        file
    }
}

fn add_note(out: &mut Vec<u8>, name: &[u8], kind: u32, contents: &[u8]) {
    put32(out, &[name.len() as u32, contents.len() as u32, kind]);
    for part in [name, contents] {
        out.extend(part);
        out.resize(out.len().next_multiple_of(4), 0);
    }
}
