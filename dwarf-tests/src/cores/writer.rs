//! Writes core files of processes that never ran.
//!
//! What is written is chosen by the caller ([`CoreSpec`]); contents of registers are made from the wave's number, so
//! that each is different and a test can tell which one it sees. [`Built`] is what a process would be at its death, and
//! can be damaged before it becomes a file.

use std::sync::Arc;

use super::generation::{Generation, halves};

/// A process.
#[derive(Clone, Debug)]
pub struct CoreSpec {
    /// How waves are saved.
    pub generation: Generation,
    /// The same as the note numbers it.
    pub target: u32,
    /// XCCs.
    pub xccs: u32,
    /// Shader engines of an XCC.
    pub engines: u32,
    /// The version of the runtime's interface.
    pub version: u32,
    /// The version of the driver's interface.
    pub kfd: (u32, u32),
    /// The state of the runtime.
    pub runtime_state: u32,
    /// Whether the note says that trap temporaries are set up.
    pub ttmp_setup: bool,
    /// Whether the agent says so.
    pub ttmp_always: bool,
    /// The queues.
    pub queues: Vec<QueueSpec>,
    /// The code objects: load address and URI.
    pub objects: Vec<(u64, String)>,
    /// Other memory of the process: address, bytes, and whether it is in the GPU's half.
    pub memory: Vec<(u64, Vec<u8>, bool)>,
}

impl CoreSpec {
    /// A process on one GPU without a queue.
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
    /// Its number.
    pub id: u32,
    /// Packets of the ring.
    pub packets: u32,
    /// The read index.
    pub read: u64,
    /// The write index.
    pub write: u64,
    /// Waves that can have scratch, as the register counts them.
    pub scratch_waves: u32,
    /// Scratch of a wave, in bytes.
    pub scratch_bytes: u32,
    /// Waves of each XCC, in the order of its control stack.
    pub waves: Vec<Vec<WaveSpec>>,
}

/// A wave.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "fields as in the description of the format")]
pub struct WaveSpec {
    /// What its registers are made from.
    pub seed: u32,
    pub lanes: u32,
    pub vgprs: u32,
    pub agprs: u32,
    pub shared: u32,
    pub sgprs: u32,
    pub lds: u32,
    pub is_first: bool,
    pub is_last: bool,
    pub has_scratch: bool,
    pub engine: u32,
    pub slot: u32,
    pub pc: u64,
    pub exec: u64,
    pub vcc: u64,
    pub flat_scratch: u64,
    pub status: u32,
    pub trapsts: u32,
    pub mode: u32,
    pub state_priv: u32,
    pub excp_priv: u32,
    pub excp_user: u32,
    pub trap_ctrl: u32,
    pub is_stopped: bool,
    pub was_halted: bool,
    pub was_in_handler: bool,
    /// Launched without the set-up of trap temporaries.
    pub is_marked: bool,
    pub trap_id: u32,
    pub packet_index: u32,
    pub workgroup: [u32; 3],
    pub wave_in_group: u32,
    /// Of a wave that ran, in place of what is made up.
    pub copied: Option<Copied>,
}

/// What another wave of gfx1100 left, without LDS.
#[derive(Clone, Debug)]
pub struct Copied {
    /// Its record.
    pub record: Arc<[u8]>,
    /// The start of its scratch.
    pub scratch: Arc<[u8]>,
}

impl Copied {
    /// The record with another place in the grid and in scratch.
    fn record(&self, wave: &WaveSpec) -> Vec<u8> {
        let mut record = self.record.to_vec();
        let ttmps = record.len() - 64;
        let hardware = ttmps - 64;
        set64(&mut record, hardware + 9 * 4, wave.flat_scratch);
        for (n, word) in (8..).zip(wave.workgroup) {
            record[ttmps + n * 4..ttmps + n * 4 + 4].copy_from_slice(&word.to_le_bytes());
        }
        record[ttmps + 11 * 4] &= !0x3f;
        record
    }
}

/// The pc of a wave that is parked in the trap handler.
pub const TRAP_HANDLER: u64 = 0x7fff_0000_1000;

impl WaveSpec {
    /// A wave of 32 lanes on gfx11, the only one of its workgroup, that is at 0 and runs no lane.
    #[must_use]
    pub fn of_gfx11() -> WaveSpec {
        WaveSpec {
            seed: 0,
            lanes: 32,
            vgprs: 8,
            agprs: 0,
            shared: 0,
            sgprs: 128,
            lds: 0,
            is_first: true,
            is_last: true,
            has_scratch: true,
            engine: 0,
            slot: 0,
            pc: 0,
            exec: 0,
            vcc: 0,
            flat_scratch: 0,
            status: 0,
            trapsts: 0,
            mode: 0,
            state_priv: 0,
            excp_priv: 0,
            excp_user: 0,
            trap_ctrl: 0,
            is_stopped: false,
            was_halted: false,
            was_in_handler: true,
            is_marked: false,
            trap_id: 0,
            packet_index: 0,
            workgroup: [0, 0, 0],
            wave_in_group: 0,
            copied: None,
        }
    }

