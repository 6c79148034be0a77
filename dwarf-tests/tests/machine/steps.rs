//! Tests the effect of single instructions, joins and calls, with one small function for each. In the tables every register is
//! undefined until the last row, so only the claims of that row can be wrong.
//!
//! The right answer is next to each function. A claim is reported only if it is wrong on every path through the code.

use hetdwarf::cfi_check::{Condition, Report, RowRule, SkipReason, Subject};

use crate::code::{CFA_S32, CFA_S33, PC_S30, register};
use crate::tables::{Change, EXEC, PC, START, check, s, v};
use Change::{At, Cfa, Register as In, Same, Undefined};
use Condition::{Always, LanesActive, LanesInactive, LanesSwitchedOff};

/// A function of a target: lines of llvm-mc's output, and then a return with its own row.
struct Function {
    target: &'static str,
    cfa: &'static str,
    lines: Vec<&'static str>,
}

/// Returns a function of gfx1100 without a frame: the CFA is the stack pointer.
fn gfx1100(lines: &[&'static str]) -> Function {
    Function {
        target: "gfx1100",
        cfa: CFA_S32,
        lines: lines.to_vec(),
    }
}

/// Returns a function of gfx1100 with the CFA in s33.
fn framed(lines: &[&'static str]) -> Function {
    let copy = "s_mov_b32 s33, s32                 // BEA10020";
    Function {
        cfa: CFA_S33,
        lines: [&[copy], lines].concat(),
        ..gfx1100(&[])
    }
}

/// A function of another processor, without a frame.
fn other(target: &'static str, lines: &[&'static str]) -> Function {
    let cfa = match target {
        // The stack pointer counts the bytes of all lanes.
        "gfx90a" => {
            "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address"
        }
        "gfx942" => {
            "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_shl, DW_OP_lit6, DW_OP_LLVM_form_aspace_address"
        }
        _ => CFA_S32,
    };
    Function {
        target,
        cfa,
        lines: lines.to_vec(),
    }
}

impl Function {
    fn is_wave64(&self) -> bool {
        self.target.starts_with("gfx9")
    }

    /// Returns the DWARF number of a vector register.
    fn v(&self, n: u16) -> u16 {
        v(n) + if self.is_wave64() { 1024 } else { 0 }
    }

    /// Returns the report, and the offset of the return.
    fn report(&self, claims: &[Change]) -> (Report, u64) {
        let link = if self.is_wave64() {
            "BE801D1E"
        } else {
            "BE80481E"
        };
        let listing = format!(
            "{}\ns_setpc_b64 s[30:31]  // {link}\n",
            self.lines.join("\n")
        );
        let end = crate::tables::assemble(&listing).len() as u64 - 4;
        let exec = if self.is_wave64() { 17 } else { EXEC };
        let scalars = (0..64).filter(|n| !(30..32).contains(n)).map(s);
        let vectors = (0..64).map(|n| self.v(n));
        let undefined = scalars.chain(vectors).chain([exec]).map(Undefined);
        let first = [Cfa(self.cfa), At(PC, PC_S30)];
        let rows = [
            (0, first.into_iter().chain(undefined).collect()),
            (end, claims.to_vec()),
        ];
        (check(self.target, &listing, &rows), end)
    }

    /// Returns the contradictions at the return.
    fn wrong(&self, claims: &[Change]) -> Vec<(Subject, Condition)> {
        let (report, end) = self.report(claims);
        assert_eq!(report.skip_reason, None);
        let at_end = |range: &core::ops::Range<u64>| range.contains(&(START + end));
        let contradictions = report.contradictions.iter();
        contradictions
            .filter(|one| one.ranges.iter().any(at_end))
            .map(|one| (one.subject, one.condition))
            .collect()
    }

    /// Returns the offset of the instruction that the only contradiction at the return names as its cause.
    fn cause(&self, claims: &[Change]) -> u64 {
        let (report, _) = self.report(claims);
        let [one] = &*report.contradictions else {
            panic!("{report:?}");
        };
        one.cause_pc - START
    }
}

fn is(of: u16, condition: Condition) -> Vec<(Subject, Condition)> {
    vec![(register(of), condition)]
}

/// Lane 3 of v41.
const LANE_3: &str = "DW_OP_regx 1577, DW_OP_LLVM_offset_uconst 12";
/// The slot at 8 bytes of a lane above the CFA.
const AT_8: &str = "DW_OP_LLVM_offset_uconst 256";

const CLEAR_S34: &str = "s_mov_b32 s34, 0                    // BEA20080";
const CLEAR_V40: &str = "v_mov_b32_e32 v40, 0                // 7E500280";
const NOP: &str = "s_nop 0                             // BF800000";

/// s34 is callee-saved. It has the caller's value on one of two paths, or may have it.
#[test]
fn scalar_results_that_may_be_the_caller_s_value_are_not_reported() {
    let same = [Same(s(34))];
    assert_eq!(gfx1100(&[CLEAR_S34]).wrong(&same), is(s(34), Always));
    for lines in [
        // SCC selects the value.
        &["s_cmov_b32 s34, s5                  // BEA20205"][..],
        &["s_cselect_b32 s34, s5, s34          // 98222205"],
        // A lane may hold the caller's value.
        &["v_readfirstlane_b32 s34, v1         // 7E440501"],
        &[
            "v_readfirstlane_b32 s5, v1          // 7E0A0501",
            "s_or_b32 s34, s5, s6                // 8C220605",
        ],
        // The code subtracts 4, and adds 4.
        &[
            "s_sub_i32 s5, s34, 4                // 81858422",
            "s_add_i32 s34, s5, 4                // 81228405",
        ],
        // M0 selects the written register.
        &[CLEAR_S34, "s_movreld_b32 s0, s5                // BE804205"],
        // One of two paths overwrites the register.
        &[
            "s_cbranch_scc0 1                    // BFA10001",
            CLEAR_S34,
            NOP,
        ],
        &[
            "s_cbranch_scc0 2                    // BFA10002",
            NOP,
            "s_branch 1                          // BFA00001",
            CLEAR_S34,
        ],
    ] {
        assert_eq!(gfx1100(lines).wrong(&same), [], "{lines:?}");
    }
    // Both paths overwrite the register. The later instruction is reported.
    let both = gfx1100(&[
        "s_cbranch_scc0 2                    // BFA10002",
        CLEAR_S34,
        "s_branch 1                          // BFA00001",
        "s_mov_b32 s34, 1                    // BEA20081",
        NOP,
    ]);
    assert_eq!(both.wrong(&same), is(s(34), Always));
    assert_eq!(both.cause(&same), 0x0c);
}

/// The stack pointer is rounded down, which has no effect if it was aligned.
#[test]
fn a_rounded_stack_pointer_may_be_that_of_the_entry() {
    let round = "s_and_b32 s32, s32, 0xffffffc0      // 8B20FF20 FFFFFFC0";
    let same = [Same(s(32))];
    assert_eq!(framed(&[round]).wrong(&same), []);
    // Another path overwrites the stack pointer.
    let clear = "s_mov_b32 s32, 0                    // BEA00080";
    let skip = "s_cbranch_scc0 3                    // BFA10003";
    let over = "s_branch 1                          // BFA00001";
    assert_eq!(framed(&[skip, round, over, clear]).wrong(&same), []);
    assert_eq!(framed(&[clear]).wrong(&same), is(s(32), Always));
}

#[test]
fn lanes_that_may_hold_the_value_are_not_reported() {
    let kept = "v_writelane_b32 v41, s34, 3         // D7610029 00010622";
    let somewhere = "v_writelane_b32 v41, s34, s5        // D7610029 00000A22";
    let clear_v41 = "v_mov_b32_e32 v41, 0                // 7E520280";
    let back = "v_readlane_b32 s34, v41, 3          // D7600022 00010729";
    let skip = "s_cbranch_scc0 2                    // BFA10002";
    let claim = [At(s(34), LANE_3)];
    assert_eq!(gfx1100(&[kept]).wrong(&claim), []);
    assert_eq!(gfx1100(&[NOP]).wrong(&claim), is(s(34), Always));
    // The lane is in a register.
    assert_eq!(gfx1100(&[somewhere]).wrong(&claim), []);
    // One way writes the lane.
    assert_eq!(gfx1100(&[skip, kept, NOP]).wrong(&claim), []);
    let over = "s_branch 2                          // BFA00002";
    assert_eq!(gfx1100(&[skip, NOP, over, kept]).wrong(&claim), []);
    // If lane 3 is active it is overwritten; otherwise it is restored.
    let read_back = gfx1100(&[kept, clear_v41, CLEAR_S34, back]);
    assert_eq!(read_back.wrong(&[Same(s(34))]), []);
}

#[test]
fn vector_registers_that_may_be_as_on_entry_are_not_reported() {
    let same = [Same(v(40))];
    let clear_other = "v_mov_b32_e32 v40, 1                // 7E500281";
    let skip = "s_cbranch_scc0 2                    // BFA10002";
    let over = "s_branch 1                          // BFA00001";
    assert_eq!(gfx1100(&[CLEAR_V40]).wrong(&same), is(v(40), Always));
    for lines in [
        &[
            "s_cbranch_scc0 1                    // BFA10001",
            CLEAR_V40,
            NOP,
        ][..],
        &[skip, NOP, over, CLEAR_V40],
        // A flat load may load the stored value.
        &["flat_load_b32 v40, v[0:1]           // DC500000 287C0000"],
        // M0 selects the written register.
        &[CLEAR_V40, "v_movreld_b32_e32 v0, v1           // 7E008501"],
    ] {
        assert_eq!(gfx1100(lines).wrong(&same), [], "{lines:?}");
    }
    // On one of two paths, the inactive lanes are also overwritten. The later instruction is reported.
    let both = gfx1100(&[
        skip,
        CLEAR_V40,
        "s_branch 3                          // BFA00003",
        "s_or_saveexec_b32 s0, -1            // BE8022C1",
        clear_other,
        "s_mov_b32 exec_lo, s0               // BEFE0000",
        NOP,
    ]);
    assert_eq!(both.wrong(&same), is(v(40), Always));
    assert_eq!(both.cause(&same), 0x10);
}

/// Other instructions select the vector registers of an instruction, on one path: the high bits on gfx1250, M0 on gfx90a.
#[test]
fn vector_registers_are_lost_where_others_may_be_meant() {
    let msb = "s_set_vgpr_msb 1                    // BF860001";
    let index = "s_set_gpr_idx_on s0, gpr_idx(SRC0)  // BF110100";
    for (target, choose, skip) in [
        ("gfx1250", msb, "s_cbranch_scc0 1  // BFA10001"),
        ("gfx90a", index, "s_cbranch_scc0 1  // BF840001"),
    ] {
        for (lines, is_known) in [
            (&[CLEAR_V40][..], true),
            (&[CLEAR_V40, choose], false),
            (&[choose, CLEAR_V40], false),
            (&[CLEAR_V40, skip, choose, NOP], false),
        ] {
            let function = other(target, lines);
            let v40 = function.v(40);
            let wrong = function.wrong(&[Same(v40)]);
            let expected = if is_known { is(v40, Always) } else { vec![] };
            assert_eq!(wrong, expected, "{target} {lines:?}");
        }
    }
}

/// Two forms are tested: both dwords of a vector move, and both halves of a mask of 64 lanes.
#[test]
fn pairs_are_moved_dword_by_dword() {
    let pair = other(
        "gfx942",
        &["v_mov_b64_e32 v[40:41], v[2:3]      // 7E507102"],
    );
    let [two, three] = [2, 3].map(|n| pair.v(n));
    let claim = |of: u16, place: u16| [In(of, pair.v(place))];
    // The move does not affect inactive lanes.
    assert_eq!(pair.wrong(&claim(two, 40)), is(two, LanesInactive));
    assert_eq!(pair.wrong(&claim(three, 41)), is(three, LanesInactive));
    assert_eq!(pair.wrong(&claim(two, 41)), is(two, Always));
    // EXEC gets its halves in the wrong order, so the lanes that then write v40 are unknown.
    let lines = [
        "s_mov_b64 s[0:1], exec              // BE80017E",
        "s_mov_b32 s4, s1                    // BE840001",
        "s_mov_b32 s5, s0                    // BE850000",
        "s_mov_b64 exec, s[4:5]              // BEFE0104",
        CLEAR_V40,
    ];
    let exchanged = other("gfx942", &lines);
    assert_eq!(exchanged.wrong(&[Same(exchanged.v(40))]), []);
}

#[test]
fn masks_are_combined_as_the_machine_does() {
    let compare = "v_cmp_eq_u32_e32 vcc_lo, 0, v0      // 7C940080";
    let claim = [In(EXEC, s(0))];
    let less = is(EXEC, LanesSwitchedOff);
    // s0 gets the new value of EXEC, not the old one.
    let written = gfx1100(&[compare, "s_and_not0_wrexec_b32 s0, vcc_lo    // BE80346A"]);
    assert_eq!(written.wrong(&claim), less);
    // SCC selects between EXEC and no lanes.
    let chosen = gfx1100(&["s_cselect_b32 s0, exec_lo, 0        // 9800807E"]);
    assert_eq!(chosen.wrong(&claim), less);
    let saved = gfx1100(&[compare, "s_and_saveexec_b32 s0, vcc_lo       // BE80206A"]);
    assert_eq!(saved.wrong(&claim), []);
    // EXEC has no rule. Of the two instructions that changed it, the later one is reported.
    let both = gfx1100(&[
        compare,
        "s_cbranch_scc0 2                    // BFA10002",
        "s_and_saveexec_b32 s0, vcc_lo       // BE80206A",
        "s_branch 1                          // BFA00001",
        "s_and_saveexec_b32 s0, vcc_lo       // BE80206A",
        NOP,
    ]);
    assert_eq!(both.wrong(&[Same(EXEC)]), less);
    assert_eq!(both.cause(&[Same(EXEC)]), 0x10);
    // The lanes in -1 and not in EXEC are the inactive lanes. No lanes are in EXEC and not in -1.
    let write = |save: &'static str| {
        let lines = [
            save,
            "v_mov_b32_e32 v1, 0                 // 7E020280",
            "s_mov_b32 exec_lo, s0               // BEFE0000",
        ];
        gfx1100(&lines).wrong(&[Same(v(1))])
    };
    let inactive = write("s_and_not0_saveexec_b32 s0, -1      // BE802CC1");
    let none = write("s_and_not1_saveexec_b32 s0, -1      // BE8030C1");
    let mut found = [inactive, none];
    found.sort_by_key(Vec::len);
    assert_eq!(found, [vec![], is(v(1), LanesInactive)]);
}

