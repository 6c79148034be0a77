//! Classifies types by the kind of their values, as operators require it, and implements the conversions between arithmetic types of C.
//!
//! Sources: C17 §6.3.1 (ranks, promotions, usual arithmetic conversions); DWARF 5 §5.1.

use crate::arch::AddressSpace;
use crate::debug_info::types::{PointerKind, TypeId, TypeKind, TypeTable};
use crate::display::shape;
use crate::eval::{BaseType, BaseTypeEncoding};

/// The kind of values of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Integer(IntegerType),
    Float(FloatType),
    /// An enumeration, which behaves like its integer type.
    Enumeration(IntegerType),
    Pointer(PointerType),
    Reference(PointerType),
    Array,
    /// A base type with several elements.
    Vector {
        element: BaseType,
        count: u32,
    },
    Record,
    Function,
    Void,
    /// A value that is printed but not used in computations.
    Other,
}

/// The target, address space and size of a pointer or reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PointerType {
    pub(super) target: TypeId,
    pub(super) space: AddressSpace,
    /// From 8 to 64.
    pub(super) bits: u32,
}

/// An integer type. Its width is the width of the program's own type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IntegerType {
    pub(super) rank: Rank,
    /// From 1 to 128.
    pub(super) bits: u32,
    pub(super) signed: bool,
}

/// The conversion rank of C17 §6.3.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Bool,
    Char,
    Short,
    Int,
    Long,
    LongLong,
    Int128,
}

/// A floating-point format, by ascending rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FloatType {
    BFloat16,
    Half,
    Single,
    Double,
}

/// The type to which operands of an operator are converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Integer(IntegerType),
    Float(FloatType),
}

impl Class {
    /// Returns the details of a pointer, or `None` for any other type.
    pub(super) fn pointer(self) -> Option<PointerType> {
        if let Class::Pointer(pointer) = self {
            Some(pointer)
        } else {
            None
        }
    }

    /// Returns the details of a pointer or reference, or `None` for any other type.
    pub(super) fn target(self) -> Option<PointerType> {
        if let Class::Reference(reference) = self {
            Some(reference)
        } else {
            self.pointer()
        }
    }
}

pub(super) const INT: IntegerType = IntegerType {
    rank: Rank::Int,
    bits: 32,
    signed: true,
};

/// Returns the kind of values of a type.
pub(super) fn class_of(types: &TypeTable, id: TypeId) -> Class {
    let resolved = shape::resolve(types, id);
    match &resolved.ty.kind {
        TypeKind::Void => Class::Void,
        TypeKind::Base(base) => class_of_base(base, resolved.base_name),
        TypeKind::Pointer {
            kind,
            target,
            address_space,
            ..
        } => {
            let size = resolved
                .ty
                .byte_size
                .and_then(|bytes| u32::try_from(bytes).ok());
            let Some(bits @ 8..=64) = size.and_then(|bytes| bytes.checked_mul(8)) else {
                return Class::Other;
            };
            let pointer = PointerType {
                target: *target,
                space: *address_space,
                bits,
            };
            match kind {
                PointerKind::Pointer => Class::Pointer(pointer),
                PointerKind::Reference | PointerKind::RvalueReference => Class::Reference(pointer),
            }
        }
        TypeKind::Array { .. } => Class::Array,
        TypeKind::Record { .. } => Class::Record,
        TypeKind::Enumeration { underlying, .. } => {
            class_of_enumeration(types, *underlying, resolved.ty.byte_size)
        }
        TypeKind::Function { .. } => Class::Function,
        // Values with another representation than in C can be printed, but not used in computations.
        TypeKind::Represented { .. }
        | TypeKind::Variants { .. }
        | TypeKind::Typedef(_)
        | TypeKind::Qualified(..)
        | TypeKind::MemberPointer { .. }
        | TypeKind::Unspecified
        | TypeKind::Unsupported(_) => Class::Other,
    }
}

/// Returns the class of an enumeration. If DWARF does not name its integer type, its size determines it.
fn class_of_enumeration(types: &TypeTable, underlying: TypeId, byte_size: Option<u64>) -> Class {
    let resolved = shape::resolve(types, underlying);
    if let TypeKind::Base(base) = &resolved.ty.kind
        && let Class::Integer(integer) = class_of_base(base, resolved.base_name)
    {
        return Class::Enumeration(integer);
    }
    let bits = byte_size.and_then(|bytes| u32::try_from(bytes.checked_mul(8)?).ok());
    match bits {
        Some(bits @ 1..=128) => Class::Enumeration(IntegerType {
            rank: rank(bits, None),
            bits,
            signed: true,
        }),
        Some(_) | None => Class::Other,
    }
}

