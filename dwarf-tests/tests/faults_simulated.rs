//! Tests the search for faulting accesses with random programs: no certain candidate is wrong.
//!
//! A program is a function of a few kinds of instructions, with loops, and perhaps a called function. It is assembled for five processors,
//! and run lane by lane. When an active lane accesses missing memory, the run continues for a random number of instructions, or until a
//! wait needs the access: this is its latency. The candidates are compared with the executed instructions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use dwarf_tests::cores::Folder;
use dwarf_tests::llvm_tool;
use dwarf_tests::simulator::random::Random;
use hetdwarf::arch::{Register, WaveSize};
use hetdwarf::inspect::{FaultCandidate, MemoryMap};
use hetdwarf::prelude::*;

const PROCESSORS: [&str; 5] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200"];
/// The number of programs for each processor.
const PROGRAMS: usize = 60;
const LOAD: u64 = 0x7f00_0000_0000;
const BUFFER: u64 = 0x7e00_0000_0000;
const BUFFER_BYTES: u64 = 0x10_0000;
const BAD: u64 = 0x7a00_0000_0000;
/// The address of the wave's scratch.
const SCRATCH: u64 = 0x7d00_0000_0000;
const SCRATCH_BYTES: u64 = 0x1_0000;
/// The number of register pairs with addresses, `v[2:3]` to `v[8:9]`.
const PAIRS: usize = 4;
/// The number of vector registers that programs use.
const VECTORS: u8 = 20;

/// An instruction.
#[derive(Clone, Copy, Debug)]
enum Op {
    Move(u8, u8),
    Constant(u8, u32),
    Add(u8, u8, u32),
    Xor(u8, u8, u8),
    ScalarMove(u8, u8),
    ScalarAdd(u8, u8, u32),
    /// Lanes below a number continue, and EXEC is saved in a register. If no lane continues, there may be a jump to the end.
    If(u8, u32, Option<usize>),
    /// Restores the lanes from a register.
    EndIf(u8),
    Access(Access),
    /// Begins a loop with this many iterations. Loops are not nested.
    Loop(u32),
    /// Ends the loop that begins at an index.
    EndLoop(usize),
    /// Calls the function that begins at an index.
    Call(usize),
    Return,
    End,
    WaitLoads(u32),
    WaitStores(u32),
    WaitScalars,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Whole,
    Based,
    Flat,
    Buffer,
    Scalar,
    Scratch,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    form: Form,
    is_store: bool,
    is_atomic: bool,
    /// The first vector register of the address, or the scalar register.
    address: u8,
    data: u8,
    offset: u32,
}

/// The addresses that an executed access touched in the active lanes.
#[derive(Clone, Debug)]
struct Touched {
    index: usize,
    lanes: BTreeMap<u8, u64>,
}

#[derive(Clone)]
struct Machine {
    lanes: u8,
    vectors: Vec<[u32; 64]>,
    scalars: [u32; 64],
    exec: u64,
    /// The indexes after the last call, and of the called function.
    link: Option<(usize, usize)>,
}

fn is_new(processor: &str) -> bool {
    !processor.starts_with("gfx9")
}

fn wave_size(processor: &str) -> WaveSize {
    match is_new(processor) {
        true => WaveSize::Wave32,
        false => WaveSize::Wave64,
    }
}

