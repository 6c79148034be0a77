//! Reads queues: the indices, the scratch and the packets of their rings.
//!
//! Sources: the ROCm runtime's `inc/amd_hsa_queue.h` (`amd_queue_t`) and `inc/hsa.h`
//! (`hsa_kernel_dispatch_packet_t`).

use super::memory::ProcessMemory;
use super::note::{QueueEntry, QueueType};
use super::problem::{ProblemKind, ProblemPlace, Problems};
use crate::meter::Meter;
use crate::object::bytes::{u16_at, u32_at, u64_at};

/// A queue.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Queue {
    /// The entry in the note.
    pub entry: QueueEntry,
    /// The index of its agent, or `None` if there is none.
    pub agent: Option<usize>,
    /// The id of the first unfinished packet.
    pub read_id: Option<u64>,
    /// The id of the first packet not yet written.
    pub write_id: Option<u64>,
    /// The number of its waves found.
    pub waves: u64,
    /// Packets in the ring, a power of two.
    pub(super) packets: Option<u32>,
    pub(super) scratch: Option<QueueScratch>,
}

/// The scratch fields of the queue structure.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueScratch {
    /// `COMPUTE_TMPRING_SIZE`.
    pub(super) tmpring: u32,
    pub(super) address: u64,
    /// Bytes of one XCC, up to version 10 of the runtime's interface.
    pub(super) xcc_bytes: u64,
}

/// The size of a packet, in bytes.
const PACKET: u32 = 64;
/// Offsets from the read index in the queue structure, in bytes.
const TMPRING: u64 = 12;
const SCRATCH_ADDRESS: u64 = 32;
const SCRATCH_XCC_BYTES: u64 = 40;

impl Queue {
    /// Reads a queue from the memory of the process.
    pub(super) fn read(
        entry: QueueEntry,
        agent: Option<usize>,
        memory: &ProcessMemory<'_>,
        hint: &'static str,
        problems: &mut Problems,
    ) -> Queue {
        let mut queue = Queue {
            entry,
            agent,
            read_id: None,
            write_id: None,
            waves: 0,
            packets: None,
            scratch: None,
        };
        if entry.kind != QueueType::Aql {
            return queue;
        }
        let mut add = |kind| problems.add(queue.entry.place(), Some(entry.offset), kind);
        let structure = |offset: u64| entry.read_address.checked_add(offset);
        let u64 = |offset| memory.u64(structure(offset)?);
        queue.read_id = memory.u64(entry.read_address);
        queue.write_id = memory.u64(entry.write_address);
        let tmpring = structure(TMPRING).and_then(|at| memory.u32(at));
        if let (Some(tmpring), Some(address), Some(xcc_bytes)) =
            (tmpring, u64(SCRATCH_ADDRESS), u64(SCRATCH_XCC_BYTES))
        {
            queue.scratch = Some(QueueScratch {
                tmpring,
                address,
                xcc_bytes,
            });
        }
        match (queue.read_id, queue.write_id, queue.scratch) {
            (Some(read), Some(write), Some(_)) if read > write => {
                add(ProblemKind::RingIndices { read, write });
            }
            (Some(_), Some(_), Some(_)) => {}
            _ => {
                add(ProblemKind::NotInFile {
                    what: "the queue structure",
                    address: entry.read_address,
                    hint,
                });
            }
        }
        let packets = entry.ring_size / PACKET;
        if packets.is_power_of_two() && entry.ring_size.is_multiple_of(PACKET) {
            queue.packets = Some(packets);
        } else {
            let size = entry.ring_size;
            add(ProblemKind::RingSize { size });
        }
        queue
    }

    /// Returns true if ring and indices are valid. A missing packet is then a fault of the wave.
    pub(super) fn knows_packets(&self) -> bool {
        let indices = self.read_id.zip(self.write_id);
        self.packets.is_some() && indices.is_some_and(|(read, write)| read <= write)
    }

    /// Returns true if there are unfinished packets.
    pub(super) fn is_busy(&self) -> bool {
        matches!((self.read_id, self.write_id), (Some(read), Some(write)) if read < write)
    }

    /// Returns the ids of packets that are written and not finished. Writers reserve ids before there is room, so the write index can be ahead by
    /// more than the size of the ring.
    fn unfinished(&self) -> Option<core::ops::Range<u64>> {
        let (read, write) = (self.read_id?, self.write_id?);
        let end = read.saturating_add(self.packets?.into());
        Some(read..write.min(end))
    }

    /// Returns the id of the packet with this index in the ring that launched a wave.
    pub(super) fn packet_id(&self, index: u32) -> Option<u64> {
        let packets = self.packets?;
        let unfinished = self.unfinished()?;
        if index >= packets {
            return None;
        }
        let mask = u64::from(packets).wrapping_sub(1);
        let mut id = unfinished.start & !mask | u64::from(index);
        if id < unfinished.start {
            id = id.checked_add(packets.into())?;
        }
        unfinished.contains(&id).then_some(id)
    }