fn class_of_base(base: &BaseType, name: Option<&str>) -> Class {
    if base.elements > 1 {
        return match base.bit_size.checked_div(base.elements) {
            Some(bit_size) if base.bit_size.is_multiple_of(base.elements) => Class::Vector {
                element: BaseType {
                    bit_size,
                    elements: 1,
                    ..*base
                },
                count: base.elements,
            },
            Some(_) | None => Class::Other,
        };
    }
    let bits = base.bit_size;
    let (signed, is_bool) = match base.encoding {
        BaseTypeEncoding::Signed | BaseTypeEncoding::SignedChar => (true, false),
        BaseTypeEncoding::Boolean => (false, true),
        BaseTypeEncoding::Unsigned
        | BaseTypeEncoding::UnsignedChar
        | BaseTypeEncoding::Utf
        | BaseTypeEncoding::Generic
        | BaseTypeEncoding::Address => (false, false),
        BaseTypeEncoding::Float => {
            return match (bits, name) {
                (16, Some("__bf16")) => Class::Float(FloatType::BFloat16),
                (16, _) => Class::Float(FloatType::Half),
                (32, _) => Class::Float(FloatType::Single),
                (64, _) => Class::Float(FloatType::Double),
                (_, _) => Class::Other,
            };
        }
        BaseTypeEncoding::Other(_) => return Class::Other,
    };
    if !(1..=128).contains(&bits) {
        return Class::Other;
    }
    let rank = if is_bool {
        Rank::Bool
    } else {
        rank(bits, name)
    };
    Class::Integer(IntegerType { rank, bits, signed })
}

/// Returns the rank of an integer type from its size and, for ranks of the same size, from its name.
fn rank(bits: u32, name: Option<&str>) -> Rank {
    let longs = name.map_or(0, |name| {
        name.split(' ').filter(|word| *word == "long").count()
    });
    match (longs, bits) {
        (_, 65..) => Rank::Int128,
        (2.., _) => Rank::LongLong,
        (1, _) | (0, 33..=64) => Rank::Long,
        (0, 17..=32) => Rank::Int,
        (0, 9..=16) => Rank::Short,
        (0, 0..=8) => Rank::Char,
    }
}

impl IntegerType {
    /// Returns the type after the integer promotions. `field` is the size of a bit-field. A bit-field becomes an `int` if `int` holds all of its
    /// values.
    pub(super) fn promoted(self, field: Option<u64>) -> IntegerType {
        let width = field.map_or(self.bits, |field| {
            u32::try_from(field).map_or(self.bits, |field| field.min(self.bits))
        });
        if width < INT.bits || (width == INT.bits && self.signed) {
            // A `long` may have 32 bits. It is promoted only if it is a narrower bit-field.
            let is_long = matches!(self.rank, Rank::Long | Rank::LongLong | Rank::Int128);
            return if is_long && width == self.bits {
                self
            } else {
                INT
            };
        }
        // A width between the widths of C counts as the next larger one.
        IntegerType {
            bits: self.bits.next_power_of_two().max(INT.bits),
            ..self
        }
    }

    /// Returns the common type after the usual arithmetic conversions. Both types are already promoted.
    pub(super) fn common(self, other: IntegerType) -> IntegerType {
        let (high, low) = if self.rank >= other.rank {
            (self, other)
        } else {
            (other, self)
        };
        let signed = if high.signed == low.signed {
            high.signed
        } else if !high.signed {
            false
        } else {
            // A signed type that holds all values of the unsigned type is the result. Otherwise, its unsigned counterpart is the result.
            high.bits > low.bits
        };
        IntegerType { signed, ..high }
    }

    /// Returns the number of this type with the same low bits as a value.
    pub(super) fn wrap(self, value: i128) -> i128 {
        let unused = (128 - self.bits).min(127);
        if self.rank == Rank::Bool {
            return i128::from(value != 0);
        }
        let high = value.wrapping_shl(unused);
        if self.signed {
            high.wrapping_shr(unused)
        } else {
            high.cast_unsigned().wrapping_shr(unused).cast_signed()
        }
    }

    /// Returns the name of the type in C.
    pub(super) fn name(self) -> &'static str {
        match (self.rank, self.signed) {
            (Rank::Bool, _) => "bool",
            (Rank::Char, true) => "char",
            (Rank::Char, false) => "unsigned char",
            (Rank::Short, true) => "short",
            (Rank::Short, false) => "unsigned short",
            (Rank::Int, true) => "int",
            (Rank::Int, false) => "unsigned int",
            (Rank::Long, true) => "long",
            (Rank::Long, false) => "unsigned long",
            (Rank::LongLong, true) => "long long",
            (Rank::LongLong, false) => "unsigned long long",
            (Rank::Int128, true) => "__int128",
            (Rank::Int128, false) => "unsigned __int128",
        }
    }
}

impl Arithmetic {
    /// Returns the promoted arithmetic type of a value, or `None` if it is not arithmetic. `field` is the size of a bit-field.
    pub(super) fn promoted(class: Class, field: Option<u64>) -> Option<Arithmetic> {
        match class {
            Class::Integer(integer) | Class::Enumeration(integer) => {
                Some(Arithmetic::Integer(integer.promoted(field)))
            }
            Class::Float(float) => Some(Arithmetic::Float(float)),
            Class::Pointer(_)
            | Class::Reference(_)
            | Class::Array
            | Class::Vector { .. }
            | Class::Record
            | Class::Function
            | Class::Void
            | Class::Other => None,
        }
    }

