//! Generates machine code of `gfx1100` for waves of 32 lanes: prologues, bodies and epilogues like LLVM's.
//!
//! Tables hold instructions with the text from which they were assembled. Source of the forms: the corpus (`fixtures/corpus/llvm24`,
//! `fixtures/waves/calls-O2`).

use crate::simulator::random::Random;

/// An instruction: the assembler's input and output.
pub type Instruction = (&'static str, &'static [u32]);

/// Waits for the caller's outstanding operations. Every function starts with this.
pub const ENTRY: Instruction = ("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)", &[0xbf89_0000]);

/// Makes a frame: `s33`, the mask and the return address in lanes of `v40`, and `v41` and `v42` in scratch.
pub const PROLOGUE: &[Instruction] = &[
    ENTRY,
    ("s_mov_b32 s6, s33", &[0xbe86_0021]),
    ("s_mov_b32 s33, s32", &[0xbea1_0020]),
    ("s_or_saveexec_b32 s4, -1", &[0xbe84_22c1]),
    (
        "scratch_store_b32 off, v40, s33",
        &[0xdc69_0000, 0x0021_2800],
    ),
    ("s_mov_b32 exec_lo, s4", &[0xbefe_0004]),
    ("v_writelane_b32 v40, s30, 0", &[0xd761_0028, 0x0001_001e]),
    ("v_writelane_b32 v40, s31, 1", &[0xd761_0028, 0x0001_021f]),
    ("v_writelane_b32 v40, s6, 2", &[0xd761_0028, 0x0001_0406]),
    ("v_writelane_b32 v40, s4, 3", &[0xd761_0028, 0x0001_0604]),
    ("s_add_i32 s32, s32, 48", &[0x8120_b020]),
    (
        "scratch_store_b32 off, v41, s33 offset:4",
        &[0xdc69_0004, 0x0021_2900],
    ),
    (
        "scratch_store_b32 off, v42, s33 offset:8",
        &[0xdc69_0008, 0x0021_2a00],
    ),
    ("v_mov_b32_e32 v41, v0", &[0x7e52_0300]),
    ("v_mov_b32_e32 v42, v1", &[0x7e54_0301]),
];

/// Undoes [`PROLOGUE`].
pub const EPILOGUE: &[Instruction] = &[
    (
        "scratch_load_b32 v42, off, s33 offset:8",
        &[0xdc51_0008, 0x2a21_0000],
    ),
    (
        "scratch_load_b32 v41, off, s33 offset:4",
        &[0xdc51_0004, 0x2921_0000],
    ),
    ("v_readlane_b32 s6, v40, 2", &[0xd760_0006, 0x0001_0528]),
    ("v_readlane_b32 s30, v40, 0", &[0xd760_001e, 0x0001_0128]),
    ("v_readlane_b32 s31, v40, 1", &[0xd760_001f, 0x0001_0328]),
    ("s_mov_b32 s32, s33", &[0xbea0_0021]),
    ("s_or_saveexec_b32 s4, -1", &[0xbe84_22c1]),
    (
        "scratch_load_b32 v40, off, s33",
        &[0xdc51_0000, 0x2821_0000],
    ),
    ("s_mov_b32 exec_lo, s4", &[0xbefe_0004]),
    ("s_mov_b32 s33, s6", &[0xbea1_0006]),
    ("s_waitcnt vmcnt(0)", &[0xbf89_03f7]),
];

/// Returns to the caller.
pub const RETURN: Instruction = ("s_setpc_b64 s[30:31]", &[0xbe80_481e]);

/// Starts a kernel: its stack, and some of its arguments.
pub const KERNEL_ENTRY: &[Instruction] = &[
    ("s_mov_b32 s32, 16", &[0xbea0_0090]),
    (
        "s_load_b64 s[8:9], s[4:5], 0x0",
        &[0xf404_0202, 0xf800_0000],
    ),
    ("s_load_b32 s10, s[4:5], 0x8", &[0xf400_0282, 0xf800_0008]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf89_fc07]),
    ("v_mov_b32_e32 v0, s8", &[0x7e00_0208]),
];

