//! Runs an expression without a wave, along every path of control up to a limit.
//!
//! The operations are in the sibling modules, by family. This module contains the paths, the faults and the calls. Sources: HET A.2.5.4, A.2.5.4.2.

use core::hash::{Hash, Hasher};
use std::collections::hash_map::DefaultHasher;

use smallvec::SmallVec;

use super::code::{Code, Target};
use super::entry::{Entry, Place, Sources, Storage, Type, Value};
use super::excerpt::registers;
use super::{Callee, Env, Fault, Outcome, Role, rule};
use crate::error::ErrorKind;
use crate::expr::{Encoding, Item, Operation};
use crate::rule::Rule;

/// The maximum number of operations that run in an expression, including called expressions. Real expressions have a few dozen.
const STEPS: usize = 1 << 11;
/// The maximum depth of the stack. Deeper stacks are not followed.
const STACK: usize = 1 << 8;
/// The maximum nesting of calls and entry values.
const DEPTH: usize = 8;
/// The maximum number of distinct paths to the end.
const ENDS: usize = 16;

/// The stack of a path. It is on the heap because entries are large and stacks are moved often.
pub(super) type Stack = Vec<Entry>;

/// The end of a path, because a fault was found or nothing more is known.
pub(super) struct Stop;

pub(super) type Step<T = ()> = Result<T, Stop>;

/// The interpreter.
pub(super) struct Machine<'m> {
    pub(super) env: &'m Env<'m>,
    /// The sizes and codes of the running expression, which may be a called one.
    pub(super) encoding: Encoding,
    /// The stack of the current path.
    pub(super) stack: Stack,
    /// True if entries of a caller are below the known entries of the stack.
    open: bool,
    faults: Vec<Fault>,
    pub(super) legacy: bool,
    /// True if an operation used the frame base.
    pub(super) asks_frame_base: bool,
    /// The offset of the running operation.
    at: usize,
    /// The active calls, by the called entries.
    calls: SmallVec<[u64; 8]>,
    /// True if a branch was passed whose direction is not known.
    branched: bool,
    steps: usize,
}

/// A path that has not been followed to its end.
struct Path {
    stack: Stack,
    index: usize,
    /// The states of backward jumps since the last branch with an unknown direction.
    trail: Vec<(usize, u64)>,
}

/// The successor of an operation.
enum Flow {
    Next,
    To(Target),
    Either(Target),
}

/// Checks one expression.
pub(super) fn run(bytes: &[u8], env: &Env<'_>) -> Outcome {
    let Some(code) = Code::decode(bytes, env.encoding, usize::MAX) else {
        return Outcome::default();
    };
    let mut steps = 0;
    let outcome = run_code(&code, env, &mut steps);
    Outcome {
        registers: registers(&code.items, env.encoding),
        steps: (steps + code.items.len()) as u64,
        ..outcome
    }
}

/// Checks a decoded expression. `steps` counts the operations that ran.
fn run_code(code: &Code<'_>, env: &Env<'_>, steps: &mut usize) -> Outcome {
    let mut machine = Machine {
        env,
        encoding: env.encoding,
        stack: env.initial.to_vec(),
        open: env.role == Role::Procedure || env.role == Role::Any,
        faults: Vec::new(),
        legacy: false,
        asks_frame_base: false,
        at: 0,
        calls: SmallVec::new(),
        branched: false,
        steps: *steps,
    };
    machine.check_code(code);
    let ends = machine.follow(code);
    *steps = machine.steps;
    let mut result = None;
    let mut first = true;
    for end in ends.into_iter().flatten() {
        let top = end.last().copied();
        result = match (first, result, top) {
            (true, _, top) => top,
            (false, Some(result), Some(top)) => Some(Entry::join(result, top)),
            (false, _, _) => None,
        };
        first = false;
        machine.check_result(code, &end);
    }
    if machine.legacy {
        // The expression as a whole has a legacy meaning. The violations of the specification are reported once for the whole.
        machine.faults.retain(|fault| {
            ![&rule::NARROW, &rule::LANE_MISSING, &rule::VALUE_AS_LOCATION]
                .iter()
                .any(|legacy| **legacy == *fault.rule)
        });
    }
    machine.faults.sort_by_key(|fault| fault.offset);
    Outcome {
        faults: machine.faults,
        result,
        legacy: machine.legacy,
        refers: code.refers,
        asks_frame_base: machine.asks_frame_base,
        steps: 0,
        registers: SmallVec::new(),
    }
}

