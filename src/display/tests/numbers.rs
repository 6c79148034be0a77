use crate::debug_info::types::{Representation, Scale};
use crate::display::{Number, ScalarPlace, numbers};

use super::*;

fn number(types: &Types, ty: TypeId, bytes: &[u8]) -> Option<Number> {
    let place = ScalarPlace::default();
    let found = numbers(&types.table, ty, &TypedBytes::known(bytes), place)?;
    assert_eq!(found.len(), 1);
    found.first().copied()
}

/// binary128 by hand: a sign, 15 bits of exponent with bias 16383, 112 bits after the point.
#[test]
fn wide_numbers_are_rounded_once_to_the_nearest_double_ties_to_even() {
    let mut types = Types::default();
    let ty = types.base("_Float128", BaseTypeEncoding::Float, 128);
    let value = |bits: u128| match number(&types, ty, &bits.to_le_bytes()) {
        Some(Number::Float(value)) => value,
        other => panic!("{other:?}"),
    };
    let one = 0x3fffu128 << 112;
    assert_eq!(value(one), 1.0);
    assert_eq!(value(one | 1 << 127), -1.0);
    // 60 of the 112 bits are dropped: half of the last bit kept is bit 59.
    let ulp = f64::EPSILON;
    assert_eq!(value(one | 1 << 59), 1.0);
    assert_eq!(value(one | 1 << 59 | 1), 1.0 + ulp);
    assert_eq!(value(one | 1 << 60 | 1 << 59), 1.0 + 2.0 * ulp);
    // The fraction is all ones: rounded up to the next power of two.
    assert_eq!(value(one | ((1 << 112) - 1)), 2.0);
    // 2^1023 is the last power of two, 2^-1074 the first.
    assert_eq!(value((0x3fff + 1023) << 112), 2f64.powi(1023));
    assert_eq!(value((0x3fff + 1024) << 112), f64::INFINITY);
    assert_eq!(value((0x3fff - 1074) << 112), f64::from_bits(1));
    // Half of the smallest number is a tie, which rounds to 0. A larger number rounds to the smallest.
    assert_eq!(value((0x3fff - 1075) << 112), 0.0);
    assert_eq!(value((0x3fff - 1075) << 112 | 1), f64::from_bits(1));
    assert_eq!(value(1), 0.0);
    assert_eq!(value(0x7fff << 112), f64::INFINITY);
    assert!(value(0x7fff << 112 | 1).is_nan());
    // The format is ambiguous.
    let ty = types.base("long double", BaseTypeEncoding::Float, 128);
    assert_eq!(number(&types, ty, &one.to_le_bytes()), None);
}

#[test]
fn scaled_numbers_are_exact_or_none() {
    let mut types = Types::default();
    let mut scaled = |scale, raw: i32| {
        let base = BaseType::scalar(BaseTypeEncoding::Signed, 32);
        let by = Representation {
            scale,
            ..Representation::PLAIN
        };
        let kind = TypeKind::Represented { base, by };
        let ty = types.table.add(Type::new(None, Some(4), kind));
        number(&types, ty, &raw.to_le_bytes())
    };
    assert_eq!(scaled(Scale::Binary(-2), -5), Some(Number::Float(-1.25)));
    assert_eq!(scaled(Scale::Binary(2), -5), Some(Number::Signed(-20)));
    assert_eq!(scaled(Scale::Decimal(3), 7), Some(Number::Signed(7000)));
    // 25 hundredths are a quarter; 1 hundredth is no double.
    assert_eq!(scaled(Scale::Decimal(-2), 25), Some(Number::Float(0.25)));
    assert_eq!(scaled(Scale::Decimal(-2), 1), None);
    assert_eq!(scaled(Scale::Fraction(3, 6), 3), Some(Number::Float(1.5)));
    assert_eq!(scaled(Scale::Fraction(1, 3), 1), None);
    assert_eq!(scaled(Scale::Binary(-1100), 1), None);
    assert_eq!(
        scaled(Scale::Binary(-1074), 1),
        Some(Number::Float(f64::from_bits(1)))
    );
}

#[test]
fn numbers_with_missing_bits_are_none() {
    let mut types = Types::default();
    let ty = types.int();
    let lost = core::iter::once(7..8).collect::<Mask>();
    let mut value = TypedBytes::known(&[1, 0, 0, 0]);
    value.undefined = &lost;
    let place = ScalarPlace::default();
    assert_eq!(numbers(&types.table, ty, &value, place), None);
    let field = ScalarPlace {
        bit_offset: 0,
        bit_field: Some(7),
    };
    let found = numbers(&types.table, ty, &value, field);
    assert_eq!(found, Some(vec![Number::Signed(1)]));
    assert_eq!(number(&types, ty, &[1, 0, 0]), None);
}

#[test]
fn unsigned_numbers_have_no_sign() {
    let mut types = Types::default();
    let mut found = |encoding, bits: u32, bytes: &[u8]| {
        let ty = types.base("", encoding, bits);
        number(&types, ty, bytes)
    };
    let ones = [0xff; 16];
    // Two's complement has the same bits for -1.
    let unsigned = BaseTypeEncoding::Unsigned;
    let number = |value| Some(Number::Unsigned(value));
    assert_eq!(found(unsigned, 8, &ones[..1]), number(0xff));
    assert_eq!(found(unsigned, 64, &ones[..8]), number(u64::MAX.into()));
    assert_eq!(found(unsigned, 128, &ones), number(u128::MAX));
    let char = BaseTypeEncoding::UnsignedChar;
    assert_eq!(found(char, 8, &[0x80]), number(0x80));
    let signed = BaseTypeEncoding::Signed;
    assert_eq!(found(signed, 64, &ones[..8]), Some(Number::Signed(-1)));
    assert_eq!(found(signed, 128, &ones), Some(Number::Signed(-1)));
}

/// DWARF 5 §7.8: `DW_ATE_complex_float`, whose value is the real part, followed by the imaginary part.
#[test]
fn complex_numbers_are_a_real_and_an_imaginary_part() {
    let mut types = Types::default();
    let ty = types.base("_Complex float", BaseTypeEncoding::Other(0x3), 64);
    let bytes = [1.5f32.to_le_bytes(), (-0.25f32).to_le_bytes()].concat();
    assert_eq!(
        number(&types, ty, &bytes),
        Some(Number::Complex(1.5, -0.25))
    );
    // DW_ATE_imaginary_float.
    let ty = types.base("_Imaginary double", BaseTypeEncoding::Other(0x9), 64);
    let bytes = (-0.25f64).to_le_bytes();
    assert_eq!(
        number(&types, ty, &bytes),
        Some(Number::Complex(0.0, -0.25))
    );
}

/// HET A.5.1: `DW_AT_LLVM_vector_size`.
#[test]
fn a_vector_has_a_number_for_each_element() {
    let mut types = Types::default();
    let base = BaseType {
        encoding: BaseTypeEncoding::Signed,
        bit_size: 64,
        elements: 4,
        address_space: AddressSpace::None,
    };
    let ty = types.add(Some("short4"), Some(8), TypeKind::Base(base));
    let bytes = [1i16, -2, 300, i16::MIN].map(i16::to_le_bytes).concat();
    let found = numbers(
        &types.table,
        ty,
        &TypedBytes::known(&bytes),
        ScalarPlace::default(),
    );
    let expected = [1, -2, 300, -32768].map(Number::Signed).to_vec();
    assert_eq!(found, Some(expected));
}
