//! Compares core files that other tools made with their known contents.
//!
//! `truth.json` lists the contents; AMD's debugger library found the same in files of this kind (`fixtures/cores/README.md`).

use dwarf_tests::cores::{cases, file, truth};
use dwarf_tests::{fixture, json, number, without_work_items};
use hetdwarf::arch::{Lane, LoadAddress, Register};
use hetdwarf::gpu_core::{
    CoreWave, GpuCore, HardwareRegister, ProblemKind, ProblemPlace, WaveState,
};
use hetdwarf::limits::Limits;
use hetdwarf::report::hex_bytes;
use hetdwarf::wave::{AccessError, Memory, Snapshot, Wave};
use serde_json::Value;

/// Returns the files of a case: the merged file, and the halves in both orders.
fn given(case: &str) -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let read = |name| file(case, name);
    vec![
        ("merged", vec![read("merged.core")]),
        ("GPU first", vec![read("gpucore.4242"), read("core.4242")]),
        ("host first", vec![read("core.4242"), read("gpucore.4242")]),
    ]
}

fn open(files: &[Vec<u8>]) -> hetdwarf::Result<GpuCore<'_>> {
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    GpuCore::open(&files, &Limits::default())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn small<T: TryFrom<u128>>(value: &Value) -> T
where
    T::Error: core::fmt::Debug,
{
    number(value).try_into().unwrap()
}

fn triple(value: &Value) -> [u32; 3] {
    [small(&value[0]), small(&value[1]), small(&value[2])]
}

/// Returns the bytes of a register. Returns `None` if they are unavailable.
fn register(wave: &CoreWave<'_, '_>, register: Register, bytes: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; bytes];
    match wave.read_register(register, 0..u32::try_from(bytes * 8).unwrap(), &mut out) {
        Ok(()) => Some(out),
        Err(AccessError::Unavailable) => None,
        Err(error) => panic!("{register}: {error}"),
    }
}

fn memory(wave: &CoreWave<'_, '_>, memory: Memory, address: u64, len: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; len];
    match wave.read_memory(memory, address, &mut out) {
        Ok(()) => Some(out),
        Err(AccessError::Unavailable) => None,
        Err(error) => panic!("{memory:?} {address:#x}: {error}"),
    }
}

/// Checks everything that is not about a single wave.
fn check_lists(core: &GpuCore<'_>, truth: &Value, is_cut: bool) {
    let note = &truth["note"];
    let header = core.header();
    assert_eq!(header.version, small::<u64>(&note["version"]));
    assert_eq!(header.kfd, (small(&note["kfd"][0]), small(&note["kfd"][1])));
    assert_eq!(header.r_debug, small::<u64>(&note["r_debug"]));
    assert_eq!(
        u64::from(header.ttmp_setup),
        small::<u64>(&note["ttmp_setup"])
    );
    assert_eq!(core.agents().len(), list(&truth["agents"]).len());
    for (agent, truth) in core.agents().iter().zip(list(&truth["agents"])) {
        assert_eq!(agent.gpu_id, small::<u32>(&truth["gpu_id"]));
        assert_eq!(agent.target, truth["target"]);
        assert_eq!(
            agent.target_number,
            small::<u32>(&truth["gfx_target_version"])
        );
        assert_eq!(agent.xccs, small::<u32>(&truth["xcc"]));
        assert_eq!(agent.shader_engines, small::<u32>(&truth["shader_engines"]));
        assert_eq!(agent.location, small::<u32>(&truth["location_id"]));
    }
    assert_eq!(core.queues().len(), list(&truth["queues"]).len());
    for (queue, truth) in core.queues().iter().zip(list(&truth["queues"])) {
        let entry = &queue.entry;
        assert_eq!(entry.queue_id, small::<u32>(&truth["queue_id"]));
        assert_eq!(entry.gpu_id, small::<u32>(&truth["gpu_id"]));
        assert_eq!(entry.kind.name(), truth["type"]);
        assert_eq!(entry.ring_address, small::<u64>(&truth["ring_address"]));
        assert_eq!(entry.ring_size, small::<u32>(&truth["ring_size"]));
        let id = |key: &str| truth.get(key).map(small::<u64>);
        // Only the first queue structure precedes the cut.
        let is_there = !is_cut || entry.queue_id == 1;
        assert_eq!(queue.read_id, id("read_id").filter(|_| is_there));
        assert_eq!(queue.write_id, id("write_id").filter(|_| is_there));
        if let Some(area) = id("ctx") {
            assert_eq!(entry.save_area, area);
        }
    }
}

