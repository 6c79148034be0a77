//! Checks values: constants, arithmetic and types. Sources: HET A.2.5.4.3.1 to A.2.5.4.3.3; DWARF 5 §2.5.1.4 and §2.5.1.6.

use super::entry::{Entry, Number, Offset, Place, Sources, Storage, Type, Value};
use super::machine::{Machine, Step, Stop};
use super::stack::is_incomplete;
use super::{Role, rule};
use crate::arch::AddressSpace;
use crate::expr::Operation;

impl Type {
    /// Returns the size in bits, if it is known. `generic` is the size of the generic type.
    pub(super) const fn bits(self, generic: u64) -> Option<u64> {
        match self {
            Type::Generic => Some(generic),
            Type::Integral { bits, .. } | Type::Other { bits, .. } => Some(bits),
            Type::Unknown => None,
        }
    }
}

impl Machine<'_> {
    /// Returns the size of the generic type, in bits.
    pub(super) fn generic_bits(&self) -> u64 {
        u64::from(self.encoding.address_size) * 8
    }

    fn generic(&self, base: u64, per_lane: u64, sources: Sources) -> Value {
        let mask = AddressSpace::None.address_mask(self.encoding.address_size);
        Value {
            ty: Type::Generic,
            number: Number::Linear {
                base: base & mask,
                per_lane: per_lane & mask,
            },
            sources,
            legacy: false,
        }
    }

    /// Pops a value. A location is converted if the rules allow it.
    pub(super) fn pop_value(&mut self) -> Step<Value> {
        let entry = self.pop_any()?;
        if is_incomplete(&entry) {
            self.fault(
                &rule::INCOMPLETE,
                "it needs a value, but finds an incomplete composite",
            );
            return Err(Stop);
        }
        let Some(value) = as_value(entry) else {
            self.fault(&rule::KIND, format!("it needs a value, but finds {entry}"));
            return Err(Stop);
        };
        Ok(value)
    }

    /// Pops a value of an integral type.
    pub(super) fn pop_integral(&mut self) -> Step<Value> {
        let value = self.pop_value()?;
        if let Type::Other { .. } = value.ty {
            let found = Entry::Value(value);
            self.fault(
                &rule::KIND,
                format!("it needs an integral value, but finds {found}"),
            );
            return Err(Stop);
        }
        Ok(value)
    }

    /// Returns the base type at an offset from the unit's header.
    pub(super) fn base_type(&mut self, offset: u64) -> Type {
        let Some(entries) = self.env.entries else {
            return Type::Unknown;
        };
        entries.base_type(offset).unwrap_or_else(|| {
            self.fault(
                &rule::BASE_TYPE,
                format!("no DW_TAG_base_type is at {offset:#x} from the unit's header"),
            );
            Type::Unknown
        })
    }

    /// Checks the size operand of a typed operation, in bytes.
    pub(super) fn check_type_size(&mut self, ty: Type, bytes: u64) {
        if let Some(bits) = ty.bits(self.generic_bits())
            && bits.div_ceil(8) != bytes
        {
            let is = bits.div_ceil(8);
            let text = format!("its size operand is {bytes}, but its type has {is} bytes");
            if bits == bytes {
                self.fault_with(
                    &rule::TYPE_SIZE,
                    text,
                    "give the size in bytes, not in bits",
                );
            } else {
                self.fault(&rule::TYPE_SIZE, text);
            }
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`execute` sends only these operations here"
    )]
    pub(super) fn literal(&mut self, operation: &Operation<'_>) -> Step {
        let number = match *operation {
            Operation::Const1u { value } => value.into(),
            Operation::Const1s { value } => i64::from(value).cast_unsigned(),
            Operation::Const2u { value } => value.into(),
            Operation::Const2s { value } => i64::from(value).cast_unsigned(),
            Operation::Const4u { value } => value.into(),
            Operation::Const4s { value } => i64::from(value).cast_unsigned(),
            Operation::Const8u { value } | Operation::Constu { value } => value,
            Operation::Const8s { value } | Operation::Consts { value } => value.cast_unsigned(),
            Operation::Lit { value } => value.into(),
            Operation::PushLane => {
                let lane = self.generic(0, 1, Sources::LANE);
                self.push(Entry::Value(lane));
                return Ok(());
            }
            Operation::Constx { index } => {
                self.check_address_index(index);
                return self.push_any(Type::Generic, Sources::ADDRESS);
            }
            Operation::ConstType { base_type, bytes } => {
                let ty = self.base_type(base_type);
                self.check_type_size(ty, bytes.len() as u64);
                return self.push_any(ty, Sources::NONE);
            }
            Operation::PushIteration => return self.push_any(Type::Generic, Sources::OTHER),
            _ => return Err(Stop),
        };
        let value = self.generic(number, 0, Sources::NONE);
        self.push(Entry::Value(value));
        Ok(())
    }

    /// Pushes a value of which only the type is known.
    pub(super) fn push_any(&mut self, ty: Type, sources: Sources) -> Step {
        let bits = ty.bits(self.generic_bits()).unwrap_or(u64::MAX);
        self.push(Entry::Value(Value::any(ty, bits, sources)));
        Ok(())
    }

    pub(super) fn check_address_index(&mut self, index: u64) {
        if let Some(entries) = self.env.entries
            && !entries.has_address(index)
        {
            self.fault(
                &rule::ADDRESS_INDEX,
                format!("the unit has no address with index {index}"),
            );
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`execute` sends only these operations here"
    )]
    pub(super) fn compute(&mut self, operation: &Operation<'_>) -> Step {
        match *operation {
            Operation::PlusUconst { value } => {
                let left = self.pop_integral()?;
                let right = self.generic(value, 0, Sources::NONE);
                let sum = self.combine(&Operation::Plus, &left, &right);
                self.push(Entry::Value(Value { ty: left.ty, ..sum }));
                Ok(())
            }
            Operation::Abs | Operation::Neg => {
                let value = self.pop_value()?;
                self.push_any(value.ty, value.sources)
            }
            Operation::Not => {
                let value = self.pop_integral()?;
                self.push_any(value.ty, value.sources)
            }
            Operation::Convert { base_type } | Operation::Reinterpret { base_type } => {
                let ty = match base_type {
                    0 => Type::Generic,
                    _ => self.base_type(base_type),
                };
                let value = self.pop_value()?;
                let generic = self.generic_bits();
                if let (Operation::Reinterpret { .. }, Some(from), Some(to)) =
                    (operation, value.ty.bits(generic), ty.bits(generic))
                    && from != to
                {
                    let text = format!(
                        "a value of {from} bits is reinterpreted as a type of {to} \
                                        bits"
                    );
                    self.fault(&rule::REINTERPRET, text);
                }
                self.push_any(ty, value.sources)
            }
            _ => {
                let right = self.pop_value()?;
                let left = self.pop_value()?;
                self.check_operand_types(operation, &left, &right);
                let is_division = matches!(operation, Operation::Div | Operation::Mod);
                if is_division && right.known() == Some(0) {
                    self.fault(&rule::DIVIDE, "the divisor is the constant 0");
                    return Err(Stop);
                }
                let result = self.combine(operation, &left, &right);
                self.push(Entry::Value(result));
                Ok(())
            }
        }
    }

    /// Checks that both operands of an operation have the same type. Shifts are not checked, because compilers interpret the standard differently.
    fn check_operand_types(&mut self, operation: &Operation<'_>, left: &Value, right: &Value) {
        if matches!(operation, Operation::Shl | Operation::Shr | Operation::Shra) {
            return;
        }
        let same = match (left.ty, right.ty) {
            (Type::Unknown, _) | (_, Type::Unknown) => true,
            // Two entries may describe the same type.
            (Type::Integral { bits: a, .. }, Type::Integral { bits: b, .. })
            | (Type::Other { bits: a, .. }, Type::Other { bits: b, .. }) => a == b,
            (a, b) => a == b,
        };
        if !same {
            let (left, right) = (Entry::Value(*left), Entry::Value(*right));
            self.fault(
                &rule::OPERAND_TYPES,
                format!("it combines {left} with {right}"),
            );
        }
    }

    /// Returns the result of an operation with two operands, with only the facts that hold for all waves.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "operations that are not folded give any value"
    )]
    fn combine(&self, operation: &Operation<'_>, left: &Value, right: &Value) -> Value {
        use Operation as O;
        let sources = left.sources | right.sources;
        let compares = matches!(operation, O::Eq | O::Ge | O::Gt | O::Le | O::Lt | O::Ne);
        if compares {
            return Value::any(Type::Generic, 1, sources);
        }
        let ty = if left.ty == Type::Unknown {
            right.ty
        } else {
            left.ty
        };
        let bits = ty.bits(self.generic_bits()).unwrap_or(u64::MAX);
        if (left.ty, right.ty) != (Type::Generic, Type::Generic) {
            return Value::any(ty, bits, sources);
        }
        let linear = |value: &Value| match value.number {
            Number::Linear { base, per_lane } => Some((base, per_lane)),
            Number::Below { .. } => None,
        };
        let (a, b) = (linear(left), linear(right));
        let folded = match (operation, a, b) {
            (O::Plus, Some(a), Some(b)) => Some((a.0.wrapping_add(b.0), a.1.wrapping_add(b.1))),
            (O::Minus, Some(a), Some(b)) => Some((a.0.wrapping_sub(b.0), a.1.wrapping_sub(b.1))),
            (O::Mul, Some(a), Some((b, 0))) | (O::Mul, Some((b, 0)), Some(a)) => {
                Some((a.0.wrapping_mul(b), a.1.wrapping_mul(b)))
            }
            (O::Shl, Some(a), Some((b @ 0..64, 0))) => Some((a.0 << b, a.1 << b)),
            (O::Shr, Some((a, 0)), Some((b @ 0..64, 0))) => Some((a >> b, 0)),
            (O::And, Some((a, 0)), Some((b, 0))) => Some((a & b, 0)),
            (O::Or, Some((a, 0)), Some((b, 0))) => Some((a | b, 0)),
            (O::Xor, Some((a, 0)), Some((b, 0))) => Some((a ^ b, 0)),
            _ => None,
        };
        if let Some((base, per_lane)) = folded {
            return self.generic(base, per_lane, sources);
        }
        let bits = match operation {
            O::And => width(left).min(width(right)),
            O::Or | O::Xor => width(left).max(width(right)),
            O::Shl => right
                .known()
                .map_or(bits, |by| width(left).saturating_add(by)),
            O::Shr => right
                .known()
                .map_or(width(left), |by| width(left).saturating_sub(by)),
            _ => bits,
        };
        Value::any(ty, bits.min(self.generic_bits()), sources)
    }

    /// Returns true if a place in a vector register should select the dword of a known lane.
    pub(super) fn wants_lane(&self) -> bool {
        self.env.simt
            && matches!(
                self.env.role,
                Role::Location { .. }
                    | Role::Member
                    | Role::DataLocation
                    | Role::Value
                    | Role::OfDimension
            )
    }
}

