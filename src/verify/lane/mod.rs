//! Compares a function's own `DW_AT_LLVM_lane_pc` and `DW_AT_LLVM_active_lane` with the machine code ([`lane_flow`](crate::lane_flow)).
//!
//! Synthetic waves with disabled lanes are made at each address where the attributes or the analysis change, one for each history of masks. The
//! attributes are then evaluated on these waves. A history gives a finding in two cases: the attribute is wrong for all bits that the history allows,
//! or its value is right for no lane. Facts that the code leaves open are no fault. An expression cannot be evaluated on such a wave if it reads
//! anything that the code itself does not read. It is then not checked further. Functions of objects with an unknown wave size are not checked.
//! Source: USAGE `DW_AT_LLVM_lane_pc`.

mod wave;

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

use fallible_iterator::FallibleIterator;

use super::finding::{Finding, Findings};
use super::rule::rules;
use super::subject::Subject;
use crate::arch::{CodeAddress, LoadAddress, Register, WaveSize};
use crate::debug_info::Function;
use crate::debug_info::LocationRange;
use crate::debug_info::attribute::{EXTENSIONS, Extension};
use crate::error::{Error, ErrorKind, Resource};
use crate::eval::LocationAttribute;
use crate::expr::write_uleb;
use crate::inspect::{SaidLanes, Stop, StopOptions};
use crate::isa::MachineRegister;
use crate::lane_flow::{ActiveLanes, DwordPlace, LaneFlow, OffLane, PlacePlan, Right};
use crate::location::Arena;
use crate::meter::Meter;
use crate::rule::Rule;
use wave::MadeWave;

/// The steps that are charged for the facts about an address.
const PER_PLACE: u64 = 250;
/// The number of lanes in a half of the wave.
const HALF: usize = 32;
/// The load address of the code object for synthetic waves.
const LOADED_AT: LoadAddress = LoadAddress(0);

rules! {
    WRONG "lane-pc-wrong-place" Error "USAGE DW_AT_LLVM_lane_pc"
        "DW_AT_LLVM_lane_pc gives a wrong address for an inactive lane"
        "The machine code switches the lane off in one place and resumes it in another. Correct addresses are those after the last instruction that the \
         lane executed, up to the next one that it will execute. The attribute gives another address, so a debugger shows the lane in code that it does not \
         execute. Typical causes: a wrong end of a region, two exchanged masks, or an entry of the location list that covers too much code.";
    LOST "lane-pc-lost" Error "USAGE DW_AT_LLVM_lane_pc"
        "DW_AT_LLVM_lane_pc claims that a waiting lane did not enter the function"
        "An undefined program location means that the lane was not active on entry. According to the machine code, it was active on entry and \
         resumes later. A debugger looks for the lane in the callers, where it is at the call, and never shows it here.";
    NOT_ENTERED "lane-pc-not-entered" Error "USAGE DW_AT_LLVM_lane_pc"
        "DW_AT_LLVM_lane_pc claims that a lane is in a function that it did not enter"
        "According to the machine code, no mask of the function contains the lane. It was not active on entry, so its program location must \
         be undefined. A debugger shows a call that the lane did not make.";
    ACTIVE "lane-active-wrong" Error "USAGE DW_AT_LLVM_active_lane"
        "DW_AT_LLVM_active_lane differs from the lanes that are active"
        "If the compiler switches other lanes on, for example to save whole vector registers, the active lanes are those of the register in which EXEC was \
         saved. The attribute gives other lanes.";
    NOT_SAID_ACTIVE "lane-active-missing" Note "USAGE DW_AT_LLVM_active_lane"
        "EXEC has lanes that are not active, and DW_AT_LLVM_active_lane is missing"
        "Without DW_AT_LLVM_active_lane, the lanes of EXEC count as active, even if the compiler switched other lanes on, for example to save whole vector registers. \
         The newest specification no longer assigns a code to the attribute; `hetdwarf annotate --active-lane` writes the old code.";
    NO_MASK "lane-pc-no-mask" Error "USAGE DW_AT_LLVM_lane_pc"
        "DW_AT_LLVM_lane_pc reads a mask from a register that holds none"
        "On every path to this address, the register holds a number, an address or the contents left by a callee. Either the register held the mask before and was reused, \
         or the expression names the wrong register.";
    MISSING "lane-pc-missing" Note "USAGE DW_AT_LLVM_lane_pc"
        "DW_AT_LLVM_lane_pc has no entry for code with switched-off lanes"
        "A debugger that does not analyze machine code cannot locate the lanes there. `hetdwarf annotate` writes the attribute for functions that lack it.";
}

