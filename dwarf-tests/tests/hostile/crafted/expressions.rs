//! Tests expressions that never end, call each other, or have results as large as a few bytes can describe.

use dwarf_tests::probe::{self, Zeros};
use hetdwarf::arch::{Lane, WaveSize};
use hetdwarf::error::{Error, Result, SpecRule};
use hetdwarf::eval::{
    BaseType, BaseTypeEncoding, Context, DieReference, ExpressionBytes, LaneFocus,
    LocationAttribute, LocationEntry, LocationRange, Outcome, Procedure, Resolver, ResultKind,
    Subprogram, Unit, evaluate, locate_lanes,
};
use hetdwarf::expr::{Encoding, ParseOptions, parse};
use hetdwarf::location::{Access, Arena, Destination, read, read_lanes};
use hetdwarf::meter::Meter;

use crate::elf::uleb;
use crate::guard::Guard;

const UNIT: Unit = Unit {
    id: 0,
    encoding: Encoding::AMDGPU.in_memory(),
};

pub fn encode(text: &str) -> Vec<u8> {
    let options = ParseOptions {
        encoding: UNIT.encoding,
        ..ParseOptions::default()
    };
    parse(text, &options)
        .unwrap_or_else(|error| panic!("{error}"))
        .encode(UNIT.encoding)
        .unwrap()
}

/// A resolver in which every entry has this expression, and every location list has it this many times.
pub struct Everywhere {
    pub expression: Vec<u8>,
    pub times: usize,
}

impl<'a> Resolver<'a> for &'a Everywhere {
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'a>> {
        Ok(Procedure::Location(match die {
            DieReference::InUnit(0) => LocationAttribute::List { unit, offset: 0 },
            DieReference::InUnit(_) | DieReference::InSection(_) => {
                LocationAttribute::Expression(ExpressionBytes::alone(&self.expression, unit))
            }
        }))
    }

    fn base_type(&self, _: Unit, offset: u64) -> Result<BaseType> {
        // Types have any size, up to the largest.
        let bits = u32::try_from(offset.saturating_mul(8)).unwrap_or(u32::MAX);
        if offset == 3 {
            Err(Error::from(SpecRule::NotABaseType))
        } else {
            Ok(BaseType::scalar(BaseTypeEncoding::Unsigned, bits))
        }
    }

    fn address(&self, _: Unit, index: u64) -> Result<u64> {
        Ok(index)
    }

    fn location_list(
        &self,
        unit: Unit,
        _: u64,
        _: u64,
        visit: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..self.times {
            let expression = ExpressionBytes::alone(self.expression.as_slice(), unit);
            let range = LocationRange::Bounded(0..u64::MAX);
            visit(Some(LocationEntry::new(range, expression)))?;
        }
        Ok(())
    }
}

/// Evaluates once, for all lanes, charging a meter.
pub fn evaluate_within(bytes: &[u8], frame_base: &[u8], everywhere: &Everywhere, meter: &Meter) {
    let wave = Zeros(WaveSize::Wave64);
    let arena = Arena::new();
    let frame_base = ExpressionBytes::alone(frame_base, UNIT);
    let context = Context::new(&arena)
        .with_wave(&wave)
        .with_lane(LaneFocus::All)
        .with_resolver(&everywhere)
        .with_subprogram(Subprogram {
            frame_base: Some(LocationAttribute::Expression(frame_base)),
            ..Subprogram::default()
        })
        .with_meter(Some(meter))
        .with_pc(0);
    evaluate(
        &ExpressionBytes::alone(bytes, UNIT),
        ResultKind::Any,
        &context,
    )
    .unwrap();
}