fn check_dispatches(core: &GpuCore<'_>, truth: &Value) {
    assert_eq!(core.dispatches().len(), list(&truth["dispatches"]).len());
    for (dispatch, truth) in core.dispatches().iter().zip(list(&truth["dispatches"])) {
        let queue = &core.queues()[dispatch.queue];
        assert_eq!(queue.entry.queue_id, small::<u32>(&truth["queue_id"]));
        assert_eq!(dispatch.packet_id, small::<u64>(&truth["packet_id"]));
        let packet = &dispatch.packet;
        assert_eq!(packet.kernel_object, small::<u64>(&truth["kernel_object"]));
        assert_eq!(packet.kernarg_address, small::<u64>(&truth["kernarg"]));
        assert_eq!(packet.workgroup_size, triple(&truth["workgroup_size"]));
        assert_eq!(packet.grid_size, triple(&truth["grid_size"]));
        let sizes = (packet.private_segment_size, packet.group_segment_size);
        let expected = (
            small(&truth["private_segment_size"]),
            small(&truth["group_segment_size"]),
        );
        assert_eq!(sizes, expected);
        assert_eq!(packet.barrier, truth["barrier"]);
        assert_eq!(packet.acquire as u64, small::<u64>(&truth["acquire"]));
        assert_eq!(packet.release as u64, small::<u64>(&truth["release"]));
    }
}

/// Checks the facts of a wave other than its registers. `has_dispatch` is true if its packet is in the ring.
fn check_wave(core: &GpuCore<'_>, wave: &CoreWave<'_, '_>, truth: &Value, has_dispatch: bool) {
    let queue = wave.queue().unwrap();
    assert_eq!(queue.entry.queue_id, small::<u32>(&truth["queue_id"]));
    assert_eq!(wave.agent().unwrap().gpu_id, small::<u32>(&truth["gpu_id"]));
    assert_eq!(wave.agent().unwrap().target, truth["target"]);
    assert_eq!(wave.xcc(), small::<u32>(&truth["xcc"]));
    assert_eq!(wave.workgroup(), Some(triple(&truth["workgroup"])));
    assert_eq!(wave.wave_in_group(), Some(small(&truth["wave_in_group"])));
    let packet = has_dispatch.then(|| small::<u64>(&truth["packet_id"]));
    assert_eq!(wave.packet_id(), packet);
    assert_eq!(wave.wave_size().lanes(), small::<u32>(&truth["lanes"]));
    assert_eq!(wave.pc().0, small::<u64>(&truth["pc"]));
    assert_eq!(wave.exec(), small::<u64>(&truth["exec"]));
    assert_eq!(wave.state().name(), truth["state"]);
    let stops: Vec<&str> = wave.stops().iter().map(|reason| reason.name()).collect();
    match truth["stop"].as_str().unwrap() {
        "none" | "running" => assert!(stops.is_empty(), "{stops:?}"),
        stop => assert_eq!(stops, [stop]),
    }
    assert_eq!(wave.is_halted_at_launch(), truth["halted_at_launch"]);
    assert_eq!(wave.lds_size(), small::<u32>(&truth["lds_bytes"]));
    let scratch = wave.scratch().unwrap();
    assert_eq!(scratch.address, small::<u64>(&truth["scratch"]["address"]));
    assert_eq!(scratch.size, small::<u64>(&truth["scratch"]["size"]));
    assert_eq!(core.wave(wave.index()).unwrap().pc(), wave.pc());
    check_work_items(wave, has_dispatch);
}

