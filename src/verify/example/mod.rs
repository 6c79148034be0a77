//! Provides a small example for each rule: a violation and its correction.
//!
//! The examples are text files next to this file, one for each family. An example is `= RULE SETTING`, the wrong lines, a line `--`, and the correct
//! lines. A test adds the surroundings of the setting, assembles the result with LLVM, and checks it.

use crate::rule::Rule;

/// A violation of a rule, and its correction.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The place and the notation of both.
    pub setting: Setting,
    /// The wrong lines.
    pub wrong: &'static str,
    /// The correct lines.
    pub right: &'static str,
}

/// A row is `Variant "name in the files" "description of the contents"`.
macro_rules! settings {
    ($($variant:ident $name:literal $text:literal;)*) => {
        /// The place and the notation of an example.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Setting {
            $(#[doc = concat!("`", $name, "` in the files: see [`text`](Setting::text).")] $variant,)*
            /// The location of a variable with this size in bytes.
            Location(u8),
        }

        impl Setting {
            fn read(name: &str) -> Option<Setting> {
                match name {
                    $($name => Some(Setting::$variant),)*
                    _ => Some(Setting::Location(name.strip_prefix("location-")?.parse().ok()?)),
                }
            }

            /// Returns the description as text.
            #[must_use]
            pub fn text(self) -> String {
                match self {
                    $(Setting::$variant => $text.to_owned(),)*
                    Setting::Location(size) => format!("DW_AT_location of a variable of {size} bytes"),
                }
            }
        }
    };
}

settings! {
    Code "code" "a function; on entry the CFA is s32, the return address is in s[30:31], and s[4:7], v0 and v1 are undefined";
    Function "function" "a function with all its call frame information";
    Kernel "kernel" "a kernel with all its call frame information";
    Frame "frame" "entries of .debug_frame, by field; unnamed fields are valid";
    EhFrame "eh-frame" "entries of .eh_frame";
    Entries "entries" "entries of .debug_info";
    Indices "indices" "entries of .debug_info; each table with indices has two entries, 0 and 1";
    RangeList "range-list" "a list of .debug_rnglists";
    Ranges "aranges" "sets of .debug_aranges; each unit has a function of 0x20 bytes, f or g";
    Abbreviations "abbreviations" "the abbreviations of a unit whose only entry has code 1: .short, a language, and .quad, an address";
    Lines "lines" "line tables; the table of the unit of f, whose entry names file 1, is at 0";
    StringOffsets "string-offsets" "the entries of .debug_str_offsets; .debug_str has strings at 0 and 2";
    UnitIndex "unit-index" "two rows of .debug_cu_index, with the columns DW_SECT_INFO and DW_SECT_ABBREV: offsets, and then sizes";
    Names "names" "indices of .debug_names, of a unit with the function f and of one with g, by field";
    Value "value" "an expression that gives a value, such as DW_AT_upper_bound";
    FrameBase "frame-base" "DW_AT_frame_base";
    LanePc "lane-pc" "DW_AT_LLVM_lane_pc of a function of 64 lanes";
    Lanes "lanes" "lane attributes of a function of 64 lanes, by range; the function is at 0x100: 0x0 v_cmp_lt_u32 vcc, v0, v1; 0x4 s_and_saveexec_b64 s[4:5], vcc; \
        0x8 v_mov_b32 v2, v0; 0xc s_or_b64 exec, exec, s[4:5]; 0x10 s_or_saveexec_b64 s[6:7], -1; 0x14 v_mov_b32 v3, v2; 0x18 s_mov_b64 exec, s[6:7]; 0x1c s_setpc_b64 s[30:31]";
    ActiveLane "active-lane" "DW_AT_LLVM_active_lane of a function of 64 lanes";
    Cfa "cfa" "DW_CFA_def_cfa_expression";
    SavedScalar "saved-scalar" "DW_CFA_expression of s34; the CFA is on the stack";
    SavedVector "saved-vector" "DW_CFA_expression of v40, of 64 lanes; the CFA is on the stack";
    ScalarValue "scalar-value" "DW_CFA_val_expression of s34; the CFA is on the stack";
}

const FILES: [&str; 6] = [
    include_str!("frame.txt"),
    include_str!("code.txt"),
    include_str!("expression.txt"),
    include_str!("entries.txt"),
    include_str!("tables.txt"),
    include_str!("lanes.txt"),
];

impl Rule {
    /// Returns an example of a violation and its correction. Returns `None` for a rule that no small example can violate.
    #[must_use]
    pub fn example(&self) -> Option<Example> {
        let mut all = FILES.iter().flat_map(|file| examples(file));
        all.find_map(|(id, example)| (id == self.id).then_some(example))
    }
}

/// Returns the examples of a file, each with the id of its rule.
fn examples(file: &'static str) -> impl Iterator<Item = (&'static str, Example)> {
    let parts = file.split("\n= ").skip(1);
    parts.filter_map(|part| {
        let (head, body) = part.split_once('\n')?;
        let (id, setting) = head.split_once(' ')?;
        let (wrong, right) = body.split_once("\n--\n")?;
        let setting = Setting::read(setting)?;
        let (wrong, right) = (wrong.trim_end(), right.trim_end());
        Some((
            id,
            Example {
                setting,
                wrong,
                right,
            },
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_files_is_the_example_of_a_rule() {
        let mut seen = Vec::new();
        for file in FILES {
            let parts = file.lines().filter(|line| line.starts_with("= ")).count();
            let read: Vec<_> = examples(file).map(|(id, _)| id).collect();
            assert_eq!(read.len(), parts);
            seen.extend(read);
        }
        for (number, id) in seen.iter().enumerate() {
            assert!(Rule::by_id(id).is_some(), "{id} is no rule");
            assert!(!seen[..number].contains(id), "{id} has two");
        }
    }
}