/// Evaluates an expression in every way, and reads and writes the results.
fn evaluate_all(bytes: &[u8], everywhere: &Everywhere) {
    let mut wave = Zeros(WaveSize::Wave64);
    let arena = Arena::new();
    let attribute = LocationAttribute::Expression(ExpressionBytes::alone(bytes, UNIT));
    let tls = |_: u64| Err(Error::from(SpecRule::AddressSpace));
    for lane in [LaneFocus::One(Lane(1)), LaneFocus::All] {
        let context = Context::new(&arena)
            .with_wave(&wave)
            .with_lane(lane)
            .with_pc(0)
            .with_resolver(&everywhere)
            .with_subprogram(Subprogram {
                frame_base: Some(attribute),
                ..Subprogram::default()
            })
            .with_tls(&tls);
        let _ = locate_lanes(&attribute, &context);
        let Ok(Outcome::Location(location)) = evaluate(
            &ExpressionBytes::alone(bytes, UNIT),
            ResultKind::Any,
            &context,
        ) else {
            continue;
        };
        let access = Access {
            wave: &wave,
            lane: Some(Lane(1)),
            max_bits: 1 << 24,
            meter: None,
        };
        for bits in [1, 64, 1 << 16, 1 << 24, u64::MAX] {
            let _ = read(&location, bits, &access);
            let _ = read_lanes(&location, bits.min(1 << 20), &access);
        }
        if let Ok(destination) = Destination::find(&location, 1 << 15, &access) {
            let _ = destination.write(&[0; 1 << 12], &mut wave);
        }
    }
}