    /// Returns the address of a packet.
    fn packet_address(&self, id: u64) -> Option<u64> {
        let index = id & u64::from(self.packets?).wrapping_sub(1);
        let offset = index.checked_mul(PACKET.into())?;
        self.entry.ring_address.checked_add(offset)
    }

    /// Reads the packet with an id, regardless of the type in its header.
    pub(super) fn packet(&self, memory: &ProcessMemory<'_>, id: u64) -> Option<Packet> {
        Packet::read(&memory.array::<64>(self.packet_address(id)?)?)
    }

    /// Returns the ids of all unfinished dispatch packets.
    pub(super) fn dispatch_ids(
        &self,
        memory: &ProcessMemory<'_>,
        hint: &'static str,
        meter: &Meter,
        problems: &mut Problems,
    ) -> Vec<u64> {
        let mut found = Vec::new();
        let place = self.entry.place();
        for id in self.unfinished().unwrap_or_default() {
            if let Err(error) = meter.work(1).and(meter.hold_all::<Dispatch>(1)) {
                let kind = ProblemKind::of_limit(&error);
                problems.add(place, Some(self.entry.offset), kind);
                break;
            }
            let header = self.packet_address(id).and_then(|at| memory.u16(at));
            let Some(header) = header else {
                let kind = ProblemKind::NotInFile {
                    what: "the ring of packets",
                    address: self.packet_address(id).unwrap_or(self.entry.ring_address),
                    hint,
                };
                problems.add(place, Some(self.entry.offset), kind);
                break;
            };
            if header & 0xff == DISPATCH {
                found.push(id);
            }
        }
        found
    }
}

impl QueueEntry {
    pub(super) fn place(&self) -> ProblemPlace {
        ProblemPlace::Queue {
            queue_id: self.queue_id,
            xcc: None,
        }
    }
}

/// The type of a packet that dispatches a kernel.
const DISPATCH: u16 = 2;

/// The scope of a packet's fence.
///
/// Intentionally exhaustive: the field has two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceScope {
    /// No fence.
    None,
    /// The agent.
    Agent,
    /// The system.
    System,
    /// A reserved number.
    Reserved,
}

impl FenceScope {
    /// Returns the name in JSON documents: `none`, `agent`, `system` or `reserved`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FenceScope::None => "none",
            FenceScope::Agent => "agent",
            FenceScope::System => "system",
            FenceScope::Reserved => "reserved",
        }
    }

    fn from_bits(bits: u16) -> FenceScope {
        match bits & 3 {
            0 => FenceScope::None,
            1 => FenceScope::Agent,
            2 => FenceScope::System,
            _ => FenceScope::Reserved,
        }
    }
}

/// A packet that dispatches a kernel.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// True if it waits for the packets before it.
    pub barrier: bool,
    /// The scope of the acquire fence before it.
    pub acquire: FenceScope,
    /// The scope of the release fence after it.
    pub release: FenceScope,
    /// Work-items of a workgroup, in each dimension.
    pub workgroup_size: [u32; 3],
    /// Work-items of the grid, in each dimension.
    pub grid_size: [u32; 3],
    /// Scratch of a lane, in bytes.
    pub private_segment_size: u32,
    /// LDS of a workgroup, in bytes.
    pub group_segment_size: u32,
    /// The address of the kernel's descriptor.
    pub kernel_object: u64,
    /// The address of the arguments.
    pub kernarg_address: u64,
    /// The signal that is sent at the end.
    pub completion_signal: u64,
}

impl Packet {
    fn read(bytes: &[u8]) -> Option<Packet> {
        let header = u16_at(bytes, 0)?;
        let size = |at| u16_at(bytes, at).map(u32::from);
        Some(Packet {
            barrier: header >> 8 & 1 == 1,
            acquire: FenceScope::from_bits(header >> 9),
            release: FenceScope::from_bits(header >> 11),
            workgroup_size: [size(4)?, size(6)?, size(8)?],
            grid_size: [u32_at(bytes, 12)?, u32_at(bytes, 16)?, u32_at(bytes, 20)?],
            private_segment_size: u32_at(bytes, 24)?,
            group_segment_size: u32_at(bytes, 28)?,
            kernel_object: u64_at(bytes, 32)?,
            kernarg_address: u64_at(bytes, 40)?,
            completion_signal: u64_at(bytes, 56)?,
        })
    }
}

/// A dispatch: a packet that is unfinished, or that launched a wave.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The queue, as an index.
    pub queue: usize,
    /// The id of the packet.
    pub packet_id: u64,
    /// The decoded packet.
    pub packet: Packet,
}
