//! Expressions that start with entries on the stack which no compiler makes.

use super::{
    BaseType, Context, Encoding, ExpressionBytes, Outcome, ResultKind, Unit, Value, evaluate,
};
use crate::error::{ErrorKind, Result};
use crate::expr::{self, ParseOptions, parse};
use crate::location::{Arena, Location, Place, Storage};

/// Evaluates with these entries on the stack at the start.
fn with_stack<'a>(
    text: &str,
    initial_stack: &[Outcome<'a>],
    arena: &'a Arena<'a>,
) -> Result<Outcome<'a>> {
    let parsed = parse(text, &ParseOptions::default()).unwrap();
    let bytes = parsed.encode(expr::Encoding::AMDGPU).unwrap();
    let expression =
        ExpressionBytes::alone(arena.keep(bytes), Unit::unknown(expr::Encoding::AMDGPU));
    let context = Context {
        initial_stack,
        ..Context::new(arena)
    };
    evaluate(expression, ResultKind::Any, &context)
}

/// Values that a caller makes by hand need not keep to their type.
#[test]
fn a_divisor_with_bits_above_those_of_its_type_only_is_zero() {
    let arena = Arena::new();
    for encoding in [Encoding::Signed, Encoding::Unsigned] {
        let value = |bits| {
            Outcome::Value(Value {
                base_type: BaseType::scalar(encoding, 8),
                bits,
            })
        };
        for operation in ["DW_OP_div", "DW_OP_mod"] {
            let error = with_stack(operation, &[value(7), value(0x100)], &arena).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::DivideByZero),
                "{encoding:?} {operation}: {error}"
            );
        }
    }
}

/// A type can be larger than what is kept of a value.
#[test]
fn no_mask_has_more_elements_than_a_value_has_bits() {
    let arena = Arena::new();
    let place = Place::new(Storage::Constant(&[0; 32]), 0);
    let both = [place, place];
    let mask = Value::new(BaseType::scalar(Encoding::Unsigned, 256), 1);
    for location in [Location::Many(arena.alloc_all(&both)), Location::One(place)] {
        let stack = [
            Outcome::Location(location),
            Outcome::Location(location),
            Outcome::Value(mask),
        ];
        let select = |count: u64| {
            let text = format!("DW_OP_LLVM_select_bit_piece 0x1 {count:#x}");
            with_stack(&text, &stack, &arena)
        };
        assert!(select(128).is_ok(), "{location:?}");
        let error = select(200).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported(_)),
            "{location:?}: {error}"
        );
    }
}
