//! The table of processors, and the table of families with the common facts of their processors.
//!
//! [`Processor`] has the accessors. Names, numbers, features and the processors that a generic one covers are from USAGE ("Processors",
//! "Header"). Register counts and wave sizes were checked with LLVM 22, see `llvm-22.txt`.
//!
//! Some processors are not in LLVM 22. gfx940 and gfx941 were in LLVM 15 to 19, with the properties of gfx942. gfx1154, gfx117x,
//! gfx1250-strict, gfx1310 and three generic ones are in LLVM 24 and ROCm's compiler. Their numbers are from the ELF flags there, and their
//! other facts from their families. gfx13 uses the gfx12 family and both wave sizes: in LLVM 24, code can name 256 vector registers, though
//! a lane has up to 1,024. `sramecc` of gfx125x is also from LLVM 24.

use super::TargetFeature::{Sramecc, Xnack};
use super::{Architecture, FlatScratch, Processor};
use crate::arch::WaveSize::{self, Wave32, Wave64};

/// The common facts of the processors of one family.
pub(super) struct Facts {
    pub(super) architecture: Architecture,
    pub(super) generation: Option<u8>,
    pub(super) wave_sizes: &'static [WaveSize],
    pub(super) sgprs: u16,
    pub(super) vgprs: u16,
    pub(super) accumulation: AccumulationFile,
    pub(super) flat_scratch: FlatScratch,
    pub(super) globally_accessible_scratch: bool,
}

/// The location of a lane's accumulation registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccumulationFile {
    /// There are none.
    None,
    /// In a separate file, as large as the file of the ordinary vector registers.
    Separate,
    /// In one file with the ordinary vector registers, after them.
    Unified,
}

macro_rules! families {
    ($($name:ident $what:literal: $architecture:ident, $generation:expr, $wave_sizes:tt, $sgprs:literal, $vgprs:literal,
       $accumulation:ident, $flat_scratch:ident, $global:literal;)*) => {
        /// Processors with the same registers, scratch, instructions, kernel descriptors and saved waves.
        ///
        /// The families are in the order of the table, from older to newer within each line of processors. The enum is exhaustive on
        /// purpose: modules handle families in a `match` without a wildcard, so that the compiler reports the places to update.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Family {
            $(#[doc = $what] $name,)*
        }

        impl Family {
            /// Every family, in order.
            pub const ALL: &'static [Family] = &[$(Family::$name,)*];

            /// Returns the location of the accumulation registers.
            pub(crate) const fn accumulation(self) -> AccumulationFile {
                self.facts().accumulation
            }

            pub(super) const fn facts(self) -> &'static Facts {
                match self {
                    $(Family::$name => &Facts {
                        architecture: Architecture::$architecture,
                        generation: $generation,
                        wave_sizes: &$wave_sizes,
                        sgprs: $sgprs,
                        vgprs: $vgprs,
                        accumulation: AccumulationFile::$accumulation,
                        flat_scratch: FlatScratch::$flat_scratch,
                        globally_accessible_scratch: $global,
                    },)*
                }
            }
        }
    };
}

