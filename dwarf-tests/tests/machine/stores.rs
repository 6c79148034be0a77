//! Tests small functions of gfx1100 as in `code`: vector registers written in some lanes, partly overwritten slots, and the instruction
//! that made a row wrong.

use hetdwarf::cfi_check::{Condition, Subject};

use crate::code::{CFA_S32, PC_S30, Rows, Short, register, short};
use crate::tables::{Change, EXEC, PC, START, check, s, v};
use Change::{At, Cfa, Register as In, Same, Undefined};

/// v40 is callee-saved. It is written in the lanes for which a condition holds, which may be all lanes, some or none.
const SOME_LANES: &str = "
v_cmp_eq_u32_e32 vcc_lo, 0, v0     // 7C940080           00
s_and_saveexec_b32 s0, vcc_lo      // BE80206A           04 exec is in s0, s0 is lost
v_mov_b32_e32 v40, 0               // 7E500280           08
s_or_b32 exec_lo, exec_lo, s0      // 8C7E007E           0c exec is back
s_setpc_b64 s[30:31]               // BE80481E           10
";

/// If the condition holds in no lane, nothing is lost, so the missing rule may be right. Without the condition, the register is always
/// lost.
#[test]
fn a_write_under_a_condition_may_have_written_nothing() {
    let rows = |exec: &[(u64, Change)]| -> Rows {
        let entry = vec![Cfa(CFA_S32), At(PC, PC_S30), Undefined(s(0))];
        let more = exec.iter().map(|(at, change)| (*at, vec![change.clone()]));
        [(0, entry)].into_iter().chain(more).collect()
    };
    let some = rows(&[(0x08, In(EXEC, s(0))), (0x10, Same(EXEC))]);
    assert_eq!(short(&check("gfx1100", SOME_LANES, &some)), []);
    let all: String = (SOME_LANES.lines())
        .filter(|line| !line.starts_with("s_and") && !line.starts_with("s_or"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let wrong = (
        "cfi-vector-without-rule",
        register(v(40)),
        Condition::Always,
        vec![(0x08, 0x0c)],
    );
    assert_eq!(short(&check("gfx1100", &all, &rows(&[]))), [wrong]);
}

/// v40 is stored and overwritten. Then another value is stored.
const STORES: &str = "
scratch_store_b32 off, v40, s32    // DC690000 00202800  00 v40 is at CFA+0 too, in the active lanes
v_mov_b32_e32 v40, 0               // 7E500280           08 v40 is at CFA+0 alone
STORE
scratch_load_b32 v40, off, s32     // DC510000 28200000  14
s_setpc_b64 s[30:31]               // BE80481E           1c
";

fn with_store(store: &str) -> Vec<Short> {
    let saved = "DW_OP_regx 1576, DW_OP_swap, DW_OP_LLVM_offset_uconst 0, DW_OP_LLVM_call_frame_entry_reg EXEC, \
                 DW_OP_deref_size 4, DW_OP_LLVM_select_bit_piece 32 32";
    let rows = [
        (0x00, vec![Cfa(CFA_S32), At(PC, PC_S30)]),
        (0x0c, vec![At(v(40), saved)]),
        (0x1c, vec![Same(v(40))]),
    ];
    short(&check("gfx1100", &STORES.replace("STORE", store), &rows))
}

/// A store of one or two bytes leaves the rest of the dword, but the dword no longer holds the caller's value.
#[test]
fn a_slot_of_which_a_part_is_overwritten_is_lost() {
    let is_lost = [
        (
            "cfi-wrong-place",
            register(v(40)),
            Condition::LanesActive,
            vec![(0x14, 0x1c)],
        ),
        // The register is reloaded, and is still wrong.
        (
            "cfi-vector-without-rule",
            register(v(40)),
            Condition::Always,
            vec![(0x1c, 0x20)],
        ),
    ];
    for store in [
        "scratch_store_b8 off, v1, s32               // DC610000 00200100",
        "scratch_store_b8 off, v1, s32 offset:3      // DC610003 00200100",
        "scratch_store_b16 off, v1, s32 offset:2     // DC650002 00200100",
        // Two dwords are touched, including the slot.
        "scratch_store_b16 off, v1, s32 offset:3     // DC650003 00200100",
        "scratch_store_b16 off, v1, s32 offset:-1    // DC651FFF 00200100",
        "scratch_store_b32 off, v1, s32 offset:-2    // DC691FFE 00200100",
        "scratch_store_b32 off, v1, s32 offset:3     // DC690003 00200100",
        // The slot gets the second dword of the data.
        "scratch_store_b64 off, v[1:2], s32 offset:-4 // DC6D1FFC 00200100",
    ] {
        assert_eq!(with_store(store), is_lost, "{store}");
    }
}

#[test]
fn stores_beside_a_slot_leave_it_alone() {
    for store in [
        "scratch_store_b8 off, v1, s32 offset:4      // DC610004 00200100",
        "scratch_store_b8 off, v1, s32 offset:-1     // DC611FFF 00200100",
        "scratch_store_b16 off, v1, s32 offset:-2    // DC651FFE 00200100",
        "scratch_store_b32 off, v1, s32 offset:4     // DC690004 00200100",
        "scratch_store_b64 off, v[1:2], s32 offset:-8 // DC6D1FF8 00200100",
        "scratch_store_b64 off, v[1:2], s32 offset:4 // DC6D0004 00200100",
        // The slot gets the register itself.
        "scratch_store_b32 off, v40, s32 offset:4    // DC690004 00202800",
    ] {
        assert_eq!(with_store(store), [], "{store}");
    }
}

/// The return address is moved to other registers and back, its high half first.
const HALVES: &str = "
s_mov_b64 s[4:5], s[30:31]         // BE84011E           00 it is in s[4:5] too
s_mov_b32 s30, 0                   // BE9E0080           04
s_mov_b32 s31, 0                   // BE9F0080           08 it is in s[4:5] alone
s_mov_b32 s31, s5                  // BE9F0005           0c
s_mov_b32 s30, s4                  // BE9E0004           10 it is in s[30:31] again
s_setpc_b64 s[30:31]               // BE80481E           14
";

/// The named instruction has changed a dword that is wrong, and not one that was restored.
#[test]
fn the_cause_is_what_changed_a_dword_that_is_wrong() {
    const PC_S4: &str = "DW_OP_regx SGPR4, DW_OP_piece 4, DW_OP_regx SGPR5, DW_OP_piece 4";
    let found = |pieces: &[(u64, &'static str)]| {
        let entry = vec![
            Cfa(CFA_S32),
            At(PC, PC_S30),
            Undefined(s(4)),
            Undefined(s(5)),
        ];
        let more = pieces.iter().map(|(at, text)| (*at, vec![At(PC, text)]));
        let rows: Rows = [(0, entry)].into_iter().chain(more).collect();
        let report = check("gfx1100", HALVES, &rows);
        let causes: Vec<u64> = (report.contradictions.iter())
            .map(|one| one.cause_pc - START)
            .collect();
        (short(&report), causes)
    };
    assert_eq!(found(&[(0x04, PC_S4), (0x14, PC_S30)]), (vec![], vec![]));
    let wrong = |at| {
        let rule = "cfi-wrong-place";
        (rule, Subject::ReturnAddress, Condition::Always, vec![at])
    };
    // The row is one instruction too early: the high half is restored at 0c, and the low half was written at 04.
    let low = found(&[(0x04, PC_S4), (0x10, PC_S30), (0x14, PC_S30)]);
    assert_eq!(low, (vec![wrong((0x10, 0x14))], vec![0x04]));
    // Both halves are wrong, and the last write is the cause.
    let both = found(&[(0x04, PC_S4), (0x0c, PC_S30), (0x10, PC_S4), (0x14, PC_S30)]);
    assert_eq!(both, (vec![wrong((0x0c, 0x10))], vec![0x08]));
}
