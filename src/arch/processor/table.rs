//! The table of processors, and the table of families with what the processors of one have in common.
//!
//! Questions about a processor are answered by [`Processor`]. Names, numbers, features and what a generic
//! processor covers are USAGE's ("Processors", "Header"); register counts and wave sizes were checked
//! with LLVM 22, see `llvm-22.txt`.
//!
//! Processors that LLVM 22 does not have: gfx940 and gfx941 were in LLVM 15 to 19, with the properties of gfx942;
//! gfx1154, gfx117x, gfx1250-strict, gfx1310 and three generic ones are in LLVM 24 and ROCm's compiler, whose ELF flags
//! give the numbers. All else of them is taken from their families; of gfx13, of which nothing more is published, it
//! is that of the gfx12 family, with as many registers as any processor has and both wave sizes.

use super::TargetFeature::{Sramecc, Xnack};
use super::{Architecture, FlatScratch, Processor};
use crate::arch::WaveSize::{self, Wave32, Wave64};

/// What processors of one family have in common.
pub(super) struct Family {
    pub(super) architecture: Architecture,
    pub(super) generation: Option<u8>,
    pub(super) wave_sizes: &'static [WaveSize],
    pub(super) sgprs: u16,
    pub(super) vgprs: u16,
    pub(super) agprs: u16,
    pub(super) flat_scratch: FlatScratch,
    pub(super) globally_accessible_scratch: bool,
}

macro_rules! families {
    ($($name:ident: $architecture:ident, $generation:expr, $wave_sizes:tt, $sgprs:literal, $vgprs:literal, $agprs:literal,
       $flat_scratch:ident, $global:literal;)*) => {
        $(const $name: &Family = &Family {
            architecture: Architecture::$architecture,
            generation: $generation,
            wave_sizes: &$wave_sizes,
            sgprs: $sgprs,
            vgprs: $vgprs,
            agprs: $agprs,
            flat_scratch: FlatScratch::$flat_scratch,
            globally_accessible_scratch: $global,
        };)*
    };
}

// USAGE leaves the flat scratch of gfx803 (fiji) and gfx904 open; they are taken to be as the rest of
// their generation, which for gfx904 is also what the row of gfx9-generic says.
#[rustfmt::skip]
families! {
    // family    architecture, generation, wave sizes,   sgprs, vgprs, agprs, flat scratch, scratch in global memory
    R600:      R600,   None,     [],               0,     0,     0, Unsupported, false;
    GFX6:      Amdgcn, Some(6),  [Wave64],         104,   256,   0, Unsupported, false;
    GFX7:      Amdgcn, Some(7),  [Wave64],         104,   256,   0, Offset,      false;
    GFX8:      Amdgcn, Some(8),  [Wave64],         102,   256,   0, Offset,      false;
    GFX9:      Amdgcn, Some(9),  [Wave64],         102,   256,   0, Absolute,    false;
    GFX9_AGPR: Amdgcn, Some(9),  [Wave64],         102,   256, 256, Absolute,    false;
    GFX94X:    Amdgcn, Some(9),  [Wave64],         102,   256, 256, Architected, false;
    GFX10:     Amdgcn, Some(10), [Wave32, Wave64], 106,   256,   0, Absolute,    false;
    GFX11:     Amdgcn, Some(11), [Wave32, Wave64], 106,   256,   0, Architected, false;
    GFX12:     Amdgcn, Some(12), [Wave32, Wave64], 106,   256,   0, Architected, false;
    GFX125X:   Amdgcn, Some(12), [Wave32],         106,  1024,   0, Architected, true;
    GFX13:     Amdgcn, Some(13), [Wave32, Wave64], 106,  1024,   0, Architected, false;
    // All that any processor has.
    UNKNOWN_FAMILY: Amdgcn, None, [Wave64, Wave32], 106, 1024, 256, Unknown,     false;
}

macro_rules! processors {
    ($($name:literal $mach:literal $family:ident $features:tt $other_names:tt $covers:tt;)*) => {
        pub(super) const PROCESSORS: &[Processor] = &[$(Processor {
            name: $name,
            mach: $mach,
            family: $family,
            features: &$features,
            other_names: &$other_names,
            covers: &$covers,
        },)*];
    };
}