/// A matrix instruction also writes inactive lanes.
#[test]
fn matrix_instructions_write_all_lanes() {
    let saved = "DW_OP_regx 2600, DW_OP_swap, DW_OP_LLVM_offset_uconst 0, DW_OP_LLVM_call_frame_entry_reg 17, \
                 DW_OP_deref_size 8, DW_OP_LLVM_select_bit_piece 32 64";
    let lines = [
        "buffer_store_dword v40, off, s[0:3], s32 // E0700000 20002800",
        "s_or_saveexec_b64 s[4:5], -1        // BE8421C1",
        CLEAR_V40,
        "s_mov_b64 exec, s[4:5]              // BEFE0104",
    ];
    let matrix = "v_mfma_f32_4x4x1f32 v[40:43], v0, v1, v[4:7] // D3C20028 04120300";
    // Active lanes are saved. Inactive lanes have lost the value, or have the result of the instruction.
    let claim = [At(2600, saved), Same(17)];
    assert_eq!(
        other("gfx90a", &lines).wrong(&claim),
        is(2600, LanesInactive)
    );
    let lines = [&lines[..], &[matrix]].concat();
    assert_eq!(other("gfx90a", &lines).wrong(&claim), []);
}

/// Scratch is accessed with the descriptor in `s[0:3]` on entry. Another descriptor refers to other memory.
#[test]
fn other_descriptors_are_not_of_scratch() {
    let saved = "DW_OP_regx 2600, DW_OP_swap, DW_OP_LLVM_offset_uconst 0, DW_OP_LLVM_call_frame_entry_reg 17, \
                 DW_OP_deref_size 8, DW_OP_LLVM_select_bit_piece 32 64";
    let claim = [At(2600, saved), Same(17)];
    let store = |line| other("gfx90a", &[line, CLEAR_V40]).wrong(&claim);
    let scratch = store("buffer_store_dword v40, off, s[0:3], s32 // E0700000 20002800");
    let memory = store("buffer_store_dword v40, off, s[4:7], s32 // E0700000 20012800");
    assert_eq!(scratch, []);
    assert_eq!(memory, is(2600, LanesActive));
}

