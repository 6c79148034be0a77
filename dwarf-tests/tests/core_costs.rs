//! Checks that the cost of a wave in the document does not grow with the number of waves, including the verdict, workgroups and groups.
//!
//! The cost is measured in steps of the meter, and in allocations, some of which occur in every stack walk. No time is measured.

use dwarf_tests::cores::many;
use hetdwarf::Limits;
use hetdwarf::gpu_core::{GpuCore, Process};
use hetdwarf::inspect::Programs;
use hetdwarf::report::{CoreReport, CoreRequest, FoundObject};

/// The cost of a document.
#[derive(Clone, Copy, Debug)]
struct Cost {
    steps: u64,
    allocations: u64,
    bytes: u64,
}

/// Returns the cost of the document about a core with `count` waves.
fn cost(count: u32, request: CoreRequest) -> Cost {
    let file = many::built(count).merged();
    let core = GpuCore::open(&[&file], &Limits::default()).unwrap();
    let images = core.images();
    let process = Process::open(&core, &images);
    let programs = Programs::new(&process);
    let found: Vec<FoundObject> = core.code_objects().iter().map(FoundObject::from).collect();
    let meter = core.meter().for_query();
    let mut document = None;
    let measured = allocation_counter::measure(|| {
        let report = CoreReport::within(&core, &programs, &found, request, &meter, &mut |_| {});
        document = Some(report);
    });
    let document = document.unwrap().document;
    assert_eq!(document.waves.len(), count as usize);
    assert_eq!(document.workgroups.len(), count as usize);
    assert_eq!(document.verdict.kind, "memory-violation");
    assert!(document.problems.is_empty(), "{:?}", document.problems);
    let grouped = document.groups.iter().map(|group| group.waves.len());
    assert_eq!(grouped.sum::<usize>(), count as usize);
    // Only a limited number of waves at each place is searched for the access.
    let faults = || document.waves.iter().filter_map(|wave| wave.fault.as_ref());
    let searched = faults().filter(|fault| !fault.not_searched).count();
    assert!(searched <= 32 && faults().count() > 32, "{searched}");
    Cost {
        steps: meter.steps(),
        allocations: measured.count_total,
        bytes: measured.bytes_max,
    }
}

#[test]
fn a_wave_costs_the_same_among_ten_thousand() {
    let request = CoreRequest::default();
    let (few, many) = (cost(1_000, request), cost(10_000, request));
    println!("1,000 waves: {few:?}; 10,000 waves: {many:?}");
    assert!(many.steps > 0 && many.steps <= 10 * few.steps);
    assert!(many.allocations <= 10 * few.allocations);
    assert!(many.bytes <= 11 * few.bytes);
}