// USAGE does not specify the flat scratch of gfx803 (fiji) and gfx904. They are assumed to equal the rest of their generation, which for
// gfx904 also agrees with the row of gfx9-generic.
#[rustfmt::skip]
families! {
    // family description: architecture, generation, wave sizes,   sgprs, vgprs, accumulation, flat scratch, scratch in global memory
    R600    "`r600` to `turks`.":            R600,   None,     [],               0,     0, None,     Unsupported, false;
    Gfx6    "gfx600 to gfx602.":             Amdgcn, Some(6),  [Wave64],         104,  256, None,     Unsupported, false;
    Gfx7    "gfx700 to gfx705.":             Amdgcn, Some(7),  [Wave64],         104,  256, None,     Offset,      false;
    Gfx8    "gfx801 to gfx810.":             Amdgcn, Some(8),  [Wave64],         102,  256, None,     Offset,      false;
    Gfx9    "gfx900 to gfx90c without gfx908 and gfx90a: Vega.": Amdgcn, Some(9), [Wave64], 102, 256, None,     Absolute,    false;
    Gfx908  "gfx908: MI100.":                Amdgcn, Some(9),  [Wave64],         102,  256, Separate, Absolute,    false;
    Gfx90a  "gfx90a: MI200.":                Amdgcn, Some(9),  [Wave64],         102,  256, Unified,  Absolute,    false;
    Gfx942  "gfx940 to gfx942: MI300.":      Amdgcn, Some(9),  [Wave64],         102,  256, Unified,  Architected, false;
    Gfx950  "gfx950: MI350.":                Amdgcn, Some(9),  [Wave64],         102,  256, Unified,  Architected, false;
    Gfx10_1 "gfx1010 to gfx1013: RDNA 1.":   Amdgcn, Some(10), [Wave32, Wave64], 106,  256, None,     Absolute,    false;
    Gfx10_3 "gfx1030 to gfx1036: RDNA 2.":   Amdgcn, Some(10), [Wave32, Wave64], 106,  256, None,     Absolute,    false;
    Gfx11   "gfx1100 to gfx1154: RDNA 3 and 3.5.": Amdgcn, Some(11), [Wave32, Wave64], 106, 256, None,     Architected, false;
    Gfx11_7 "gfx1170 to gfx1172.":           Amdgcn, Some(11), [Wave32, Wave64], 106,  256, None,     Architected, false;
    Gfx12   "gfx1200 and gfx1201: RDNA 4.":  Amdgcn, Some(12), [Wave32, Wave64], 106,  256, None,     Architected, false;
    Gfx12_5 "gfx1250 and gfx1251.":          Amdgcn, Some(12), [Wave32],         106, 1024, None,     Architected, true;
    Gfx13   "gfx1310.":                      Amdgcn, Some(13), [Wave32, Wave64], 106,  256, None,     Architected, false;
}

/// The union of the facts of all processors.
const UNKNOWN_FACTS: &Facts = &Facts {
    architecture: Architecture::Amdgcn,
    generation: None,
    wave_sizes: &[Wave64, Wave32],
    sgprs: 106,
    vgprs: 1024,
    accumulation: AccumulationFile::Unified,
    flat_scratch: FlatScratch::Unknown,
    globally_accessible_scratch: false,
};

macro_rules! processors {
    ($($name:literal $mach:literal $family:ident $features:tt $other_names:tt $covers:tt;)*) => {
        pub(super) const PROCESSORS: &[Processor] = &[$(Processor {
            name: $name,
            mach: $mach,
            family: Some(Family::$family),
            facts: Family::$family.facts(),
            features: &$features,
            other_names: &$other_names,
            covers: &$covers,
        },)*];
    };
}

