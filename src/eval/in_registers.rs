//! Evaluates expressions that need no machine: one register, a few consecutive ones, or the CFA.
//!
//! More than half of the expressions in real code, and nearly all frame bases, have this form. Setting up the machine would take longer than
//! evaluating them. Result, errors and steps equal the machine's, which takes over near a limit. `BENCHMARKS.md` has the figures ("Fast paths").

use arrayvec::ArrayVec;
use fallible_iterator::FallibleIterator;

use super::budget::Budget;
use super::composite::at_start;
use super::context::{Context, Outcome, ResultKind};
use super::machine::{execute, placed};
use super::register;
use super::resolver::ExpressionBytes;
use crate::arch::Register;
use crate::error::{Error, Result};
use crate::expr::{Cursor, Opcode, first_code, operations};
use crate::location::{Bounds, Composite, Incomplete, Location};

/// The maximum number of registers: 128 bits fit into this many scalar registers.
const MOST: usize = 4;
/// The maximum stack depth of such an expression: a composite, and the next register.
const ENTRIES: usize = 2;

// The codes are the same in every dialect.
pub(super) const REG0: u8 = first_code(Opcode::Reg);
pub(super) const REG31: u8 = REG0 + 31;
pub(super) const REGX: u8 = first_code(Opcode::Regx);
const PIECE: u8 = first_code(Opcode::Piece);
const CALL_FRAME_CFA: u8 = first_code(Opcode::CallFrameCfa);

/// An expression that needs no machine.
enum Named {
    /// `DW_OP_reg` or `DW_OP_regx`.
    Alone(Register),
    /// `DW_OP_reg` or `DW_OP_regx` followed by `DW_OP_piece`, once or several times.
    InPieces,
    /// `DW_OP_call_frame_cfa`.
    Cfa,
}

type Pieces = ArrayVec<Piece, MOST>;

/// A register, and the size of its piece.
#[derive(Clone, Copy)]
struct Piece {
    register: Register,
    bit_size: u16,
}

/// Returns true if an expression may have this form: it begins with a register or the CFA, and either that is all, or it ends with a piece.
#[inline(always)]
pub(super) fn may_name_registers(expression: &ExpressionBytes<'_>) -> bool {
    /// The maximum size of a register operation in bytes.
    const ALONE: usize = 3;
    let bytes = expression.bytes;
    // No register is so large that the size of a piece would need two bytes.
    let ends_with_piece = || bytes.iter().nth_back(1) == Some(&PIECE);
    matches!(bytes.first(), Some(REG0..=REG31 | &REGX | &CALL_FRAME_CFA))
        && (bytes.len() <= ALONE || ends_with_piece())
}

/// Evaluates an expression that may have this form.
pub(super) fn run_in_registers<'a>(
    expression: &ExpressionBytes<'a>,
    kind: ResultKind,
    context: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<Outcome<'a>> {
    let mut pieces = Pieces::new();
    let named = recognise(expression, &mut pieces);
    match (named.filter(|_| has_room(context)), context.frame) {
        (Some(Named::Alone(register)), _) => {
            let find = || register::location(register, context.frame);
            alone(find, expression, kind, context, budget)
        }
        (Some(Named::Cfa), Some(frame)) => alone(|| frame.cfa(), expression, kind, context, budget),
        (Some(Named::InPieces), Some(_)) => {
            let composite = in_frame(pieces, expression, context, budget)?;
            Ok(Outcome::Location(at_start(composite)))
        }
        (Some(Named::InPieces), None) if prepay_all(&pieces, context, budget) => {
            let pieces = pieces.iter().map(|piece| (piece.register, piece.bit_size));
            let composite = Composite::of_registers(pieces, context.arena);
            Ok(Outcome::Location(at_start(
                context.arena.composites.alloc(composite),
            )))
        }
        (_, _) => execute(expression, kind, context, budget),
    }
}

/// Decodes an expression that may have this form, and its pieces.
#[inline(always)]
fn recognise(expression: &ExpressionBytes<'_>, pieces: &mut Pieces) -> Option<Named> {
    let mut cursor = Cursor::new(expression.bytes);
    while let Some(code) = cursor.next_byte() {
        let number = match code {
            REG0..=REG31 => code.wrapping_sub(REG0).into(),
            REGX => cursor.uleb().ok()?,
            CALL_FRAME_CFA if pieces.is_empty() && cursor.is_empty() => return Some(Named::Cfa),
            _ => return None,
        };
        let register = Register::from_number(number)?;
        match cursor.next_byte() {
            Some(PIECE) => {}
            // After pieces, it alone would be the result.
            None if pieces.is_empty() => return Some(Named::Alone(register)),
            Some(_) | None => return None,
        }
        let bit_size = u16::try_from(cursor.uleb().ok()?.checked_mul(8)?).ok()?;
        pieces.try_push(Piece { register, bit_size }).ok()?;
    }
    Some(Named::InPieces)
}