    /// What a register has, or a byte of LDS or scratch.
    #[must_use]
    pub fn value(&self, kind: &str, number: u32, lane: u32) -> u32 {
        let start = kind
            .bytes()
            .fold(self.seed.wrapping_mul(0x9e37_79b9), |hash, byte| {
                hash.rotate_left(5) ^ u32::from(byte)
            });
        let mut hash = start ^ number.wrapping_mul(0x85eb_ca6b) ^ lane.wrapping_mul(0xc2b2_ae35);
        for shift in [16, 13, 15] {
            hash = (hash ^ hash >> shift).wrapping_mul(0x27d4_eb2f);
        }
        hash
    }

    /// `M0`.
    #[must_use]
    pub fn m0(&self) -> u32 {
        self.value("m0", 0, 0)
    }

    pub(super) fn record(&self, generation: Generation, version: u32) -> Vec<u8> {
        if let Some(copied) = &self.copied {
            return copied.record(self);
        }
        let mut words = Vec::new();
        for n in 0..self.vgprs {
            words.extend((0..self.lanes).map(|lane| self.value("v", n, lane)));
        }
        for n in 0..self.agprs {
            words.extend((0..64).map(|lane| self.value("a", n, lane)));
        }
        for n in 0..self.shared {
            words.extend((0..32).map(|lane| self.value("shared", n, lane)));
        }
        let parked = self.is_stopped && generation.parks(version);
        let saved_pc = if parked { TRAP_HANDLER } else { self.pc };
        let hardware = generation.hardware(self, saved_pc);
        let ttmps = generation.ttmps(self, version);
        let mut scalars: Vec<u32> = (0..self.sgprs).map(|n| self.value("s", n, 0)).collect();
        let named = generation.named_scalars(self.sgprs) as usize;
        if generation.is_gfx9() {
            (scalars[named], scalars[named + 1]) = halves(self.flat_scratch);
            (scalars[named + 4], scalars[named + 5]) = halves(self.vcc);
        } else {
            (scalars[106], scalars[107]) = halves(self.vcc);
        }
        if generation == Generation::Gfx12_5 {
            scalars[112..].copy_from_slice(&ttmps);
            words.extend(scalars);
            words.extend(hardware);
        } else {
            words.extend(scalars);
            words.extend(hardware);
            words.extend(ttmps);
        }
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        if self.is_first {
            bytes.extend((0..self.lds).map(|n| self.lds_byte(n)));
        }
        if generation.is_gfx9() {
            bytes.extend([0xee; 64]);
        }
        bytes
    }

    /// A byte of LDS, of a workgroup whose first wave this is.
    #[must_use]
    pub fn lds_byte(&self, at: u32) -> u8 {
        self.value("lds", at, 0) as u8
    }

    /// A byte of scratch.
    #[must_use]
    pub fn scratch_byte(&self, at: u32) -> u8 {
        let copied = self.copied.as_ref();
        let byte = copied.map(|copied| copied.scratch.get(at as usize).copied().unwrap_or(0));
        byte.unwrap_or_else(|| self.value("scratch", at, 0) as u8)
    }
}

/// A part of the process's memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its address.
    pub address: u64,
    /// What it has.
    pub bytes: Vec<u8>,
    /// Whether only the GPU's half has the bytes.
    pub of_gpu: bool,
}

/// A process at its death.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its memory.
    pub regions: Vec<Region>,
    /// The contents of the note.
    pub note: Vec<u8>,
}

/// Where the parts of a process are.
pub mod at {
    /// `r_debug`.
    pub const R_DEBUG: u64 = 0x7fb0_0000_42e0;
    /// An entry of the list of code objects.
    #[must_use]
    pub fn entry(n: u64) -> u64 {
        0x7fb0_0001_0000 + n * 0x400
    }
    /// The read index of a queue.
    #[must_use]
    pub fn read_index(queue: u64) -> u64 {
        0x7fb0_1000_0080 + queue * 0x1_0000
    }
    /// The ring of a queue.
    #[must_use]
    pub fn ring(queue: u64) -> u64 {
        0x7fb0_2000_0000 + queue * 0x100_0000
    }
    /// The save area of a queue.
    #[must_use]
    pub fn save_area(queue: u64) -> u64 {
        0x7fb1_0000_0000 + queue * 0x4000_0000
    }
    /// The scratch of a queue.
    #[must_use]
    pub fn scratch(queue: u64) -> u64 {
        0x7fc0_0000_0000 + queue * 0x1_0000_0000
    }
    /// Where the control stack is in a save area.
    pub const STACK: u64 = 64;
    /// The descriptor of every kernel.
    pub const KERNEL: u64 = 0x7f40_0000_0940;
    /// The offset of the agents in the note.
    pub const AGENTS: usize = 56;
    /// The size of an agent in the note.
    pub const AGENT: usize = 120;
}