#[rustfmt::skip]
processors! {
    // name           mach family    features         other names   what a generic processor covers
    "r600"            0x01 R600      []               [] [];
    "r630"            0x02 R600      []               [] [];
    "rs880"           0x03 R600      []               [] [];
    "rv670"           0x04 R600      []               [] [];
    "rv710"           0x05 R600      []               [] [];
    "rv730"           0x06 R600      []               [] [];
    "rv770"           0x07 R600      []               [] [];
    "cedar"           0x08 R600      []               [] [];
    "cypress"         0x09 R600      []               [] [];
    "juniper"         0x0a R600      []               [] [];
    "redwood"         0x0b R600      []               [] [];
    "sumo"            0x0c R600      []               [] [];
    "barts"           0x0d R600      []               [] [];
    "caicos"          0x0e R600      []               [] [];
    "cayman"          0x0f R600      []               [] [];
    "turks"           0x10 R600      []               [] [];
    "gfx600"          0x20 GFX6      []               ["tahiti"] [];
    "gfx601"          0x21 GFX6      []               ["pitcairn", "verde"] [];
    "gfx700"          0x22 GFX7      []               ["kaveri"] [];
    "gfx701"          0x23 GFX7      []               ["hawaii"] [];
    "gfx702"          0x24 GFX7      []               [] [];
    "gfx703"          0x25 GFX7      []               ["kabini", "mullins"] [];
    "gfx704"          0x26 GFX7      []               ["bonaire"] [];
    "gfx801"          0x28 GFX8      [Xnack]          ["carrizo"] [];
    "gfx802"          0x29 GFX8      []               ["iceland", "tonga"] [];
    "gfx803"          0x2a GFX8      []               ["fiji", "polaris10", "polaris11"] [];
    "gfx810"          0x2b GFX8      [Xnack]          ["stoney"] [];
    "gfx900"          0x2c GFX9      [Xnack]          [] [];
    "gfx902"          0x2d GFX9      [Xnack]          [] [];
    "gfx904"          0x2e GFX9      [Xnack]          [] [];
    "gfx906"          0x2f GFX9      [Sramecc, Xnack] [] [];
    "gfx908"          0x30 GFX9_AGPR [Sramecc, Xnack] [] [];
    "gfx909"          0x31 GFX9      [Xnack]          [] [];
    "gfx90c"          0x32 GFX9      [Xnack]          [] [];
    "gfx1010"         0x33 GFX10     [Xnack]          [] [];
    "gfx1011"         0x34 GFX10     [Xnack]          [] [];
    "gfx1012"         0x35 GFX10     [Xnack]          [] [];
    "gfx1030"         0x36 GFX10     []               [] [];
    "gfx1031"         0x37 GFX10     []               [] [];
    "gfx1032"         0x38 GFX10     []               [] [];
    "gfx1033"         0x39 GFX10     []               [] [];
    "gfx602"          0x3a GFX6      []               ["hainan", "oland"] [];
    "gfx705"          0x3b GFX7      []               [] [];
    "gfx805"          0x3c GFX8      []               ["tongapro"] [];
    "gfx1035"         0x3d GFX10     []               [] [];
    "gfx1034"         0x3e GFX10     []               [] [];
    "gfx90a"          0x3f GFX9_AGPR [Sramecc, Xnack] [] [];
    "gfx940"          0x40 GFX94X    [Sramecc, Xnack] [] [];
    "gfx1100"         0x41 GFX11     []               [] [];
    "gfx1013"         0x42 GFX10     [Xnack]          [] [];
    "gfx1150"         0x43 GFX11     []               [] [];
    "gfx1103"         0x44 GFX11     []               [] [];
    "gfx1036"         0x45 GFX10     []               [] [];
    "gfx1101"         0x46 GFX11     []               [] [];
    "gfx1102"         0x47 GFX11     []               [] [];
    "gfx1200"         0x48 GFX12     []               [] [];
    "gfx1250"         0x49 GFX125X   []               [] [];
    "gfx1151"         0x4a GFX11     []               [] [];
    "gfx941"          0x4b GFX94X    [Sramecc, Xnack] [] [];
    "gfx942"          0x4c GFX94X    [Sramecc, Xnack] [] [];
    "gfx1201"         0x4e GFX12     []               [] [];
    "gfx950"          0x4f GFX94X    [Sramecc, Xnack] [] [];
    "gfx1310"         0x50 GFX13     []               [] [];
    "gfx9-generic"    0x51 GFX9      [Xnack]          [] ["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"];
    "gfx10-1-generic" 0x52 GFX10     [Xnack]          [] ["gfx1010", "gfx1011", "gfx1012", "gfx1013"];
    "gfx10-3-generic" 0x53 GFX10     []               []
        ["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"];
    "gfx11-generic"   0x54 GFX11     []               []
        ["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1154"];
    "gfx1152"         0x55 GFX11     []               [] [];
    "gfx1154"         0x57 GFX11     []               [] [];
    "gfx1153"         0x58 GFX11     []               [] [];
    "gfx12-generic"   0x59 GFX12     []               [] ["gfx1200", "gfx1201"];
    "gfx1251"         0x5a GFX125X   []               [] [];
    "gfx12-5-generic" 0x5b GFX125X   []               [] ["gfx1250", "gfx1251"];
    "gfx1172"         0x5c GFX11     []               [] [];
    "gfx1170"         0x5d GFX11     []               [] [];
    "gfx1171"         0x5e GFX11     []               [] [];
    "gfx9-4-generic"  0x5f GFX94X    [Sramecc, Xnack] [] ["gfx942", "gfx950"];
    "gfx11-7-generic" 0x62 GFX11     []               [] ["gfx1170", "gfx1171", "gfx1172"];
    "gfx13-generic"   0x63 GFX13     []               [] ["gfx1310"];
    "gfx1250-strict"  0xeb GFX125X   []               [] [];
}

/// See [`Processor::UNKNOWN`].
pub(super) static UNKNOWN: Processor = Processor {
    name: "unknown",
    mach: 0,
    family: UNKNOWN_FAMILY,
    features: &[],
    other_names: &[],
    covers: &[],
};