/// Checks the functions that have the attribute.
pub(super) fn check(subject: &Subject<'_, '_>, findings: &mut Findings) {
    let Some(wave_size) = subject.wave_size else {
        return;
    };
    // Reading all functions takes long, and hardly any object has the attribute.
    if !may_have_lane_pcs(subject) {
        return;
    }
    let info = subject.program.info();
    let meter = subject.meter();
    let size = |function: &Function<'_>| {
        let range = function.ranges.first();
        range.map_or(0, |range| range.end.saturating_sub(range.start))
    };
    let has_lane_pc = |function: &&Function<'_>| function.simt.lane_pc.is_some();
    // Unreadable functions are reported elsewhere.
    let all = || {
        let units = info.unit_ids();
        units.flat_map(|unit| info.functions(unit).unwrap_or_default())
    };
    let mut code = all()
        .filter(|one| has_lane_pc(&one))
        .map(|one| size(&one))
        .sum();
    let mut seen = BTreeSet::new();
    for function in all() {
        let start = function.ranges.first().map(|range| range.start);
        let is_new = |start: &u64| has_lane_pc(&&function) && seen.insert(*start);
        let Some(start) = start.filter(is_new) else {
            continue;
        };
        // A plan may take half of the budget. The other half is for the comparison.
        let share = Meter::share(meter.steps_left(), size(&function), &mut code);
        let flow = subject.program.lane_flow(wave_size);
        let mut check = FunctionCheck {
            subject,
            function: &function,
            flow,
            wave_size,
            found: BTreeMap::new(),
        };
        let done = check.run(start, share);
        flow.forget(start);
        // The findings before a limit are kept.
        check.finish(findings);
        if done.is_err() {
            return;
        }
    }
}

/// Returns true if an abbreviation may have `DW_AT_LLVM_lane_pc`.
fn may_have_lane_pcs(subject: &Subject<'_, '_>) -> bool {
    let abbreviations = subject.program.object().section(".debug_abbrev");
    let bytes = abbreviations.ok().flatten().unwrap_or_default();
    let mut codes = EXTENSIONS
        .iter()
        .filter(|row| row.extension == Extension::LanePc)
        .flat_map(|row| [row.llvm, row.het])
        .flatten();
    codes.any(|code| {
        let mut encoded = Vec::new();
        write_uleb(code.0.into(), &mut encoded);
        bytes.windows(encoded.len()).any(|window| window == encoded)
    })
}

/// The identity of a fault within a function.
type Fault = (&'static str, Option<u64>, String);

/// The judgement of the values that the attribute gives to lanes of one kind.
#[derive(Clone, Copy)]
enum Judgement {
    /// No lane has been judged.
    Open,
    /// No value is right. This is the first: an address in the code, or none.
    Wrong(Option<u64>),
    /// A value is right.
    Right,
}

/// The occurrences of a fault.
struct Seen {
    rule: &'static Rule,
    first: u64,
    places: usize,
    help: Option<String>,
}

struct FunctionCheck<'c, 'p, 'a> {
    subject: &'c Subject<'p, 'a>,
    function: &'c Function<'a>,
    flow: &'p LaneFlow<'a>,
    wave_size: WaveSize,
    found: BTreeMap<Fault, Seen>,
}