/// Ends a kernel.
pub const KERNEL_END: Instruction = ("s_endpgm", &[0xbfb0_0000]);

/// The instructions of bodies. They change `v2` to `v19`, `s8` to `s12`, VCC and SCC.
pub const BODY: &[Instruction] = &[
    ("v_and_b32_e32 v2, 3, v3", &[0x3604_0683]),
    ("v_lshlrev_b32_e32 v4, 2, v2", &[0x3008_0482]),
    ("v_add_nc_u32_e32 v5, v4, v3", &[0x4a0a_0704]),
    ("v_sub_nc_u32_e32 v6, v5, v2", &[0x4c0c_0505]),
    ("v_xor_b32_e32 v7, v6, v5", &[0x3a0e_0b06]),
    ("v_mul_f32_e32 v8, v7, v6", &[0x1010_0d07]),
    ("v_fma_f32 v9, v8, v7, v6", &[0xd613_0009, 0x041a_0f08]),
    ("v_mul_lo_u32 v10, v9, v8", &[0xd72c_000a, 0x0002_1109]),
    (
        "v_add_co_u32 v12, vcc_lo, v10, v9",
        &[0xd700_6a0c, 0x0002_130a],
    ),
    (
        "v_add_co_ci_u32_e64 v13, null, 0, v9, vcc_lo",
        &[0xd520_7c0d, 0x01aa_1280],
    ),
    (
        "v_mad_u64_u32 v[14:15], null, v2, v3, 7",
        &[0xd6fe_7c0e, 0x021e_0702],
    ),
    ("v_cndmask_b32_e32 v16, v2, v3, vcc_lo", &[0x0220_0702]),
    ("v_max_f32_e32 v17, v16, v2", &[0x2022_0510]),
    ("s_delay_alu instid0(VALU_DEP_1)", &[0xbf87_0001]),
    ("s_mul_i32 s8, s9, s10", &[0x9608_0a09]),
    ("s_add_i32 s9, s8, 1", &[0x8109_8108]),
    ("s_lshl_b32 s11, s8, 2", &[0x840b_8208]),
    ("s_and_b32 s12, s11, 0xffff", &[0x8b0c_ff0b, 0x0000_ffff]),
    (
        "global_load_b32 v18, v[0:1], off",
        &[0xdc52_0000, 0x127c_0000],
    ),
    ("s_waitcnt vmcnt(0)", &[0xbf89_03f7]),
    (
        "v_dual_mov_b32 v4, v3 :: v_dual_mov_b32 v7, v0",
        &[0xca10_0103, 0x0406_0100],
    ),
];

/// Starts a block that only some lanes run. The number of lanes and the branch around it follow.
pub const DIVERGE: &[Instruction] = &[
    ("v_cmp_gt_u32_e32 vcc_lo, 16, v3", &[0x7c98_0690]),
    ("s_and_saveexec_b32 s5, vcc_lo", &[0xbe85_206a]),
];
/// Branches around the block. The low half is the distance in dwords.
pub const BRANCH: Instruction = ("s_cbranch_execz 0", &[0xbfa5_0000]);
/// Ends the block.
pub const CONVERGE: Instruction = ("s_or_b32 exec_lo, exec_lo, s5", &[0x8c7e_057e]);

/// Calls a function. The literal is the distance from the end of the first instruction.
pub const CALL: &[Instruction] = &[
    ("s_getpc_b64 s[16:17]", &[0xbe90_4700]),
    (
        "s_add_u32 s16, s16, 0xffffff14",
        &[0x8010_ff10, 0xffff_ff14],
    ),
    ("s_addc_u32 s17, s17, -1", &[0x8211_c111]),
    ("s_swappc_b64 s[30:31], s[16:17]", &[0xbe9e_4910]),
];
/// `s_nop 0`, which fills the space between functions.
pub const NOP: Instruction = ("s_nop 0", &[0xbf80_0000]);