/// Checks the work-items, by counting through the workgroup as launched.
fn check_work_items(wave: &CoreWave<'_, '_>, has_dispatch: bool) {
    if !has_dispatch {
        assert_eq!(wave.work_item(Lane(0)), None);
        return;
    }
    let packet = wave.dispatch().unwrap().packet;
    let group = wave.workgroup().unwrap();
    let extent: Vec<u32> = (0..3)
        .map(|n| {
            packet.workgroup_size[n].min(packet.grid_size[n] - group[n] * packet.workgroup_size[n])
        })
        .collect();
    let mut items = (0..extent[2]).flat_map(|z| {
        let (x_size, y_size) = (extent[0], extent[1]);
        (0..y_size).flat_map(move |y| (0..x_size).map(move |x| [x, y, z]))
    });
    let lanes = wave.wave_size().lanes();
    let first = wave.wave_in_group().unwrap() * lanes;
    for _ in 0..first {
        items.next();
    }
    for lane in wave.wave_size().all_lanes() {
        let item = items.next();
        let in_grid = item.map(|item| {
            let place = |n: usize| group[n] * packet.workgroup_size[n] + item[n];
            [place(0), place(1), place(2)]
        });
        assert_eq!(wave.work_item(lane), in_grid, "{lane:?}");
    }
}

/// Checks every register in the truth. Returns their number.
fn check_registers(wave: &CoreWave<'_, '_>, truth: &Value) -> usize {
    let registers = truth["registers"].as_object().unwrap();
    for (name, value) in registers {
        let number_of = Register::from_name(name, Some(wave.wave_size())).unwrap();
        let expected = match value.as_array() {
            Some(lanes) => lanes
                .iter()
                .flat_map(|lane| small::<u32>(lane).to_le_bytes())
                .collect(),
            None => {
                let size = number_of.size_in_bits().unwrap() as usize / 8;
                number(value).to_le_bytes()[..size].to_vec()
            }
        };
        let found = register(wave, number_of, expected.len());
        assert_eq!(found, Some(expected), "{name}");
    }
    for (name, value) in truth["extra_registers"].as_object().unwrap() {
        let found = match name.strip_prefix("ttmp") {
            Some(index) => wave.trap_temporary(index.parse().unwrap()).map(u64::from),
            None => wave.hardware_register(match name.as_str() {
                "m0" => HardwareRegister::M0,
                "mode" => HardwareRegister::Mode,
                "status" => HardwareRegister::Status,
                "trapsts" => HardwareRegister::Trapsts,
                "flat_scratch" => HardwareRegister::FlatScratch,
                "xnack_mask" => HardwareRegister::XnackMask,
                other => panic!("{other}"),
            }),
        };
        assert_eq!(found, Some(small(value)), "{name}");
    }
    // STATUS is shown with bits 5 and 18 cleared. In a stopped wave, bit 13 comes from bit 29 of ttmp6.
    let raw = small::<u32>(&truth["extra_registers"]["status"]);
    let mut shown = raw & !(1 << 5 | 1 << 18);
    if wave.state() == WaveState::Stopped {
        let halted = small::<u32>(&truth["extra_registers"]["ttmp6"]) >> 29 & 1;
        shown = shown & !(1 << 13) | halted << 13;
    }
    let found = register(wave, Register::STATUS, 4);
    assert_eq!(found, Some(shown.to_le_bytes().to_vec()));
    registers.len()
}

/// The kinds of memory that can be compared with the snapshots of a case's waves.
#[derive(Clone, Copy, PartialEq)]
enum Has {
    Everything,
    NoScratch,
}

