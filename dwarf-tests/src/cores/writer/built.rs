//! Holds a crashed process as memory and the contents of a note, both of which tests can damage.

use super::set64;

/// A part of the process's memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// The address.
    pub address: u64,
    /// The contents.
    pub bytes: Vec<u8>,
    /// True if only the GPU's half contains the bytes.
    pub of_gpu: bool,
}

/// A process at the time of its crash.
#[derive(Clone, Debug)]
pub struct Built {
    /// The memory.
    pub regions: Vec<Region>,
    /// The contents of the note.
    pub note: Vec<u8>,
}

impl Built {
    /// Adds memory.
    pub fn add(&mut self, address: u64, bytes: Vec<u8>, of_gpu: bool) {
        self.regions.push(Region {
            address,
            bytes,
            of_gpu,
        });
    }

    /// Returns the region that contains an address, and the offset in it.
    fn find(&mut self, address: u64) -> (&mut Region, usize) {
        let region = self.regions.iter_mut().find(|region| {
            (region.address..region.address + region.bytes.len() as u64).contains(&address)
        });
        let region = region.unwrap_or_else(|| panic!("no memory at {address:#x}"));
        let offset = (address - region.address) as usize;
        (region, offset)
    }

    /// Replaces four bytes of memory.
    pub fn set32(&mut self, address: u64, value: u32) {
        let (region, at) = self.find(address);
        region.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Returns four bytes of memory.
    pub fn get32(&mut self, address: u64) -> u32 {
        let (region, at) = self.find(address);
        u32::from_le_bytes(region.bytes[at..at + 4].try_into().unwrap())
    }

    /// Replaces eight bytes of memory.
    pub fn set64(&mut self, address: u64, value: u64) {
        let (region, at) = self.find(address);
        set64(&mut region.bytes, at, value);
    }

    /// Removes memory from an address to the end of its region.
    pub fn cut(&mut self, address: u64) {
        let (region, at) = self.find(address);
        region.bytes.truncate(at);
    }

    /// Replaces four bytes of the note.
    pub fn set_note32(&mut self, offset: usize, value: u32) {
        self.note[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }
}