impl<'m> Machine<'m> {
    /// Adds a fault of the running operation.
    #[cold]
    pub(super) fn fault(&mut self, rule: &'static Rule, message: impl Into<String>) {
        self.fault_at(rule, Some(self.at), message, None);
    }

    /// Adds a fault of the running operation, with advice for the correction.
    #[cold]
    pub(super) fn fault_with(
        &mut self,
        rule: &'static Rule,
        message: impl Into<String>,
        help: &'static str,
    ) {
        self.fault_at(rule, Some(self.at), message, Some(help));
    }

    /// Adds a fault, unless this operation already has a fault of the same rule.
    #[cold]
    pub(super) fn fault_at(
        &mut self,
        rule: &'static Rule,
        offset: Option<usize>,
        message: impl Into<String>,
        help: Option<&'static str>,
    ) {
        let mut message = message.into();
        if !self.calls.is_empty() {
            // Faults of the called expression alone are reported at its own entry.
            if ![
                &rule::UNDERFLOW,
                &rule::KIND,
                &rule::MASK_SIZE,
                &rule::CALL_CYCLE,
            ]
            .iter()
            .any(|caller| **caller == *rule)
            {
                return;
            }
            message.insert_str(0, "in the called expression: ");
        }
        if !self
            .faults
            .iter()
            .any(|fault| fault.offset == offset && fault.rule == rule)
        {
            self.faults.push(Fault {
                rule,
                offset,
                message,
                help,
            });
        }
    }

    /// Checks the operations without running them.
    fn check_code(&mut self, code: &Code<'_>) {
        if let Some(error) = &code.error {
            let text = error.kind().to_string();
            // Compilers from 2020 to 2022 used codes that have no meaning today.
            let of_2020 = matches!(
                error.kind(),
                ErrorKind::UnknownOperation {
                    opcode: 0xe1..=0xec,
                    user: None
                }
            );
            let help = "0xe1 to 0xec are operations of compilers of 2020 to 2022: read them with --dialect one-byte";
            let help = of_2020.then_some(help);
            self.fault_at(&rule::DECODE, Some(code.decoded()), text, help);
        }
        if self.in_cfi() {
            for item in &code.items {
                if !item.operation.opcode().row().in_cfi {
                    let text = format!("{} is not allowed in call frame information", item.name());
                    self.fault_at(&rule::CFI_OPERATION, Some(item.offset), text, None);
                }
            }
        }
        if !code.branches() {
            return;
        }
        for item in &code.items {
            if code.target(item) == Some(Target::Nowhere) {
                let target = item.branch_target().unwrap_or_default();
                let text =
                    format!("it branches to byte {target}, which is not the start of an operation");
                self.fault_at(&rule::BRANCH_TARGET, Some(item.offset), text, None);
            }
        }
        let reach = code.reach();
        let mut dead = false;
        for (item, (reached, leaves)) in code
            .items
            .iter()
            .zip(reach.from_start.into_iter().zip(reach.to_end))
        {
            if !reached && !dead {
                let text = "this operation cannot be reached from the start of the expression";
                self.fault_at(&rule::UNREACHABLE, Some(item.offset), text, None);
            }
            dead = !reached;
            if reached && !leaves {
                let text = "the end of the expression cannot be reached from here";
                self.fault_at(&rule::ENDLESS, Some(item.offset), text, None);
                break;
            }
        }
    }