/// Compares scratch, LDS and global memory with the snapshot that the core was made from, byte by byte.
fn check_memory(wave: &CoreWave<'_, '_>, truth: &Value, has: Has) -> usize {
    let snapshot = fixture(truth["snapshot"].as_str().unwrap());
    let differs: Vec<(u64, u64)> = list(&truth["global_memory_differs"])
        .iter()
        .map(|range| (small(&range[0]), small(&range[1])))
        .collect();
    let mut compared = 0;
    for region in list(&json(&snapshot)["memory"]) {
        let start: u64 = small(&region["address"]);
        let digits = region["bytes"].as_str().unwrap();
        let kind = match region["space"].as_str().unwrap() {
            "none" => Memory::Global,
            "local" => Memory::Local,
            "private_wave" => Memory::PrivateWave,
            other => panic!("{other}"),
        };
        for index in 0..digits.len() as u64 / 2 {
            let address = start + index;
            let is_other = |&(from, size): &(u64, u64)| (from..from + size).contains(&address);
            if kind == Memory::Global && differs.iter().any(is_other) {
                continue;
            }
            let at = usize::try_from(index).unwrap() * 2;
            let expected = Some(digits[at..at + 2].to_owned());
            let found = memory(wave, kind, address, 1).map(|bytes| hex_bytes(&bytes));
            if kind == Memory::PrivateWave && has == Has::NoScratch {
                assert_eq!(found, None);
                continue;
            }
            assert_eq!(found, expected, "{kind:?} {address:#x}");
            compared += 1;
        }
    }
    if has == Has::Everything {
        let known = small::<usize>(&truth["scratch"]["known"]);
        assert!(memory(wave, Memory::PrivateWave, 0, known).is_some());
    }
    let end = wave.scratch().unwrap().size;
    assert_eq!(memory(wave, Memory::PrivateWave, end, 1), None);
    let end = u64::from(wave.lds_size());
    assert_eq!(memory(wave, Memory::Local, end, 1), None);
    assert_eq!(memory(wave, Memory::Region, 0, 1), None);
    let lds = usize::try_from(end).unwrap();
    assert!(memory(wave, Memory::Local, 0, lds).is_some());
    compared
}

#[test]
fn whole_cores_are_read_as_they_were_made() {
    let mut tally = (0, 0, 0);
    for case in ["gfx1100", "gfx1100-lds", "gfx90a"] {
        let truth = truth(case);
        for (which, files) in given(case) {
            eprintln!("{case}, {which}");
            let core = open(&files).unwrap();
            assert_eq!(core.problems(), []);
            assert_eq!(core.interface(), Some(small(&truth["note"]["r_version"])));
            check_lists(&core, &truth, false);
            check_dispatches(&core, &truth);
            let waves = list(&truth["waves"]);
            assert_eq!(core.waves().len(), waves.len());
            for (queue, truth) in core.queues().iter().zip(list(&truth["queues"])) {
                assert_eq!(queue.waves, small::<u64>(&truth["waves"]));
            }
            for (wave, truth) in core.waves().zip(waves) {
                check_wave(&core, &wave, truth, true);
                tally.0 += 1;
                tally.1 += check_registers(&wave, truth);
                tally.2 += check_memory(&wave, truth, Has::Everything);
            }
            check_objects(&core, &truth);
        }
    }
    // 48 waves are opened in three ways.
    assert_eq!(tally.0, 3 * 48);
    assert!(tally.1 > 3 * 48 * 100 && tally.2 > 100_000, "{tally:?}");
}

