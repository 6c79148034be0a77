//! Checks expressions of call frame information by a symbolic run. Also finds return addresses that are given as a value where a location is
//! required. Sources: HET A.6.4.1, A.6.4.2.

use foldhash::HashMap;
use smallvec::SmallVec;

use super::expression::{self, Entry, Env, Offset, Outcome, Place, Role, Sources, Storage};
use super::finding::{Finding, Findings};
use super::meaning;
use super::register;
use super::rule::rules;
use super::subject::Facts;
use crate::arch::AddressSpace;
use crate::expr::Encoding;
use crate::frame::{Cie, RuleExpression};
use crate::meter::Meter;

rules! {
    RETURN_ADDRESS_VALUE "cfi-return-address-value" Error "HET A.6.4.1"
        "the rule gives the value of the return address as its location"
        "DW_CFA_expression must give the location of the return address. This expression computes the return address itself, from \
         registers alone. A debugger that follows it reads the caller's program counter from the caller's instructions. GCC writes this \
         for every function of amdgcn.";
}

/// The use of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Use {
    /// `DW_CFA_def_cfa_expression`.
    Cfa,
    /// `DW_CFA_expression` of a register.
    Location(u64),
    /// `DW_CFA_val_expression` of a register.
    Value(u64),
}

impl Use {
    fn role(self, facts: &Facts<'_>) -> Role {
        let bits = |number| facts.register_bits(number);
        match self {
            Use::Cfa => Role::Cfa,
            Use::Location(number) => Role::SavedRegister { bits: bits(number) },
            Use::Value(number) => Role::RegisterValue { bits: bits(number) },
        }
    }

    fn text(self, facts: &Facts<'_>) -> String {
        match self {
            Use::Cfa => "the CFA".to_owned(),
            Use::Location(number) | Use::Value(number) => {
                format!("the rule of {}", facts.register_name(number))
            }
        }
    }
}

/// An expression, its use, the address space of the initial CFA, and the size of addresses.
type Key<'a> = (&'a [u8], Use, Option<u64>, u8);

/// The facts about an expression on which the rules of a row depend.
#[derive(Clone, Debug)]
pub(super) struct Gives {
    /// The number of the address space of the computed CFA, if it is known.
    pub(super) space: Option<u64>,
    /// True if the computed CFA is known not to be the start of a wavefront's scratch.
    pub(super) is_elsewhere: bool,
    /// The registers whose value on entry the expression uses.
    pub(super) uses: SmallVec<[u64; 2]>,
}

/// The result of checking an expression.
#[derive(Debug)]
struct Known {
    findings: Vec<Finding>,
    /// The number of further occurrences in the section.
    more: u32,
    gives: Gives,
}

/// Checks each expression once, because the entries of a section repeat a few expressions.
#[derive(Debug, Default)]
pub(super) struct Expressions<'a> {
    known: HashMap<Key<'a>, Known>,
}

