//! Checks truth values whose location is a mask of lanes.
//!
//! Compilers keep the result of a comparison as one bit for each lane of the wave. A location may name the scalar register of that mask for an object
//! of one byte. A debugger then shows the bits of lanes 0 to 7 in every lane. The machine code distinguishes masks from values. Undecided cases are
//! not reported. Source: HET A.2.5.4.4.4.

use core::ops::Range;

use gimli::constants::*;

use super::UnitCheck;
use crate::debug_info::{Bytes, Die};
use crate::eval::ExpressionBytes;
use crate::inspect::mask_alone;
use crate::lane_flow::Uniformity;
use crate::verify::finding::Finding;
use crate::verify::rule::rules;

rules! {
    LANE_MASK "loc-lane-mask" Warning "HET A.2.5.4.4.4"
        "the location of a Boolean is a scalar register with one bit per lane"
        "The register holds the result of a comparison, one bit for each lane. The location makes its low byte the value, so a debugger shows \
         the bits of lanes 0 to 7 for every lane. The value is the bit of the lane in focus.";
}

impl<'a> UnitCheck<'_, '_, 'a> {
    /// Checks the location of a variable in a range of code.
    pub(super) fn lane_mask(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        expression: &ExpressionBytes<'a>,
        range: &Range<u64>,
    ) {
        let Some(wave_size) = self.subject.wave_size else {
            return;
        };
        let Some((register, dwords)) = mask_alone(expression, wave_size) else {
            return;
        };
        if !self.is_truth_value(die) {
            return;
        }
        let flow = self.subject.program.lane_flow(wave_size);
        let found = flow.uniformity(range.start, &dwords, self.meter);
        if let Ok(Some(Uniformity::PerLane)) = found
            && self.summary.count(&LANE_MASK)
        {
            let text = format!(
                "{} is {register}, which holds a bit for each lane at {:#x}",
                self.label(die, attribute),
                range.start
            );
            let finding = Finding::new(&LANE_MASK, expression.section, text);
            let help = "shift the register by DW_OP_LLVM_push_lane, take bit 0, and end with DW_OP_stack_value";
            let finding = finding.at(expression.offset).pc(range.start).help(help);
            self.summary.set(finding);
        }
    }

    /// Returns true if an entry describes an object of a boolean base type.
    fn is_truth_value(&self, die: &Die<'a>) -> bool {
        let encoding = |ty: Die<'a>| ty.attribute(DW_AT_encoding)?.udata_value();
        let encoding = self.base_type(die).and_then(encoding);
        encoding == Some(u64::from(DW_ATE_boolean.0))
    }
}
