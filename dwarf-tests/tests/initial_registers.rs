//! Compares the initial registers of a kernel, derived from its descriptor, with three sources: the registers in which LLVM's compiler
//! expects each item, the assembler's number of user registers, and emulated waves.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use dwarf_tests::cores::generation::Generation;
use dwarf_tests::cores::writer::{CoreSpec, QueueSpec, WaveSpec, at};
use dwarf_tests::{fixture, hetdwarf, lane_cases, llvm_tool, number, wave_cases};
use hetdwarf::arch::{Family, Processor};
use hetdwarf::isa::{Decoder, Effect, MachineRegister, Writes};
use hetdwarf::object::CodeObject;
use hetdwarf::object::descriptor::{
    Field, InitialRegisters, InitialValue, KernelDescriptor, RegisterFile,
};
use serde_json::Value;

/// A processor of each family that LLVM 22 knows and that has kernel descriptors.
const PROCESSORS: &[(Family, &str)] = &[
    (Family::Gfx6, "gfx600"),
    (Family::Gfx7, "gfx700"),
    (Family::Gfx8, "gfx803"),
    (Family::Gfx9, "gfx906"),
    (Family::Gfx908, "gfx908"),
    (Family::Gfx90a, "gfx90a"),
    (Family::Gfx942, "gfx942"),
    (Family::Gfx950, "gfx950"),
    (Family::Gfx10_1, "gfx1010"),
    (Family::Gfx10_3, "gfx1030"),
    (Family::Gfx11, "gfx1100"),
    (Family::Gfx11, "gfx1150"),
    (Family::Gfx12, "gfx1200"),
    (Family::Gfx12_5, "gfx1250"),
];

/// The items by the names that LLVM's machine functions give them (`argumentInfo`). `hidden` follows a register.
const NAMES: &[(&str, InitialValue)] = &[
    ("privateSegmentBuffer", InitialValue::PrivateSegmentBuffer),
    ("dispatchPtr", InitialValue::DispatchPointer),
    ("queuePtr", InitialValue::QueuePointer),
    ("kernargSegmentPtr", InitialValue::KernargSegmentPointer),
    ("dispatchID", InitialValue::DispatchId),
    ("flatScratchInit", InitialValue::FlatScratchInit),
    ("privateSegmentSize", InitialValue::PrivateSegmentSize),
    ("firstKernArgPreloadReg", InitialValue::PreloadedKernargs),
    ("workGroupIDX", InitialValue::WorkGroupIdX),
    ("workGroupIDY", InitialValue::WorkGroupIdY),
    ("workGroupIDZ", InitialValue::WorkGroupIdZ),
    ("workGroupInfo", InitialValue::WorkGroupInfo),
    (
        "privateSegmentWaveByteOffset",
        InitialValue::ScratchWavefrontOffset,
    ),
    ("workItemIDX", InitialValue::WorkItemIdX),
    ("workItemIDY", InitialValue::WorkItemIdY),
    ("workItemIDZ", InitialValue::WorkItemIdZ),
];

/// Returns a kernel that preloads its arguments if possible and uses scratch. Attributes declare the initial values that it does not need.
fn source(attributes: &str) -> String {
    format!(
        "define amdgpu_kernel void @k(ptr addrspace(1) inreg %p, i32 inreg %n) #0 {{
           %s = alloca [4 x i32], addrspace(5)
           store volatile i32 %n, ptr addrspace(5) %s
           store volatile i32 %n, ptr addrspace(1) %p
           ret void
         }}
         attributes #0 = {{ nounwind {attributes} }}"
    )
}

const ATTRIBUTES: &[&str] = &[
    "",
    r#""amdgpu-no-dispatch-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workitem-id-z""#,
    r#""amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-flat-scratch-init" "amdgpu-no-workgroup-id-x"
       "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z""#,
    r#""amdgpu-no-dispatch-id" "amdgpu-no-workgroup-id-z""#,
];

