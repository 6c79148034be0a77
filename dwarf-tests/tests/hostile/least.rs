//! Measures the cost of queries with an internal meter, as the smallest limit with which the answer is complete.

use dwarf_tests::cores::generation::Generation;
use dwarf_tests::cores::writer::{CoreSpec, QueueSpec};
use hetdwarf::arch::Lane;
use hetdwarf::error::Limit;
use hetdwarf::eval::{Context, Unit};
use hetdwarf::expr::Encoding;
use hetdwarf::gpu_core::{Dispatch, GpuCore, ProblemKind};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::report::{EvalOptions, EvalRequest, Source, evaluate_all};

/// Returns the lowest sufficient value of a limit. The additional limits per byte of the file are set to 0.
fn least(limit: Limit, is_enough: impl Fn(Limits) -> bool) -> u64 {
    let with = |value| {
        let mut limits = Limits::DEFAULT;
        (limits.work_per_byte, limits.memory_per_byte) = (0, 0);
        limits.set(limit, value);
        is_enough(limits)
    };
    let (mut too_few, mut enough) = (0, 1 << 30);
    assert!(!with(too_few) && with(enough), "{limit:?}");
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        *(if with(middle) {
            &mut enough
        } else {
            &mut too_few
        }) = middle;
    }
    enough
}

/// Returns a core with a queue, whose ring has `count` unfinished packets.
fn with_packets(count: u64) -> Vec<u8> {
    let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
    spec.queues.push(QueueSpec {
        id: 1,
        packets: 4096,
        read: 0,
        write: count,
        scratch_waves: 1,
        scratch_bytes: 0,
        waves: vec![vec![]],
    });
    spec.build().merged()
}

/// Each packet costs a step, and is kept as a dispatch.
#[test]
fn the_packets_of_a_ring_are_paid_for() {
    let least = |limit, count| {
        let file = with_packets(count);
        least(limit, |limits| {
            let core = GpuCore::open(&[&file], &limits);
            let is_whole = |core: GpuCore<'_>| {
                let mut kinds = core.problems().iter().map(|problem| &problem.kind);
                !kinds.any(|kind| matches!(kind, ProblemKind::Limit { .. }))
            };
            core.is_ok_and(is_whole)
        })
    };
    let more = |limit| least(limit, 3000) - least(limit, 1000);
    assert_eq!(more(Limit::Work), 2000);
    let size = size_of::<Dispatch>() as u64;
    assert_eq!(more(Limit::Memory), 2000 * size);
}

/// The result exists as bytes, as text and in the document, for all lanes, so it takes four times its bytes for each lane.
#[test]
fn what_is_read_for_all_lanes_is_paid_for_at_once() {
    // `DW_OP_piece` of 8192 bytes.
    let expression = Source::Bytes(vec![0x93, 0x80, 0x40]);
    let unit = Unit::unknown(Encoding::AMDGPU);
    let least = |lanes: u8| {
        least(Limit::Memory, |limits| {
            let mut options = EvalOptions::default();
            options.lanes = (0..lanes).map(Lane).collect();
            options.read = Some(8192 * 8);
            let arena = Arena::new();
            let context = Context::new(&arena).with_limits(limits);
            let request = EvalRequest::new(&expression, &options, &context, unit, 0);
            let found = evaluate_all(&request).unwrap();
            found.lanes.iter().all(|lane| lane.read.is_some())
        })
    };
    assert_eq!((least(1), least(64)), (4 * 8192, 64 * 4 * 8192));
}