const CALL: &str = "s_swappc_b64 s[4:5], s[6:7]         // BE844906";
const LOW: &str = "s_add_i32 s32, s33, 0               // 81208021";
const HIGH: &str = "s_add_i32 s32, s33, 16              // 81209021";
const GROW: &str = "s_add_i32 s32, s32, s4              // 81200420";
const SKIP_2: &str = "s_cbranch_scc0 2                    // BFA10002";
const SKIP_3: &str = "s_cbranch_scc0 3                    // BFA10003";
const OVER_2: &str = "s_branch 2                          // BFA00002";

/// The row describes v40 at 8 bytes above the CFA, where the function has not stored it. A callee may have, if the slot is above its stack
/// pointer.
#[test]
fn slots_that_callees_may_have_written_are_not_reported() {
    let claim = [At(v(40), AT_8)];
    let reported = is(v(40), Always);
    for (lines, is_reported) in [
        (&[NOP][..], true),
        (&[LOW, CALL], false),
        (&[HIGH, CALL], true),
        // The lowest stack pointer of several calls counts, in any order and on any path.
        (&[LOW, CALL, HIGH, CALL], false),
        (&[HIGH, CALL, LOW, CALL], false),
        (&[SKIP_2, LOW, CALL, NOP], false),
        (&[SKIP_2, NOP, OVER_2, LOW, CALL], false),
        (&[SKIP_3, LOW, CALL, OVER_2, HIGH, CALL], false),
        (&[SKIP_3, HIGH, CALL, OVER_2, LOW, CALL], false),
        // Stack allocated at run time is above the former stack.
        (&[HIGH, GROW, CALL], true),
        (&[LOW, GROW, CALL], false),
        (&[SKIP_2, LOW, OVER_1, HIGH, CALL], false),
        (&[SKIP_2, HIGH, OVER_1, LOW, CALL], false),
        // The position of a rounded stack pointer is unknown.
        (&[ROUND, CALL], false),
    ] {
        let expected = if is_reported {
            reported.clone()
        } else {
            vec![]
        };
        assert_eq!(framed(lines).wrong(&claim), expected, "{lines:?}");
    }
}