/// The kind of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The function calls nothing and has no frame.
    Leaf,
    /// The function has a frame, and calls a leaf.
    Framed,
    /// The function is dispatched, and calls a function with a frame.
    Kernel,
}

/// The code of a function, with the facts for its debugging information.
#[derive(Debug)]
pub struct Code {
    /// The kind of the function.
    pub kind: Kind,
    /// The offsets of instructions in bytes, and then the size.
    pub offsets: Vec<u32>,
    /// The words.
    pub words: Vec<u32>,
    /// The body, as a range of instruction numbers.
    pub body: core::ops::Range<usize>,
    /// The divergent regions: offsets after the instruction that switches lanes off, and after the one that restores them.
    pub divergent: Vec<(u32, u32)>,
    /// The offset after the call, which is the return address.
    pub returns_to: Option<u32>,
}

impl Code {
    /// Returns the size in bytes.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.offsets.last().copied().unwrap_or_default()
    }

    /// Returns the offset of an instruction.
    #[must_use]
    pub fn at(&self, instruction: usize) -> u32 {
        self.offsets[instruction]
    }

    fn put(&mut self, instruction: Instruction) -> usize {
        self.words.extend(instruction.1);
        self.offsets
            .push(u32::try_from(self.words.len() * 4).unwrap());
        self.words.len() - 1
    }

    fn put_all(&mut self, instructions: &[Instruction]) {
        for instruction in instructions {
            self.put(*instruction);
        }
    }

    /// Calls the code that starts `distance` bytes from the start of this function.
    fn call(&mut self, distance: i64) {
        let after = self.put(CALL[0]) as i64 * 4 + 4;
        let literal = self.put(CALL[1]);
        self.words[literal] = u32::try_from((distance - after) & 0xffff_ffff).unwrap();
        self.put_all(&CALL[2..]);
        self.returns_to = Some(self.size());
    }

    fn straight(&mut self, count: usize, random: &mut Random) {
        for _ in 0..count {
            self.put(BODY[random.below(BODY.len())]);
        }
    }

    fn block(&mut self, count: usize, random: &mut Random) {
        self.put_all(DIVERGE);
        let from = self.size();
        let branch = self.put(BRANCH);
        self.straight(count, random);
        let distance = u32::try_from(self.words.len() - branch - 1).unwrap();
        self.words[branch] |= distance;
        self.put(CONVERGE);
        self.divergent.push((from, self.size()));
    }
}

/// Generates the code of a function whose body has at least `least` instructions.
///
/// * `callee`: the distance from the function to its callee, which precedes it. Leaves call nothing.
#[must_use]
pub fn write(kind: Kind, least: usize, callee: i64, random: &mut Random) -> Code {
    let mut code = Code {
        kind,
        offsets: vec![0],
        words: Vec::new(),
        body: 0..0,
        divergent: Vec::new(),
        returns_to: None,
    };
    match kind {
        Kind::Leaf => code.put_all(&[ENTRY]),
        Kind::Framed => code.put_all(PROLOGUE),
        Kind::Kernel => code.put_all(KERNEL_ENTRY),
    }
    let start = code.offsets.len() - 1;
    while code.offsets.len() - 1 < start + least {
        let count = 4 + random.below(9);
        // A kernel has no caller, so the value of EXEC on entry is not needed.
        if random.percent(30) {
            code.block(count, random);
        } else {
            code.straight(count, random);
        }
    }
    if kind != Kind::Leaf {
        code.call(callee);
        code.straight(4, random);
    }
    code.body = start..code.offsets.len() - 1;
    match kind {
        Kind::Leaf => code.put_all(&[RETURN]),
        Kind::Framed => {
            code.put_all(EPILOGUE);
            code.put(RETURN);
        }
        Kind::Kernel => code.put_all(&[KERNEL_END]),
    }
    code
}