    /// Returns the common type after the usual arithmetic conversions. For the two formats of 16 bits, this is `float`.
    pub(super) fn common(self, other: Arithmetic) -> Arithmetic {
        match (self, other) {
            (Arithmetic::Integer(a), Arithmetic::Integer(b)) => Arithmetic::Integer(a.common(b)),
            (Arithmetic::Float(a), Arithmetic::Float(b)) => {
                let formats = (a.min(b), a.max(b));
                Arithmetic::Float(match formats {
                    (FloatType::BFloat16, FloatType::Half) => FloatType::Single,
                    (_, high) => high,
                })
            }
            (float @ Arithmetic::Float(_), Arithmetic::Integer(_))
            | (Arithmetic::Integer(_), float @ Arithmetic::Float(_)) => float,
        }
    }
}

impl FloatType {
    pub(super) fn bits(self) -> u32 {
        match self {
            FloatType::BFloat16 | FloatType::Half => 16,
            FloatType::Single => 32,
            FloatType::Double => 64,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            FloatType::BFloat16 => "__bf16",
            FloatType::Half => "_Float16",
            FloatType::Single => "float",
            FloatType::Double => "double",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn integer(rank: Rank, bits: u32, signed: bool) -> IntegerType {
        IntegerType { rank, bits, signed }
    }

    const UINT: IntegerType = integer(Rank::Int, 32, false);
    const LONG: IntegerType = integer(Rank::Long, 64, true);
    const ULONG: IntegerType = integer(Rank::Long, 64, false);

    /// Tests the rules of C17 §6.3.1.1 and §6.3.1.8 with an `int` of 32 bits and a `long` of 64 bits.
    #[test]
    fn conversions_are_those_of_c() {
        let short = integer(Rank::Short, 16, false);
        assert_eq!(short.promoted(None), INT);
        assert_eq!(UINT.promoted(None), UINT);
        assert_eq!(UINT.promoted(Some(31)), INT);
        assert_eq!(UINT.promoted(Some(32)), UINT);
        assert_eq!(LONG.promoted(Some(3)), INT);
        assert_eq!(ULONG.promoted(Some(40)), ULONG);
        assert_eq!(INT.common(UINT), UINT);
        assert_eq!(UINT.common(LONG), LONG);
        assert_eq!(ULONG.common(INT), ULONG);
        assert_eq!(LONG.common(ULONG), ULONG);
        // `long` and `long long` have the same size, so the result is the unsigned counterpart of the higher rank.
        let long_long = integer(Rank::LongLong, 64, true);
        assert_eq!(ULONG.common(long_long), integer(Rank::LongLong, 64, false));
        // A `long` of 32 bits, as on Windows, cannot hold every `unsigned int`.
        let narrow = integer(Rank::Long, 32, true);
        assert_eq!(narrow.common(UINT), integer(Rank::Long, 32, false));
        assert_eq!(narrow.promoted(None), narrow);
    }

    /// Neither format of 16 bits has all values of the other: `__bf16` has more exponents, and `_Float16` more digits.
    #[test]
    fn formats_of_16_bits_have_float_in_common() {
        let [short, half] = [FloatType::BFloat16, FloatType::Half].map(Arithmetic::Float);
        let single = Arithmetic::Float(FloatType::Single);
        assert_eq!(short.common(half), single);
        assert_eq!(half.common(short), single);
        assert_eq!(half.common(half), half);
    }

    /// Clang and gcc write these names.
    #[test]
    fn types_of_one_size_have_the_rank_of_their_name() {
        for (name, expected) in [
            ("long int", Rank::Long),
            ("unsigned long", Rank::Long),
            ("long long int", Rank::LongLong),
            ("unsigned long long", Rank::LongLong),
        ] {
            assert_eq!(rank(64, Some(name)), expected, "{name}");
        }
        assert_eq!(rank(64, None), Rank::Long);
    }

    /// Compilers for C give no type, and enumerators may be negative.
    #[test]
    fn an_enumeration_without_a_type_has_a_sign() {
        let mut types = TypeTable::default();
        let void = types.void();
        let class = class_of_enumeration(&types, void, Some(4));
        assert_eq!(class, Class::Enumeration(INT));
    }

    #[test]
    fn values_wrap_at_the_width_of_their_type() {
        assert_eq!(INT.wrap(1 << 31), -(1 << 31));
        assert_eq!(UINT.wrap(-1), 0xffff_ffff);
        assert_eq!(integer(Rank::Char, 8, true).wrap(200), -56);
        assert_eq!(integer(Rank::Int128, 128, false).wrap(-1), -1);
        assert_eq!(integer(Rank::Bool, 8, false).wrap(256), 1);
    }
}
