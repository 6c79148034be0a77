//! Translates the events of prologues and epilogues into call frame instructions.
//!
//! The instructions have the shapes that LLVM writes. For facts that LLVM omits, there are additional events (see `spec-notes/frames.md`, "Writing").
//! Sources: HET A.6.4.2; USAGE "Non-Kernel Functions".

use super::function::FunctionFrame;
use super::place::{Base, Mask, ReturnAddress};
use crate::arch::{AddressSpace, Lane, Register, RegisterClass, ScratchAddressing};
use crate::error::{Result, SpecRule};
use crate::frame::instruction::{Instruction, SMALL_REGISTERS};
use crate::frame::rule::CfaRule;

/// The Canonical Frame Address: the stack pointer on entry to the function, as an address in the scratch of the wave.
impl FunctionFrame {
    /// Sets the CFA to the current stack pointer.
    ///
    /// # Errors
    /// If `stack_pointer` is not a scalar register.
    pub fn cfa_from_stack_pointer(
        &mut self,
        stack_pointer: Register,
    ) -> Result<&mut FunctionFrame> {
        self.cfa_from_register(stack_pointer, 0)
    }

    /// Sets the CFA to the current frame pointer, which was copied from the stack pointer.
    ///
    /// # Errors
    /// If `frame_pointer` is not a scalar register.
    pub fn cfa_from_frame_pointer(
        &mut self,
        frame_pointer: Register,
    ) -> Result<&mut FunctionFrame> {
        self.cfa_from_register(frame_pointer, 0)
    }

    /// Sets the CFA to a scalar register plus an offset.
    ///
    /// If the stack pointer is realigned, use the register with the incoming stack pointer, not the aligned frame pointer.
    ///
    /// * `offset`: in the units of the register, as in the code: bytes of the wave if scratch is accessed by `buffer_*` instructions, bytes of one
    ///   lane for `scratch_*`.
    ///
    /// # Errors
    /// If `register` is not a scalar register, or `offset` is negative and not a multiple of the data
    /// alignment factor.
    pub fn cfa_from_register(
        &mut self,
        register: Register,
        offset: i64,
    ) -> Result<&mut FunctionFrame> {
        self.target.check_scalar(register)?;
        let base = Base::Register(register, offset);
        if self.target.scratch == ScratchAddressing::Flat {
            let expression = self.places().cfa(base)?;
            return self.define_cfa(
                Instruction::DefCfaExpression {
                    expression: &expression,
                },
                Some(base),
            );
        }
        let space = u64::from(AddressSpace::PrivateWave.number());
        let number = u64::from(register.number());
        let shortest = match self.states.now.cfa {
            CfaRule::Register {
                offset: old,
                space: here,
                ..
            } if here == space && old == offset => Instruction::DefCfaRegister { register: number },
            CfaRule::Register {
                register: old,
                space: here,
                ..
            } if here == space && old == number => match u64::try_from(offset) {
                Ok(offset) => Instruction::DefCfaOffset { offset },
                Err(_) => Instruction::DefCfaOffsetSf {
                    offset: self.common.factored(offset)?,
                },
            },
            CfaRule::Register { .. } | CfaRule::None | CfaRule::Expression(_) => {
                match u64::try_from(offset) {
                    Ok(offset) => Instruction::LlvmDefAspaceCfa {
                        register: number,
                        offset,
                        space,
                    },
                    Err(_) => Instruction::LlvmDefAspaceCfaSf {
                        register: number,
                        offset: self.common.factored(offset)?,
                        space,
                    },
                }
            }
        };
        self.define_cfa(shortest, Some(base))
    }

    /// Sets the CFA to the contents of a lane of a vector register, where the incoming stack pointer was saved.
    ///
    /// # Errors
    /// If `vector` is not a vector register, or a wave has no such lane.
    pub fn cfa_from_lane(&mut self, vector: Register, lane: Lane) -> Result<&mut FunctionFrame> {
        self.target.check_vector(vector)?;
        let base = Base::Lane(vector, lane);
        let expression = self.places().cfa(base)?;
        self.define_cfa(
            Instruction::DefCfaExpression {
                expression: &expression,
            },
            Some(base),
        )
    }

    /// Declares the function a kernel: its CFA is the start of the wave's scratch, and it has no caller.
    ///
    /// # Errors
    /// Cannot fail; returns the result of [`raw`](FunctionFrame::raw).
    pub fn kernel_entry(&mut self) -> Result<&mut FunctionFrame> {
        let expression = self.places().fixed_cfa(0)?;
        self.define_cfa(
            Instruction::DefCfaExpression {
                expression: &expression,
            },
            None,
        )?;
        self.return_address_in(ReturnAddress::Undefined)
    }