const OVER_1: &str = "s_branch 1                          // BFA00001";
const ROUND: &str = "s_and_b32 s32, s32, 0xffffffc0      // 8B20FF20 FFFFFFC0";

/// v1 was stored in the slot that the row describes for v40. After a call, the contents from the stack pointer up are unknown.
#[test]
fn slots_above_a_call_are_the_callee_s() {
    let claim = [At(v(40), AT_8)];
    let store = "scratch_store_b32 off, v1, s33 offset:8 // DC690008 00210100";
    let wrong = is(v(40), Always);
    assert_eq!(framed(&[store]).wrong(&claim), wrong);
    assert_eq!(framed(&[store, LOW, CALL]).wrong(&claim), []);
    assert_eq!(framed(&[store, ROUND, CALL]).wrong(&claim), []);
    assert_eq!(framed(&[store, HIGH, CALL]).wrong(&claim), wrong);
}

/// A store to an unknown stack address may change any slot, or any slot from the stack pointer up.
#[test]
fn slots_that_unknown_stores_may_reach_are_not_reported() {
    let claim = [At(v(40), AT_8)];
    let wrong = is(v(40), Always);
    let anywhere = "scratch_store_b32 off, v1, s4       // DC690000 00040100";
    let above = "scratch_store_b32 off, v1, s32      // DC690000 00200100";
    let right = "scratch_store_b32 off, v40, s33 offset:8 // DC690008 00212800";
    for (lines, is_reported) in [
        (&[anywhere][..], false),
        (&[SKIP_2, anywhere, NOP], false),
        (&[SKIP_2, NOP, OVER_2, anywhere, NOP], false),
        (&[HIGH, GROW, above], true),
        (&[LOW, GROW, above], false),
        // On one path, the slot has the required value.
        (&[right], false),
        (&[SKIP_2, right, NOP], false),
        (&[SKIP_2, NOP, OVER_2, right], false),
    ] {
        let mut found = framed(lines).wrong(&claim);
        // A slot that is stored in active lanes does not have the values of inactive lanes.
        found.retain(|one| *one != (register(v(40)), LanesInactive));
        let expected = if is_reported { wrong.clone() } else { vec![] };
        assert_eq!(found, expected, "{lines:?}");
    }
}