impl<'a> Expressions<'a> {
    /// Checks an expression, or returns its known result.
    ///
    /// * `cfa_space`: the number of the address space of the CFA, which is the initial stack of a register rule.
    /// * `pc`: the start of the row that contains the expression; None in a common information entry.
    pub(super) fn check(
        &mut self,
        facts: &Facts<'a>,
        meter: &Meter,
        cie: &Cie<'a>,
        (rule, usage): (RuleExpression<'a>, Use),
        cfa_space: Option<u64>,
        pc: Option<u64>,
    ) -> Gives {
        let RuleExpression {
            bytes,
            offset: start,
        } = rule;
        let key = (bytes, usage, cfa_space, cie.address_size);
        if let Some(known) = self.known.get_mut(&key) {
            known.more = known.more.saturating_add(1);
            return known.gives.clone();
        }
        let encoding = Encoding {
            address_size: cie.address_size,
            offset_size: cie.offset_size,
            dialect: facts.dialect,
        };
        let section = facts.frame_section;
        let outcome = run(bytes, usage, cfa_space, encoding, facts);
        // If the meter refuses this charge, the walk over the instructions ends.
        let _ = meter
            .work(outcome.steps)
            .and(meter.hold_all::<(Key<'_>, Known)>(1));
        let what = usage.text(facts);
        let mut findings: Vec<_> = outcome
            .faults
            .iter()
            .map(|fault| fault.finding(&what, bytes, encoding, section.name(), start))
            .collect();
        for (offset, number) in outcome.registers.iter().copied() {
            if let Some((rule, message)) = register::check(facts, number) {
                let at = start + offset as u64;
                let finding = Finding::new(rule, section.name(), format!("{what}: {message}"));
                findings.push(with_excerpt(finding.at(at), bytes, encoding, Some(offset)));
            }
        }
        if usage == Use::Location(cie.return_address_register)
            && let Some(finding) = return_address_value(&outcome, section.name())
        {
            findings.push(with_excerpt(finding.at(start), bytes, encoding, None));
        }
        for finding in &mut findings {
            finding.pc = pc;
        }
        let cfa = match (usage, outcome.result) {
            (Use::Cfa, Some(Entry::Place(place))) => Some(place),
            _ => None,
        };
        let gives = Gives {
            space: cfa.as_ref().and_then(space_of),
            is_elsewhere: cfa.is_some_and(|place| {
                let wave = Storage::Memory(Some(AddressSpace::PrivateWave));
                let is_known = !matches!(place.storage, Storage::Memory(None) | Storage::Unknown);
                is_known && (place.storage != wave || place.offset != START)
            }),
            uses: meaning::entry_registers(bytes, encoding),
        };
        let known = Known {
            findings,
            more: 0,
            gives: gives.clone(),
        };
        self.known.insert(key, known);
        gives
    }

    /// Reports the findings of all expressions.
    pub(super) fn finish(self, findings: &mut Findings) {
        let mut known: Vec<_> = self.known.into_iter().collect();
        known.sort_unstable_by_key(|(key, _)| *key);
        for (_, known) in known {
            for mut finding in known.findings {
                finding.is_example = true;
                match known.more {
                    0 => {}
                    1 => finding.add_to_message(", here and once more"),
                    more => {
                        let text = format!(", here and in {more} more places");
                        finding.add_to_message(&text);
                    }
                }
                findings.add(finding);
            }
        }
    }
}

/// The start of a memory, in all lanes.
const START: Offset = Offset::Linear {
    base: 0,
    per_lane: 0,
};

/// Returns the number of the address space of a place in memory, if it is known.
fn space_of(place: &Place) -> Option<u64> {
    let Storage::Memory(space) = place.storage else {
        return None;
    };
    space.map(|space| u64::from(space.number()))
}

fn with_excerpt(
    finding: Finding,
    bytes: &[u8],
    encoding: Encoding,
    offset: Option<usize>,
) -> Finding {
    match expression::excerpt(bytes, encoding, offset) {
        Some(excerpt) => finding.excerpt(excerpt),
        None => finding,
    }
}

fn run(
    bytes: &[u8],
    usage: Use,
    cfa_space: Option<u64>,
    encoding: Encoding,
    facts: &Facts<'_>,
) -> Outcome {
    let cfa = [Entry::Place(Place {
        storage: Storage::Memory(cfa_space.and_then(AddressSpace::from_number)),
        offset: Offset::Unknown,
        moved: false,
        sources: Sources::FRAME,
    })];
    let mut env = Env {
        machine: facts.machine,
        ..Env::new(encoding, usage.role(facts))
    };
    if usage != Use::Cfa {
        env.initial = &cfa;
    }
    expression::check(bytes, &env)
}

/// Reports a location in memory whose address comes from registers alone, independently of the stack.
fn return_address_value(outcome: &Outcome, section: &'static str) -> Option<Finding> {
    let place = match outcome.result? {
        Entry::Place(place) => place,
        // The value is converted to a place in global memory.
        Entry::Value(value) => Place {
            sources: value.sources,
            ..Place::start_of(Storage::Memory(Some(AddressSpace::None)), value.sources)
        },
        Entry::Unknown => return None,
    };
    let Storage::Memory(_) = place.storage else {
        return None;
    };
    (place.sources == Sources::REGISTERS).then(|| {
        let message = "the rule says that it is in memory, at an address computed from registers";
        Finding::new(&RETURN_ADDRESS_VALUE, section, message).help(
            "use DW_CFA_val_expression for a value; a return address in two registers is DW_OP_regx, DW_OP_piece 4, DW_OP_regx, DW_OP_piece \
             4",
        )
    })
}
