//! Compares the rows of `helper` on gfx90a with rows worked out from the events: v40 to v42 are registers 2600 to 2602, s30 to s34 are 62
//! to 66, s4 and s6 are 36 and 38, EXEC is 17 and PC 16.

use hetdwarf::frame::{CfaRule, FrameIndex, FrameSection, RegisterRule, Row, Rows};

use crate::program::{BUFFER64, address_of, program};

const PC: u64 = 16;
const EXEC: u64 = 17;
const S6: u64 = 38;
const S32: u64 = 64;
const S33: u64 = 65;
const S34: u64 = 66;
const V0: u64 = 2560;
const V40: u64 = 2600;
const V41: u64 = 2601;
const V42: u64 = 2602;

/// The rows that events begin: the body after the prologue, the end of the epilogue, and the block after it.
const BODY: usize = 8;
const RETURN: usize = 13;
const AFTER_RETURN: usize = 14;

/// `call_frame_entry_reg EXEC`, `deref_size 8`.
const EXEC_ON_ENTRY: [u8; 5] = [0xe9, 7, 17, 0x94, 8];
/// `select_bit_piece 32 64`.
const SELECT: [u8; 4] = [0xe9, 12, 32, 64];

/// Calls `look` with the rows of `helper`.
fn with_rows(look: impl FnOnce(&[Row<'_>])) {
    let written = program(BUFFER64).unwrap().write().unwrap();
    let section = written.resolved(address_of).unwrap();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let fde = index.find(0x1a00).unwrap().unwrap();
    let mut rows = Rows::new(&fde, ".debug_frame").unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        found.push(row.clone());
    }
    look(&found);
}

/// Returns the CFA rule for a register that holds a scratch address.
fn at_scratch(register: u64) -> CfaRule<'static> {
    CfaRule::Register {
        register,
        offset: 0,
        space: 6,
    }
}

/// Returns the rules on entry: the return address is in s[30:31], the stack pointer is the CFA, and s6 and v0 are clobbered.
fn on_entry() -> [(u64, RegisterRule<'static>); 4] {
    // regx SGPR30, piece 4, regx SGPR31, piece 4
    let pair = RegisterRule::Expression([0x90, 0x3e, 0x93, 4, 0x90, 0x3f, 0x93, 4][..].into());
    [
        (PC, pair),
        (S6, RegisterRule::Undefined),
        (S32, RegisterRule::ValOffset(0)),
        (V0, RegisterRule::Undefined),
    ]
}

#[test]
fn a_row_begins_at_each_event() {
    with_rows(|rows| {
        let starts: Vec<_> = rows.iter().map(|row| row.start - 0x1a00).collect();
        let expected = [
            0, 4, 8, 0xc, 0x14, 0x20, 0x28, 0x38, 0x40, 0x100, 0x108, 0x118, 0x120, 0x124, 0x130,
        ];
        assert_eq!(starts, expected);
        assert_eq!(rows.last().unwrap().end, 0x1c00);
    });
}

#[test]
fn the_first_rows_are_those_of_the_entry_and_of_the_frame_pointer() {
    with_rows(|rows| {
        assert_eq!(rows[0].cfa, at_scratch(S32));
        assert_eq!(rows[0].rules(), on_entry());
        assert_eq!(rows[1].rule(S33), Some(RegisterRule::Register(S6)));
        assert_eq!(rows[1].cfa, at_scratch(S32));
        assert_eq!(rows[2].cfa, at_scratch(S33));
    });
}

#[test]
fn the_body_has_the_expressions_of_what_is_saved() {
    with_rows(|rows| {
        let body = &rows[BODY];
        let expression = |register| match body.rule(register) {
            Some(RegisterRule::Expression(expression)) => expression.bytes,
            other => panic!("{register}: {other:?}"),
        };
        // regx SGPR4, piece 4, regx SGPR5, piece 4
        let pair = [0x90, 0x24, 0x93, 4, 0x90, 0x25, 0x93, 4];
        assert_eq!(expression(EXEC), pair);
        // undefined, swap, offset_uconst 0, EXEC on entry, not, select
        let scratch = [0xe9, 8, 0x16, 0xe9, 5, 0];
        let inactive = [&scratch[..], &EXEC_ON_ENTRY, &[0x20], &SELECT].concat();
        assert_eq!(expression(V40), inactive);
        // regx VGPR41, swap, offset_uconst 0x100, EXEC on entry, select
        let scratch = [0x90, 0xa9, 0x14, 0x16, 0xe9, 5, 0x80, 2];
        let active = [&scratch[..], &EXEC_ON_ENTRY, &SELECT].concat();
        assert_eq!(expression(V41), active);
        assert_eq!(body.rule(V42), Some(RegisterRule::Offset(0x200)));
        // regx VGPR40, bit_piece 32 0, regx VGPR40, bit_piece 32 32
        let half = [0x90, 0xa8, 0x14, 0x9d, 32];
        assert_eq!(expression(PC), [&half[..], &[0], &half, &[32]].concat());
        // regx VGPR40, offset_uconst 8
        assert_eq!(expression(S34), [0x90, 0xa8, 0x14, 0xe9, 5, 8]);
    });
}

#[test]
fn after_the_epilogue_all_is_as_on_entry_and_in_the_block_after_it_as_in_the_body() {
    with_rows(|rows| {
        let last = &rows[RETURN];
        assert_eq!(last.cfa, at_scratch(S32));
        let rules = last.rules().iter().copied();
        let changed: Vec<_> = rules
            .filter(|(_, rule)| *rule != RegisterRule::SameValue)
            .collect();
        assert_eq!(changed, on_entry());
        let (body, after) = (&rows[BODY], &rows[AFTER_RETURN]);
        assert_eq!((after.cfa, after.rules()), (body.cfa, body.rules()));
    });
}
