//! Parses augmentation strings. Source: HET A.6.4.1, field `augmentation`; USAGE "Call Frame Information".

/// The meaning of a CIE's augmentation string.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Augmentation<'a> {
    /// Empty: plain DWARF, which LLVM writes for AMDGPU although it uses the extensions.
    None,
    /// `[vendor:vX.Y:options]`, one or more, in order.
    Vendors(Vec<Vendor<'a>>),
    /// `z` and further letters, the form of `.eh_frame`.
    EhFrame(&'a str),
    /// Anything else: only the fields before it can be read.
    Unknown(&'a str),
}

/// One `[vendor:vX.Y:options]`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vendor<'a> {
    /// The producer of the extensions.
    pub name: &'a str,
    /// The major version. Another version has other rules.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
    /// The text after the version, possibly empty.
    pub options: &'a str,
}

/// The vendors whose extensions are HET's, and the supported major version.
///
/// USAGE documents `amd` for call frame information and `amdgpu` for units; `llvm` is HET's own.
const KNOWN: [(&str, u32); 3] = [("amd", 0), ("amdgpu", 0), ("llvm", 0)];

impl<'a> Augmentation<'a> {
    /// Parses an augmentation string.
    #[must_use]
    pub fn parse(text: &'a str) -> Augmentation<'a> {
        if text.is_empty() {
            return Augmentation::None;
        }
        if text.starts_with('z') {
            return Augmentation::EhFrame(text);
        }
        let mut vendors = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let Some((vendor, after)) =
                rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            else {
                return Augmentation::Unknown(text);
            };
            let Some(vendor) = Vendor::parse(vendor) else {
                return Augmentation::Unknown(text);
            };
            vendors.push(vendor);
            rest = after;
        }
        Augmentation::Vendors(vendors)
    }

    /// Returns true if the rest of an entry can be read.
    #[must_use]
    pub fn is_known(&self) -> bool {
        match self {
            Augmentation::None => true,
            Augmentation::Vendors(vendors) => vendors.iter().all(Vendor::is_known),
            Augmentation::EhFrame(text) => text
                .chars()
                .all(|c| matches!(c, 'z' | 'R' | 'P' | 'L' | 'S' | 'B' | 'G')),
            Augmentation::Unknown(_) => false,
        }
    }
}

impl<'a> Vendor<'a> {
    fn parse(text: &'a str) -> Option<Vendor<'a>> {
        let (name, rest) = text.split_once(":v")?;
        let (version, options) = rest.split_once(':').unwrap_or((rest, ""));
        let (major, minor) = version.split_once('.')?;
        let number = |digits: &str| {
            digits
                .bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| digits.parse().ok())
                .flatten()
        };
        if name.is_empty() {
            return None;
        }
        Some(Vendor {
            name,
            major: number(major)?,
            minor: number(minor)?,
            options,
        })
    }

    /// Returns true if these are HET's extensions in a supported version.
    #[must_use]
    pub fn is_known(&self) -> bool {
        KNOWN.contains(&(self.name, self.major))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of HET A.6.4.1, and the strings of USAGE.
    #[test]
    fn the_recommended_format() {
        let Augmentation::Vendors(vendors) =
            Augmentation::parse("[abc:v0.0][def:v1.2:feature-a=on,feature-b=3]")
        else {
            panic!("not vendors");
        };
        assert_eq!(
            vendors,
            [
                Vendor {
                    name: "abc",
                    major: 0,
                    minor: 0,
                    options: ""
                },
                Vendor {
                    name: "def",
                    major: 1,
                    minor: 2,
                    options: "feature-a=on,feature-b=3"
                },
            ]
        );
        for known in [
            "",
            "[amd:v0.0]",
            "[amdgpu:v0.1]",
            "[llvm:v0.0]",
            "[amd:v0.0][llvm:v0.0:x]",
            "zR",
        ] {
            assert!(Augmentation::parse(known).is_known(), "{known}");
        }
        for unknown in [
            "[amd:v1.0]",
            "[abc:v0.0]",
            "[amd:v0.0][abc:v0.0]",
            "armcc",
            "[amd:v0]",
            "[amd:v0.0",
            "[:v0.0]",
            "[amd:v0.0]x",
            "[amd:v+1.0]",
            "zX",
        ] {
            assert!(!Augmentation::parse(unknown).is_known(), "{unknown}");
        }
    }
}