/// Returns the number of low bits of a value that can be nonzero.
pub(super) fn width(value: &Value) -> u64 {
    match value.number {
        Number::Linear { base, per_lane: 0 } => (u64::BITS - base.leading_zeros()).into(),
        Number::Linear { .. } => 64,
        Number::Below { bits } => bits,
    }
}

/// Converts an entry to a value. Returns `None` if it does not convert.
pub(super) fn as_value(entry: Entry) -> Option<Value> {
    let place = match entry {
        Entry::Value(value) => return Some(value),
        Entry::Unknown => return Some(Value::any(Type::Unknown, u64::MAX, Sources::OTHER)),
        Entry::Place(place) => place,
    };
    match place.storage {
        Storage::Memory(Some(AddressSpace::None)) => {
            let number = match place.offset {
                Offset::Linear { base, per_lane } if base % 8 == 0 && per_lane % 8 == 0 => {
                    let bytes = |bits: i128| u64::try_from(bits / 8).ok();
                    match (bytes(base), bytes(per_lane)) {
                        (Some(base), Some(per_lane)) => Number::Linear { base, per_lane },
                        _ => Number::Below { bits: u64::MAX },
                    }
                }
                Offset::Linear { .. } => return None,
                Offset::Unknown => Number::Below { bits: u64::MAX },
            };
            Some(Value {
                ty: Type::Generic,
                number,
                sources: place.sources,
                legacy: false,
            })
        }
        Storage::Memory(None) | Storage::CallerRegister(_) | Storage::Unknown => {
            Some(Value::any(Type::Unknown, u64::MAX, place.sources))
        }
        Storage::Memory(Some(_))
        | Storage::Register(_)
        | Storage::ReservedRegister
        | Storage::Undefined
        | Storage::Implicit(_)
        | Storage::ImplicitPointer
        | Storage::Composite { .. } => None,
    }
}

/// Converts an entry to a location, which may be incomplete. Returns `None` if it does not convert.
pub(in crate::verify) fn as_place(entry: Entry) -> Option<Place> {
    let value = match entry {
        Entry::Place(place) => return Some(place),
        Entry::Unknown => return Some(Place::UNKNOWN),
        Entry::Value(value) => value,
    };
    match value.ty {
        Type::Unknown => Some(Place::UNKNOWN),
        Type::Integral { .. } | Type::Other { .. } => None,
        Type::Generic => Some(Place {
            storage: Storage::Memory(Some(AddressSpace::None)),
            offset: match value.number {
                Number::Linear { base, per_lane } => Offset::Linear {
                    base: i128::from(base) * 8,
                    per_lane: i128::from(per_lane.cast_signed()) * 8,
                },
                Number::Below { .. } => Offset::Unknown,
            },
            sources: value.sources,
            moved: false,
        }),
    }
}