    /// Declares that the caller's stack pointer is the CFA. This stays in effect: if the rule depends on the base of the CFA, the events that define
    /// the CFA write it again.
    ///
    /// Without it, the default rule, *same value*, gives the caller the callee's stack pointer.
    ///
    /// # Errors
    /// If `stack_pointer` is not a scalar register; [`SpecRule::CfaRule`] if no event has set the base of the CFA.
    pub fn stack_pointer_from_cfa(
        &mut self,
        stack_pointer: Register,
    ) -> Result<&mut FunctionFrame> {
        self.target.check_scalar(stack_pointer)?;
        let base = self.states.now.base.ok_or(SpecRule::CfaRule)?;
        self.write_stack_pointer(stack_pointer, base)?;
        self.states.now.stack_pointer = Some(stack_pointer);
        Ok(self)
    }

    fn define_cfa(
        &mut self,
        instruction: Instruction<'_>,
        base: Option<Base>,
    ) -> Result<&mut FunctionFrame> {
        self.raw(instruction)?;
        self.states.now.base = base;
        if let (Some(stack_pointer), Some(base)) = (self.states.now.stack_pointer, base)
            && self.target.scratch == ScratchAddressing::Flat
        {
            self.write_stack_pointer(stack_pointer, base)?;
        }
        Ok(self)
    }

    /// If pointers count bytes of the wave, the CFA's address is the pointer. If they count bytes of a lane, no operation allowed here can divide an
    /// address, so the rule uses the base of the CFA.
    fn write_stack_pointer(
        &mut self,
        stack_pointer: Register,
        base: Base,
    ) -> Result<&mut FunctionFrame> {
        let register = stack_pointer.number().into();
        if self.target.scratch == ScratchAddressing::Buffer {
            return self.raw(Instruction::ValOffset {
                register,
                offset: 0,
            });
        }
        match base {
            Base::Register(from, 0) if from == stack_pointer => {
                self.raw(Instruction::SameValue { register })
            }
            Base::Register(from, 0) => self.raw(Instruction::Register {
                register,
                saved_in: from.number().into(),
            }),
            Base::Register(..) | Base::Lane(..) => {
                let expression = self.places().stack_pointer(base)?;
                self.raw(Instruction::Expression {
                    register,
                    expression: &expression,
                })
            }
        }
    }
}

/// Registers of the caller.
impl FunctionFrame {
    /// Declares that a register was copied to another, which holds the caller's value from here on.
    ///
    /// * `register`: such as the frame pointer before it is changed, or EXEC before a branch diverges.
    /// * `holder`: a register of the same size, or the lower of two scalar registers for a register of 64 bits.
    ///
    /// # Errors
    /// If the sizes differ.
    pub fn saved_in_register(
        &mut self,
        register: Register,
        holder: Register,
    ) -> Result<&mut FunctionFrame> {
        let pair =
            register.size_in_bits() == Some(64) && holder.class() == Some(RegisterClass::Sgpr);
        if pair {
            let expression = self.places().pair(holder)?;
            return self.expression(register, &expression);
        }
        self.raw(Instruction::Register {
            register: register.number().into(),
            saved_in: holder.number().into(),
        })
    }

    /// Declares that a register was written to a lane of a vector register (`v_writelane_b32`). A register of 64 bits is in this lane and the next.
    ///
    /// # Errors
    /// If `register` is larger, `vector` is not a vector register, or a wave has no such lane.
    pub fn saved_in_lane(
        &mut self,
        register: Register,
        vector: Register,
        lane: Lane,
    ) -> Result<&mut FunctionFrame> {
        let places = self.places();
        let expression = match register.size_in_bits() {
            Some(32) => places.lane(vector, lane)?,
            Some(64) => places.lanes(vector, lane, Lane(lane.0.saturating_add(1)))?,
            Some(_) | None => return Err(SpecRule::RuleSize.into()),
        };
        self.expression(register, &expression)
    }

    /// Declares that a vector register was copied to another, such as an accumulation register, for the lanes of a mask. It is unchanged in the other
    /// lanes.
    ///
    /// # Errors
    /// If one of them is not a vector register, or the mask is invalid.
    pub fn saved_in_vector(
        &mut self,
        register: Register,
        holder: Register,
        mask: Mask,
    ) -> Result<&mut FunctionFrame> {
        let expression = self.places().vector(register, holder, mask)?;
        self.expression(register, &expression)
    }