/// The distance between a rounded stack pointer and the stack pointer on entry is unknown. So slots relative to one may overlap slots
/// relative to the other.
#[test]
fn slots_with_a_rounded_base_may_be_any() {
    const CFA_S5: &str = "DW_OP_regx SGPR5, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_shl, DW_OP_lit6, DW_OP_LLVM_form_aspace_address";
    let round = "s_and_b32 s5, s32, 0xffffffc0       // 8B05FF20 FFFFFFC0";
    let here = "scratch_store_b32 off, v1, s33 offset:8 // DC690008 00210100";
    let there = "scratch_store_b32 off, v1, s5 offset:8 // DC690008 00050100";
    let claim = [At(v(40), AT_8)];
    let wrong = is(v(40), Always);
    assert_eq!(framed(&[round, here]).wrong(&claim), wrong);
    assert_eq!(framed(&[round, there]).wrong(&claim), []);
    assert_eq!(framed(&[round, here, there]).wrong(&claim), []);
    let active = is(v(40), LanesActive);
    assert_eq!(framed(&[round, there, here]).wrong(&claim), active);
    // The slot and the CFA are both relative to the rounded stack pointer.
    let rounded = (Subject::Cfa, Condition::StackMisaligned);
    let claim = [Cfa(CFA_S5), At(v(40), AT_8)];
    let both = vec![rounded, is(v(40), LanesActive)[0]];
    assert_eq!(framed(&[round]).wrong(&claim), [rounded]);
    assert_eq!(framed(&[round, there]).wrong(&claim), both);
    // The code adds 64, and subtracts it again.
    let sum = "s_add_i32 s6, s5, 64                // 8106C005";
    let same = "scratch_store_b32 off, v1, s6 offset:-56 // DC691FC8 00060100";
    assert_eq!(framed(&[round, sum, same]).wrong(&claim), both);
    assert_eq!(framed(&[round, there, here]).wrong(&claim), [rounded]);
}

