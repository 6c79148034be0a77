//! Derives the written registers of an instruction, and the row's text, from LLVM's output for a probe.

use std::collections::BTreeMap;

use super::probe::{Answer, Probe};
use super::table::layout::Encoding;

/// One operand of a probe's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The letter of its field. `None` if it comes from no field.
    pub field: Option<char>,
    /// `s`, `v` or `a`. `None` if it is another register or no register.
    pub file: Option<char>,
    /// The number of registers.
    pub count: u8,
    /// True for half a register, `.l`.
    pub is_half: bool,
    pub text: String,
}

/// A probe's text taken apart.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The name as printed.
    pub name: String,
    pub operands: Vec<Operand>,
    /// The modifiers after the operands.
    pub modifiers: Vec<String>,
    pub dwords: usize,
}

impl Parsed {
    pub fn new(probe: &Probe, answer: &Answer) -> Parsed {
        let text = answer.text.split("/*").next().unwrap().trim();
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut operands = Vec::new();
        let mut modifiers = Vec::new();
        let parts = split(rest);
        for part in parts {
            let mut words = part.split_whitespace();
            if let Some(first) = words.next() {
                if operands.is_empty() && is_modifier(first) {
                    modifiers.push(first.to_string());
                } else {
                    operands.push(operand(probe, first));
                }
            }
            modifiers.extend(words.map(str::to_string));
        }
        Parsed {
            name: name.to_string(),
            operands,
            modifiers,
            dwords: answer.dwords,
        }
    }

    /// Returns the name without the suffix of its encoding.
    pub fn stem(&self) -> &str {
        let suffixes = ["_e64", "_e32"];
        let name = self.name.as_str();
        suffixes
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .unwrap_or(name)
    }

    fn is(&self, part: &str) -> bool {
        self.name.contains(part)
    }

    fn first(&self, field: char) -> Option<&Operand> {
        self.operands
            .first()
            .filter(|operand| operand.field == Some(field))
    }

    fn count_of(&self, field: char) -> Option<u8> {
        let mut operands = self.operands.iter();
        operands
            .find(|operand| operand.field == Some(field))
            .map(|operand| operand.count)
    }
}

fn is_modifier(word: &str) -> bool {
    word.contains(':') && !word.contains('[') || matches!(word, "gds" | "glc" | "slc" | "dlc")
}

/// Splits a text at commas outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn operand(probe: &Probe, text: &str) -> Operand {
    let plain = text.trim_end_matches(".l").trim_end_matches(".h");
    let mut chars = plain.chars();
    let file = chars.next().filter(|c| matches!(c, 's' | 'v' | 'a'));
    let numbers = chars.as_str().trim_start_matches('[').trim_end_matches(']');
    let (first, last) = numbers.split_once(':').unwrap_or((numbers, numbers));
    let registers = first.parse::<u32>().ok().zip(last.parse::<u32>().ok());
    let file = file.filter(|_| registers.is_some());
    let (first, last) = registers
        .filter(|_| file.is_some())
        .unwrap_or((u32::MAX, u32::MAX));
    let mut fields = probe.fields.iter();
    let field = fields.find(|field| field.letter != '.' && field.register == first);
    let mask = (file == Some('s') && first == 0).then_some('m');
    Operand {
        field: field.map(|field| field.letter).or(mask),
        file,
        count: u8::try_from(last - first + 1).unwrap(),
        is_half: plain.len() != text.len(),
        text: text.to_string(),
    }
}

