//! The debugging information about a function's lanes.

use core::ops::Range;
use std::collections::HashMap;

use super::mask::MaskPlace;
use super::region::{Function, Label, Region, WholeWave};
use crate::arch::{Register, WaveSize};
use crate::error::{Error, Result};
use crate::expr::{Builder, Encoding, Operation};
use crate::limits::too_many;

/// A part of an expression: bytes, or an element whose encoding depends on its context.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Operations, encoded.
    Bytes(Vec<u8>),
    /// A call of the procedure with this number.
    Call(usize),
    /// A call of the variable with this number.
    Mask(usize),
    /// An address, as a location in the default space.
    Address(Label),
    /// The value of a register as the integer type of masks (`DW_OP_regval_type`).
    RegisterMask(Register),
    /// The value at the location on the stack, as the mask type (`DW_OP_deref_size`, `DW_OP_convert`). `DW_OP_deref_type` would do both,
    /// but LLVM 22 does not decode it.
    ReadMask,
}

/// A DWARF procedure.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// The name.
    pub name: String,
    /// The expression.
    pub expression: Vec<Operand>,
}

/// An artificial variable that holds a mask of lanes.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The locations of the mask.
    pub locations: Vec<(Range<Label>, Vec<u8>)>,
}

/// The debugging information about a function's lanes.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Program {
    /// The number of lanes: `DW_AT_LLVM_lanes`.
    pub wave_size: WaveSize,
    /// The procedures; each calls only those before it.
    pub procedures: Vec<Procedure>,
    /// The artificial variables.
    pub variables: Vec<Variable>,
    /// `DW_AT_LLVM_lane_pc`: adjacent ranges, each with a different expression.
    pub lane_pc: Vec<(Range<Label>, Vec<Operand>)>,
    /// `DW_AT_LLVM_active_lane`. `None` if EXEC always contains the active lanes.
    pub active_lane: Option<Vec<(Range<Label>, Vec<u8>)>>,
    /// The number of regions of the function.
    pub regions: usize,
}

/// The number of the procedure for lanes that were not active on entry.
const DIVERGENT: usize = 0;
/// The number of the procedure that overlays the active lanes.
const ACTIVE: usize = 1;

impl Program {
    /// Computes the debugging information of a function.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](crate::error::ErrorKind::Malformed) if a region or phase extends past the code around it, or starts before
    /// its neighbour ends (as far as labels are offsets). [`crate::error::SpecRule::RegisterNumber`] for a register that does not exist.
    /// [`ErrorKind::TooMany`](crate::error::ErrorKind::TooMany) for regions nested deeper than 1024.
    pub fn new(function: &Function) -> Result<Program> {
        let mut maker = Maker {
            wave_size: function.wave_size,
            program: Program {
                wave_size: function.wave_size,
                procedures: Vec::new(),
                variables: Vec::new(),
                lane_pc: Vec::new(),
                active_lane: None,
                regions: 0,
            },
            known: HashMap::new(),
            masks: HashMap::new(),
        };
        maker.fixed_procedures(&function.whole_wave, &function.code)?;
        maker.body(function)?;
        Ok(maker.program)
    }

    /// Returns the average number of expression bytes per region, as a measure of compactness. A call or an address counts with the size of
    /// its operand in 32-bit DWARF.
    #[must_use]
    pub fn bytes_per_region(&self) -> usize {
        let size = |operands: &[Operand]| -> usize {
            operands
                .iter()
                .map(|operand| match operand {
                    Operand::Bytes(bytes) => bytes.len(),
                    Operand::Call(_) | Operand::Mask(_) => 5,
                    Operand::Address(_) => 9,
                    Operand::RegisterMask(_) => 3,
                    Operand::ReadMask => 4,
                })
                .sum()
        };
        let procedures: usize = self
            .procedures
            .iter()
            .map(|procedure| size(&procedure.expression))
            .sum();
        let lists: usize = self
            .lane_pc
            .iter()
            .map(|(_, expression)| size(expression))
            .sum();
        let masks: usize = self
            .variables
            .iter()
            .flat_map(|v| &v.locations)
            .map(|(_, bytes)| bytes.len())
            .sum();
        (procedures + lists + masks)
            .checked_div(self.regions)
            .unwrap_or(0)
    }
}

