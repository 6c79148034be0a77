//! Holds the known bytes of one memory.
#![warn(clippy::cast_possible_truncation)]

use core::ops::Range;

use super::fault;
use crate::error::Result;
use crate::wave::Memory;

/// The size of an address in a process, in bytes. USAGE "Address Spaces" has no other.
const PROCESS_ADDRESS_BYTES: u8 = 8;

/// Returns the size of a memory's address space, in bytes, regardless of the mapped memory.
const fn size(memory: Memory) -> u128 {
    memory.address_space().size_in_bits(PROCESS_ADDRESS_BYTES) / 8
}

/// Fails unless `len` bytes at `address` end within the memory.
pub(super) fn check(memory: Memory, address: u64, len: usize) -> Result<()> {
    let (end, size) = (end(address, len), size(memory));
    if end <= size {
        return Ok(());
    }
    let name = memory.address_space().name();
    Err(fault(format!(
        "{name} has {size:#x} bytes, but {len:#x} bytes at {address:#x} end at {end:#x}"
    )))
}

/// Returns the address after the last of `len` bytes.
fn end(address: u64, len: usize) -> u128 {
    // Two numbers of 64 bits.
    u128::from(address).wrapping_add(len as u128)
}

/// Consecutive bytes, at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Region {
    address: u64,
    bytes: Vec<u8>,
}

impl Region {
    fn end(&self) -> u128 {
        end(self.address, self.bytes.len())
    }

    /// Returns the position of `len` bytes at `address` in this region, if it has them all.
    fn position(&self, address: u64, len: usize) -> Option<Range<usize>> {
        let start = usize::try_from(address.checked_sub(self.address)?).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then_some(start..end)
    }
}

/// All known bytes, in regions that neither overlap nor touch, in ascending order. A read therefore never needs more than one region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Regions(Vec<Region>);

impl Regions {
    /// Returns every region's address and bytes, in ascending order.
    #[cfg(feature = "serde")]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.0
            .iter()
            .map(|region| (region.address, region.bytes.as_slice()))
    }

    /// Returns the index of the only region that can contain the byte at `address`.
    fn find(&self, address: u64) -> Option<usize> {
        self.0
            .partition_point(|region| region.address <= address)
            .checked_sub(1)
    }

    /// Returns the `len` bytes at `address`, or `None` if one of them is unknown.
    pub(super) fn read(&self, address: u64, len: usize) -> Option<&[u8]> {
        let region = self.0.get(self.find(address)?)?;
        region.bytes.get(region.position(address, len)?)
    }

    /// Returns the `len` bytes at `address`, for writing, or `None` if one of them is unknown.
    pub(super) fn write(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        let index = self.find(address)?;
        let region = self.0.get_mut(index)?;
        let position = region.position(address, len)?;
        region.bytes.get_mut(position)
    }

    /// Adds `bytes`, at least one, at `address`. They must be within the memory. If addresses ascend, adding many regions takes time proportional to
    /// their bytes.
    ///
    /// Fails with an address at which different bytes are known already, without changing anything.
    pub(super) fn insert(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64> {
        let (start, end) = (u128::from(address), end(address, bytes.len()));
        let first = self.0.partition_point(|region| region.end() < start);
        let last = self
            .0
            .partition_point(|region| u128::from(region.address) <= end);
        for region in self.0.get(first..last).unwrap_or_default() {
            agree(region, address, bytes)?;
        }
        let added = Region {
            address,
            bytes: bytes.to_vec(),
        };
        let mut touched: Vec<Region> = self.0.splice(first..last, []).collect();
        let place = touched.partition_point(|region| region.address <= address);
        touched.insert(place, added);
        let mut parts = touched.into_iter();
        let mut whole = parts.next().unwrap_or_default();
        for part in parts {
            let known = whole.end().saturating_sub(part.address.into());
            let tail = usize::try_from(known)
                .ok()
                .and_then(|known| part.bytes.get(known..));
            whole.bytes.extend_from_slice(tail.unwrap_or_default());
        }
        self.0.insert(first, whole);
        Ok(())
    }
}

/// Fails with the first address at which `region`, and `bytes` at `address`, have different bytes.
fn agree(region: &Region, address: u64, bytes: &[u8]) -> Result<(), u64> {
    let start = address.max(region.address);
    let before = |from: u64| usize::try_from(start.saturating_sub(from)).unwrap_or(usize::MAX);
    let left = region.bytes.iter().skip(before(region.address));
    let right = bytes.iter().skip(before(address));
    match left.zip(right).position(|(left, right)| left != right) {
        Some(differs) => Err(start.saturating_add(differs as u64)),
        None => Ok(()),
    }
}
