//! Defines the spelling of instructions on the targets.

/// A processor, with the differences of its assembly.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub lanes: u8,
    /// True if the names of vector sums have `_nc`.
    pub no_carry: bool,
    /// True if instructions have the names of gfx11 and later.
    pub new_names: bool,
    /// True if scalar sums have the names of gfx12.
    pub scalar_co: bool,
    /// True if scratch is accessed through a descriptor.
    pub buffer: bool,
    /// True if the processor has accumulation registers.
    pub acc: bool,
    /// True if the processor has dual instructions.
    pub dual: bool,
}

const GFX9: Target = Target {
    name: "gfx90a",
    lanes: 64,
    no_carry: false,
    new_names: false,
    scalar_co: false,
    buffer: true,
    acc: true,
    dual: false,
};

pub const TARGETS: [Target; 5] = [
    GFX9,
    Target {
        name: "gfx942",
        buffer: false,
        ..GFX9
    },
    Target {
        name: "gfx1030",
        lanes: 32,
        no_carry: true,
        acc: false,
        ..GFX9
    },
    Target {
        name: "gfx1100",
        lanes: 32,
        no_carry: true,
        new_names: true,
        buffer: false,
        acc: false,
        dual: true,
        ..GFX9
    },
    Target {
        name: "gfx1200",
        lanes: 32,
        no_carry: true,
        new_names: true,
        scalar_co: true,
        buffer: false,
        acc: false,
        dual: true,
    },
];

impl Target {
    /// Returns the width of masks in instruction names.
    pub fn mask_bits(&self) -> u8 {
        self.lanes
    }

    /// Returns the name of the scalar registers that hold a mask.
    pub fn mask(&self, first: u8) -> String {
        match self.lanes {
            64 => format!("s[{first}:{}]", first + 1),
            _ => format!("s{first}"),
        }
    }

    pub fn exec(&self) -> &'static str {
        match self.lanes {
            64 => "exec",
            _ => "exec_lo",
        }
    }

    pub fn vcc(&self) -> &'static str {
        match self.lanes {
            64 => "vcc",
            _ => "vcc_lo",
        }
    }

    /// Returns the name part of the operation `a & !b`.
    pub fn and_not(&self) -> &'static str {
        match self.new_names {
            true => "and_not1",
            false => "andn2",
        }
    }

    /// Returns the DWARF number of the first vector register.
    pub fn dwarf_vgpr(&self) -> u64 {
        match self.lanes {
            64 => 2560,
            _ => 1536,
        }
    }

    /// Returns the instruction that stores or loads a row of the stack.
    pub fn stack(&self, is_store: bool, vector: u8, offset: u32) -> String {
        let (word, size) = match is_store {
            true => ("store", if self.new_names { "b32" } else { "dword" }),
            false => ("load", if self.new_names { "b32" } else { "dword" }),
        };
        match (self.buffer, is_store) {
            (true, _) => {
                format!("buffer_{word}_{size} v{vector}, off, s[0:3], s32 offset:{offset}")
            }
            (false, true) => format!("scratch_{word}_{size} off, v{vector}, s32 offset:{offset}"),
            (false, false) => format!("scratch_{word}_{size} v{vector}, off, s32 offset:{offset}"),
        }
    }
}