/// Checks the list of code objects. Each equals the file that the core was made from, and has the kernels of the dispatches.
fn check_objects(core: &GpuCore<'_>, truth: &Value) {
    use hetdwarf::gpu_core::{Fit, Process};
    let expected = list(&truth["code_objects"]);
    assert_eq!(core.code_objects().len(), expected.len());
    let images = core.images();
    assert_eq!(images.len(), expected.len());
    for ((object, (_, image)), truth) in core.code_objects().iter().zip(&images).zip(expected) {
        assert_eq!(object.load_address.0, small::<u64>(&truth["load_address"]));
        assert_eq!(object.uri, truth["uri"]);
        let image = image.as_ref().unwrap();
        let original = std::fs::read(fixture(truth["object"].as_str().unwrap())).unwrap();
        assert!(**image == *original, "{}", object.uri);
    }
    let process = Process::open(core, &images);
    assert_eq!(process.problems(), []);
    for (dispatch, truth) in core.dispatches().iter().zip(list(&truth["dispatches"])) {
        let (index, kernel) = process.kernel(dispatch).unwrap();
        assert_eq!(
            (index, kernel.name.as_str()),
            (0, truth["kernel"].as_str().unwrap())
        );
    }
    for wave in core.waves() {
        assert_eq!(process.object_at(wave.pc()), Some(0));
    }
    let loaded = &process.objects()[0];
    let object = loaded.object.as_ref().unwrap();
    assert_eq!(object.target().to_string(), expected[0]["target"]);
    let fit = core.fit(object, loaded.load_address);
    assert!(
        matches!(fit, Fit::Matches { bytes } if bytes > 1000),
        "{fit:?}"
    );
    let elsewhere = core.fit(object, LoadAddress(loaded.load_address.0 + 0x100));
    assert!(matches!(elsewhere, Fit::Differs { .. }), "{elsewhere:?}");
    assert_eq!(
        core.fit(object, LoadAddress(0x1234_5678_0000)),
        Fit::Unknown
    );
}

/// The only problem is reported with its position, and everything else agrees with the truth.
#[test]
fn damaged_cores_give_everything_else() {
    for case in cases().iter().filter(|case| case.starts_with("bad-")) {
        let truth = truth(case);
        let expect = truth["expect"]["result"].as_str().unwrap();
        for (which, files) in given(case) {
            eprintln!("{case}, {which}");
            if expect == "error" {
                let error = open(&files).unwrap_err().to_string();
                assert!(error.contains("version 2"), "{error}");
                continue;
            }
            // Only the merged file was truncated.
            if case == "bad-file-cut" && which != "merged" {
                assert_eq!(open(&files).unwrap().problems(), []);
                continue;
            }
            let core = open(&files).unwrap();
            assert_eq!(expect, "partial");
            check_damaged(case, &core, &truth);
        }
    }
}

fn check_damaged(case: &str, core: &GpuCore<'_>, truth: &Value) {
    let [problem, rest @ ..] = core.problems() else {
        panic!("no problem");
    };
    let text = problem.to_string();
    eprintln!("  {text}");
    assert!(problem.offset.is_some(), "{text}");
    check_lists(core, truth, case == "bad-file-cut");
    let mut has = Has::Everything;
    let mut has_dispatch = true;
    let mut waves = list(&truth["waves"]);
    let queue = ProblemPlace::Queue {
        queue_id: 1,
        xcc: None,
    };
    match case {
        "bad-link-cycle" => {
            assert_eq!(problem.place, ProblemPlace::CodeObjects);
            assert!(
                matches!(problem.kind, ProblemKind::ListCircle { .. }),
                "{text}"
            );
            check_objects(core, truth);
        }
        "bad-packet-out" => {
            has_dispatch = false;
            assert_eq!(problem.place, queue);
            let expected = ProblemKind::PacketIndex {
                waves: 6,
                index: 1000,
                packets: 64,
            };
            assert_eq!(problem.kind, expected);
        }
        "bad-save-area-missing" => {
            waves = &[];
            assert_eq!(problem.place, queue);
            assert!(
                matches!(problem.kind, ProblemKind::NotInFile { .. }),
                "{text}"
            );
            assert!(text.contains("save area at 0x7fb100000000"), "{text}");
            assert_eq!(truth["expect"]["queues_failing"], serde_json::json!([1]));
        }
        "bad-scratch-missing" => {
            has = Has::NoScratch;
            assert_eq!(problem.place, queue);
            let missing = matches!(problem.kind, ProblemKind::ScratchMissing { waves: 6, .. });
            assert!(missing, "{text}");
        }
        "bad-file-cut" => {
            assert_eq!(problem.place, ProblemPlace::File(0));
            assert!(
                matches!(problem.kind, ProblemKind::FileCut { .. }),
                "{text}"
            );
            // The rings, save areas and later parts of the file are missing.
            waves = &[];
            assert_eq!(core.code_objects().len(), 1);
            assert_eq!(core.waves().len(), 0);
            for queue in [1, 2, 4] {
                let is_named = |place: &ProblemPlace| matches!(place, ProblemPlace::Queue { queue_id, .. } if *queue_id == queue);
                assert!(
                    rest.iter().any(|problem| is_named(&problem.place)),
                    "queue {queue}"
                );
            }
        }
        other => panic!("{other}"),
    }
    if case != "bad-file-cut" {
        assert_eq!(rest, []);
        check_dispatches(core, truth);
        assert_eq!(core.waves().len(), waves.len());
    }
    for (wave, truth) in core.waves().zip(waves) {
        check_wave(core, &wave, truth, has_dispatch);
        check_registers(&wave, truth);
        check_memory(&wave, truth, has);
    }
}

