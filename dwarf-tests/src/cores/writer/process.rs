//! Builds the process of a specification: the note, the list of code objects, and queues with their rings, save areas and scratch.

use super::{Built, CoreSpec, QueueSpec, WaveSpec, put32, put64, set64};

/// The addresses and offsets of the parts of a process.
pub mod at {
    /// `r_debug`.
    pub const R_DEBUG: u64 = 0x7fb0_0000_42e0;
    /// Returns the address of an entry in the list of code objects.
    #[must_use]
    pub fn entry(n: u64) -> u64 {
        0x7fb0_0001_0000 + n * 0x400
    }
    /// Returns the address of a queue's read index.
    #[must_use]
    pub fn read_index(queue: u64) -> u64 {
        0x7fb0_1000_0080 + queue * 0x1_0000
    }
    /// Returns the address of a queue's ring.
    #[must_use]
    pub fn ring(queue: u64) -> u64 {
        0x7fb0_2000_0000 + queue * 0x100_0000
    }
    /// Returns the address of a queue's save area.
    #[must_use]
    pub fn save_area(queue: u64) -> u64 {
        0x7fb1_0000_0000 + queue * 0x4000_0000
    }
    /// Returns the address of a queue's scratch.
    #[must_use]
    pub fn scratch(queue: u64) -> u64 {
        0x7fc0_0000_0000 + queue * 0x1_0000_0000
    }
    /// The offset of the control stack in a save area.
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
    /// Builds the process at the time of its crash.
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
        // In later versions this is another field.
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

    /// Returns the size of the save area of an XCC.
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
                // An event, with or without the bit of a state.
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