/// Returns an instruction in the assembler's language.
///
/// * `program`: the number of the program, which is part of its labels.
fn text(processor: &str, program: usize, op: Op) -> String {
    let new = is_new(processor);
    let names = processor >= "gfx1100" && new;
    let is_12 = processor == "gfx1200";
    let (b, vcc, exec) = match new {
        true => ("b32", "vcc_lo", "exec_lo"),
        false => ("b64", "vcc", "exec"),
    };
    let mask = |first: u8| match new {
        true => format!("s{first}"),
        false => format!("s[{first}:{}]", first + 1),
    };
    match op {
        Op::Move(d, a) => format!("v_mov_b32_e32 v{d}, v{a}"),
        Op::Constant(d, value) => format!("v_mov_b32_e32 v{d}, {value:#x}"),
        Op::Add(d, a, value) if new => format!("v_add_nc_u32_e32 v{d}, {value}, v{a}"),
        Op::Add(d, a, value) => format!("v_add_u32_e32 v{d}, {value}, v{a}"),
        Op::Xor(d, a, b) => format!("v_xor_b32_e32 v{d}, v{a}, v{b}"),
        Op::ScalarMove(d, a) => format!("s_mov_b32 s{d}, s{a}"),
        Op::ScalarAdd(d, a, value) => format!("s_add_i32 s{d}, s{a}, {value}"),
        Op::If(to, bound, end) => {
            let skip = end.map(|end| format!("\n  s_cbranch_execz f{program}_{end}"));
            format!(
                "v_cmp_gt_u32_e32 {vcc}, {bound}, v0\n  s_and_saveexec_{b} {}, {vcc}{}",
                mask(to),
                skip.unwrap_or_default()
            )
        }
        Op::EndIf(from) => format!("s_or_{b} {exec}, {exec}, {}", mask(from)),
        Op::Loop(passes) => format!("s_movk_i32 s44, {passes:#x}"),
        Op::EndLoop(start) => format!(
            "s_sub_i32 s44, s44, 1\n  s_cmp_lg_u32 s44, 0\n  s_cbranch_scc1 f{program}_{}",
            start + 1
        ),
        Op::Call(_) => format!(
            "s_getpc_b64 s[48:49]\n  s_add_u32 s48, s48, g{program}@rel32@lo+4\n  \
             s_addc_u32 s49, s49, g{program}@rel32@hi+12\n  s_swappc_b64 s[30:31], s[48:49]"
        ),
        Op::Return => "s_setpc_b64 s[30:31]".to_owned(),
        Op::End => "s_endpgm".to_owned(),
        Op::WaitLoads(count) if is_12 => format!("s_wait_loadcnt {count}"),
        Op::WaitLoads(count) => format!("s_waitcnt vmcnt({count})"),
        Op::WaitStores(count) if is_12 => format!("s_wait_storecnt {count}"),
        Op::WaitStores(count) if new => format!("s_waitcnt_vscnt null, {count}"),
        Op::WaitStores(count) => format!("s_waitcnt vmcnt({count})"),
        Op::WaitScalars if is_12 => "s_wait_kmcnt 0".to_owned(),
        Op::WaitScalars => "s_waitcnt lgkmcnt(0)".to_owned(),
        Op::Access(access) => access_text(access, names, is_12),
    }
}

fn access_text(access: Access, names: bool, is_12: bool) -> String {
    let Access {
        form,
        is_store,
        is_atomic,
        address,
        data,
        offset,
    } = access;
    let size = if names { "b32" } else { "dword" };
    let what = match (is_atomic, is_store) {
        (true, _) if names => "atomic_add_u32".to_owned(),
        (true, _) => "atomic_add".to_owned(),
        (_, true) => format!("store_{size}"),
        (_, false) => format!("load_{size}"),
    };
    let pair = format!("v[{address}:{}]", address + 1);
    let order = |address: &str| match is_store || is_atomic {
        true => format!("{address}, v{data}"),
        false => format!("v{data}, {address}"),
    };
    match form {
        Form::Whole => format!("global_{what} {}, off offset:{offset}", order(&pair)),
        Form::Based => format!(
            "global_{what} {}, s[4:5] offset:{offset}",
            order(&format!("v{address}"))
        ),
        Form::Flat => format!("flat_{what} {}", order(&pair)),
        Form::Buffer => {
            let scalar = if is_12 { "null" } else { "0" };
            format!("buffer_{what} v{data}, v{address}, s[8:11], {scalar} offen offset:{offset}")
        }
        Form::Scratch => format!(
            "scratch_{what} {}, off offset:{offset}",
            order(&format!("v{address}"))
        ),
        Form::Scalar => {
            let size = if names { "b32" } else { "dword" };
            format!(
                "s_load_{size} s{data}, s[{address}:{}], {offset:#x}",
                address + 1
            )
        }
    }
}