    /// Declares that a vector register was stored to scratch for the lanes of a mask. It is unchanged in the other lanes.
    ///
    /// * `lane_offset`: the offset from the CFA, in bytes of one lane, as in the store instruction; a multiple of 4.
    /// * `mask`: EXEC at the store.
    ///
    /// # Errors
    /// If `register` is not a vector register, or the offset or the mask is invalid.
    pub fn saved_to_scratch(
        &mut self,
        register: Register,
        lane_offset: u32,
        mask: Mask,
    ) -> Result<&mut FunctionFrame> {
        let expression = self.places().scratch(register, lane_offset, mask)?;
        self.expression(register, &expression)
    }

    /// Declares that a vector register was stored to scratch for all lanes, with every bit of EXEC set (`s_or_saveexec …, -1`).
    ///
    /// * `lane_offset`: the offset from the CFA, in bytes of one lane, as in the store instruction; a multiple of 4.
    ///
    /// # Errors
    /// If `register` is not a vector register, or the offset is not a multiple of 4.
    pub fn saved_to_scratch_whole(
        &mut self,
        register: Register,
        lane_offset: u32,
    ) -> Result<&mut FunctionFrame> {
        self.target.check_vector(register)?;
        let bytes = self.places().row_of_dwords(lane_offset)?;
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let factored = self.common.factored(bytes)?;
        let register = u64::from(register.number());
        // No vector register has a number that fits into the six bits of `DW_CFA_offset`.
        self.raw(match u64::try_from(factored) {
            Ok(offset) => Instruction::OffsetExtended { register, offset },
            Err(_) => Instruction::OffsetExtendedSf {
                register,
                offset: factored,
            },
        })
    }

    /// Declares that a vector register was stored to scratch for the inactive lanes (`s_xor_saveexec …, -1`). It is lost in the active ones, which
    /// the calling convention does not preserve.
    ///
    /// * `lane_offset`: the offset from the CFA, in bytes of one lane, as in the store instruction; a multiple of 4.
    /// * `active`: the active lanes, which were *not* stored: the mask saved by `s_xor_saveexec`.
    ///
    /// # Errors
    /// If `register` is not a vector register, or the offset or the mask is invalid.
    pub fn inactive_saved_to_scratch(
        &mut self,
        register: Register,
        lane_offset: u32,
        active: Mask,
    ) -> Result<&mut FunctionFrame> {
        let expression = self
            .places()
            .scratch_inactive(register, lane_offset, active)?;
        self.expression(register, &expression)
    }

    /// Declares the place of the return address. On entry and after the reload it is in a pair of scalar registers, in between possibly in lanes of a
    /// vector register.
    ///
    /// # Errors
    /// If the registers have the wrong kind, or a wave has no such lane.
    pub fn return_address_in(&mut self, place: ReturnAddress) -> Result<&mut FunctionFrame> {
        let column = Register::pc();
        let expression = match place {
            ReturnAddress::Pair(low) => self.places().pair(low)?,
            ReturnAddress::Lanes {
                register,
                low,
                high,
            } => self.places().lanes(register, low, high)?,
            ReturnAddress::Undefined => return self.clobbered(column),
        };
        self.expression(column, &expression)
    }

    /// Declares that a register was overwritten and its value is lost: a register that the calling convention does not preserve, such as the target
    /// of a copy or a temporary.
    ///
    /// # Errors
    /// If no wave of the target has the register.
    pub fn clobbered(&mut self, register: Register) -> Result<&mut FunctionFrame> {
        self.raw(Instruction::Undefined {
            register: register.number().into(),
        })
    }

    /// Declares that a register was reloaded. It gets its rule from the entry, at offset 0, back. If this follows the reload directly, no rule refers
    /// to a place that the epilogue overwrites next.
    ///
    /// # Errors
    /// If no wave of the target has the register.
    pub fn restored(&mut self, register: Register) -> Result<&mut FunctionFrame> {
        let number = u64::from(register.number());
        if let Some(rule) = self.entry_rule(number) {
            return self.escape(&rule);
        }
        if !self.common.rules(number) {
            // Some consumers complain about `DW_CFA_restore` of a register without a rule in the CIE.
            return self.raw(Instruction::SameValue { register: number });
        }
        self.raw(if number < SMALL_REGISTERS {
            Instruction::Restore { register: number }
        } else {
            Instruction::RestoreExtended { register: number }
        })
    }

    fn expression(&mut self, register: Register, expression: &[u8]) -> Result<&mut FunctionFrame> {
        self.raw(Instruction::Expression {
            register: register.number().into(),
            expression,
        })
    }
}
