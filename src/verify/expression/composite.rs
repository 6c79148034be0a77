//! Checks composites: pieces, vectors and overlays, by their sizes. Source: HET A.2.5.4.4.6.

use super::entry::{Entry, Number, Offset, Place, Sources, Storage, Value, space_bits};
use super::machine::{Machine, Step, Stop};
use super::rule;
use super::stack::is_incomplete;
use super::value::{as_place, width};
use crate::arch::AddressSpace;
use crate::expr::Operation;

impl Machine<'_> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`execute` sends only these operations here"
    )]
    pub(super) fn compose(&mut self, operation: &Operation<'_>) -> Step {
        match *operation {
            Operation::Piece { byte_size } => self.piece(u128::from(byte_size) * 8, None),
            Operation::BitPiece {
                bit_size,
                bit_offset,
            } => self.piece(bit_size.into(), Some(bit_offset)),
            Operation::PieceEnd => self.piece_end(),
            Operation::Extend { bit_size, count } => self.extend(bit_size, count),
            Operation::SelectBitPiece { bit_size, count } => self.select(bit_size, count),
            Operation::Overlay => self.overlay(8),
            Operation::BitOverlay => self.overlay(1),
            _ => Err(Stop),
        }
    }

    fn piece(&mut self, bits: u128, bit_offset: Option<u64>) -> Step {
        if bits == 0 {
            self.fault(&rule::EMPTY_PART, "it adds a part of zero bits");
        }
        match self.stack.last().copied() {
            None if self.is_open() => return Err(Stop),
            None => return self.begin(bits, Sources::NONE),
            // The entry may be an incomplete composite or a part.
            Some(Entry::Unknown) => return Err(Stop),
            Some(entry) if is_incomplete(&entry) => return self.append(bits, Sources::NONE),
            Some(_) => {}
        }
        let entry = self.pop_any()?;
        let Some(mut part) = as_place(entry) else {
            self.fault_with(
                &rule::PIECE_KIND,
                format!("the part is {entry}, which is not a location"),
                "DW_OP_stack_value before the piece makes a location of it",
            );
            return Err(Stop);
        };
        if let Some(by) = bit_offset
            && part.storage != Storage::Undefined
            && let Offset::Linear { base, per_lane } = part.offset
        {
            part.offset = Offset::Linear {
                base: base.saturating_add(by.into()),
                per_lane,
            };
            if bits > 0 || by > 0 {
                self.check_inside(&part)?;
            }
        }
        self.check_part(&part, bits)?;
        let sources = contents(&part);
        match self.stack.last() {
            Some(below) if is_incomplete(below) => self.append(bits, sources),
            Some(Entry::Unknown) => Err(Stop),
            None if self.is_open() => Err(Stop),
            Some(_) | None => self.begin(bits, sources),
        }
    }

    /// Checks that a part with this size is inside its storage.
    fn check_part(&mut self, part: &Place, bits: u128) -> Step {
        let what = Entry::Place(*part);
        if let Some(room) = part.room()
            && room < bits
        {
            self.fault(
                &rule::PART_SIZE,
                format!("the part has {bits} bits, but {what} has {room}"),
            );
            return Err(Stop);
        }
        if let Some(room) = part.lane_room()
            && room < bits
        {
            self.fault(
                &rule::LANE_OVERRUN,
                format!("the part has {bits} bits of {what}, but each lane has {room}"),
            );
        }
        // A missing lane is not reported here, because compilers park a pair of scalar registers in the first two lanes.
        Ok(())
    }

    /// Pushes an incomplete composite with one part.
    fn begin(&mut self, bits: u128, sources: Sources) -> Step {
        self.push_composite(Some(bits), false, sources)
    }

    /// Adds a part to the incomplete composite on top.
    fn append(&mut self, bits: u128, sources: Sources) -> Step {
        let Some(Entry::Place(Place {
            storage: Storage::Composite { bits: old, .. },
            sources: before,
            ..
        })) = self.stack.pop()
        else {
            return Err(Stop);
        };
        let sum = old.and_then(|old| old.checked_add(bits));
        self.push_composite(sum, false, before | sources)
    }

    fn push_composite(&mut self, bits: Option<u128>, complete: bool, sources: Sources) -> Step {
        if let Some(bits) = bits
            && bits > space_bits(AddressSpace::None)
        {
            self.fault(
                &rule::COMPOSITE_SIZE,
                format!("the composite has {bits} bits, more than global memory"),
            );
            return Err(Stop);
        }
        let storage = Storage::Composite { bits, complete };
        self.push(Entry::Place(Place::start_of(storage, sources)));
        Ok(())
    }

    fn piece_end(&mut self) -> Step {
        let is_open = self.is_open();
        match self.stack.last_mut() {
            Some(Entry::Place(Place {
                storage:
                    Storage::Composite {
                        complete: complete @ false,
                        ..
                    },
                ..
            })) => {
                *complete = true;
                Ok(())
            }
            Some(Entry::Unknown) => Err(Stop),
            None if is_open => Err(Stop),
            Some(other) => {
                let text = format!("it needs an incomplete composite, but finds {other}");
                self.fault(&rule::PIECE_END, text);
                Err(Stop)
            }
            None => {
                self.fault(
                    &rule::PIECE_END,
                    "it needs an incomplete composite, but the stack is empty",
                );
                Err(Stop)
            }
        }
    }

    /// Returns the size of a vector in bits.
    fn vector_bits(&mut self, bit_size: u64, count: u64) -> Step<u128> {
        if bit_size == 0 || count == 0 {
            self.fault(
                &rule::ZERO_SIZE,
                format!("it makes {count} elements of {bit_size} bits"),
            );
            return Err(Stop);
        }
        Ok(u128::from(bit_size) * u128::from(count))
    }

    fn extend(&mut self, bit_size: u64, count: u64) -> Step {
        let place = self.pop_place()?;
        let bits = self.vector_bits(bit_size, count)?;
        self.check_part(&place, bit_size.into())?;
        self.push_composite(Some(bits), true, contents(&place))
    }

    fn select(&mut self, bit_size: u64, count: u64) -> Step {
        self.need(3)?;
        let mask = self.pop_integral()?;
        let one = self.pop_place()?;
        let zero = self.pop_place()?;
        let bits = self.vector_bits(bit_size, count)?;
        self.check_mask(&mask, count)?;
        // The source of each element is known only at run time.
        if let (Some(one), Some(zero)) = (one.room(), zero.room())
            && one.max(zero) < bits
        {
            self.fault(
                &rule::PART_SIZE,
                format!("the elements have {bits} bits, but the locations have {one} and {zero}"),
            );
            return Err(Stop);
        }
        self.push_composite(Some(bits), true, contents(&one) | contents(&zero))
    }

    fn check_mask(&mut self, mask: &Value, count: u64) -> Step {
        let Some(bits) = mask.ty.bits(self.generic_bits()) else {
            return Ok(());
        };
        if bits < count {
            self.fault(
                &rule::MASK_SIZE,
                format!("the mask has {bits} bits for {count} elements"),
            );
            return Err(Stop);
        }
        let read = width(mask);
        if matches!(mask.number, Number::Below { .. }) && read < count {
            self.fault(
                &rule::MASK_SHORT,
                format!("only {read} bits of the mask can be set, but there are {count} elements"),
            );
        }
        Ok(())
    }

    /// Checks `DW_OP_LLVM_overlay` and `DW_OP_LLVM_bit_overlay`, whose operands count units of `unit` bits.
    fn overlay(&mut self, unit: u128) -> Step {
        self.need(4)?;
        let size = self.pop_integral()?;
        let offset = self.pop_integral()?;
        let over = self.pop_place()?;
        let base = self.pop_place()?;
        let room = base.room();
        if let (Some(size), Some(offset), Some(room)) = (size.known(), offset.known(), room) {
            let size = u128::from(size) * unit;
            let end = u128::from(offset) * unit + size;
            if end > room {
                let what = Entry::Place(base);
                self.fault(
                    &rule::OUT_OF_BOUNDS,
                    format!("the overlay ends at bit {end} of {what}, which has {room} bits"),
                );
                return Err(Stop);
            }
            if size > 0 {
                self.check_part(&over, size)?;
            }
        }
        self.push_composite(room, true, contents(&base) | contents(&over))
    }
}

/// Returns the sources of the bits in a place.
fn contents(place: &Place) -> Sources {
    match place.storage {
        Storage::Memory(_) => Sources::MEMORY,
        Storage::Register(_) | Storage::ReservedRegister | Storage::CallerRegister(_) => {
            Sources::REGISTERS
        }
        Storage::Implicit(_) | Storage::Composite { .. } => place.sources,
        Storage::Undefined => Sources::NONE,
        Storage::ImplicitPointer | Storage::Unknown => Sources::OTHER,
    }
}
