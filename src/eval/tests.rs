//! Tests cases that compilers do not produce: oversized values, and deep stacks.

use super::{
    BaseType, BaseTypeEncoding, Context, DieReference, ExpressionBytes, LaneFocus,
    LocationAttribute, LocationEntry, Outcome, Procedure, Reading, Resolver, ResultKind,
    Subprogram, Unit, Value, evaluate,
};
use crate::error::{ErrorKind, Result};
use crate::expr::{self, ParseOptions, parse};
use crate::location::{Arena, Location, Place, Storage};

/// Evaluates with these entries on the initial stack.
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
    evaluate(&expression, ResultKind::Any, &context)
}

/// Values built by a caller may exceed their type.
#[test]
fn a_divisor_with_bits_above_those_of_its_type_only_is_zero() {
    let arena = Arena::new();
    for encoding in [BaseTypeEncoding::Signed, BaseTypeEncoding::Unsigned] {
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

/// The next double above 1 + 2^-11, which is half way between 1 and the next half-precision number, 1 + 2^-10.
#[test]
fn a_double_is_rounded_to_a_half_once() {
    let above = (1.0f64 + 2.0f64.powi(-11)).to_bits() + 1;
    let double = Value::new(BaseType::scalar(BaseTypeEncoding::Float, 64), above.into());
    let half = double
        .convert(BaseType::scalar(BaseTypeEncoding::Float, 16))
        .unwrap();
    assert_eq!(half.bits, 0x3c01);
}

/// LLVM leaves its literals of the generic type beside values of base types. -3 of a signed type of 32 bits, times the literal 5, is -15 in that
/// type: 0xfffffff1. Read strictly, the types differ.
#[test]
fn a_generic_literal_takes_the_type_of_the_other_operand() {
    let arena = Arena::new();
    let int = BaseType::scalar(BaseTypeEncoding::Signed, 32);
    let value = Outcome::Value(Value::new(int, 0xffff_fffd));
    let context = |reading| Context {
        initial_stack: core::slice::from_ref(&value),
        reading,
        ..Context::new(&arena)
    };
    for text in ["DW_OP_lit5, DW_OP_mul", "DW_OP_lit5, DW_OP_swap, DW_OP_mul"] {
        let parsed = parse(text, &ParseOptions::default()).unwrap();
        let bytes = parsed.encode(expr::Encoding::AMDGPU).unwrap();
        let unit = Unit::unknown(expr::Encoding::AMDGPU);
        let expression = ExpressionBytes::alone(arena.keep(bytes), unit);
        let product = evaluate(&expression, ResultKind::Value, &context(Reading::Tolerant));
        let Ok(Outcome::Value(product)) = product else {
            panic!("{text}: {product:?}");
        };
        assert_eq!(
            (product.base_type, product.bits),
            (int, 0xffff_fff1),
            "{text}"
        );
        let strict = evaluate(&expression, ResultKind::Value, &context(Reading::Strict));
        let error = strict.unwrap_err();
        assert_eq!(error.kind().name(), "type-mismatch", "{text}");
    }
}

/// A type can be larger than a stored value.
#[test]
fn no_mask_has_more_elements_than_a_value_has_bits() {
    let arena = Arena::new();
    let place = Place::new(Storage::Constant(&[0; 32]), 0);
    let both = [place, place];
    let mask = Value::new(BaseType::scalar(BaseTypeEncoding::Unsigned, 256), 1);
    for location in [
        Location::Many(arena.places.alloc_extend(both)),
        Location::One(place),
    ] {
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

/// Debugging information with the same type everywhere.
struct Types(BaseType);

impl<'a> Resolver<'a> for Types {
    fn procedure(&self, _: Unit, _: DieReference) -> Result<Procedure<'a>> {
        Ok(Procedure::Nothing)
    }

    fn base_type(&self, _: Unit, _: u64) -> Result<BaseType> {
        Ok(self.0)
    }

    fn address(&self, _: Unit, index: u64) -> Result<u64> {
        Ok(index)
    }

    fn location_list(
        &self,
        _: Unit,
        _: u64,
        _: u64,
        _: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
    ) -> Result<()> {
        Ok(())
    }
}

#[test]
fn no_value_is_made_that_is_larger_than_the_stack_keeps() {
    let arena = Arena::new();
    let context = Context {
        resolver: Some(&Types(BaseType::scalar(BaseTypeEncoding::Signed, 256))),
        ..Context::new(&arena)
    };
    for text in [
        "DW_OP_lit1, DW_OP_convert 0x10",
        "DW_OP_addr 0x0, DW_OP_deref_type 0x20 0x10",
    ] {
        let bytes = parse(text, &ParseOptions::default()).unwrap();
        let bytes = arena.keep(bytes.encode(expr::Encoding::AMDGPU).unwrap());
        let expression = ExpressionBytes::alone(bytes, Unit::unknown(expr::Encoding::AMDGPU));
        let error = evaluate(&expression, ResultKind::Any, &context).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported(_)),
            "{text}: {error}"
        );
    }
}

/// Values that callers put on the stack can exceed the requested size. None is clamped to the largest number.
#[test]
fn what_has_too_many_bits_is_refused() {
    let arena = Arena::new();
    let value = |encoding, bit_size, bits| {
        Outcome::Value(Value {
            base_type: BaseType::scalar(encoding, bit_size),
            bits,
        })
    };
    // A storage of a value has 128 bits.
    let wide = value(BaseTypeEncoding::Unsigned, 0x1_0020, 1);
    let error = with_stack("DW_OP_stack_value", &[wide], &arena).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");

    let tls = |offset: u64| Ok(Location::byte(offset));
    let wave = crate::wave::Snapshot::new("gfx90a", crate::arch::WaveSize::Wave64, 0u64);
    let run = |bytes: &'static [u8], address_size, entry| {
        let encoding = expr::Encoding {
            address_size,
            ..expr::Encoding::AMDGPU
        };
        let context = Context {
            tls: Some(&tls),
            wave: Some(&wave),
            initial_stack: &[entry],
            ..Context::new(&arena)
        };
        let expression = ExpressionBytes::alone(bytes, Unit::unknown(encoding));
        evaluate(&expression, ResultKind::Any, &context)
    };
    // DW_OP_form_tls_address
    let offset = |bits| value(BaseTypeEncoding::Unsigned, 128, bits);
    let found = run(&[0x9b], 8, offset(0x10)).unwrap();
    assert_eq!(found, Outcome::Location(Location::byte(0x10)));
    let error = run(&[0x9b], 8, offset(1 << 64)).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TypeMismatch { .. }),
        "{error}"
    );
    // DW_OP_deref_size 12, where an address has sixteen bytes: the 96 bits are a one and 2^64.
    let at = |bits| {
        let storage = Storage::Value {
            bits,
            bit_size: 128,
        };
        Outcome::Location(Location::One(Place::new(storage, 0)))
    };
    let Outcome::Value(found) = run(&[0x94, 12], 16, at(1 | 1 << 96)).unwrap() else {
        unreachable!()
    };
    assert_eq!(found.bits, 1);
    let error = run(&[0x94, 12], 16, at(1 | 1 << 64)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
}