/// A lane of a synthetic wave: its kind, its mask history, and the fill for bits that neither determines.
#[derive(Clone, Copy)]
struct Lane {
    kind: usize,
    way: usize,
    fill: bool,
}

impl FunctionCheck<'_, '_, '_> {
    /// Compares the attributes with the machine code of the function.
    fn run(&mut self, start: u64, share: u64) -> Result<(), Error> {
        let meter = self.subject.meter();
        let part = meter.part(share);
        let plan = self.flow.plan(start, &part);
        meter.work(part.steps())?;
        let Some(plan) = plan else {
            return Ok(());
        };
        let entries = self.boundaries();
        for (range, known) in &plan {
            let Ok(known) = known else { continue };
            let between = entries.range(range.clone()).copied();
            let places: BTreeSet<u64> = between.chain([range.start]).collect();
            for pc in places {
                self.subject.meter().work(PER_PLACE)?;
                self.place(pc, known)?;
            }
        }
        Ok(())
    }

    /// Returns the addresses at which entries of location lists begin and end.
    fn boundaries(&self) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let simt = &self.function.simt;
        for attribute in [simt.lane_pc, simt.active_lane].into_iter().flatten() {
            let LocationAttribute::List { offset, .. } = attribute else {
                continue;
            };
            let (info, unit) = (self.subject.program.info(), self.function.die.unit);
            let list = info.location_list(unit, offset, self.subject.meter());
            let Ok(mut list) = list else {
                continue;
            };
            while let Ok(Some(entry)) = list.next() {
                if let LocationRange::Bounded(range) = entry.range {
                    found.extend([range.start, range.end]);
                }
            }
        }
        found
    }

    fn place(&mut self, pc: u64, plan: &PlacePlan) -> Result<(), Error> {
        let Some(kinds) = (self.flow).possible(pc, plan, self.subject.meter())? else {
            return Ok(());
        };
        let mut judgements = vec![Judgement::Open; kinds.len()];
        let anywhere = all_right(&kinds);
        let mut nowhere = BTreeSet::new();
        let lanes = |half: u8| lanes(&kinds, half);
        let lanes = [lanes(0), lanes(1)];
        let mut parts = lanes.each_ref().map(|lanes| lanes.chunks(HALF));
        loop {
            let [low, high] = parts
                .each_mut()
                .map(|parts| parts.next().unwrap_or_default());
            if low.is_empty() && high.is_empty() {
                break;
            }
            self.subject.meter().work(PER_PLACE)?;
            let wave = self.wave(&kinds, [low, high], plan.active);
            let found = match self.evaluate(&wave, pc) {
                Ok(found) => found,
                Err(error) => return self.unreadable(pc, &error),
            };
            let Some(found) = found else {
                if kinds.iter().any(|kind| kind.left.is_some()) {
                    self.add(&MISSING, pc, None, "there is no entry".to_owned(), None);
                }
                return Ok(());
            };
            let all = u64::MAX >> (64 - self.wave_size.lanes());
            if found.active & all != 0 {
                let (rule, said) = match self.function.simt.active_lane {
                    Some(_) => (&ACTIVE, "the attribute has lanes that are off"),
                    None => (
                        &NOT_SAID_ACTIVE,
                        "EXEC has lanes that are off, and no attribute gives the active lanes",
                    ),
                };
                self.add(rule, pc, None, said.to_owned(), None);
            }
            let pcs = [(low, 0), (high, HALF)];
            let to_code = |pc| LOADED_AT.to_code(pc).0;
            for (lanes, first) in pcs {
                let said = found.pcs.iter().map(|pc| pc.map(to_code));
                for (lane, said) in lanes.iter().zip(said.skip(first)) {
                    let way = kinds
                        .get(lane.kind)
                        .and_then(|kind| kind.ways.get(lane.way));
                    let is_right = way.is_none_or(|way| way.right.allows(said));
                    match judgements.get_mut(lane.kind) {
                        Some(judgement) if is_right => *judgement = Judgement::Right,
                        Some(judgement @ Judgement::Open) => *judgement = Judgement::Wrong(said),
                        Some(_) | None => {}
                    }
                    let is_right =
                        |right: &BTreeSet<u64>| said.is_none_or(|pc| right.contains(&pc));
                    if !anywhere.as_ref().is_none_or(is_right) {
                        nowhere.extend(said);
                    }
                }
            }
        }
        for (kind, judgement) in kinds.iter().zip(judgements) {
            if let Judgement::Wrong(said) = judgement {
                self.wrong(pc, kind, said);
                nowhere.retain(|pc| said != Some(*pc));
            }
        }
        for said in nowhere {
            let text = format!(
                "lanes have the address {said:#x} with some masks, but no inactive lane can be there"
            );
            self.add(&WRONG, pc, None, text, None);
        }
        Ok(())
    }

    /// Returns a wave in which these lanes of each half are off, and all other lanes are absent.
    fn wave(&self, kinds: &[OffLane], halves: [&[Lane]; 2], active: ActiveLanes) -> MadeWave {
        let mut words: BTreeMap<DwordPlace, u32> = BTreeMap::new();
        for (half, lanes) in (0_u8..).zip(halves) {
            let kinds_here = kinds.iter().filter(|kind| kind.half == half);
            let ways = kinds_here.flat_map(|kind| &kind.ways);
            let places: BTreeSet<DwordPlace> =
                ways.flat_map(|way| way.bits.keys().copied()).collect();
            for place in places {
                let mut word = 0_u32;
                for (n, lane) in (0_u32..).zip(lanes) {
                    let way = kinds
                        .get(lane.kind)
                        .and_then(|kind| kind.ways.get(lane.way));
                    let bit = way.and_then(|way| way.bits.get(&place).copied());
                    if bit.unwrap_or(lane.fill) {
                        word |= 1_u32.checked_shl(n).unwrap_or(0);
                    }
                }
                words.insert(place, word);
            }
        }
        let mut wave = MadeWave::new(self.wave_size);
        for (place, word) in words {
            wave.set(place, word);
        }
        wave.set_active(active, 0);
        wave
    }

    fn evaluate(&self, wave: &MadeWave, pc: u64) -> Result<Option<SaidLanes>, Error> {
        let arena = Arena::new();
        let meter = self.subject.meter();
        let stop = Stop::within(
            self.subject.program,
            wave,
            LOADED_AT.to_process(CodeAddress(pc)),
            StopOptions::loaded_at(LOADED_AT).only_dwarf(true),
            &arena,
            meter,
        );
        match stop.call_frame(0) {
            Some(frame) => frame.said_lanes(),
            None => Err(Error::malformed("frame", "there is none")),
        }
    }

    /// Handles an attribute that cannot be evaluated with the registers that the code uses as masks.
    fn unreadable(&mut self, pc: u64, error: &Error) -> Result<(), Error> {
        if let Some(refused) = self.subject.meter().refused() {
            return Err(refused);
        }
        let ErrorKind::Unavailable(Resource::Register(register)) = error.kind() else {
            return Ok(());
        };
        let mut halves = self.machine_registers(*register);
        if halves.is_empty() {
            return Ok(());
        }
        halves.retain(|half| !self.flow.holds_no_mask(pc, *half));
        if halves.is_empty() {
            self.add(
                &NO_MASK,
                pc,
                None,
                format!("the expression reads {register}"),
                None,
            );
        }
        Ok(())
    }

    /// Returns the scalar registers that make up a DWARF register.
    fn machine_registers(&self, register: Register) -> Vec<MachineRegister> {
        let is_it = |one: &MachineRegister| {
            let dwarf = one.dwarf(self.wave_size);
            dwarf.is_some_and(|(found, _)| found == register)
        };
        MachineRegister::scalars().filter(is_it).collect()
    }

    /// Reports a value that is wrong for all lanes of one kind.
    fn wrong(&mut self, pc: u64, kind: &OffLane, said: Option<u64>) {
        let at = |said: Option<u64>| match said {
            Some(said) => format!("the address {said:#x}"),
            None => "no address".to_owned(),
        };
        let Some(left) = kind.left else {
            return self.add(&NOT_ENTERED, pc, None, at(said), None);
        };
        let mut right: BTreeSet<u64> = BTreeSet::new();
        let mut resumes = BTreeSet::new();
        for way in &kind.ways {
            if let Right::Waits { resumes: next, .. } = &way.right {
                resumes.insert(*next);
            }
            right.extend(way.right.places().into_iter().flatten());
        }
        let rule = match said {
            Some(_) => &WRONG,
            None => &LOST,
        };
        let mut text = at(said);
        // Writing to a string does not fail.
        match resumes.first() {
            Some(next) => {
                let _ = write!(text, "; it resumes at {next:#x}");
            }
            None => text.push_str("; it never executes again"),
        }
        let all: Vec<String> = right.iter().take(4).map(|at| format!("{at:#x}")).collect();
        let more = if right.len() > all.len() {
            " and others"
        } else {
            ""
        };
        let help = format!("correct addresses: {}{more}", all.join(", "));
        self.add(rule, pc, Some(left), text, Some(help));
    }

    fn add(
        &mut self,
        rule: &'static Rule,
        pc: u64,
        left: Option<u64>,
        text: String,
        help: Option<String>,
    ) {
        let seen = self.found.entry((rule.id, left, text)).or_insert(Seen {
            rule,
            first: pc,
            places: 0,
            help,
        });
        seen.places += 1;
    }

    /// Reports each fault as one finding.
    fn finish(self, findings: &mut Findings) {
        let die = self.function.die;
        let name = self
            .function
            .name
            .as_ref()
            .map(|name| name.clone().into_owned());
        for ((_, left, text), seen) in self.found {
            let mut message = match left {
                Some(left) => format!(
                    "at {:#x}, a lane that {left:#x} switched off has ",
                    seen.first
                ),
                None if seen.rule.id == NOT_ENTERED.id => {
                    format!("at {:#x}, a lane that did not enter has ", seen.first)
                }
                None => format!("at {:#x}, ", seen.first),
            };
            message.push_str(&text);
            if let Some(more @ 1..) = seen.places.checked_sub(1) {
                // Writing to a string does not fail.
                let _ = write!(message, " ({more} more places)");
            }
            let mut finding = Finding::new(seen.rule, ".debug_info", message)
                .at(die.offset)
                .pc(seen.first);
            finding.function = name.clone().map(Into::into);
            finding.help = seen.help.map(Into::into);
            findings.add(finding);
        }
    }
}

/// Returns the addresses that are right for at least one lane. Returns `None` if they are not known for some lane.
fn all_right(kinds: &[OffLane]) -> Option<BTreeSet<u64>> {
    let mut found = BTreeSet::new();
    for way in kinds.iter().flat_map(|kind| &kind.ways) {
        found.extend(way.right.places()?);
    }
    Some(found)
}

/// Returns two lanes for each mask history of each kind: one with all open bits clear, and one with all open bits set.
fn lanes(kinds: &[OffLane], half: u8) -> Vec<Lane> {
    let kinds = kinds
        .iter()
        .enumerate()
        .filter(|(_, kind)| kind.half == half);
    let ways = kinds.flat_map(|(n, kind)| (0..kind.ways.len()).map(move |way| (n, way)));
    let fills = [false, true];
    ways.flat_map(|(kind, way)| fills.map(|fill| Lane { kind, way, fill }))
        .collect()
}
