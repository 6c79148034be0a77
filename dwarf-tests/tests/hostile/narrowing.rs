//! Tests machine code in which any of many instructions may have switched off a lane, and each leaves a different mask. Both the facts
//! about lanes at an address and the required reads grow with the number of instructions.

use std::sync::Arc;

use hetdwarf::annotate::{Request, annotate_file_within};
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;

use super::elf::linked_code;

/// Returns a function of gfx90a that narrows EXEC `count` times without a branch, and restores it at its end.
pub fn straight(count: usize) -> Vec<u8> {
    let mut code = Vec::new();
    // s_mov_b64 s[98:99], exec
    code.extend([0x7e, 0x01, 0xe2, 0xbe]);
    for n in 0..count {
        // v_cmp_eq_u32 vcc, N, v0
        code.extend([0x80 + (n % 60) as u8, 0x00, 0x94, 0x7d]);
        // s_and_saveexec_b64 s[N:N+1], vcc
        code.extend([0x6a, 0x20, 0x80 + 34 + (n % 31) as u8 * 2, 0xbe]);
        // v_add_u32 v1, v1, v2
        code.extend([0x01, 0x05, 0x02, 0x68]);
    }
    // s_mov_b64 exec, s[98:99]; v_add_u32 v1, v1, v2; s_setpc_b64 s[30:31]
    code.extend([0x62, 0x01, 0xfe, 0xbe, 0x01, 0x05, 0x02, 0x68]);
    code.extend([0x1e, 0x1d, 0x80, 0xbe]);
    let all = 0..code.len();
    linked_code(&code, &[all])
}

/// Returns the number of bytes of code with lane positions, and the steps that they took. No step is refused, because work that would
/// exceed the limit is not begun.
fn annotated(file: &[u8], meter: Meter) -> (u64, u64) {
    let meter = Arc::new(meter);
    let found = annotate_file_within(file, &meter, &Request::new(&|_| true)).unwrap();
    let [function] = found.functions.as_slice() else {
        panic!("{found:?}");
    };
    assert!(meter.refused().is_none(), "{:?}", meter.refused());
    (function.covered, meter.steps())
}

/// The meter counts the work of finding lane positions for any code, and never exceeds the limit of the file.
#[test]
fn annotating_costs_no_more_than_the_file_may() {
    let mut costs = Vec::new();
    for count in [50, 100, 200, 400] {
        let file = straight(count);
        let (covered, steps) = annotated(&file, Meter::new(&Limits::DEFAULT, file.len() as u64));
        assert!(covered > 0, "{count}");
        costs.push((count, steps, covered));
    }
    println!("{costs:?}");
    // The cost of positions at every address is not linear, and is charged.
    assert!(costs[1].1 > 2 * costs[0].1, "{costs:?}");
}

/// With fewer steps than a complete result needs, fewer positions are found, and the limit is not exceeded.
#[test]
fn what_would_cost_more_than_there_is_is_not_said() {
    let file = straight(50);
    let with = |work| {
        let mut limits = Limits::DEFAULT;
        (limits.work, limits.work_per_byte) = (work, 0);
        annotated(&file, Meter::new(&limits, 0))
    };
    let (whole, steps) = with(1 << 30);
    let parts = [1, 2, 4, 8, 16, 32, 64, 128].map(|part| with(steps / part + 1));
    println!("{whole} in {steps}: {parts:?}");
    assert_eq!(parts[0].0, whole);
    assert!(
        parts.is_sorted_by(|more, less| more.0 >= less.0),
        "{parts:?}"
    );
    assert!(parts[7].0 < whole, "{parts:?}");
}