/// An offset is scaled by the wave size. An offset that is not a whole number of lanes does not denote a slot.
#[test]
fn offsets_that_are_no_slots_are_not_compared() {
    let claim = |text| framed(&[NOP]).wrong(&[At(v(40), text)]);
    assert_eq!(claim(AT_8), is(v(40), Always));
    assert_eq!(claim("DW_OP_LLVM_offset_uconst 260"), []);
    let cfa = "DW_OP_regx SGPR33, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_shl, DW_OP_lit8, DW_OP_plus, DW_OP_lit6, \
               DW_OP_LLVM_form_aspace_address";
    assert_eq!(framed(&[NOP]).wrong(&[Cfa(cfa), At(v(40), AT_8)]), []);
}

/// Wide stores and loads also move the second register and its slot. Loads of a byte restore no register.
#[test]
fn wide_accesses_move_every_register() {
    let store = "scratch_store_b64 off, v[40:41], s33 offset:8 // DC6D0008 00212800";
    let load = "scratch_load_b64 v[42:43], off, s33 offset:8 // DC550008 2A210000";
    let claim = |lines: &[&'static str], of: u16, place: u16| {
        let mut found = framed(lines).wrong(&[In(v(of), v(place))]);
        found.retain(|(_, condition)| *condition != LanesInactive);
        found
    };
    assert_eq!(claim(&[store, load], 40, 42), []);
    assert_eq!(claim(&[store, load], 41, 43), []);
    assert_eq!(claim(&[store, load], 41, 42), is(v(41), Always));
}