#[rustfmt::skip]
processors! {
    // name           mach family   features         other names   covered processors
    "r600"            0x01 R600     []               [] [];
    "r630"            0x02 R600     []               [] [];
    "rs880"           0x03 R600     []               [] [];
    "rv670"           0x04 R600     []               [] [];
    "rv710"           0x05 R600     []               [] [];
    "rv730"           0x06 R600     []               [] [];
    "rv770"           0x07 R600     []               [] [];
    "cedar"           0x08 R600     []               [] [];
    "cypress"         0x09 R600     []               [] [];
    "juniper"         0x0a R600     []               [] [];
    "redwood"         0x0b R600     []               [] [];
    "sumo"            0x0c R600     []               [] [];
    "barts"           0x0d R600     []               [] [];
    "caicos"          0x0e R600     []               [] [];
    "cayman"          0x0f R600     []               [] [];
    "turks"           0x10 R600     []               [] [];
    "gfx600"          0x20 Gfx6     []               ["tahiti"] [];
    "gfx601"          0x21 Gfx6     []               ["pitcairn", "verde"] [];
    "gfx700"          0x22 Gfx7     []               ["kaveri"] [];
    "gfx701"          0x23 Gfx7     []               ["hawaii"] [];
    "gfx702"          0x24 Gfx7     []               [] [];
    "gfx703"          0x25 Gfx7     []               ["kabini", "mullins"] [];
    "gfx704"          0x26 Gfx7     []               ["bonaire"] [];
    "gfx801"          0x28 Gfx8     [Xnack]          ["carrizo"] [];
    "gfx802"          0x29 Gfx8     []               ["iceland", "tonga"] [];
    "gfx803"          0x2a Gfx8     []               ["fiji", "polaris10", "polaris11"] [];
    "gfx810"          0x2b Gfx8     [Xnack]          ["stoney"] [];
    "gfx900"          0x2c Gfx9     [Xnack]          [] [];
    "gfx902"          0x2d Gfx9     [Xnack]          [] [];
    "gfx904"          0x2e Gfx9     [Xnack]          [] [];
    "gfx906"          0x2f Gfx9     [Sramecc, Xnack] [] [];
    "gfx908"          0x30 Gfx908   [Sramecc, Xnack] [] [];
    "gfx909"          0x31 Gfx9     [Xnack]          [] [];
    "gfx90c"          0x32 Gfx9     [Xnack]          [] [];
    "gfx1010"         0x33 Gfx10_1  [Xnack]          [] [];
    "gfx1011"         0x34 Gfx10_1  [Xnack]          [] [];
    "gfx1012"         0x35 Gfx10_1  [Xnack]          [] [];
    "gfx1030"         0x36 Gfx10_3  []               [] [];
    "gfx1031"         0x37 Gfx10_3  []               [] [];
    "gfx1032"         0x38 Gfx10_3  []               [] [];
    "gfx1033"         0x39 Gfx10_3  []               [] [];
    "gfx602"          0x3a Gfx6     []               ["hainan", "oland"] [];
    "gfx705"          0x3b Gfx7     []               [] [];
    "gfx805"          0x3c Gfx8     []               ["tongapro"] [];
    "gfx1035"         0x3d Gfx10_3  []               [] [];
    "gfx1034"         0x3e Gfx10_3  []               [] [];
    "gfx90a"          0x3f Gfx90a   [Sramecc, Xnack] [] [];
    "gfx940"          0x40 Gfx942   [Sramecc, Xnack] [] [];
    "gfx1100"         0x41 Gfx11    []               [] [];
    "gfx1013"         0x42 Gfx10_1  [Xnack]          [] [];
    "gfx1150"         0x43 Gfx11    []               [] [];
    "gfx1103"         0x44 Gfx11    []               [] [];
    "gfx1036"         0x45 Gfx10_3  []               [] [];
    "gfx1101"         0x46 Gfx11    []               [] [];
    "gfx1102"         0x47 Gfx11    []               [] [];
    "gfx1200"         0x48 Gfx12    []               [] [];
    "gfx1250"         0x49 Gfx12_5  [Sramecc]        [] [];
    "gfx1151"         0x4a Gfx11    []               [] [];
    "gfx941"          0x4b Gfx942   [Sramecc, Xnack] [] [];
    "gfx942"          0x4c Gfx942   [Sramecc, Xnack] [] [];
    "gfx1201"         0x4e Gfx12    []               [] [];
    "gfx950"          0x4f Gfx950   [Sramecc, Xnack] [] [];
    "gfx1310"         0x50 Gfx13    []               [] [];
    "gfx9-generic"    0x51 Gfx9     [Xnack]          [] ["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"];
    "gfx10-1-generic" 0x52 Gfx10_1  [Xnack]          [] ["gfx1010", "gfx1011", "gfx1012", "gfx1013"];
    "gfx10-3-generic" 0x53 Gfx10_3  []               []
        ["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"];
    "gfx11-generic"   0x54 Gfx11    []               []
        ["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1154"];
    "gfx1152"         0x55 Gfx11    []               [] [];
    "gfx1154"         0x57 Gfx11    []               [] [];
    "gfx1153"         0x58 Gfx11    []               [] [];
    "gfx12-generic"   0x59 Gfx12    []               [] ["gfx1200", "gfx1201"];
    "gfx1251"         0x5a Gfx12_5  [Sramecc]        [] [];
    "gfx12-5-generic" 0x5b Gfx12_5  [Sramecc]        [] ["gfx1250", "gfx1251"];
    "gfx1172"         0x5c Gfx11_7  []               [] [];
    "gfx1170"         0x5d Gfx11_7  []               [] [];
    "gfx1171"         0x5e Gfx11_7  []               [] [];
    "gfx9-4-generic"  0x5f Gfx942   [Sramecc, Xnack] [] ["gfx942", "gfx950"];
    "gfx11-7-generic" 0x62 Gfx11_7  []               [] ["gfx1170", "gfx1171", "gfx1172"];
    "gfx13-generic"   0x63 Gfx13    []               [] ["gfx1310"];
    "gfx1250-strict"  0xeb Gfx12_5  [Sramecc]        [] [];
}

/// See [`Processor::UNKNOWN`].
pub(super) static UNKNOWN: Processor = Processor {
    name: "unknown",
    mach: 0,
    family: None,
    facts: UNKNOWN_FACTS,
    features: &[],
    other_names: &[],
    covers: &[],
};
