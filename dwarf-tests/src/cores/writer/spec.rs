//! Defines the caller's choices for a process and its queues.

use super::WaveSpec;
use crate::cores::generation::Generation;

/// A process.
#[derive(Clone, Debug)]
pub struct CoreSpec {
    /// The generation, which determines how waves are saved.
    pub generation: Generation,
    /// The target's number in the note.
    pub target: u32,
    /// The number of XCCs.
    pub xccs: u32,
    /// The number of shader engines of an XCC.
    pub engines: u32,
    /// The version of the runtime's interface.
    pub version: u32,
    /// The version of the driver's interface.
    pub kfd: (u32, u32),
    /// The state of the runtime.
    pub runtime_state: u32,
    /// True if the note says that trap temporaries are set up.
    pub ttmp_setup: bool,
    /// True if the agent says that trap temporaries are set up.
    pub ttmp_always: bool,
    /// The queues.
    pub queues: Vec<QueueSpec>,
    /// The code objects: load address and URI.
    pub objects: Vec<(u64, String)>,
    /// Other memory of the process: address, bytes, and true if it is in the GPU's half.
    pub memory: Vec<(u64, Vec<u8>, bool)>,
}

impl CoreSpec {
    /// Returns a process on one GPU without a queue.
    #[must_use]
    pub fn new(generation: Generation, target: u32) -> CoreSpec {
        CoreSpec {
            generation,
            target,
            xccs: 1,
            engines: 4,
            version: 10,
            kfd: (1, 18),
            runtime_state: 1,
            ttmp_setup: true,
            ttmp_always: false,
            queues: Vec::new(),
            objects: Vec::new(),
            memory: Vec::new(),
        }
    }
}

/// A queue for kernels.
#[derive(Clone, Debug)]
pub struct QueueSpec {
    /// The number of the queue.
    pub id: u32,
    /// The number of packets of the ring.
    pub packets: u32,
    /// The read index.
    pub read: u64,
    /// The write index.
    pub write: u64,
    /// The number of waves that can have scratch, as the register counts them.
    pub scratch_waves: u32,
    /// The scratch of a wave, in bytes.
    pub scratch_bytes: u32,
    /// The waves of each XCC, in the order of its control stack.
    pub waves: Vec<Vec<WaveSpec>>,
}