/// A wave of a core answers a debugger's queries like its snapshot, also about parts of registers.
#[test]
fn a_wave_answers_as_its_snapshot_does() {
    let files = [file("gfx1100", "merged.core")];
    let core = open(&files).unwrap();
    let truth = truth("gfx1100");
    for (wave, truth) in core.waves().zip(list(&truth["waves"])) {
        let path = fixture(truth["snapshot"].as_str().unwrap());
        let snapshot = Snapshot::from_json(&std::fs::read(path).unwrap()).unwrap();
        for number in 0..4096 {
            let register = Register(number);
            let Some(size) = register.size_in_bits() else {
                continue;
            };
            for bits in [0..size, 0..8, size - 8..size, 8..16, size / 2..size] {
                let mut expected = vec![0; (bits.end - bits.start) as usize / 8];
                let mut found = expected.clone();
                if snapshot
                    .read_register(register, bits.clone(), &mut expected)
                    .is_ok()
                {
                    wave.read_register(register, bits.clone(), &mut found)
                        .unwrap();
                    assert_eq!(found, expected, "{register} {bits:?}");
                }
            }
        }
        assert_eq!(
            wave.apertures(),
            Wave::apertures(&snapshot).or(wave.apertures())
        );
        // Values that the snapshot does not have are not invented. For example, the wave did not allocate v32.
        for name in ["v32", "a0", "v255"] {
            let number = Register::from_name(name, Some(wave.wave_size())).unwrap();
            assert_eq!(register(&wave, number, 128), None, "{name}");
        }
        let other = wave.read_register(Register::EXEC_64, 0..64, &mut [0; 8]);
        assert!(matches!(other, Err(AccessError::Unavailable)));
        let careless = wave.read_register(Register::EXEC_32, 0..64, &mut [0; 8]);
        assert!(matches!(careless, Err(AccessError::Failed(_))));
    }
}

/// Compares the documents about a wave of a core and about the snapshot that it was made from.
#[test]
fn variables_stacks_and_lanes_are_those_of_the_snapshots() {
    use hetdwarf::inspect::{Program, Programs, Stop, StopOptions};
    use hetdwarf::location::Arena;
    use hetdwarf::object::CodeObject;
    let mut values = 0;
    for case in ["gfx1100", "gfx1100-lds", "gfx90a"] {
        let files = [file(case, "gpucore.4242"), file(case, "core.4242")];
        let core = open(&files).unwrap();
        let images = core.images();
        let process = hetdwarf::gpu_core::Process::open(&core, &images);
        let programs = Programs::new(&process);
        for (wave, truth) in core.waves().zip(list(&truth(case)["waves"])) {
            if !list(&truth["global_memory_differs"]).is_empty() {
                continue;
            }
            let path = fixture(truth["snapshot"].as_str().unwrap());
            let snapshot = Snapshot::from_json(&std::fs::read(path).unwrap()).unwrap();
            let data = std::fs::read(fixture(truth["object"].as_str().unwrap())).unwrap();
            let object = CodeObject::parse(&data).unwrap();
            let program = Program::load(&object).unwrap();
            let (arena, other) = (Arena::new(), Arena::new());
            let options = StopOptions::loaded_at(snapshot.load_address);
            let expected = documents(&Stop::new(
                &program,
                &snapshot,
                snapshot.pc(),
                options,
                &other,
            ));
            let found = documents(&programs.stop(&wave, &arena).unwrap());
            let where_ = format!("{case}, wave {}", wave.index() + 1);
            assert_eq!(found.len(), expected.len(), "{where_}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{where_}");
                values += found.to_string().matches("\"value\"").count();
            }
        }
    }
    assert!(values > 10_000, "{values}");
}