/// Returns a kernel, with the function that it calls, if any.
fn program(random: &mut Random) -> Vec<Op> {
    let mut ops = body(random);
    ops.push(Op::End);
    let function = ops.len();
    let mut has_call = false;
    for op in &mut ops {
        if let Op::Call(target) = op {
            *target = function;
            has_call = true;
        }
    }
    if has_call {
        let mut function = body(random);
        function.retain(|op| !matches!(op, Op::Call(_) | Op::Loop(_) | Op::EndLoop(_)));
        function.truncate(20);
        ops.extend(function);
        ops.push(Op::Return);
    }
    // The starts of loops are recorded. Half of the conditions jump to their end if no lane continues.
    let mut start = 0;
    for index in 0..ops.len() {
        // A jump does not pass the start of a loop, because the loop's counter would then be undefined.
        let ends = |op: &Op| matches!(op, Op::EndIf(_) | Op::Loop(_) | Op::End | Op::Return);
        let end = ops[index..].iter().position(ends).map(|n| index + n);
        let end = end.filter(|end| !matches!(ops[*end], Op::Loop(_)));
        match &mut ops[index] {
            Op::If(_, _, skip) => *skip = end.filter(|_| random.percent(50)),
            Op::Loop(_) => start = index,
            Op::EndLoop(of) => *of = start,
            _ => {}
        }
    }
    ops
}

fn body(random: &mut Random) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut open: Option<u8> = None;
    let mut in_loop = false;
    let free = |random: &mut Random| 10 + random.below(usize::from(VECTORS) - 10) as u8;
    let pair = |random: &mut Random| 2 + 2 * random.below(PAIRS) as u8;
    for _ in 0..30 + random.below(30) {
        let op = match random.below(22) {
            0 => Op::Move(free(random), pair(random)),
            1 => Op::Move(free(random), free(random)),
            // An address is lost, or changes in a way that can be undone.
            2 => Op::Move(pair(random) + 1, free(random)),
            3 => {
                let low = pair(random);
                Op::Add(low, low, 4 * (1 + random.below(8) as u32))
            }
            4 => Op::Constant(free(random), random.number() as u32),
            5 => Op::Xor(free(random), free(random), pair(random)),
            6 => Op::ScalarMove(30 + random.below(4) as u8, 4 + random.below(2) as u8),
            7 => Op::ScalarAdd(34, 34, 4),
            8 => match open.take() {
                Some(mask) => Op::EndIf(mask),
                None => {
                    let mask = 20 + 2 * random.below(3) as u8;
                    open = Some(mask);
                    let bound = [0, random.below(33) as u32][random.below(2)];
                    Op::If(mask, bound, None)
                }
            },
            9 if random.percent(40) => Op::WaitLoads(random.below(3) as u32),
            10 if random.percent(40) => Op::WaitStores(random.below(3) as u32),
            11 => Op::WaitScalars,
            12 if !in_loop => {
                in_loop = true;
                Op::Loop(1 + random.below(3) as u32)
            }
            13 if in_loop => {
                in_loop = false;
                Op::EndLoop(0)
            }
            14 if random.percent(60) => Op::Call(0),
            _ => {
                let (address, data) = (pair(random), free(random));
                Op::Access(access(random, address, data))
            }
        };
        ops.push(op);
    }
    ops.extend(open.map(Op::EndIf));
    ops.extend(in_loop.then_some(Op::EndLoop(0)));
    ops
}

fn access(random: &mut Random, pair: u8, data: u8) -> Access {
    let form = match random.below(10) {
        0..5 => Form::Whole,
        5 => Form::Based,
        6 => Form::Flat,
        7 => Form::Buffer,
        8 => Form::Scalar,
        _ if random.percent(50) => Form::Scratch,
        _ => Form::Whole,
    };
    let is_atomic = form == Form::Whole && random.percent(20);
    Access {
        form,
        is_store: form != Form::Scalar && random.percent(60),
        is_atomic,
        address: match form {
            Form::Based | Form::Buffer | Form::Scratch => 1,
            Form::Scalar => [6, 40][random.below(2)],
            Form::Whole | Form::Flat => pair,
        },
        // A load can overwrite its own address.
        data: match form {
            Form::Scalar => 36,
            _ if random.percent(5) => pair,
            _ => data,
        },
        offset: 4 * random.below(16) as u32,
    }
}

