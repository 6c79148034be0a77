//! Names source languages. Sources: HET A.7.12; the registry of dwarfstd.org.

use gimli::constants;

/// The source language of a unit.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `DW_AT_language`, a `DW_LANG_*` code.
    Code(u64),
    /// `DW_AT_language_name` of DWARF 6, a `DW_LNAME_*` code.
    Name(u64),
}

/// The languages without a name in gimli.
const LANGUAGES: &[(Language, &str)] = &[
    (Language::Code(0x0030), "DW_LANG_HIP"),
    (Language::Code(0x0031), "DW_LANG_Assembly"),
    (Language::Code(0x0032), "DW_LANG_C_sharp"),
    (Language::Code(0x0033), "DW_LANG_Mojo"),
    (Language::Code(0x0034), "DW_LANG_GLSL"),
    (Language::Code(0x0035), "DW_LANG_GLSL_ES"),
    (Language::Code(0x0036), "DW_LANG_HLSL"),
    (Language::Code(0x0037), "DW_LANG_OpenCL_CPP"),
    (Language::Code(0x0038), "DW_LANG_CPP_for_OpenCL"),
    (Language::Code(0x0039), "DW_LANG_SYCL"),
    (Language::Code(0x003d), "DW_LANG_Metal"),
    (Language::Code(0x0040), "DW_LANG_Ruby"),
    (Language::Code(0x0041), "DW_LANG_Move"),
    (Language::Code(0x0042), "DW_LANG_Hylo"),
    (Language::Code(0x8100), "DW_LANG_LLVM_HIP"),
    (Language::Name(0x0001), "DW_LNAME_Ada"),
    (Language::Name(0x0002), "DW_LNAME_BLISS"),
    (Language::Name(0x0003), "DW_LNAME_C"),
    (Language::Name(0x0004), "DW_LNAME_C_plus_plus"),
    (Language::Name(0x0005), "DW_LNAME_Cobol"),
    (Language::Name(0x0006), "DW_LNAME_Crystal"),
    (Language::Name(0x0007), "DW_LNAME_D"),
    (Language::Name(0x0008), "DW_LNAME_Dylan"),
    (Language::Name(0x0009), "DW_LNAME_Fortran"),
    (Language::Name(0x000a), "DW_LNAME_Go"),
    (Language::Name(0x000b), "DW_LNAME_Haskell"),
    (Language::Name(0x000c), "DW_LNAME_Java"),
    (Language::Name(0x000d), "DW_LNAME_Julia"),
    (Language::Name(0x000e), "DW_LNAME_Kotlin"),
    (Language::Name(0x000f), "DW_LNAME_Modula2"),
    (Language::Name(0x0010), "DW_LNAME_Modula3"),
    (Language::Name(0x0011), "DW_LNAME_ObjC"),
    (Language::Name(0x0012), "DW_LNAME_ObjC_plus_plus"),
    (Language::Name(0x0013), "DW_LNAME_OCaml"),
    (Language::Name(0x0014), "DW_LNAME_OpenCL_C"),
    (Language::Name(0x0015), "DW_LNAME_Pascal"),
    (Language::Name(0x0016), "DW_LNAME_PLI"),
    (Language::Name(0x0017), "DW_LNAME_Python"),
    (Language::Name(0x0018), "DW_LNAME_RenderScript"),
    (Language::Name(0x0019), "DW_LNAME_Rust"),
    (Language::Name(0x001a), "DW_LNAME_Swift"),
    (Language::Name(0x001b), "DW_LNAME_UPC"),
    (Language::Name(0x001c), "DW_LNAME_Zig"),
    (Language::Name(0x001d), "DW_LNAME_Assembly"),
    (Language::Name(0x001e), "DW_LNAME_C_sharp"),
    (Language::Name(0x001f), "DW_LNAME_Mojo"),
    (Language::Name(0x0020), "DW_LNAME_GLSL"),
    (Language::Name(0x0021), "DW_LNAME_GLSL_ES"),
    (Language::Name(0x0022), "DW_LNAME_HLSL"),
    (Language::Name(0x0023), "DW_LNAME_OpenCL_CPP"),
    (Language::Name(0x0024), "DW_LNAME_CPP_for_OpenCL"),
    (Language::Name(0x0025), "DW_LNAME_SYCL"),
    (Language::Name(0x0026), "DW_LNAME_Ruby"),
    (Language::Name(0x0027), "DW_LNAME_Move"),
    (Language::Name(0x0028), "DW_LNAME_Hylo"),
    (Language::Name(0x0029), "DW_LNAME_HIP"),
    (Language::Name(0x002c), "DW_LNAME_Metal"),
];

/// The names of language versions, each up to the given number. The number is a year for Ada, Cobol and Fortran, and a year and a month for the
/// others.
#[cfg(feature = "serde")]
const VERSIONS: &[(u64, u64, &str)] = &[
    (0x0001, 1983, "Ada 83"),
    (0x0001, 1995, "Ada 95"),
    (0x0001, 2005, "Ada 2005"),
    (0x0001, 2012, "Ada 2012"),
    (0x0003, 198_912, "C89"),
    (0x0003, 199_901, "C99"),
    (0x0003, 201_112, "C11"),
    (0x0003, 201_710, "C17"),
    (0x0004, 199_711, "C++98"),
    (0x0004, 200_310, "C++03"),
    (0x0004, 201_103, "C++11"),
    (0x0004, 201_402, "C++14"),
    (0x0004, 201_703, "C++17"),
    (0x0004, 202_002, "C++20"),
    (0x0005, 1974, "COBOL-74"),
    (0x0005, 1985, "COBOL-85"),
    (0x0009, 1977, "FORTRAN 77"),
    (0x0009, 1990, "Fortran 90"),
    (0x0009, 1995, "Fortran 95"),
    (0x0009, 2003, "Fortran 2003"),
    (0x0009, 2008, "Fortran 2008"),
    (0x0009, 2018, "Fortran 2018"),
];

impl Language {
    /// Returns the common name for a version of the language (`DW_AT_language_version`), or `None` if it has no name.
    #[cfg(feature = "serde")]
    pub(crate) fn version_name(self, version: u64) -> Option<&'static str> {
        let Language::Name(code) = self else {
            return None;
        };
        // C and C++ without a version are no version of them.
        let mut named = VERSIONS.iter().filter(|row| row.0 == code && version != 0);
        let found = named.find(|row| version <= row.1).map(|row| row.2);
        match (self.name(), code) {
            (None, _) => Some("Unknown"),
            (Some(_), 0x001e) => Some("C#"),
            (Some(_), _) => found,
        }
    }

    /// Returns the standard's name, such as `DW_LANG_OpenCL`, or `None` for a code without a name.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        if let Some((_, name)) = LANGUAGES.iter().find(|(language, _)| *language == self) {
            return Some(name);
        }
        match self {
            Language::Code(code) => constants::DwLang(u16::try_from(code).ok()?).static_string(),
            Language::Name(_) => None,
        }
    }
}