/// Returns the documents about the call stack, and about the variables and lanes of every frame.
fn documents(stop: &hetdwarf::inspect::Stop<'_, '_>) -> Vec<Value> {
    use hetdwarf::report::{LanePcDocument, UnwindDocument, VarsDocument, VarsRequest};
    let mut found = vec![serde_json::to_value(UnwindDocument::new(stop).unwrap()).unwrap()];
    for frame in stop.call_frames() {
        let variables = VarsDocument::new(&frame, &VarsRequest::default()).unwrap();
        found.push(serde_json::to_value(variables).unwrap());
        // EXEC may be unknown in a caller. Both must then report the same error.
        found.push(match LanePcDocument::new(&frame) {
            Ok(lanes) => serde_json::to_value(lanes).unwrap(),
            Err(error) => Value::String(error.to_string()),
        });
    }
    // The snapshots have another dispatch than the cores that were made from them.
    found.iter_mut().for_each(without_work_items);
    found
}

/// Every wave can be chosen by its number and by its position. The default is the first one that faulted.
#[test]
fn waves_are_chosen_by_texts() {
    for case in ["gfx1100", "gfx1100-lds", "gfx90a"] {
        let files = [file(case, "merged.core")];
        let core = open(&files).unwrap();
        let chosen = |text: &str| core.select(text.parse().unwrap()).map(|wave| wave.index());
        for (index, truth) in list(&truth(case)["waves"]).iter().enumerate() {
            let [x, y, z] = triple(&truth["workgroup"]);
            let (queue, packet, wave) = (
                &truth["queue_id"],
                &truth["packet_id"],
                &truth["wave_in_group"],
            );
            assert_eq!(
                chosen(&format!("{queue}:{packet}:({x},{y},{z})/{wave}")),
                Ok(index)
            );
            assert_eq!(chosen(&(index + 1).to_string()), Ok(index));
        }
        // The memory violation is in the first wave.
        assert_eq!(chosen("stopped"), Ok(0));
        let error = chosen("1000").unwrap_err().to_string();
        assert!(
            error.contains("no such wave") && error.contains("1 (1:382:(0,0,0)/0)"),
            "{error}"
        );
        assert!(chosen("9:382:(0,0,0)/0").is_err());
    }
}

/// A code object whose file is missing is described by the headers in its loaded memory. A file from the user is compared with these
/// headers.
#[test]
fn a_lost_code_object_is_still_where_it_was_loaded() {
    use hetdwarf::gpu_core::Process;
    for case in ["gfx1100", "gfx1100-lds", "gfx90a"] {
        let files = [file(case, "merged.core")];
        let core = open(&files).unwrap();
        let load_address = core.code_objects()[0].load_address;
        let images = vec![(load_address, None)];
        let lost = Process::open(&core, &images);
        let images = core.images();
        let known = Process::open(&core, &images);
        assert!(lost.objects()[0].object.is_none() && known.objects()[0].object.is_some());
        for page in 0..16 {
            for at in [page * 0x1000, page * 0x1000 + 0xfff] {
                let address = load_address.0 + at;
                assert_eq!(lost.object_at(address), known.object_at(address), "{at:#x}");
            }
        }
        for wave in core.waves() {
            assert_eq!(lost.object_at(wave.pc()), Some(0));
        }
        assert_eq!(lost.kernel(&core.dispatches()[0]), None);
        // An image at another address covers no code.
        let images = vec![(LoadAddress(load_address.0 + 0x100_0000), None)];
        assert_eq!(
            Process::open(&core, &images).object_at(core.wave(0).unwrap().pc()),
            None
        );
    }
}