impl Machine {
    fn new(random: &mut Random, lanes: u8) -> Machine {
        let mut vectors = vec![[0; 64]; usize::from(VECTORS)];
        for vector in &mut vectors {
            vector.fill_with(|| random.number() as u32);
        }
        let bad = random.below(PAIRS);
        for (lane, place) in vectors[0].iter_mut().enumerate() {
            *place = lane as u32;
        }
        // The offsets are small: from a base, or in a buffer.
        for (lane, place) in vectors[1].iter_mut().enumerate() {
            *place = 4 * lane as u32;
        }
        for pair in 0..PAIRS {
            let [low, high] = &mut vectors[2 + 2 * pair..4 + 2 * pair] else {
                panic!("a pair is missing");
            };
            for (low, high) in low.iter_mut().zip(high) {
                let is_bad = pair == bad && random.percent(30);
                let base = if is_bad { BAD } else { BUFFER };
                let at = base + 4 * (random.number() % (BUFFER_BYTES / 8));
                (*low, *high) = (at as u32, (at >> 32) as u32);
            }
        }
        let mut scalars = [0; 64];
        scalars.fill_with(|| random.number() as u32);
        let mut put = |first: usize, value: u64| {
            scalars[first] = value as u32;
            scalars[first + 1] = (value >> 32) as u32;
        };
        put(4, if random.percent(15) { BAD } else { BUFFER });
        put(6, BUFFER + 0x100);
        put(
            40,
            if random.percent(15) {
                BAD + 0x40
            } else {
                BUFFER
            },
        );
        // A buffer descriptor without a stride. The buffer may have no memory, and its bounds can exclude lanes.
        put(8, if random.percent(15) { BAD } else { BUFFER });
        scalars[10] = if random.percent(30) { 64 } else { 0x1000 };
        scalars[11] = 0x3000_0000;
        let exec = match lanes {
            64 => u64::MAX,
            _ => 0xffff_ffff,
        };
        Machine {
            lanes,
            vectors,
            scalars,
            exec,
            link: None,
        }
    }

    fn each(&self) -> impl Iterator<Item = usize> + use<> {
        let (exec, lanes) = (self.exec, self.lanes);
        (0..usize::from(lanes)).filter(move |lane| exec >> lane & 1 == 1)
    }

    /// Returns the addresses that an access touches.
    fn addresses(&self, access: Access) -> BTreeMap<u8, u64> {
        let offset = u64::from(access.offset);
        let first = usize::from(access.address);
        let pair = |values: [u32; 2]| u64::from(values[1]) << 32 | u64::from(values[0]);
        let base = |first: usize| pair([self.scalars[first], self.scalars[first + 1]]);
        if access.form == Form::Scratch {
            return BTreeMap::new();
        }
        if access.form == Form::Scalar {
            return BTreeMap::from([(0, base(first) + offset)]);
        }
        let addresses = self.each().filter_map(|lane| {
            let own = u64::from(self.vectors[first][lane]);
            let whole = || pair([self.vectors[first][lane], self.vectors[first + 1][lane]]);
            let address = match access.form {
                Form::Whole => whole() + offset,
                Form::Flat => whole(),
                Form::Based => base(4) + own + offset,
                Form::Buffer => {
                    let at = own + offset;
                    (at < u64::from(self.scalars[10])).then_some(base(8) + at)?
                }
                Form::Scalar | Form::Scratch => return None,
            };
            Some((lane as u8, address))
        });
        addresses.collect()
    }