/// Returns true if the limits allow the result of any such expression.
#[inline(always)]
fn has_room(context: &Context<'_, '_>) -> bool {
    let limits = &context.limits;
    // A slice has far fewer entries than a number can count.
    context.initial_stack.len().wrapping_add(ENTRIES) <= limits.stack as usize
        && limits.parts as usize >= MOST
        && limits.depth > 0
}

/// Evaluates an expression of one operation, which yields a location.
#[inline(always)]
fn alone<'a>(
    find: impl FnOnce() -> Result<Location<'a>>,
    expression: &ExpressionBytes<'a>,
    kind: ResultKind,
    context: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<Outcome<'a>> {
    let location = budget.charge(1, context).and_then(|()| find());
    let location = location.map_err(|error| at(expression, error, 0, 0))?;
    if kind == ResultKind::Location {
        budget.charge_places(&location, context)?;
    }
    Ok(Outcome::Location(location))
}

/// Takes the steps of all pieces and returns true, if nothing can fail: they fit, and enough steps are left.
#[inline(always)]
fn prepay_all(pieces: &Pieces, context: &Context<'_, '_>, budget: &mut Budget) -> bool {
    let fits = |piece: &Piece| fits(piece.register, piece.bit_size);
    // Two for each of a few.
    let steps = (pieces.len() as u32) << 1;
    pieces.iter().all(fits)
        && (context.meter).is_none_or(|meter| u64::from(steps) <= meter.steps_left())
        && budget.charge(steps, context).is_ok()
}

/// Returns the composite of pieces whose registers are anywhere in the frame.
fn in_frame<'a>(
    mut pieces: Pieces,
    expression: &ExpressionBytes<'a>,
    context: &Context<'_, 'a>,
    budget: &mut Budget,
) -> Result<&'a Composite<'a>> {
    let arena = context.arena;
    // If the frame has them in registers, as in the innermost frame, no composite is needed. `pieces` then has these registers.
    let mut composite: Option<&'a mut Incomplete<'a>> = None;
    for number in 0..pieces.len() {
        let (before, rest) = pieces.split_at_mut(number);
        let Some(piece) = rest.first_mut() else {
            break;
        };
        let in_register = |error| at(expression, error, number, 0);
        budget.charge(1, context).map_err(in_register)?;
        let location = register::location(piece.register, context.frame).map_err(in_register)?;
        let append = || {
            budget.charge(1, context)?;
            budget.charge_places(&location, context)?;
            let bounds = || Bounds::of(&context.limits);
            let composite = match &mut composite {
                None => match location.whole_register() {
                    Some(register) if fits(register, piece.bit_size) => {
                        piece.register = register;
                        return Ok(());
                    }
                    Some(_) | None => {
                        let composite = composite.insert(Incomplete::above(None, arena));
                        for piece in before {
                            let location = Location::register(piece.register);
                            let bit_size = piece.bit_size.into();
                            composite.append(&location, bit_size, bounds(), arena)?;
                        }
                        composite
                    }
                },
                Some(composite) => composite,
            };
            composite.append(&location, piece.bit_size.into(), bounds(), arena)
        };
        append().map_err(|error| at(expression, error, number, 1))?;
    }
    Ok(match composite {
        Some(composite) => composite.complete().0,
        None => {
            let pieces = pieces.iter().map(|piece| (piece.register, piece.bit_size));
            let composite = Composite::of_registers(pieces, arena);
            arena.composites.alloc(composite)
        }
    })
}

/// Returns true if a register has at least this many bits.
#[inline(always)]
fn fits(register: Register, bit_size: u16) -> bool {
    (register.size_in_bits()).is_some_and(|size| u32::from(bit_size) <= size)
}