/// The agent's number.
pub const GPU_ID: u32 = 4660;

impl CoreSpec {
    /// The process at its death.
    #[must_use]
    pub fn build(&self) -> Built {
        let mut built = Built {
            regions: Vec::new(),
            note: self.note(),
        };
        self.add_list(&mut built);
        for (index, queue) in (0..).zip(&self.queues) {
            self.add_queue(index, queue, &mut built);
        }
        for (address, bytes, of_gpu) in &self.memory {
            built.add(*address, bytes.clone(), *of_gpu);
        }
        built
    }

    fn note(&self) -> Vec<u8> {
        let mut note = Vec::new();
        let queues = u32::try_from(self.queues.len()).unwrap();
        put64(&mut note, &[1]);
        put32(&mut note, &[self.kfd.0, self.kfd.1]);
        put64(&mut note, &[16]);
        put32(&mut note, &[1, 120, queues, 64]);
        put64(&mut note, &[at::R_DEBUG]);
        put32(&mut note, &[self.runtime_state, u32::from(self.ttmp_setup)]);
        let lds = 0x1_0000_0000_0000;
        let private = 0x2_0000_0000_0000;
        put64(
            &mut note,
            &[0, lds, lds + 0xffff_ffff, private, private + 0xffff_ffff],
        );
        put64(&mut note, &[0, 0xffff_ffff_ffff]);
        let arrays = self.engines * 2;
        put32(
            &mut note,
            &[GPU_ID, 768, 0x1002, 1, 2, 0x1002, 3, 4, self.target],
        );
        put32(&mut note, &[64, 16, arrays, 2, self.xccs]);
        put32(
            &mut note,
            &[1 << 15 | 1 << 29, u32::from(self.ttmp_always) << 10],
        );
        for (index, queue) in (0..).zip(&self.queues) {
            let read = at::read_index(index);
            put64(
                &mut note,
                &[0, at::ring(index), read - 72, read, at::save_area(index)],
            );
            let size = self.area_size(queue);
            put32(
                &mut note,
                &[queue.id, GPU_ID, queue.packets * 64, 2, size, 0],
            );
        }
        note
    }

    fn add_list(&self, built: &mut Built) {
        let first = if self.objects.is_empty() {
            0
        } else {
            at::entry(0)
        };
        let mut head = Vec::new();
        put64(&mut head, &[self.version.into(), first, 0x1234]);
        put32(&mut head, &[0, 0]);
        built.add(at::R_DEBUG, head, false);
        for (n, (load_address, uri)) in (0..).zip(&self.objects) {
            let is_last = n + 1 == self.objects.len() as u64;
            let next = if is_last { 0 } else { at::entry(n + 1) };
            let before = if n == 0 { 0 } else { at::entry(n - 1) };
            let mut entry = Vec::new();
            put64(
                &mut entry,
                &[*load_address, at::entry(n) + 40, 0, next, before],
            );
            entry.extend(uri.bytes());
            entry.push(0);
            built.add(at::entry(n), entry, false);
        }
    }

    fn add_queue(&self, index: u64, queue: &QueueSpec, built: &mut Built) {
        let (generation, engines) = (self.generation, self.engines);
        let mut structure = vec![0; 184];
        set64(&mut structure, 56, queue.write);
        set64(&mut structure, 128, queue.read);
        let tmpring = generation.tmpring(queue.scratch_waves, queue.scratch_bytes);
        structure[140..144].copy_from_slice(&tmpring.to_le_bytes());
        set64(&mut structure, 160, at::scratch(index));
        let of_xcc = generation.scratch_of_xcc(queue.scratch_waves, engines, queue.scratch_bytes);
        // Afterwards another field is here.
        let field = if self.version <= 10 {
            of_xcc
        } else {
            0xdead_beef
        };
        set64(&mut structure, 168, field);
        built.add(at::read_index(index) - 128, structure, false);
        let mut ring = vec![0; queue.packets as usize * 64];
        for id in queue.read..queue.write.min(queue.read + u64::from(queue.packets)) {
            let slot = (id % u64::from(queue.packets)) as usize * 64;
            ring[slot..slot + 64].copy_from_slice(&packet(id));
        }
        built.add(at::ring(index), ring, false);
        for (xcc, waves) in (0..).zip(&queue.waves) {
            let start = at::save_area(index) + xcc * u64::from(self.area_size(queue));
            built.add(start, self.save_area(waves, queue.id), false);
            for wave in waves.iter().filter(|wave| wave.has_scratch) {
                let bytes = (0..queue.scratch_bytes)
                    .map(|n| wave.scratch_byte(n))
                    .collect();
                let offset = generation.scratch_offset(
                    queue.scratch_waves,
                    engines,
                    queue.scratch_bytes,
                    wave.engine,
                    wave.slot,
                );
                built.add(at::scratch(index) + xcc * of_xcc + offset, bytes, true);
            }
        }
    }