    fn run(&mut self, op: Op, random: &mut Random) {
        match op {
            Op::Move(d, a) => {
                for lane in self.each() {
                    self.vectors[usize::from(d)][lane] = self.vectors[usize::from(a)][lane];
                }
            }
            Op::Constant(d, value) => {
                for lane in self.each() {
                    self.vectors[usize::from(d)][lane] = value;
                }
            }
            Op::Add(d, a, value) => {
                for lane in self.each() {
                    let sum = self.vectors[usize::from(a)][lane].wrapping_add(value);
                    self.vectors[usize::from(d)][lane] = sum;
                }
            }
            Op::Xor(d, a, b) => {
                for lane in self.each() {
                    let [a, b] = [a, b].map(|n| self.vectors[usize::from(n)][lane]);
                    self.vectors[usize::from(d)][lane] = a ^ b;
                }
            }
            Op::ScalarMove(d, a) => self.scalars[usize::from(d)] = self.scalars[usize::from(a)],
            Op::ScalarAdd(d, a, value) => {
                self.scalars[usize::from(d)] = self.scalars[usize::from(a)].wrapping_add(value);
            }
            Op::If(to, bound, _) => {
                let to = usize::from(to);
                self.scalars[to] = self.exec as u32;
                if self.lanes == 64 {
                    self.scalars[to + 1] = (self.exec >> 32) as u32;
                }
                let below = (0..64).filter(|lane| self.vectors[0][*lane] < bound);
                let mask = below.fold(0_u64, |mask, lane| mask | 1 << lane);
                self.exec &= mask;
            }
            Op::EndIf(from) => {
                let from = usize::from(from);
                let mut mask = u64::from(self.scalars[from]);
                if self.lanes == 64 {
                    mask |= u64::from(self.scalars[from + 1]) << 32;
                }
                self.exec |= mask;
            }
            Op::Access(access) if access.form == Form::Scalar => {
                self.scalars[usize::from(access.data)] = random.number() as u32;
            }
            Op::Access(access) if !access.is_store && !access.is_atomic => {
                for lane in self.each() {
                    self.vectors[usize::from(access.data)][lane] = random.number() as u32;
                }
            }
            Op::Loop(passes) => self.scalars[44] = passes,
            Op::EndLoop(_) => self.scalars[44] = self.scalars[44].wrapping_sub(1),
            Op::Access(_) | Op::Call(_) | Op::Return | Op::End => {}
            Op::WaitLoads(_) | Op::WaitStores(_) | Op::WaitScalars => {}
        }
    }
}

/// Returns true if there is no memory at an address.
fn is_bad(address: u64) -> bool {
    !(BUFFER..BUFFER + 2 * BUFFER_BYTES).contains(&address)
}

/// The executed accesses, and the machine at the stop.
struct Run {
    accesses: Vec<Touched>,
    /// The index of the first faulting access.
    first: usize,
    stop: usize,
    machine: Machine,
    /// True if the registers of its address are unchanged at the stop.
    survives: bool,
}

/// Returns true if an access counts as a store. Atomic operations here do not return a value.
fn writes(access: &Access) -> bool {
    access.is_store || access.is_atomic
}

/// Returns true if an instruction waits for an access.
///
/// * `later`: the number of later accesses that complete after it. Flat and scalar accesses, and accesses of the other kind, may complete
///   earlier.
fn needs(op: Op, access: &Access, later: usize, processor: &str) -> bool {
    let is_one = !is_new(processor);
    let (is_own, count) = match op {
        Op::WaitLoads(count) => (is_one || !writes(access), count as usize),
        Op::WaitStores(count) => (is_one || writes(access), count as usize),
        Op::WaitScalars => return access.form == Form::Scalar,
        _ => return false,
    };
    match access.form {
        Form::Scalar => false,
        Form::Flat => is_own && count == 0,
        Form::Whole | Form::Based | Form::Buffer | Form::Scratch => is_own && later >= count,
    }
}

fn run(ops: &[Op], processor: &str, random: &mut Random) -> Option<Run> {
    let lanes = wave_size(processor).lanes() as u8;
    let mut machine = Machine::new(random, lanes);
    let latency = random.below(13);
    let mut accesses: Vec<Touched> = Vec::new();
    let mut fault: Option<(usize, Access, Machine)> = None;
    // Counts the later accesses of the same kind.
    let (mut later, mut executed) = (0, 0);
    let mut index = 0;
    while let Some(op) = ops.get(index) {
        if let Some((_, access, _)) = &fault {
            if needs(*op, access, later, processor) || executed >= latency {
                break;
            }
            executed += 1;
        }
        if matches!(op, Op::End) {
            break;
        }
        if let Op::Access(access) = op {
            let lanes = machine.addresses(*access);
            let is_fault = lanes.values().any(|address| is_bad(*address));
            accesses.push(Touched { index, lanes });
            match &fault {
                None if is_fault => {
                    fault = Some((accesses.len() - 1, *access, machine.clone()));
                }
                Some((_, first, _)) => {
                    let is_ordered = !matches!(access.form, Form::Flat | Form::Scalar);
                    later += usize::from(is_ordered && writes(first) == writes(access));
                }
                None => {}
            }
        }
        machine.run(*op, random);
        index = match op {
            Op::If(_, _, Some(end)) if machine.exec == 0 => *end,
            Op::EndLoop(start) if machine.scalars[44] != 0 => start + 1,
            Op::Call(function) => {
                machine.link = Some((index + 1, *function));
                *function
            }
            // The kernel calls one function, which calls no other.
            Op::Return => machine.link?.0,
            _ => index + 1,
        };
    }
    let (first, access, then) = fault?;
    let survives = then.addresses(access) == {
        let mut now = machine.clone();
        now.exec = then.exec;
        now.addresses(access)
    };
    Some(Run {
        accesses,
        first,
        stop: index,
        machine,
        survives,
    })
}