/// Adds the place to an error: the register (0) or the size (1) of a piece.
#[cold]
fn at(expression: &ExpressionBytes<'_>, error: Error, piece: usize, operand: usize) -> Error {
    // There are only a few pieces.
    let before = (piece << 1).wrapping_add(operand);
    let mut items = operations(expression.bytes, expression.unit.encoding);
    let item = items.nth(before).ok().flatten();
    placed(expression, error, item.map_or(0, |item| item.offset))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::{ErrorKind, Need};
    use crate::eval::{Frame, Unit};
    use crate::expr::{Dialect, Encoding};
    use crate::limits::Limits;
    use crate::location::{Arena, Place, Storage};
    use crate::meter::Meter;

    /// Registers that are unchanged, moved, saved in memory, lost, in two places, or unknown. Finding one costs a step.
    struct Caller<'d>(&'d Meter, Result<Location<'static>>);

    const PLACES: [Place<'static>; 2] = [Place::byte(8), Place::byte(16)];

    impl<'a> Frame<'a> for Caller<'_> {
        fn register(&self, register: Register) -> Result<Location<'a>> {
            self.0.work(1)?;
            let number = register.number();
            Ok(match number % 8 {
                5 => Location::Many(&PLACES),
                0 => Location::register(Register(number.wrapping_mul(3))),
                1 => Location::byte(number.into()),
                2 => Location::UNDEFINED,
                3 => Location::One(Place {
                    storage: Storage::Register(register),
                    bit_offset: 32,
                    lane_step: (number & 32).into(),
                }),
                4 => return Err(Need::Caller.into()),
                _ => Location::register(register),
            })
        }

        fn entry_register(&self, register: Register) -> Result<Location<'a>> {
            self.register(register)
        }

        fn cfa(&self) -> Result<Location<'a>> {
            self.0.work(1)?;
            self.1.clone()
        }

        fn with_caller(
            &self,
            _: &mut dyn FnMut(&dyn Frame<'a>, u64) -> Result<()>,
        ) -> Result<bool> {
            Ok(false)
        }
    }

    /// Registers with and without pieces. Some do not exist, some sizes do not fit, and at times there is another operation or a missing byte.
    fn expression() -> impl Strategy<Value = Vec<u8>> {
        let uleb = |number: u64| {
            let mut bytes = Vec::new();
            crate::expr::write_uleb(number, &mut bytes);
            bytes
        };
        let number = prop_oneof![4 => 32u64..96, 4 => 2560u64..2816, 1 => 0u64..4200];
        let named = prop_oneof![
            1 => (REG0..=REG31).prop_map(|code| vec![code]),
            6 => number.prop_map(move |number| [vec![REGX], uleb(number)].concat()),
            1 => Just(vec![CALL_FRAME_CFA]),
        ];
        let size = prop_oneof![6 => 0u64..5, 2 => 0u64..300, 1 => any::<u64>()];
        let piece = size.prop_map(move |size| [vec![PIECE], uleb(size)].concat());
        let other = any::<[u8; 2]>().prop_map(Vec::from);
        let pair = prop_oneof![
            30 => (named.clone(), piece.clone()).prop_map(|(named, piece)| [named, piece].concat()),
            1 => named.clone(),
            1 => piece,
            1 => other,
        ];
        let pairs = prop::collection::vec(pair, 1..6).prop_map(|pairs| pairs.concat());
        let whole = prop_oneof![5 => pairs, 1 => named];
        (whole, prop::bool::weighted(0.1)).prop_map(|(mut bytes, cut)| {
            bytes.truncate(bytes.len() - usize::from(cut));
            bytes
        })
    }

    /// Limits that may or may not be reached by such an expression.
    fn limits() -> impl Strategy<Value = Limits> {
        let small = |most: u32| prop_oneof![3 => Just(1000), 1 => 0..most];
        (small(12), small(12), small(4), small(7), small(3)).prop_map(
            |(steps, work, stack, parts, depth)| Limits {
                steps,
                work: work.into(),
                stack,
                parts,
                depth: depth as u16,
                ..Limits::DEFAULT
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// Result and cost equal the machine's.
        #[test]
        fn the_machine_gives_the_same(
            bytes in expression(),
            limits in limits(),
            in_frame: bool,
            cfa in prop::sample::select(vec![
                Ok(Location::byte(0x1000)),
                Ok(Location::Many(&PLACES)),
                Err(ErrorKind::UndefinedRead.into()),
            ]),
            has_stack: bool,
            dialect in prop::sample::select(vec![Dialect::User, Dialect::OneByte, Dialect::Draft]),
            kind in prop::sample::select(vec![ResultKind::Any, ResultKind::Location]),
        ) {
            let arena = Arena::new();
            let below = [Outcome::Location(Location::byte(16))];
            let encoding = Encoding { dialect, ..Encoding::AMDGPU };
            let expression = ExpressionBytes {
                section: ".debug_info",
                offset: 7,
                ..ExpressionBytes::alone(arena.keep(bytes), Unit::unknown(encoding))
            };
            let evaluate = |with: fn(&ExpressionBytes<'_>) -> bool| {
                let meter = Meter::new(&limits, 0);
                let caller = Caller(&meter, cfa.clone());
                let context = Context {
                    frame: in_frame.then_some(&caller as _),
                    initial_stack: if has_stack { &below } else { &[] },
                    meter: Some(&meter),
                    limits,
                    ..Context::new(&arena)
                };
                let mut budget = Budget::new(&context);
                let result = if with(&expression) {
                    run_in_registers(&expression, kind, &context, &mut budget)
                } else {
                    execute(&expression, kind, &context, &mut budget)
                };
                (result, budget.steps, meter.steps())
            };
            prop_assert_eq!(evaluate(may_name_registers), evaluate(|_| false));
        }
    }

    /// The maximum number of registers is found, and one more is left to the machine.
    #[test]
    fn what_registers_and_pieces_say_is_recognised() {
        let pair = [REGX, 0x24, PIECE, 4];
        for count in 1..=MOST + 1 {
            let bytes = pair.repeat(count);
            let expression = ExpressionBytes::alone(&bytes, Unit::unknown(Encoding::AMDGPU));
            let mut pieces = Pieces::new();
            let named = recognise(&expression, &mut pieces);
            assert_eq!(named.is_some(), count <= MOST);
            assert_eq!(pieces.len(), count.min(MOST));
        }
    }
}