    /// The size of the save area of an XCC.
    fn area_size(&self, queue: &QueueSpec) -> u32 {
        let areas = queue
            .waves
            .iter()
            .map(|waves| self.save_area(waves, 0).len());
        u32::try_from(areas.max().unwrap_or(0).next_multiple_of(4096)).unwrap()
    }

    fn save_area(&self, waves: &[WaveSpec], junk: u32) -> Vec<u8> {
        let mut stack = vec![0xbe5d_8e6e ^ junk, 0xb6cc_7f42 ^ junk];
        let mut records = Vec::new();
        let mut last = Vec::new();
        for wave in waves {
            // The second word of a state can have any bits.
            let state = self.generation.state(wave, 0xe29e_52cc ^ wave.seed);
            if last.first() != state.first() {
                // An event, with the bit of a state or without.
                stack.push(0x4000_0000 | wave.seed << 31);
                stack.extend(&state);
                last = state;
            }
            stack.push(self.generation.wave_word(wave));
            records.push(wave.record(self.generation, self.version));
        }
        records.reverse();
        let records = records.concat();
        if waves.is_empty() {
            return vec![0; 64];
        }
        let (stack_bytes, wave_bytes) = (stack.len() as u32 * 4, records.len() as u32);
        let start = at::STACK as u32;
        let mut area = Vec::new();
        let end = start + stack_bytes + wave_bytes;
        put32(
            &mut area,
            &[start, stack_bytes, end, wave_bytes, end, 0, 0, 0, 0],
        );
        area.resize(start as usize, 0x77);
        put32(&mut area, &stack);
        area.extend(records);
        area
    }
}

/// The sizes of a dispatch: workgroup and grid.
pub const SIZES: ([u32; 3], [u32; 3]) = ([48, 3, 2], [200, 7, 5]);

fn packet(id: u64) -> [u8; 64] {
    let mut packet = [0; 64];
    let (group, grid) = SIZES;
    let header: u16 = 2 | 1 << 8 | 2 << 9 | 1 << 11;
    packet[..2].copy_from_slice(&header.to_le_bytes());
    packet[2] = 3;
    for n in 0..3 {
        packet[4 + n * 2..6 + n * 2].copy_from_slice(&(group[n] as u16).to_le_bytes());
        packet[12 + n * 4..16 + n * 4].copy_from_slice(&grid[n].to_le_bytes());
    }
    set64(&mut packet, 32, at::KERNEL);
    set64(&mut packet, 40, 0x7f10_0000_0000 + id * 64);
    packet
}

fn put32(out: &mut Vec<u8>, words: &[u32]) {
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn put64(out: &mut Vec<u8>, words: &[u64]) {
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn set64(out: &mut [u8], offset: usize, value: u64) {
    out[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
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

    /// The region that has an address, and where in it.
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

    /// Four bytes of memory.
    pub fn get32(&mut self, address: u64) -> u32 {
        let (region, at) = self.find(address);
        u32::from_le_bytes(region.bytes[at..at + 4].try_into().unwrap())
    }

    /// Replaces eight bytes of memory.
    pub fn set64(&mut self, address: u64, value: u64) {
        let (region, at) = self.find(address);
        set64(&mut region.bytes, at, value);
    }

    /// Takes memory away, from an address to the end of its region.
    pub fn cut(&mut self, address: u64) {
        let (region, at) = self.find(address);
        region.bytes.truncate(at);
    }

    /// Replaces four bytes of the note.
    pub fn set_note32(&mut self, offset: usize, value: u32) {
        self.note[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Both in one file, as `roccoremerge` and `gcore` write it.
    #[must_use]
    pub fn merged(&self) -> Vec<u8> {
        self.file(62, 0, |_| true, Some(&self.note))
    }

    /// What the runtime writes.
    #[must_use]
    pub fn gpu_half(&self) -> Vec<u8> {
        let gpu: Vec<Region> = self.regions.iter().filter(|r| r.of_gpu).cloned().collect();
        let only = Built {
            regions: gpu,
            note: Vec::new(),
        };
        only.file(224, 64, |_| true, Some(&self.note))
    }

    /// What the kernel writes: memory of the GPU has no bytes.
    #[must_use]
    pub fn host_half(&self) -> Vec<u8> {
        self.file(62, 0, |region| !region.of_gpu, None)
    }

    /// More than 65,534 program headers: the number is in section header 0, and most segments are of one byte.
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
        // A note of the type with another name is not it.
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