pub fn expressions(scale: usize) {
    let many = |text: &str, count: usize| vec![text; count].join(", ");
    // Location 0 is a list with many places, and entry 1 is the expression itself.
    let list = |expression: &str, times| Everywhere {
        expression: encode(expression),
        times,
    };
    let mut guard = Guard::new();
    let mut cases: Vec<(&str, String, Everywhere)> = vec![
        (
            "calls itself",
            "DW_OP_lit0, DW_OP_call4 0x1".into(),
            list("DW_OP_lit0, DW_OP_call4 0x1", 1),
        ),
        (
            "calls itself twice",
            "DW_OP_call4 0x1".into(),
            list("DW_OP_call4 0x1, DW_OP_call4 0x1", 1),
        ),
        (
            "a list that calls itself",
            "DW_OP_call2 0x0".into(),
            list("DW_OP_call2 0x0, DW_OP_call2 0x0", 3),
        ),
        (
            "a frame base that is its own",
            "DW_OP_call4 0x1".into(),
            list("DW_OP_fbreg 0", 1),
        ),
        (
            "an implicit pointer to itself",
            "DW_OP_implicit_pointer 0x5 +0, DW_OP_deref".into(),
            list("DW_OP_implicit_pointer 0x5 +0, DW_OP_deref", 1),
        ),
        (
            "2^60 elements",
            "DW_OP_regx 32, DW_OP_LLVM_extend 32 1152921504606846976".into(),
            list("", 1),
        ),
        (
            "2^60 elements in memory",
            "DW_OP_lit0, DW_OP_LLVM_extend 8 1152921504606846976".into(),
            list("", 1),
        ),
        (
            "2^60 elements of one bit, many times over",
            format!("DW_OP_regx 32, {}", many("DW_OP_LLVM_extend 1 1000000", 8)),
            list("", 1),
        ),
        (
            "a piece of 2^61 bytes",
            "DW_OP_lit0, DW_OP_piece 0x2000000000000000".into(),
            list("", 1),
        ),
        (
            "pieces of nothing, 2^61 bytes each",
            many("DW_OP_piece 0x2000000000000000", 100),
            list("", 1),
        ),
        (
            "ten million bits of nothing",
            "DW_OP_bit_piece 10000000 0, DW_OP_LLVM_piece_end, DW_OP_deref".into(),
            list("", 1),
        ),
        (
            "pieces of no bits",
            many("DW_OP_bit_piece 0 0", 6_000 * scale),
            list("", 1),
        ),
        (
            "a selection of a selection",
            format!(
                "DW_OP_lit0, {}",
                many(
                    "DW_OP_dup, DW_OP_lit5, DW_OP_LLVM_select_bit_piece 8 4",
                    1000
                )
            ),
            list("", 1),
        ),
        (
            "selections of bits, as deep as allowed",
            format!(
                "DW_OP_lit0, {}",
                many(
                    "DW_OP_dup, DW_OP_lit5, DW_OP_LLVM_select_bit_piece 1 64",
                    31
                )
            ),
            list("", 1),
        ),
        (
            "overlays of overlays",
            format!(
                "DW_OP_lit0, {}",
                many(
                    "DW_OP_dup, DW_OP_lit3, DW_OP_lit5, DW_OP_LLVM_overlay",
                    1000
                )
            ),
            list("", 1),
        ),
        (
            "thousands of places",
            "DW_OP_call2 0x0".into(),
            list("DW_OP_reg16", 2_000 * scale),
        ),
        (
            "thousands of undefined places",
            "DW_OP_call2 0x0".into(),
            list("", 10_000 * scale),
        ),
        (
            "many places, moved often",
            format!(
                "DW_OP_call2 0x0, {}",
                many("DW_OP_LLVM_offset_uconst 0x1", 2_000 * scale)
            ),
            list("DW_OP_addr 0x0", 2_000 * scale),
        ),
        (
            "many places, in many pieces",
            format!(
                "DW_OP_call2 0x0, {}",
                many(
                    "DW_OP_dup, DW_OP_piece 0x8, DW_OP_LLVM_piece_end, DW_OP_drop",
                    2_000 * scale
                )
            ),
            list("DW_OP_addr 0x0", 2_000 * scale),
        ),
        (
            "many places, selected often",
            format!(
                "DW_OP_call2 0x0, {}",
                many(
                    "DW_OP_dup, DW_OP_dup, DW_OP_lit5, DW_OP_LLVM_select_bit_piece 1 64, DW_OP_drop",
                    2_000 * scale
                )
            ),
            list("DW_OP_addr 0x0", 2_000 * scale),
        ),
        (
            "composites of two places of composites of two places",
            "DW_OP_call2 0x0".into(),
            list(
                "DW_OP_call2 0x0, DW_OP_bit_piece 1 0, DW_OP_LLVM_piece_end",
                2,
            ),
        ),
        (
            "a stack of the same",
            "DW_OP_lit0, DW_OP_dup, DW_OP_skip -4".into(),
            list("", 1),
        ),
        ("a branch to itself", "DW_OP_skip -3".into(), list("", 1)),
        (
            "a type of 2^35 bits",
            "DW_OP_lit0, DW_OP_deref_type 0x0 0x100000000".into(),
            list("", 1),
        ),
        (
            "a type of 200 bytes",
            "DW_OP_lit0, DW_OP_deref_type 0xc8 0xc8".into(),
            list("", 1),
        ),
        (
            "a convertion to a wide type",
            "DW_OP_lit1, DW_OP_convert 0x200, DW_OP_neg, DW_OP_shl".into(),
            list("", 1),
        ),
    ];
    // A loop repeatedly decodes a long expression to find the starts of operations.
    let far = format!("{}, DW_OP_skip -30003", many("DW_OP_nop", 30_000));
    cases.push(("a long loop", far, list("", 1)));
    // Branches go to two targets in turn.
    cases.push((
        "two far branches",
        format!(
            "{}, DW_OP_skip 3, DW_OP_skip 3, DW_OP_skip -6, DW_OP_skip -9",
            many("DW_OP_nop", 2_000 * scale)
        ),
        list("", 1),
    ));
    for (name, text, mut everywhere) in cases {
        let bytes = encode(&text);
        if everywhere.expression.is_empty() && everywhere.times == 1 {
            everywhere.expression.clone_from(&bytes);
        }
        guard.run(name, || evaluate_all(&bytes, &everywhere));
        guard.run(&format!("{name}, by itself"), || probe::expression(&bytes));
    }
    guard.finish("expressions made to do harm");
}

#[test]
fn expressions_made_to_do_harm() {
    expressions(1);
}

/// An entry value of an entry value of an entry value…
#[test]
fn entry_values_within_entry_values() {
    let mut guard = Guard::new();
    let mut bytes = vec![0x60];
    for depth in 0..3000 {
        bytes = [&[0xa3][..], &uleb(bytes.len() as u64), &bytes].concat();
        if depth % 300 == 0 {
            guard.run(&format!("{depth} entry values"), || {
                probe::expression(&bytes)
            });
        }
    }
    let text = format!("{}{}", "DW_OP_entry_value(".repeat(50_000), "DW_OP_lit0");
    guard.run("text that opens 50,000 times", || probe::text(&text));
    let text = format!("{text}{}", ")".repeat(50_000));
    guard.run("text that is 50,000 deep", || probe::text(&text));
    guard.finish("entry values");
}