    /// Follows every path from the start of `code` with the current stack. Returns the stacks at its end, or `None` if they are not all known.
    fn follow(&mut self, code: &Code<'_>) -> Option<SmallVec<[Stack; 1]>> {
        let mut ends: SmallVec<[Stack; 1]> = SmallVec::new();
        let mut known = true;
        let mut paths: SmallVec<[Path; 1]> = SmallVec::new();
        paths.push(Path {
            stack: core::mem::take(&mut self.stack),
            index: 0,
            trail: Vec::new(),
        });
        while let Some(mut path) = paths.pop() {
            self.stack = core::mem::take(&mut path.stack);
            loop {
                let Some(item) = code.items.get(path.index) else {
                    if code.error.is_none() && ends.len() < ENDS {
                        ends.push(core::mem::take(&mut self.stack));
                    } else {
                        known = false;
                    }
                    break;
                };
                self.steps += 1;
                if self.steps > STEPS || self.stack.len() > STACK {
                    return None;
                }
                if self.calls.is_empty() {
                    self.at = item.offset;
                }
                let Ok(flow) = self.step(code, item) else {
                    known = false;
                    break;
                };
                let (target, fork) = match flow {
                    Flow::Next => {
                        path.index += 1;
                        continue;
                    }
                    Flow::To(target) => (target, false),
                    Flow::Either(target) => (target, true),
                };
                if fork {
                    self.branched = true;
                    path.trail.clear();
                    paths.push(Path {
                        stack: self.stack.clone(),
                        index: path.index + 1,
                        trail: Vec::new(),
                    });
                }
                let next = match target {
                    Target::Operation(next) => next,
                    Target::End => code.items.len(),
                    Target::Nowhere | Target::Unknown => {
                        known = false;
                        break;
                    }
                };
                if next <= path.index && self.is_endless(&mut path.trail, next) {
                    known = false;
                    break;
                }
                path.index = next;
            }
        }
        known.then_some(ends)
    }

    /// Returns true if control returns to an operation with an unchanged stack and without a choice in between.
    fn is_endless(&mut self, trail: &mut Vec<(usize, u64)>, next: usize) -> bool {
        let mut hasher = DefaultHasher::new();
        self.stack.hash(&mut hasher);
        let state = (next, hasher.finish());
        if trail.contains(&state) {
            let text = "control returns here repeatedly with the same stack";
            self.fault(&rule::ENDLESS, text);
            return true;
        }
        trail.push(state);
        false
    }