/// The registers of an item. If several items share a register, also the mask of this item.
type Registers = (String, Option<u32>);

fn run(tool: &Path, arguments: &[&str]) -> String {
    let run = Command::new(tool).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{arguments:?}: {text}");
    String::from_utf8(run.stdout).unwrap()
}

/// Converts `$sgpr4_sgpr5` to the assembler's notation.
fn assembler_name(registers: &str) -> String {
    let numbers: Vec<u16> = registers
        .trim_start_matches('$')
        .split('_')
        .map(|one| one.trim_start_matches(|c: char| c.is_alphabetic()))
        .map(|number| number.parse().unwrap())
        .collect();
    let prefix = if registers.starts_with("$v") {
        "v"
    } else {
        "s"
    };
    match numbers[..] {
        [one] => format!("{prefix}{one}"),
        [first, .., last] => format!("{prefix}[{first}:{last}]"),
        [] => panic!("{registers}"),
    }
}

/// Returns the items that a machine function lists after `argumentInfo`.
fn listed(machine_function: &str) -> BTreeMap<&'static str, Registers> {
    let lines = machine_function.lines();
    let mut lines = lines.skip_while(|line| line.trim() != "argumentInfo:");
    lines.next().unwrap();
    lines
        .take_while(|line| line.contains("reg:"))
        .map(|line| {
            let (name, rest) = line.trim().split_once(':').unwrap();
            let known = NAMES.iter().find(|(one, _)| *one == name);
            let (_, value) = known.unwrap_or_else(|| panic!("{line}"));
            let registers = rest.split('\'').nth(1).unwrap();
            let mask = rest.split("mask: ").nth(1);
            let mask = mask.map(|mask| mask.trim_end_matches([' ', '}']).parse().unwrap());
            (value.name(), (assembler_name(registers), mask))
        })
        .collect()
}

fn mask(registers: &InitialRegisters) -> Option<u32> {
    let bits = registers.bits.clone()?;
    Some(bits.map(|bit| 1 << bit).sum())
}

/// Returns the items that the library finds. Preloaded arguments have their first register, as LLVM lists it.
fn found(descriptor: &KernelDescriptor) -> BTreeMap<&'static str, Registers> {
    let all = descriptor.initial_registers().into_iter();
    all.map(|mut registers| {
        if registers.holds == InitialValue::PreloadedKernargs {
            registers.count = 1;
        }
        (
            registers.holds.name(),
            (registers.registers(), mask(&registers)),
        )
    })
    .collect()
}