struct Maker {
    wave_size: WaveSize,
    program: Program,
    /// The procedures by the procedure that each extends, the place of waiting lanes, and the mask.
    known: HashMap<(usize, Option<Label>, usize), usize>,
    /// The variables by the places of the mask.
    masks: HashMap<Vec<(Range<Label>, MaskPlace)>, usize>,
}

/// The remaining steps of the layout, the next one last.
enum Step<'f> {
    /// The code up to `until` belongs to a procedure.
    Fill { until: &'f Label, procedure: usize },
    /// A region in code that belongs to a procedure.
    Region {
        region: &'f Region,
        path: String,
        procedure: usize,
        depth: u16,
    },
    /// A phase, with its procedure.
    Phase {
        phase: &'f super::region::Phase,
        path: String,
        procedure: usize,
        depth: u16,
    },
}

impl Maker {
    /// Adds the procedures for all lanes, and the active lanes where EXEC does not contain them.
    fn fixed_procedures(&mut self, whole_wave: &[WholeWave], code: &Range<Label>) -> Result<()> {
        let lanes = u64::from(self.wave_size.lanes());
        let mut undefined = Builder::new(Encoding::AMDGPU);
        undefined
            .push(Operation::Undefined)?
            .push(Operation::Extend {
                bit_size: 64,
                count: lanes,
            })?;
        self.add(
            "__divergent_lane_pc".to_owned(),
            vec![Operand::Bytes(undefined.finish()?)],
        );
        let exec = Register::exec(self.wave_size);
        let mask = if whole_wave.is_empty() {
            vec![Operand::RegisterMask(exec)]
        } else {
            let mut locations = Vec::new();
            let mut from = code.start.clone();
            for section in whole_wave {
                check_order(&from, &section.code.start)?;
                if from != section.code.start {
                    locations.push((from..section.code.start.clone(), MaskPlace::Exec));
                }
                locations.push((section.code.clone(), section.active.clone()));
                from = section.code.end.clone();
            }
            check_order(&from, &code.end)?;
            if from != code.end {
                locations.push((from..code.end.clone(), MaskPlace::Exec));
            }
            let variable = self.mask(locations, || "__active_lane".to_owned())?;
            self.program.active_lane = self
                .program
                .variables
                .get(variable)
                .map(|variable| variable.locations.clone());
            vec![Operand::Mask(variable), Operand::ReadMask]
        };
        let mut pc = Builder::new(Encoding::AMDGPU);
        pc.register(Register::PC_64)?.push(Operation::Extend {
            bit_size: 64,
            count: lanes,
        })?;
        let mut expression = vec![Operand::Bytes(pc.finish()?)];
        expression.extend(mask);
        expression.push(Operand::Bytes(self.select()?));
        self.add("__active_lane_pc".to_owned(), expression);
        Ok(())
    }

    /// Encodes `DW_OP_LLVM_select_bit_piece` over all lanes.
    fn select(&self) -> Result<Vec<u8>> {
        let count = self.wave_size.lanes().into();
        let mut select = Builder::with_initial_stack(Encoding::AMDGPU, 3);
        select.push(Operation::SelectBitPiece {
            bit_size: 64,
            count,
        })?;
        select.finish()
    }

    fn add(&mut self, name: String, expression: Vec<Operand>) -> usize {
        self.program.procedures.push(Procedure { name, expression });
        self.program.procedures.len() - 1
    }

    /// Returns the variable for a mask. Masks in the same places share one.
    fn mask(
        &mut self,
        locations: Vec<(Range<Label>, MaskPlace)>,
        name: impl FnOnce() -> String,
    ) -> Result<usize> {
        if let Some(known) = self.masks.get(&locations) {
            return Ok(*known);
        }
        let mut encoded = Vec::with_capacity(locations.len());
        for (range, place) in &locations {
            let mut builder = Builder::new(Encoding::AMDGPU);
            place.push_location(self.wave_size, &mut builder)?;
            encoded.push((range.clone(), builder.finish()?));
        }
        let number = self.program.variables.len();
        self.program.variables.push(Variable {
            name: name(),
            locations: encoded,
        });
        self.masks.insert(locations, number);
        Ok(number)
    }