    /// Runs one operation.
    fn step(&mut self, code: &Code<'_>, item: &Item<'_>) -> Step<Flow> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "control flow is here, all else in `execute`"
        )]
        match item.operation {
            Operation::Skip { .. } => Ok(Flow::To(code.target(item).unwrap_or(Target::Nowhere))),
            Operation::Bra { .. } => {
                let value = self.pop_integral()?;
                let target = code.target(item).unwrap_or(Target::Nowhere);
                let Some(number) = value.known() else {
                    return Ok(Flow::Either(target));
                };
                let text = if number == 0 {
                    "it never branches: its operand is the constant 0".to_owned()
                } else {
                    format!("it always branches: its operand is the constant {number:#x}")
                };
                if value.sources == Sources::NONE {
                    self.fault(&rule::CONSTANT_BRANCH, text);
                }
                Ok(if number == 0 {
                    Flow::Next
                } else {
                    Flow::To(target)
                })
            }
            Operation::Call2 { entry } => self.call(entry.into(), false),
            Operation::Call4 { entry } => self.call(entry.into(), false),
            Operation::CallRef { entry } => self.call(entry, true),
            _ => {
                self.execute(item)?;
                Ok(Flow::Next)
            }
        }
    }

    /// Calls an entry. Source: HET A.2.5.4.2, item 5.
    fn call(&mut self, offset: u64, in_section: bool) -> Step<Flow> {
        let Some(entries) = self.env.entries else {
            return Err(Stop);
        };
        match entries.callee(offset, in_section) {
            Callee::Missing => {
                let text = format!("there is no entry at {offset:#x} {}", base(in_section));
                self.fault(&rule::CALL_TARGET, text);
                Err(Stop)
            }
            Callee::Unreadable => Err(Stop),
            Callee::Nothing => {
                let text = format!(
                    "the entry at {offset:#x} {} has no location, so the call does nothing",
                    base(in_section)
                );
                self.fault(&rule::CALL_NOTHING, text);
                Ok(Flow::Next)
            }
            Callee::List => {
                self.push(Entry::Place(Place::UNKNOWN));
                Ok(Flow::Next)
            }
            Callee::Constant(bytes) => {
                let bits = bytes.and_then(|bytes| bytes.checked_mul(8));
                let place = Place::start_of(Storage::Implicit(bits), Sources::NONE);
                self.push(Entry::Place(place));
                Ok(Flow::Next)
            }
            Callee::Expression {
                bytes,
                encoding,
                die,
            } => self.call_expression(bytes, encoding, die),
        }
    }

    fn call_expression(&mut self, bytes: &[u8], encoding: Encoding, die: u64) -> Step<Flow> {
        if self.calls.contains(&die) {
            if !self.branched {
                let text =
                    format!("the entry at {die:#x} calls itself without a branch on the way");
                self.fault(&rule::CALL_CYCLE, text);
            }
            return Err(Stop);
        }
        let code = (self.calls.len() < DEPTH)
            .then(|| Code::decode(bytes, encoding, STEPS.saturating_sub(self.steps)))
            .flatten();
        let Some(code) = code else {
            return Err(Stop);
        };
        let outer = core::mem::replace(&mut self.encoding, encoding);
        self.calls.push(die);
        let ends = self.follow(&code);
        self.calls.pop();
        self.encoding = outer;
        let mut ends = ends.ok_or(Stop)?.into_iter();
        let mut joined = ends.next().ok_or(Stop)?;
        for end in ends {
            if end.len() != joined.len() {
                return Err(Stop);
            }
            for (entry, other) in joined.iter_mut().zip(end) {
                *entry = entry.join(other);
            }
        }
        self.stack = joined;
        Ok(Flow::Next)
    }

    /// Checks `DW_OP_entry_value`. Source: HET A.2.5.4.3.4, item 8.
    pub(super) fn entry_value(&mut self, bytes: &[u8]) -> Step {
        let nested = Env {
            role: Role::EntryValue,
            initial: &[],
            encoding: self.encoding,
            frame_base: super::FrameBase::Unknown,
            ..*self.env
        };
        // A nested entry value has no meaning, so it is not followed.
        if self.env.role == Role::EntryValue {
            return Err(Stop);
        }
        let limit = STEPS.saturating_sub(self.steps);
        let code = Code::decode(bytes, self.encoding, limit).ok_or(Stop)?;
        let mut steps = self.steps + code.items.len();
        let outcome = run_code(&code, &nested, &mut steps);
        self.steps = steps;
        for fault in outcome.faults {
            let inside = if fault.rule == &rule::ENTRY_VALUE {
                fault.message
            } else {
                format!("in its expression: {}", fault.message)
            };
            self.fault(fault.rule, inside);
        }
        let value = if let Some(Entry::Value(value)) = outcome.result {
            value
        } else {
            Value::any(Type::Unknown, u64::MAX, Sources::REGISTERS)
        };
        self.push(Entry::Value(value));
        Ok(())
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.stack.push(entry);
    }

    /// Pops the top entry, of any kind.
    pub(super) fn pop_any(&mut self) -> Step<Entry> {
        match self.stack.pop() {
            Some(entry) => Ok(entry),
            None if self.open => Ok(Entry::Unknown),
            None => {
                self.fault(
                    &rule::UNDERFLOW,
                    "it needs an entry, but the stack is empty",
                );
                Err(Stop)
            }
        }
    }

    /// Returns true if entries of a caller are below the known entries.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns true if the expression is in call frame information.
    pub(super) fn in_cfi(&self) -> bool {
        matches!(
            self.env.role,
            Role::Cfa | Role::SavedRegister { .. } | Role::RegisterValue { .. }
        )
    }
}

fn base(in_section: bool) -> &'static str {
    if in_section {
        "of .debug_info"
    } else {
        "from the unit's header"
    }
}