/// From the generic space to another one: no address has more than 64 bits, and it is not clamped to the largest.
#[test]
fn an_address_of_more_than_64_bits_is_in_no_space() {
    let arena = Arena::new();
    let wave = crate::wave::Snapshot::new("gfx90a", crate::arch::WaveSize::Wave64, 0u64);
    let context = Context {
        resolver: Some(&Types(BaseType::scalar(BaseTypeEncoding::Address, 64))),
        wave: Some(&wave),
        ..Context::new(&arena)
    };
    let run = |bits| {
        let base_type = BaseType {
            address_space: crate::arch::AddressSpace::Generic,
            ..BaseType::scalar(BaseTypeEncoding::Address, 128)
        };
        let entry = Outcome::Value(Value { base_type, bits });
        let context = Context {
            initial_stack: &[entry],
            ..context
        };
        // DW_OP_convert 0x10
        let expression =
            ExpressionBytes::alone(&[0xa8, 0x10], Unit::unknown(expr::Encoding::AMDGPU));
        evaluate(&expression, ResultKind::Any, &context)
    };
    let Outcome::Value(found) = run(0x1234).unwrap() else {
        unreachable!()
    };
    assert_eq!(found.bits, 0x1234);
    let error = run(1 << 64).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TypeMismatch { .. }),
        "{error}"
    );
}

/// Fast paths fall back to the general path in unusual cases.
#[test]
fn what_the_short_ways_cannot_do_is_done_the_long_way() {
    let arena = Arena::new();
    let expression = |text: &str| {
        let parsed = parse(text, &ParseOptions::default()).unwrap();
        let bytes = arena.keep(parsed.encode(expr::Encoding::AMDGPU).unwrap());
        ExpressionBytes::alone(bytes, Unit::unknown(expr::Encoding::AMDGPU))
    };
    // 0x10 + 8, and 1: the frame base does not end after its address.
    let base = LocationAttribute::Expression(expression("DW_OP_addr 0x10, DW_OP_lit8, DW_OP_plus"));
    let context = Context {
        subprogram: Some(Subprogram {
            frame_base: Some(base),
            ..Subprogram::default()
        }),
        lane: LaneFocus::All,
        ..Context::new(&arena)
    };
    let found = evaluate(
        &expression("DW_OP_fbreg +0x1"),
        ResultKind::Location,
        &context,
    );
    assert_eq!(found.unwrap(), Outcome::Location(Location::byte(0x19)));
    // A constant does not stand for all lanes, so each lane must be evaluated separately.
    let moved =
        expression("DW_OP_lit0, DW_OP_stack_value, DW_OP_LLVM_push_lane, DW_OP_LLVM_offset");
    assert!(evaluate(&moved, ResultKind::Location, &context).is_err());
    let moved =
        expression("DW_OP_implicit_value 0x2 0x1 0x2, DW_OP_LLVM_push_lane, DW_OP_LLVM_offset");
    assert!(evaluate(&moved, ResultKind::Location, &context).is_err());
}