/// Assembles and links a text.
fn assemble(tools: [&Path; 2], processor: &str, source: &str, folder: &Folder) -> Vec<u8> {
    let [input, object, output] = ["f.s", "f.o", "f.so"].map(|name| folder.path(name));
    std::fs::write(&input, source).unwrap();
    let [assembler, linker] = tools;
    let ran = Command::new(assembler)
        .args([
            "-triple=amdgcn-amd-amdhsa",
            "-filetype=obj",
            "-mcpu",
            processor,
        ])
        .arg(&input)
        .arg("-o")
        .arg(&object)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let ran = Command::new(linker)
        .arg("-shared")
        .arg(&object)
        .arg("-o")
        .arg(&output)
        .status()
        .unwrap();
    assert!(ran.success());
    std::fs::read(&output).unwrap()
}

/// * `at`: the addresses of the instructions, by index.
fn snapshot(
    processor: &str,
    machine: &Machine,
    stop: usize,
    at: &dyn Fn(usize) -> u64,
) -> Snapshot {
    let size = wave_size(processor);
    let pc = LOAD + at(stop);
    let mut machine = machine.clone();
    if let Some((after, function)) = machine.link {
        for (first, index) in [(30, after), (48, function)] {
            let address = LOAD + at(index);
            machine.scalars[first] = address as u32;
            machine.scalars[first + 1] = (address >> 32) as u32;
        }
    }
    let mut wave = Snapshot::new(processor, size, pc);
    wave.load_address = LOAD.into();
    wave.set_register(Register::exec(size), machine.exec)
        .unwrap();
    for (number, value) in (0..).zip(machine.scalars) {
        let register = Register::sgpr(number).unwrap();
        wave.set_register(register, value.into()).unwrap();
    }
    for (number, lanes) in (0..).zip(&machine.vectors) {
        let register = Register::vgpr(number, size).unwrap();
        let lanes: Vec<Option<u32>> = lanes[..usize::from(machine.lanes)]
            .iter()
            .copied()
            .map(Some)
            .collect();
        wave.set_lanes(register, &lanes).unwrap();
    }
    wave
}

#[derive(Debug, Default)]
struct Counts {
    asked: usize,
    first: usize,
    among: usize,
    missing: usize,
    certain: usize,
}

/// Checks that a certain candidate was executed, that its lanes touched the given addresses, and that these faulted.
fn check(found: &[FaultCandidate], run: &Run, addresses: &[u64], page: Option<u64>, what: &str) {
    for candidate in found.iter().filter(|one| one.is_certain) {
        let code = candidate.pc.0 - LOAD;
        let index = addresses.iter().position(|address| *address == code);
        let index = index.unwrap_or_else(|| panic!("{what}: no access at {code:#x}"));
        let is_true = |touched: &&Touched| {
            let lanes = candidate
                .lanes
                .iter()
                .map(|(lane, address)| (lane.0, *address));
            let scalar = candidate.address.map(|address| (0, address));
            let mut said = lanes.chain(scalar).peekable();
            let is_at_fault = |address: u64| match page {
                Some(page) => (page..page + 4096).contains(&(address & !3)),
                None => is_bad(address),
            };
            said.peek().is_some()
                && touched.index == index
                && said.all(|(lane, address)| {
                    touched.lanes.get(&lane) == Some(&address) && is_at_fault(address)
                })
        };
        let is_right = run.accesses.iter().any(|touched| is_true(&touched));
        assert!(is_right, "{what}: {candidate:?}\n{:?}", run.accesses);
    }
}