fn descriptor(object: &Path) -> KernelDescriptor {
    let data = std::fs::read(object).unwrap();
    let object = CodeObject::parse(&data).unwrap();
    let [kernel] = object.kernels().unwrap() else {
        panic!("one kernel")
    };
    kernel.descriptor.clone().unwrap()
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// LLVM's compiler reads each item from the registers that the descriptor of the same kernel requests.
#[test]
fn registers_are_where_the_compiler_expects_them() {
    let Some(llc) = llvm_tool("llc") else {
        return;
    };
    let folder = folder("initial-registers");
    let (input, output) = (folder.join("k.ll"), folder.join("k.o"));
    let mut compared = 0;
    for attributes in ATTRIBUTES {
        std::fs::write(&input, source(attributes)).unwrap();
        let paths = [input.to_str().unwrap(), output.to_str().unwrap()];
        for &(family, processor) in PROCESSORS {
            assert_eq!(
                Processor::by_name(processor).unwrap().family(),
                Some(family)
            );
            let target = ["-mtriple=amdgcn-amd-amdhsa", &format!("-mcpu={processor}")];
            let object = ["-filetype=obj", "-o", paths[1], paths[0]];
            run(&llc, &[&target[..], &object].concat());
            let listing = ["-stop-after=finalize-isel", "-o", "-", paths[0]];
            let mut expected = listed(&run(&llc, &[&target[..], &listing].concat()));
            let descriptor = descriptor(&output);
            let mut found = found(&descriptor);
            if family >= Family::Gfx12 {
                // On these processors work-group ids are not arguments; see the test below.
                found.retain(|name, _| !name.starts_with("work-group-id"));
            }
            // If v0 has no other items, their bits are 0, and LLVM reads the whole register.
            if let Some(("v0", mask @ None)) = expected
                .get_mut(InitialValue::WorkItemIdX.name())
                .map(|(registers, mask)| (&**registers, mask))
            {
                *mask = found[InitialValue::WorkItemIdX.name()].1;
            }
            // LLVM lists this item for every kernel with scratch. The descriptor does not request it if flat scratch is already set up.
            if descriptor.field(Field::EnablePrivateSegment) == Some(0) {
                expected.remove(InitialValue::ScratchWavefrontOffset.name());
            }
            assert_eq!(found, expected, "{processor} {attributes}");
            compared += found.len();
        }
    }
    assert!(compared > 400, "{compared}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// GFX12: a kernel that stores one work-group id reads it from the bits of the trap temporary that the library names.
#[test]
fn work_group_ids_of_gfx12_are_in_trap_temporaries() {
    let Some(llc) = llvm_tool("llc") else {
        return;
    };
    let folder = folder("work-group-ids");
    let (input, output) = (folder.join("k.ll"), folder.join("k.o"));
    let paths = [input.to_str().unwrap(), output.to_str().unwrap()];
    for (dimension, instruction, expected) in [
        ("x", "ttmp9", ("ttmp9", None)),
        ("y", "s_and_b32 s2, ttmp7, 0xffff", ("ttmp7", Some(0xffff))),
        (
            "z",
            "s_lshr_b32 s2, ttmp7, 16",
            ("ttmp7", Some(0xffff_0000)),
        ),
    ] {
        std::fs::write(
            &input,
            format!(
                "declare i32 @llvm.amdgcn.workgroup.id.{dimension}()
                 define amdgpu_kernel void @k(ptr addrspace(1) %p) {{
                   %x = call i32 @llvm.amdgcn.workgroup.id.{dimension}()
                   store i32 %x, ptr addrspace(1) %p
                   ret void
                 }}"
            ),
        )
        .unwrap();
        let target = ["-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx1200"];
        let text = run(&llc, &[&target[..], &["-o", "-", paths[0]]].concat());
        assert!(text.contains(instruction), "{text}");
        let object = ["-filetype=obj", "-o", paths[1], paths[0]];
        run(&llc, &[&target[..], &object].concat());
        let found = found(&descriptor(&output));
        let (registers, mask) = expected;
        let name = format!("work-group-id-{dimension}");
        assert_eq!(found[&name[..]], (registers.to_owned(), mask));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Directives of user registers, with the number of registers that each enables.
const DIRECTIVES: &[(&str, Field)] = &[
    (
        "user_sgpr_private_segment_buffer 1",
        Field::EnableSgprPrivateSegmentBuffer,
    ),
    ("user_sgpr_dispatch_ptr 1", Field::EnableSgprDispatchPtr),
    ("user_sgpr_queue_ptr 1", Field::EnableSgprQueuePtr),
    (
        "user_sgpr_kernarg_segment_ptr 1",
        Field::EnableSgprKernargSegmentPtr,
    ),
    ("user_sgpr_dispatch_id 1", Field::EnableSgprDispatchId),
    (
        "user_sgpr_flat_scratch_init 1",
        Field::EnableSgprFlatScratchInit,
    ),
    (
        "user_sgpr_private_segment_size 1",
        Field::EnableSgprPrivateSegmentSize,
    ),
    (
        "user_sgpr_kernarg_preload_length 3",
        Field::KernargPreloadSpecLength,
    ),
];

/// The assembler counts as many user registers as the library lists, for every choice of directives.
#[test]
fn the_assembler_counts_as_many_user_registers() {
    let Some(mc) = llvm_tool("llvm-mc") else {
        return;
    };
    let folder = folder("user-registers");
    let (input, output) = (folder.join("k.s"), folder.join("k.o"));
    let mut compared = 0;
    for &(family, processor) in PROCESSORS {
        let here: Vec<_> = (DIRECTIVES.iter())
            .filter(|(_, field)| field.placement(family).is_some())
            .collect();
        // Each directive is used alone, and each is left out, and all are used.
        let all = here.len();
        let choices = (0..all)
            .flat_map(|at| [1_u32 << at, !(1 << at)])
            .chain([u32::MAX]);
        for choice in choices {
            let chosen = here.iter().enumerate();
            let chosen = chosen.filter(|(at, _)| (choice >> at) & 1 == 1);
            let mut text = "k:\n s_endpgm\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 8\n".to_owned();
            if Field::AccumOffset.placement(family).is_some() {
                text.push_str(".amdhsa_accum_offset 4\n");
            }
            for (_, (directive, _)) in chosen {
                text.push_str(&format!(".amdhsa_{directive}\n"));
            }
            text.push_str(".end_amdhsa_kernel\n");
            std::fs::write(&input, &text).unwrap();
            let ran = Command::new(&mc)
                .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj"])
                .arg(format!("-mcpu={processor}"))
                .arg("-o")
                .args([&output, &input])
                .output()
                .unwrap();
            let errors = String::from_utf8(ran.stderr).unwrap();
            assert!(ran.status.success(), "{processor}: {errors}\n{text}");
            let descriptor = descriptor(&output);
            let counted = descriptor.field(Field::UserSgprCount).unwrap();
            let listed = descriptor.initial_registers();
            let system = [InitialValue::WorkGroupIdX, InitialValue::WorkItemIdX];
            let is_user = |one: &&InitialRegisters| !system.contains(&one.holds);
            let user: u64 = (listed.iter().filter(is_user))
                .map(|one| u64::from(one.count))
                .sum();
            // The assembler counts more registers than are loaded. According to USAGE, the excess is ignored.
            let loaded = if family == Family::Gfx12_5 { 32 } else { 16 };
            if counted <= loaded {
                assert_eq!(user, counted, "{processor}\n{text}");
                compared += 1;
            } else {
                assert!(user <= loaded, "{processor}\n{text}");
            }
        }
    }
    assert!(compared > 150, "{compared}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// In kernels without calls, the registers that no instruction writes keep their initial values from the emulator at every stop.
#[test]
fn registers_that_are_never_written_have_their_initial_values() {
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for case in lane_cases().into_iter().chain(wave_cases()) {
        let name = case.file_name().unwrap().to_str().unwrap();
        // The file has the name of the folder, in some cases without the first part.
        let files = [name, name.split_once('-').map_or(name, |(_, rest)| rest)];
        let files = files.map(|name| case.join(format!("{name}.hsaco")));
        let hsaco = files.into_iter().find(|path| path.exists()).unwrap();
        let data = std::fs::read(&hsaco).unwrap();
        let object = CodeObject::parse(&data).unwrap();
        for kernel in object.kernels().unwrap() {
            let descriptor = kernel.descriptor.as_ref().unwrap();
            let symbols = object.symbols().unwrap().iter();
            let mut code = symbols.filter(|one| one.name == kernel.name && one.size > 0);
            let code = code.next().unwrap();
            let decoder = Decoder::new(object.target().processor(), descriptor.wave_size());
            let (decoder, mut at, mut writes) = (decoder.unwrap(), code.address, Vec::new());
            let mut calls = false;
            while at < code.address + code.size {
                let rest = usize::try_from(code.address + code.size - at).unwrap();
                let instruction = decoder.decode(object.read_image(at, rest).unwrap(), at);
                let instruction = instruction.unwrap();
                calls |= matches!(instruction.effect, Effect::Call { .. });
                at = instruction.end();
                writes.push(instruction.writes);
            }
            if calls || writes.iter().any(Writes::is_indirect) {
                continue;
            }
            for wave in snapshots(&case) {
                let number = |value: &Value| u64::try_from(number(value)).unwrap();
                let load = wave.get("load_address").map_or(0, number);
                let pc = number(&wave["pc"]) - load;
                if !(code.address..code.address + code.size).contains(&pc) {
                    continue;
                }
                for item in descriptor.initial_registers() {
                    let machine = |n: u16| match item.file {
                        RegisterFile::Scalar => MachineRegister::Sgpr(n.try_into().unwrap()),
                        RegisterFile::Vector => MachineRegister::Vgpr(n),
                        RegisterFile::TrapTemporary => MachineRegister::Ttmp(n.try_into().unwrap()),
                    };
                    let numbers = item.first..item.first + item.count;
                    let mut all = numbers.clone().map(machine);
                    if all.any(|register| writes.iter().any(|one| one.contains(register))) {
                        continue;
                    }
                    if let Some(right) = is_right(&item, &wave) {
                        assert!(right, "{name}: {item}, {}", wave["pc"]);
                        *compared.entry(item.holds.name()).or_default() += 1;
                    }
                }
            }
        }
    }
    println!("{compared:?}");
    for (item, at_least) in [
        (InitialValue::KernargSegmentPointer, 5),
        (InitialValue::WorkGroupIdX, 15),
    ] {
        let count = compared.get(item.name()).copied();
        assert!(count.is_some_and(|count| count >= at_least), "{compared:?}");
    }
}

fn snapshots(case: &Path) -> Vec<Value> {
    let mut paths: Vec<_> = std::fs::read_dir(case).unwrap().collect();
    paths.sort_by_key(|path| path.as_ref().unwrap().file_name());
    let mut all = Vec::new();
    for path in paths {
        let path = path.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut text = Vec::new();
        let file = std::fs::File::open(&path).unwrap();
        if name.starts_with('w') && name.ends_with(".json.gz") {
            let mut file = flate2::read::GzDecoder::new(file);
            file.read_to_end(&mut text).unwrap();
        } else if name.starts_with('w') && name.ends_with(".json") {
            text = std::fs::read(&path).unwrap();
        } else {
            continue;
        }
        all.push(serde_json::from_slice(&text).unwrap());
    }
    all
}

/// Returns true if the registers of a wave hold the item. Returns `None` if the wave has nothing to compare with.
fn is_right(item: &InitialRegisters, wave: &Value) -> Option<bool> {
    let dispatch = &wave["dispatch"];
    let number = |value: &Value| u64::try_from(number(value)).unwrap();
    let prefix = item.file.prefix();
    let scalar = |n: u16| Some(number(wave["registers"].get(format!("{prefix}{n}"))?));
    let dimension = match item.holds {
        InitialValue::WorkGroupIdX | InitialValue::WorkItemIdX => 0,
        InitialValue::WorkGroupIdY | InitialValue::WorkItemIdY => 1,
        _ => 2,
    };
    match item.holds {
        InitialValue::KernargSegmentPointer => {
            let address = scalar(item.first)? | scalar(item.first + 1)? << 32;
            // The snapshot lists memory by blocks, and the arguments are one block.
            let mut blocks = wave["memory"].as_array().unwrap().iter();
            Some(blocks.any(|block| number(&block["address"]) == address))
        }
        InitialValue::WorkGroupIdX | InitialValue::WorkGroupIdY | InitialValue::WorkGroupIdZ => {
            Some(scalar(item.first)? == number(&dispatch["workgroup_id"][dimension]))
        }
        InitialValue::WorkItemIdX | InitialValue::WorkItemIdY | InitialValue::WorkItemIdZ => {
            let lanes = wave["registers"].get(format!("v{}", item.first))?;
            let lanes = lanes.as_array().unwrap();
            let first = number(&dispatch["wave_in_group"]) * number(&wave["wave_size"]);
            let size = |n: usize| number(&dispatch["workgroup_size"][n]);
            let mut lanes = lanes.iter().zip(first..);
            Some(lanes.all(|(value, flat)| {
                let place = [
                    flat % size(0),
                    flat / size(0) % size(1),
                    flat / size(0) / size(1),
                ];
                let bits = item.bits.clone().unwrap_or(0..32);
                let value = (number(value) >> bits.start) & ((1 << (bits.end - bits.start)) - 1);
                // Lanes beyond the work-group have no work-item.
                place[2] >= size(2) || value == place[dimension]
            }))
        }
        _ => None,
    }
}

/// `vars` names the registers that still hold their initial values. By the disassembly of `k`, `v_mov_b32 v0, -1` at 0x1918 is the first
/// instruction that writes v0, and `s_getpc_b64 s[0:1]` at 0x1940 the first that writes s0; nothing writes s15.
#[test]
fn stops_say_what_registers_still_hold() {
    let object = fixture("waves/calls-O2/calls-O2.hsaco");
    let folder = folder("initial-registers-stops");
    let path = folder.join("w.json");
    let text = std::fs::read_to_string(fixture("waves/calls-O2/w16.json")).unwrap();
    let vars = |pc: u64, options: &[&str]| {
        let moved = text.replacen(
            "0x7f400000195c",
            &format!("{:#x}", 0x7f40_0000_0000 + pc),
            1,
        );
        assert!(pc == 0x195c || moved != text);
        std::fs::write(&path, moved).unwrap();
        let mut arguments = vec!["vars".into(), object.as_os_str().to_owned()];
        arguments.extend(["--wave".into(), path.as_os_str().to_owned()]);
        arguments.extend(options.iter().map(Into::into));
        hetdwarf(arguments).out
    };
    let entry = |pc| {
        let document: Value = serde_json::from_str(&vars(pc, &["--format", "json"])).unwrap();
        let frame = document["frames"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        let all = frame.get("entry").and_then(Value::as_array).cloned();
        let all = all.unwrap_or_default();
        let registers = all
            .iter()
            .map(|one| one["registers"].as_str().unwrap().to_owned());
        registers.collect::<Vec<_>>()
    };
    let all = ["s[0:1]", "s15", "v0"];
    assert_eq!(entry(0x1900), all);
    assert_eq!(entry(0x1918), all);
    assert_eq!(entry(0x191c), all[..2]);
    assert_eq!(entry(0x1940), all[..2]);
    assert_eq!(entry(0x1944), all[1..2]);
    let text = vars(0x1918, &[]);
    let line = "unchanged since the kernel started: s[0:1] = kernarg segment pointer; s15 = work-group id x; v0, bits 0-9 = work-item id x\n";
    assert!(text.contains(line), "{text}");
    // In a function that the kernel calls, registers have other values.
    let wave = fixture("waves/calls-O2/w00.json");
    let arguments =
        ["vars", "--format", "json", "--frame", "all", "--wave"].map(std::ffi::OsStr::new);
    let arguments = arguments
        .into_iter()
        .chain([wave.as_os_str(), object.as_os_str()]);
    let document: Value = serde_json::from_str(&hetdwarf(arguments).out).unwrap();
    for frame in document["frames"].as_array().unwrap() {
        assert_eq!(frame.get("entry"), None);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Returns a core file with waves at some addresses of an object. The first wave stopped.
fn core_of(object: &[u8], addresses: &[u64]) -> Vec<u8> {
    let mut spec = CoreSpec::new(Generation::Gfx11, 110_000);
    let load = 0x7f40_0000_0000;
    let copy = 0x7f30_0000_0000;
    let size = object.len();
    spec.objects = vec![(load, format!("memory://1#offset={copy:#x}&size={size}"))];
    spec.memory.push((copy, object.to_vec(), true));
    let wave = |(seed, address): (u32, &u64)| WaveSpec {
        seed,
        lanes: 32,
        vgprs: 16,
        agprs: 0,
        shared: 0,
        sgprs: 128,
        lds: 0,
        is_first: true,
        is_last: true,
        has_scratch: true,
        engine: seed,
        slot: 0,
        pc: load + address,
        exec: 0xff,
        vcc: 0,
        flat_scratch: at::scratch(0) + u64::from(8 * seed) * 1024,
        status: 0,
        trapsts: 1 << 28,
        mode: 0x2f0,
        state_priv: 0,
        excp_priv: 0,
        excp_user: 0,
        trap_ctrl: 0,
        is_stopped: seed == 0,
        was_halted: false,
        was_in_handler: true,
        is_marked: false,
        trap_id: 0,
        packet_index: 62,
        workgroup: [seed, 0, 0],
        wave_in_group: 0,
        copied: None,
    };
    spec.queues.push(QueueSpec {
        id: 1,
        packets: 64,
        read: 382,
        write: 385,
        scratch_waves: 8,
        scratch_bytes: 1024,
        waves: vec![(0..).zip(addresses).map(wave).collect()],
    });
    spec.build().merged()
}

/// `core` reports the same about its waves as `vars` about snapshots at the same positions (see
/// [`stops_say_what_registers_still_hold`]). This also holds for a code object without debugging information.
#[test]
fn cores_say_what_registers_still_hold() {
    let path = fixture("waves/calls-O2/calls-O2.hsaco");
    let folder = folder("initial-registers-core");
    let mut objects = vec![std::fs::read(&path).unwrap()];
    if let Some(objcopy) = llvm_tool("llvm-objcopy") {
        let stripped = folder.join("stripped.hsaco");
        let mut command = Command::new(objcopy);
        command.arg("--strip-debug").args([&path, &stripped]);
        assert!(command.status().unwrap().success());
        objects.push(std::fs::read(stripped).unwrap());
    }
    let all = ["s[0:1]", "s15", "v0"];
    let expected: [(u64, &[&str]); 4] = [
        (0x1918, &all),
        (0x191c, &all[..2]),
        (0x1940, &all[..2]),
        (0x1944, &all[1..2]),
    ];
    let addresses = expected.map(|(address, _)| address);
    for object in objects {
        let path = folder.join("merged.core");
        std::fs::write(&path, core_of(&object, &addresses)).unwrap();
        let core = |more: &[&str]| {
            let arguments = ["core".into(), path.as_os_str().to_owned()].into_iter();
            hetdwarf(arguments.chain(more.iter().map(Into::into))).out
        };
        let document: Value = serde_json::from_str(&core(&["--format", "json"])).unwrap();
        let waves = document["waves"].as_array().unwrap();
        assert_eq!(waves.len(), expected.len());
        for wave in waves {
            let pc = u64::try_from(number(&wave["pc"])).unwrap() & 0xffff;
            let (_, expected) = expected.iter().find(|(address, _)| *address == pc).unwrap();
            let entry = wave["entry"].as_array().unwrap().iter();
            let registers: Vec<&str> = entry
                .map(|one| one["registers"].as_str().unwrap())
                .collect();
            assert_eq!(&registers, expected, "{pc:#x}");
        }
        assert_eq!(waves[0]["entry"][0]["holds"], "kernarg-segment-pointer");
        let text = core(&[]);
        let line = "  unchanged since the kernel started: s[0:1] = kernarg segment pointer; s15 = work-group id x; v0, bits 0-9 = work-item id x\n";
        assert_eq!(text.matches(line).count(), 1, "{text}");
        assert_eq!(
            text.matches("since the kernel started").count(),
            1,
            "{text}"
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