    /// Returns the procedure for lanes that wait in a phase of a region.
    fn waiting(
        &mut self,
        around: usize,
        wait: Option<&Label>,
        mask: usize,
        name: impl FnOnce() -> String,
    ) -> Result<usize> {
        let key = (around, wait.cloned(), mask);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let count = self.wave_size.lanes().into();
        let mut extend = Builder::with_initial_stack(Encoding::AMDGPU, 1);
        let mut expression = vec![Operand::Call(around)];
        match wait {
            Some(wait) => {
                expression.push(Operand::Address(wait.clone()));
                extend.push(Operation::StackValue)?;
            }
            None => {
                extend.push(Operation::Undefined)?;
            }
        }
        extend.push(Operation::Extend {
            bit_size: 64,
            count,
        })?;
        expression.extend([
            Operand::Bytes(extend.finish()?),
            Operand::Mask(mask),
            Operand::ReadMask,
            Operand::Bytes(self.select()?),
        ]);
        let number = self.add(name(), expression);
        self.known.insert(key, number);
        Ok(number)
    }

    fn body(&mut self, function: &Function) -> Result<()> {
        /// The depth limit: deeper than compilers nest, and than a consumer's limit on calls.
        const DEPTH: u16 = 1024;
        let mut here = function.code.start.clone();
        let mut steps = vec![Step::Fill {
            until: &function.code.end,
            procedure: DIVERGENT,
        }];
        push_regions(&function.regions, "", DIVERGENT, 0, &mut steps);
        while let Some(step) = steps.pop() {
            match step {
                Step::Fill { until, procedure } => self.fill(&mut here, until, procedure)?,
                Step::Region {
                    region,
                    path,
                    procedure,
                    depth,
                } => {
                    if depth >= DEPTH {
                        return Err(too_many("nested regions", DEPTH.into()));
                    }
                    self.program.regions += 1;
                    let mask =
                        self.mask(region.mask.clone(), || format!("__lex_{path}_save_exec"))?;
                    let mut phases = Vec::with_capacity(region.phases.len());
                    for phase in &region.phases {
                        let name = || format!("__divergent_lane_pc_{path}_{}", phase.name);
                        let inner = self.waiting(procedure, phase.wait.as_ref(), mask, name)?;
                        phases.push((phase, inner));
                    }
                    // The code between phases belongs to the code around the region.
                    for (phase, inner) in phases.into_iter().rev() {
                        steps.push(Step::Phase {
                            phase,
                            path: path.clone(),
                            procedure: inner,
                            depth,
                        });
                        steps.push(Step::Fill {
                            until: &phase.code.start,
                            procedure,
                        });
                    }
                }
                Step::Phase {
                    phase,
                    path,
                    procedure,
                    depth,
                } => {
                    steps.push(Step::Fill {
                        until: &phase.code.end,
                        procedure,
                    });
                    let prefix = format!("{path}_");
                    push_regions(&phase.regions, &prefix, procedure, depth + 1, &mut steps);
                }
            }
        }
        Ok(())
    }

    /// Assigns the code from `here` to `until` to a procedure.
    fn fill(&mut self, here: &mut Label, until: &Label, procedure: usize) -> Result<()> {
        check_order(here, until)?;
        if here == until {
            return Ok(());
        }
        let expression = vec![Operand::Call(procedure), Operand::Call(ACTIVE)];
        match self.program.lane_pc.last_mut() {
            Some((range, last)) if *last == expression && range.end == *here => {
                range.end = until.clone()
            }
            Some(_) | None => self
                .program
                .lane_pc
                .push((here.clone()..until.clone(), expression)),
        }
        *here = until.clone();
        Ok(())
    }
}

/// Adds the steps for consecutive regions.
fn push_regions<'f>(
    regions: &'f [Region],
    prefix: &str,
    procedure: usize,
    depth: u16,
    steps: &mut Vec<Step<'f>>,
) {
    for (number, region) in regions.iter().enumerate().rev() {
        let path = format!("{prefix}{}", number + 1);
        steps.push(Step::Region {
            region,
            path,
            procedure,
            depth,
        });
    }
}

/// Checks that labels do not go backwards, as far as they can be compared.
fn check_order(from: &Label, to: &Label) -> Result<()> {
    match (from, to) {
        (Label::Offset(from), Label::Offset(to)) if from > to => {
            let reason = format!("code at {to:#x} comes after {from:#x}, which is already taken");
            Err(Error::malformed("region", reason))
        }
        (_, _) => Ok(()),
    }
}