#[test]
fn nothing_that_is_wrong_is_certain() {
    let (Some(assembler), Some(linker)) = (llvm_tool("llvm-mc"), llvm_tool("ld.lld")) else {
        return;
    };
    let mut figures: BTreeMap<String, Counts> = BTreeMap::new();
    let mut faults = 0;
    for (number, processor) in PROCESSORS.into_iter().enumerate() {
        let mut random = Random::new(number as u64 + 1);
        let mut programs = Vec::new();
        while programs.len() < PROGRAMS {
            let ops = program(&mut random);
            if let Some(run) = run(&ops, processor, &mut random) {
                programs.push((ops, run));
            }
        }
        let mut source = String::from(".text\n");
        for (n, (ops, _)) in programs.iter().enumerate() {
            let _ = writeln!(
                source,
                ".p2align 8\n.globl f{n}\n.type f{n},@function\nf{n}:"
            );
            for (index, op) in ops.iter().enumerate() {
                let _ = writeln!(source, "f{n}_{index}:\n  {}", text(processor, n, *op));
                if matches!(op, Op::End) {
                    let _ = writeln!(source, ".size f{n}, .-f{n}\n.p2align 8");
                    let _ = writeln!(source, ".type g{n},@function\ng{n}:");
                }
            }
            let _ = writeln!(source, "  s_endpgm\n.size g{n}, .-g{n}");
        }
        let folder = Folder::new();
        let file = assemble([&assembler, &linker], processor, &source, &folder);
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let symbols: BTreeMap<&str, u64> = object
            .symbols()
            .unwrap()
            .iter()
            .map(|symbol| (&*symbol.name, symbol.address))
            .collect();
        for (n, (ops, run)) in programs.iter().enumerate() {
            let at = |index: usize| symbols[&*format!("f{n}_{index}")];
            let addresses: Vec<u64> = (0..ops.len()).map(at).collect();
            let wave = snapshot(processor, &run.machine, run.stop, &at);
            let arena = Arena::new();
            let options = StopOptions::loaded_at(LOAD.into());
            let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
            let fault = &run.accesses[run.first];
            let page = fault
                .lanes
                .values()
                .find(|address| is_bad(**address))
                .unwrap()
                & !0xfff;
            let buffer = BUFFER..BUFFER + 2 * BUFFER_BYTES;
            let scratch = SCRATCH..SCRATCH + SCRATCH_BYTES;
            let map = MemoryMap::new([buffer, scratch], true);
            for asked in [Some(page), None, Some(0x7b00_0000_0000)] {
                let what = format!("{processor} f{n} {asked:x?}");
                let found = stop.fault_candidates(asked, &map, Some(SCRATCH)).unwrap();
                check(&found, run, &addresses, asked, &what);
                if asked == Some(0x7b00_0000_0000) {
                    assert!(found.iter().all(|one| !one.is_certain), "{what}");
                    continue;
                }
                let place = found
                    .iter()
                    .position(|one| one.pc.0 - LOAD == addresses[fault.index]);
                let class = class(ops, run);
                let kept = if run.survives {
                    "survives"
                } else {
                    "overwritten"
                };
                let counts = figures.entry(format!("{kept}, {class}")).or_default();
                counts.asked += 1;
                match place {
                    Some(0) => counts.first += 1,
                    Some(_) => counts.among += 1,
                    None => counts.missing += 1,
                }
                counts.certain += usize::from(place == Some(0) && found[0].is_certain);
            }
            faults += 1;
        }
    }
    println!("{faults} faults");
    let (mut first, mut asked) = (0, 0);
    for (class, counts) in &figures {
        println!("{class}: {counts:?}");
        if class.starts_with("survives") {
            (first, asked) = (first + counts.first, asked + counts.asked);
        }
    }
    assert!(faults >= 300);
    assert!(first * 10 >= asked * 9, "{figures:?}");
}

/// Returns the kind of position of the faulting access.
fn class(ops: &[Op], run: &Run) -> &'static str {
    let fault = run.accesses[run.first].index;
    let end = ops.iter().position(|op| matches!(op, Op::End)).unwrap();
    let before = |index: usize| ops[..index].iter().filter(|op| !matches!(op, Op::End));
    let is_open = |index: usize| {
        let mut loops = before(index).filter(|op| matches!(op, Op::Loop(_) | Op::EndLoop(_)));
        matches!(loops.next_back(), Some(Op::Loop(_)))
    };
    match (fault > end, run.stop > end) {
        (true, true) => "in a function",
        (true, false) => "in a function that has returned",
        (false, _) if is_open(fault) => "in a loop",
        (false, _) => "elsewhere",
    }
}