/// A jump to a known address is followed, even if it goes backward.
#[test]
fn jumps_through_registers_are_followed() {
    let getpc = "s_getpc_b64 s[6:7]                  // BE864700";
    let carry = "s_addc_u32 s7, s7, 0                // 82078007";
    let jump = "s_setpc_b64 s[6:7]                  // BE804806";
    // Only this jump leads to the following code.
    let ahead = framed(&[
        HIGH,
        getpc,
        "s_add_u32 s6, s6, 12                // 80068C06",
        carry,
        jump,
        CLEAR_S34,
    ]);
    assert_eq!(ahead.wrong(&[Same(s(34))]), is(s(34), Always));
    // In any case, a jump elsewhere is a tail call only if the return address is also the caller's.
    let away = "s_setpc_b64 s[4:5]                  // BE804804";
    let clear_link = "s_mov_b32 s30, 0                    // BE9E0080";
    let skip = |lines: &[&'static str]| gfx1100(lines).report(&[]).0.skip_reason;
    assert_eq!(skip(&[away]), None);
    assert_eq!(skip(&[clear_link, away]), Some(SkipReason::UnknownJump));
    let exception = "s_rfe_b64 s[4:5]                    // BE804A04";
    assert_eq!(skip(&[exception]), Some(SkipReason::UnknownJump));
}

/// A register named in a message holds the value in all lanes.
#[test]
fn a_place_that_is_named_holds_the_value_in_all_lanes_that_are_named() {
    let copy = "v_mov_b32_e32 v41, v40              // 7E520328";
    let lane = [
        "v_readfirstlane_b32 s5, v1          // 7E0A0501",
        "v_writelane_b32 v41, s5, 3          // D7610029 00010605",
    ];
    let expected = |lines: &[&'static str]| {
        let (report, _) = gfx1100(lines).report(&[Same(v(40))]);
        let [one] = &*report.contradictions else {
            panic!("{report:?}");
        };
        one.expected.clone()
    };
    use hetdwarf::cfi_check::SavedLanes::Active;
    use hetdwarf::isa::MachineRegister::Vgpr;
    assert_eq!(
        expected(&[copy, CLEAR_V40]),
        RowRule::Vector(Vgpr(41), Active)
    );
    assert_eq!(
        expected(&[copy, lane[0], lane[1], CLEAR_V40]),
        RowRule::Other
    );
}

/// An unknown callee may put anything into the active lanes of v1, which are all lanes if all were switched on.
#[test]
fn what_an_unknown_callee_may_write_is_not_reported() {
    let clear = "v_mov_b32_e32 v1, 0                 // 7E020280";
    let all = "s_or_saveexec_b32 s34, -1           // BEA222C1";
    let back = "s_mov_b32 exec_lo, s34              // BEFE0022";
    let wrong = |lines: &[&'static str]| gfx1100(lines).wrong(&[Same(v(1))]);
    assert_eq!(wrong(&[clear]), is(v(1), Always));
    assert_eq!(wrong(&[clear, CALL]), []);
    assert_eq!(wrong(&[all, clear, back]), is(v(1), Always));
    assert_eq!(wrong(&[all, clear, back, CALL]), is(v(1), LanesInactive));
    assert_eq!(wrong(&[all, clear, CALL, back]), []);
}

/// A single byte that is loaded from a register's slot is not the register.
#[test]
fn a_byte_of_a_register_is_not_the_register() {
    let store = "scratch_store_b32 off, v40, s33 offset:8 // DC690008 00212800";
    let whole = "scratch_load_b32 v40, off, s33 offset:8 // DC510008 28210000";
    let byte = "scratch_load_u8 v40, off, s33 offset:8 // DC410008 28210000";
    let wrong = |load| framed(&[store, CLEAR_V40, load]).wrong(&[Same(v(40))]);
    assert_eq!(wrong(whole), []);
    assert_eq!(wrong(byte), is(v(40), Always));
}