/// Returns the row's shape in the table's notation. `other` is the same probe in waves of 64 lanes, with register halves.
pub fn shape(encoding: Encoding, one: &Parsed, other: &Parsed) -> String {
    let by_wave = one.operands.first().map(|o| o.count) != other.operands.first().map(|o| o.count);
    let some = |name: &str, count: u8| format!("{name}({count})");
    let none = || "None".to_string();
    let stem = one.stem();
    let starts = |parts: &[&str]| parts.iter().any(|part| stem.starts_with(part));
    let first = one.first('d');
    let halved = |count: u8| {
        if one.is("cmpswap") || one.is("cmpst") {
            count / 2
        } else {
            count
        }
    };
    match encoding {
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk | Encoding::Sopp => {
            match first {
                Some(first) if !starts(READ_ALONE) => some("Scalar", first.count),
                _ => none(),
            }
        }
        Encoding::Smem => match first {
            Some(first) if one.is("atomic") => some("ScalarAtomic", halved(first.count)),
            Some(first) if !starts(READ_ALONE) => some("Scalar", first.count),
            _ => none(),
        },
        Encoding::Vopc => {
            let is_x = one.is("cmpx");
            match one.operands.first().map(|first| first.text.as_str()) {
                Some("vcc" | "vcc_lo") if is_x => "MaskAndExec".into(),
                Some("vcc" | "vcc_lo") => "Mask".into(),
                _ => none(),
            }
        }
        Encoding::Vop1
        | Encoding::Vop2
        | Encoding::Vop3
        | Encoding::Vop3p
        | Encoding::Vintrp
        | Encoding::Vinterp
        | Encoding::Ldsdir => {
            let Some(first) = first else { return none() };
            let is_e32 = matches!(encoding, Encoding::Vop1 | Encoding::Vop2);
            let mask = one.operands.get(1).is_some_and(|second| {
                second.field == Some('m') || is_e32 && second.text.starts_with("vcc")
            });
            let is_half = other.operands.first().is_some_and(|first| first.is_half);
            match first.file {
                _ if one.is("mfma") => some("Matrix", first.count),
                Some('a') => some("Acc", first.count),
                Some('s') if one.is("cmpx") => "MaskAndExec".into(),
                Some('s') if one.is("v_cmp") => "Mask".into(),
                Some('s') => some("Scalar", first.count),
                _ if one.is("swap") && is_half && is_e32 => "SwapHalves".into(),
                _ if one.is("swap") && !one.is("swap_mem") => some("Swap", first.count),
                _ if is_half && is_e32 => "Half".into(),
                _ if mask && !starts(&["v_cndmask"]) => some("VectorAndMask", first.count),
                _ if by_wave => some("VectorByWave", first.count),
                _ => some("Vector", first.count),
            }
        }
        Encoding::Ds => match first {
            Some(first) if one.is("bvh_stack") => some("BvhStack", first.count),
            Some(first) => some("Vector", first.count),
            None => none(),
        },
        Encoding::Flat => {
            let stored = one.count_of('s');
            match (first, stored) {
                _ if one.is("atomic") => {
                    stored.map_or_else(none, |count| some("Atomic", halved(count)))
                }
                _ if one.is("_lds_") => none(),
                (Some(first), _) if by_wave => some("LoadByWave", first.count),
                (Some(first), _) => some("Load", first.count),
                (None, Some(count)) => some("Store", count),
                (None, None) => none(),
            }
        }
        Encoding::Mubuf | Encoding::Mtbuf | Encoding::Vbuffer => match first {
            Some(first) if one.is("atomic") => some("Atomic", halved(first.count)),
            Some(first) if one.is("store") => some("Store", first.count),
            Some(first) => some("Load", first.count),
            None => none(),
        },
        Encoding::Mimg | Encoding::Vimage | Encoding::Vsample => {
            if one.is("store") {
                none()
            } else if one.is("bvh_dual") || one.is("bvh8") {
                "BvhDual".into()
            } else if one.is("bvh") {
                some("Vector", 4)
            } else if one.is("atomic") {
                some("ImageAtomic", if one.is("cmpswap") { 2 } else { 1 })
            } else if one.is("gather") || one.is("msaa_load") {
                "Gather".into()
            } else {
                "ImageLoad".into()
            }
        }
        Encoding::Vopd | Encoding::Vopd3 | Encoding::Exp => none(),
    }
}

/// The instructions that read the register that similar instructions write.
const READ_ALONE: &[&str] = &[
    "s_cmpk_",
    "s_setreg",
    "s_cbranch",
    "s_waitcnt",
    "s_store",
    "s_buffer_store",
    "s_scratch_store",
    "s_dcache",
    "s_atc_probe",
];

/// Returns the operands of the row's text. Each has its field's letter, the register file if it is unusual for the encoding, the number of
/// registers (`w`: one bit for each lane), `h` for a half, and the kind of its constants. An unknown part is `?`.
pub fn operands(
    encoding: Encoding,
    one: &Parsed,
    other: &Parsed,
    kinds: &BTreeMap<char, char>,
) -> String {
    let mut text = String::new();
    let has_immediate = matches!(encoding, Encoding::Sopk | Encoding::Sopp);
    for (place, operand) in one.operands.iter().enumerate() {
        let wide = other.operands.get(place).map(|other| other.count);
        text.push(' ');
        match (operand.field, operand.file) {
            // The mask is the second operand. In a later position, it is a source that the probe left empty.
            (Some('m'), _) if place > 1 => text.push('?'),
            (Some(field), Some(file))
                if encoding != Encoding::Smem || matches!(field, 'd' | 'e') =>
            {
                text.push(field);
                if !is_usual(encoding, field, file) {
                    text.push(file);
                }
                let is_mask =
                    (file == 's' || field == 'c') && (operand.count, wide) == (1, Some(2));
                text.push_str(&match is_mask {
                    true => "w".to_string(),
                    false => operand.count.to_string(),
                });
                text.extend(operand.is_half.then_some('h'));
                text.extend(kinds.get(&field).filter(|_| !is_mask));
            }
            _ if encoding == Encoding::Smem => text.push('?'),
            _ => text.push_str(match operand.text.as_str() {
                "vcc" | "vcc_lo" => "vcc",
                "exec" | "exec_lo" => "exec",
                named @ ("off" | "null" | "m0" | "lds") => named,
                "0" if has_immediate => "k",
                "0x0" if has_immediate => "kx",
                _ => "?",
            }),
        }
    }
    // The probe selects no halves. The text has `op_sel_hi` if that differs from the default.
    if one
        .modifiers
        .iter()
        .any(|modifier| modifier.starts_with("op_sel_hi:"))
    {
        text.push_str(" packed");
    }
    text
}

fn is_usual(encoding: Encoding, field: char, file: char) -> bool {
    let is_scalar = matches!(
        encoding,
        Encoding::Sop1
            | Encoding::Sop2
            | Encoding::Sopc
            | Encoding::Sopk
            | Encoding::Sopp
            | Encoding::Smem
    );
    match field {
        'm' | 'e' | 'r' | 'o' => file == 's',
        _ if is_scalar => file == 's',
        _ => file == 'v',
    }
}
