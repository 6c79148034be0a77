//! Parses an instruction in the text of LLVM's disassembler, and compares hetdwarf's with it.

use hetdwarf::arch::WaveSize;
use hetdwarf::isa::{Effect, Instruction, MachineRegister, Operand, Span};

/// The mnemonic without the suffix of its encoding, and the operands without modifiers.
pub struct Text {
    pub mnemonic: String,
    pub operands: Vec<String>,
    pub modifiers: String,
}

impl Text {
    pub fn new(text: &str) -> Text {
        let mut plain = String::new();
        // LLVM appends remarks about doubtful operands.
        let mut rest = text.split(" ; ").next().unwrap();
        while let Some((before, after)) = rest.split_once("/*") {
            plain.push_str(before);
            rest = after.split_once("*/").map_or("", |(_, after)| after);
        }
        plain.push_str(rest);
        let (mnemonic, rest) = plain.trim().split_once(' ').unwrap_or((plain.trim(), ""));
        let suffixes = ["_e64_dpp", "_e64", "_e32", "_dpp", "_sdwa"];
        let mnemonic = suffixes
            .iter()
            .find_map(|suffix| mnemonic.strip_suffix(suffix))
            .unwrap_or(mnemonic);
        let mut operands = vec![String::new()];
        let mut depth = 0;
        for c in rest.chars() {
            match c {
                '[' | '(' => depth += 1,
                ']' | ')' => depth -= 1,
                _ => {}
            }
            if c == ',' && depth == 0 {
                operands.push(String::new());
            } else {
                operands.last_mut().unwrap().push(c);
            }
        }
        let mut modifiers = String::new();
        for operand in &mut operands {
            let trimmed = operand.trim().to_string();
            let (first, rest) = trimmed.split_once(' ').unwrap_or((&trimmed, ""));
            modifiers.push(' ');
            modifiers.push_str(rest);
            *operand = first.to_string();
        }
        modifiers.push(' ');
        operands.retain(|operand| !operand.is_empty());
        Text {
            mnemonic: mnemonic.to_string(),
            operands,
            modifiers,
        }
    }

    fn is(&self, part: &str) -> bool {
        self.mnemonic.contains(part)
    }

    fn starts(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.mnemonic.starts_with(part))
    }

    fn has(&self, modifier: &str) -> bool {
        self.modifiers.split_whitespace().any(|one| one == modifier)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.modifiers.split_whitespace().find_map(|one| {
            let value = one.strip_prefix(name)?.strip_prefix(':')?;
            value.parse().ok()
        })
    }

    /// Returns the number of leading operands that are destinations, by the name of the instruction.
    fn destinations(&self) -> usize {
        let none_scalar = [
            "s_cmp_",
            "s_cmpk_",
            "s_bitcmp",
            "s_setpc",
            "s_set_pc",
            "s_add_pc",
            "s_rfe",
            "s_cbranch",
            "s_branch",
            "s_setreg",
            "s_setvskip",
            "s_set_",
            "s_wait",
            "s_version",
            "s_barrier",
            "s_sleep",
            "s_wakeup",
            "s_setprio",
            "s_alloc_vgpr",
            "s_prefetch",
            "s_buffer_prefetch",
            "s_dcache",
            "s_store",
            "s_scratch_store",
            "s_buffer_store",
            "s_atc_probe",
            "s_gl1",
            "s_nop",
            "s_endpgm",
            "s_trap",
            "s_icache",
            "s_code_end",
            "s_clause",
            "s_delay",
            "s_sendmsg ",
            "s_sethalt",
            "s_inst",
            "s_round",
            "s_denorm",
            "s_incperf",
            "s_decperf",
            "s_ttrace",
            "s_setkill",
            "s_monitor",
        ];
        let none_vector = [
            "v_nop",
            "v_clrexcp",
            "v_pipeflush",
            "v_illegal",
            "v_mfma_ld_scale",
            "v_wmma_ld_scale",
        ];
        if self.mnemonic == "s_barrier_signal_isfirst"
            || self.mnemonic == "s_sendmsg"
            || self.mnemonic == "s_sendmsghalt"
        {
            0
        } else if self.starts(&["s_get_barrier"]) {
            1
        } else if self.starts(&["s_atomic", "s_buffer_atomic"]) {
            usize::from(self.has("glc"))
        } else if self.starts(&["s_"]) {
            usize::from(!self.starts(&none_scalar))
        } else if self.starts(&none_vector) || self.starts(&["exp", "tensor"]) {
            0
        } else if self.starts(&["v_swap", "v_permlane16_swap", "v_permlane32_swap"]) {
            2
        } else if self.starts(&["v_cmpx"]) {
            usize::from(self.operands.len() == 3)
        } else if self.starts(&[
            "v_add_co",
            "v_sub_co",
            "v_subrev_co",
            "v_addc",
            "v_subb",
            "v_div_scale",
            "v_mad_u64_u32",
            "v_mad_i64_i32",
            "v_mad_co",
        ]) && !self.is("v_mad_u64_u32_x")
        {
            2
        } else if self.starts(&["v_", "lds_", "ds_param", "ds_direct"]) {
            1
        } else if self.starts(&["ds_"]) {
            let loads = [
                "read",
                "load",
                "permute",
                "swizzle",
                "consume",
                "append",
                "ordered_count",
                "rtn",
                "bvh_stack",
            ];
            let found = loads.iter().any(|part| self.is(part));
            usize::from(found) + usize::from(self.is("bvh_stack"))
        } else if self.is("atomic") {
            usize::from(self.has("glc") || self.has("sc0") || self.modifiers.contains("_RETURN"))
        } else if self.is("bvh8") || self.is("bvh_dual") {
            3
        } else if self.is("store")
            || self.is("lds")
            || self.has("lds")
            || self.is("prefetch")
            || self.is("inv")
            || self.is("wb")
            || self.is("gl0")
            || self.is("gl1")
        {
            0
        } else {
            1
        }
    }

    /// Returns the destinations, in the notation of spans.
    fn written(&self) -> Vec<String> {
        let count = self.destinations();
        self.operands
            .iter()
            .take(count)
            .map(|operand| {
                operand
                    .trim_end_matches(".l")
                    .trim_end_matches(".h")
                    .to_string()
            })
            .filter(|operand| operand != "null" && operand != "off")
            .collect()
    }
}

/// Compares a decoded instruction with LLVM's text.
pub fn compare(
    ours: &Instruction,
    dwords: &[u32],
    text: &str,
    wave_size: WaveSize,
    processor: &str,
) -> Result<(), String> {
    let length = 4 * dwords.len();
    if usize::from(ours.length) != length && !has_wrong_literal(dwords, text) {
        return Err(format!("length {} for {length}", ours.length));
    }
    // No assembler makes these words. LLVM warns of them, and prints registers that the fields do not name.
    if is_dubious(text) || ours.writes.spans().iter().any(|span| !is_aligned(*span)) {
        return Ok(());
    }
    // A dual instruction has two halves.
    let mut written = Vec::new();
    for half in text.split(" :: ") {
        written.extend(Text::new(half).written());
    }
    let text = Text::new(text);
    // LLVM prints the count register of a subvector loop as if it were only read. For an atomic with both cache hints, it does not print
    // whether a value is returned. For scalar compare and swap, it prints all data as written.
    if text.starts(&["s_subvector"])
        || text.modifiers.contains("TH_ATOMIC_0x")
        || text.modifiers.contains("TH_ATOMIC_CASCADE")
        || text.starts(&["s_atomic_cmpswap", "s_buffer_atomic_cmpswap"])
    {
        return Ok(());
    }
    // Bit 55 has another meaning on processors that cannot load accumulation registers.
    if matches!(processor, "gfx900" | "gfx906" | "gfx908")
        && text.starts(&["flat_atomic", "global_atomic"])
        && written[..].iter().any(|one| one.starts_with('a'))
    {
        return Ok(());
    }
    if text.starts(&["v_cmpx"]) || text.is("saveexec") || text.is("wrexec") {
        written.push(
            if wave_size == WaveSize::Wave32 {
                "exec_lo"
            } else {
                "exec"
            }
            .to_string(),
        );
    }
    let mut found: Vec<_> = ours
        .writes
        .spans()
        .iter()
        .filter(|span| span.first != MachineRegister::Scc)
        .map(Span::to_string)
        .collect();
    if text.starts(&["s_set_gpr_idx"]) {
        found.clear();
    }
    if text.is("bvh8") || text.is("bvh_dual") {
        return Ok(());
    }
    // A compare and swap writes half of its data, if both halves are in one field, but LLVM prints the whole field. LLVM's count is also
    // wrong for the registers that an image instruction with a status word writes.
    let tied = text.is("cmpswap") && !text.starts(&["flat", "global"]);
    if (tied || text.starts(&["image"])) && written.len() == 1 && found.len() == 1 {
        let first = |span: &String| {
            span.replace('[', "")
                .split(':')
                .next()
                .unwrap()
                .trim_end_matches(']')
                .to_string()
        };
        let count = |span: &String| {
            span.trim_end_matches(']')
                .split_once(':')
                .map_or(1, |(from, to)| {
                    let from: i32 = from.split('[').nth(1).unwrap().parse().unwrap();
                    to.parse::<i32>().unwrap() - from + 1
                })
        };
        let (ours, theirs) = (count(&found[0]), count(&written[0]));
        if first(&written[0]) == first(&found[0]) && (text.starts(&["image"]) || ours * 2 == theirs)
        {
            return Ok(());
        }
    }
    written.sort();
    found.sort();
    if written != found {
        return Err(format!("writes {found:?}, LLVM has {written:?}"));
    }
    effect(ours, &text)
}

/// Returns true if LLVM treats the code of a literal as one where literals are invalid: as a destination or a sampler. It also accepts the
/// code in an unused source field.
fn has_wrong_literal(dwords: &[u32], text: &str) -> bool {
    let invalid =
        |operand: &str| operand.contains("0x") && operand.contains("/*Invalid immediate*/");
    let parsed = Text::new(text);
    let sources = parsed.operands.len() - parsed.destinations();
    let codes = dwords.get(1).map_or([0; 3], |word| {
        [word & 0x1ff, word >> 9 & 0x1ff, word >> 18 & 0x1ff]
    });
    let is_literal = |code: &u32| matches!(code, 254 | 255);
    let is_vop3 = matches!(dwords[0] >> 26, 0x33 | 0x35);
    let unused = is_vop3 && codes.iter().skip(sources).any(is_literal);
    parsed
        .operands
        .first()
        .is_some_and(|first| first.starts_with("0x"))
        || text.split(", ").any(invalid)
        || unused
}

/// Returns true for words that are not an instruction, even if LLVM prints one.
fn is_dubious(text: &str) -> bool {
    let parsed = Text::new(text);
    let no_register = parsed
        .operands
        .iter()
        .take(parsed.destinations())
        .any(|one| one.starts_with("src_"));
    text.contains("Warning") || text.contains("/*Invalid") || no_register
}

/// Returns true if LLVM uses gfx9's VOP3 encoding for `v_fma_mix` where it is another encoding or none.
pub fn is_garbage(first: u32, text: &str, processor: &str) -> bool {
    !processor.starts_with("gfx9") && first >> 26 == 0x34 && text.starts_with("v_fma_mix")
}

/// Returns true for words that LLVM decodes and hetdwarf rejects: a word that is defined to be illegal, and literals in encodings without
/// literals.
pub fn may_refuse(first: u32, text: &str) -> bool {
    let text = Text::new(text);
    let literal = text.operands.iter().any(|operand| operand.contains("0x"));
    let without_literals = matches!(first >> 26, 0x34 | 0x38 | 0x3a) || first >> 24 == 0xcf;
    text.starts(&["v_illegal"]) || literal && without_literals
}

fn effect(ours: &Instruction, text: &Text) -> Result<(), String> {
    // A dual instruction contains no comparison. The names of all other comparisons show the destination.
    let to_exec = match ours.effect {
        Effect::Compare { to_exec, .. } => Some(to_exec),
        _ => None,
    };
    let expected = (text.starts(&["v_cmp"])).then(|| text.starts(&["v_cmpx"]));
    if to_exec != expected {
        return Err(format!("comparison to exec {to_exec:?} for {expected:?}"));
    }
    let Some(mnemonic) = ours.mnemonic else {
        return Ok(());
    };
    if mnemonic != *text.mnemonic.as_str() {
        return Err(format!("named {mnemonic}"));
    }
    let operand = |n: usize| text.operands.get(n).map_or("", String::as_str);
    let differs = |what: &str, ours: &dyn std::fmt::Debug, theirs: &str| {
        Err(format!("{what} {ours:?} for {theirs}"))
    };
    let check = |what: &str, ours: Operand, theirs: &str| {
        if same(ours, theirs) {
            Ok(())
        } else {
            differs(what, &ours, theirs)
        }
    };
    match ours.effect {
        Effect::Scalar { dst, a, b, .. } => {
            check("dst", dst, operand(0))?;
            if text.mnemonic.starts_with("s_addk") || text.mnemonic.starts_with("s_mulk") {
                return check("b", b, operand(1));
            }
            check("a", a, operand(1))?;
            if text.operands.len() > 2 {
                check("b", b, operand(2))?;
            }
            Ok(())
        }
        Effect::SaveExec { dst, src, .. } | Effect::WriteExec { dst, src, .. } => {
            check("dst", dst, operand(0))?;
            check("src", src, operand(1))
        }
        Effect::WriteLane { dst, src, lane } => {
            check("dst", Operand::Registers(Span::new(dst, 1)), operand(0))?;
            check("src", src, operand(1))?;
            check("lane", lane, operand(2))
        }
        Effect::ReadLane { dst, src, lane } => {
            check("dst", dst, operand(0))?;
            check("src", src, operand(1))?;
            check("lane", lane, operand(2))
        }
        Effect::ReadFirstLane { dst, src } => {
            check("dst", dst, operand(0))?;
            check("src", src, operand(1))
        }
        Effect::VectorMove { dst, src } => {
            check("dst", Operand::Registers(dst), operand(0))?;
            check("src", src, operand(1))
        }
        Effect::Vector { op, dst, sources } => {
            let is_first = |text: &str| text.starts_with(&format!("{dst}"));
            if !is_first(&first_register(operand(0))) {
                return differs("dst", &dst, operand(0));
            }
            // An additional mask operand that is written or read is named first or last.
            let first = if text.operands.get(1).is_some_and(|one| is_mask(text, one)) {
                2
            } else {
                1
            };
            let mut sources = sources[..op.sources()].to_vec();
            if text.mnemonic.contains("rev") {
                sources.swap(0, 1);
            }
            for (n, source) in sources.into_iter().enumerate() {
                check("source", source, &first_register(operand(first + n)))?;
            }
            Ok(())
        }
        Effect::Load(access) | Effect::Store(access) => {
            let is_store = matches!(ours.effect, Effect::Store(_));
            let buffer = access.descriptor.is_some();
            let lds = access.data.is_none();
            let (data, address) = match (buffer, is_store) {
                (false, true) => (1, 0),
                _ if lds => (9, 0),
                _ => (0, 1),
            };
            if let Some(span) = access.data
                && !text.has("tfe")
            {
                check("data", Operand::Registers(span), operand(data))?;
            }
            check(
                "address",
                access.address.map_or(Operand::Null, Operand::Registers),
                operand(address),
            )?;
            let last = if lds { 1 } else { 2 };
            if let Some(descriptor) = access.descriptor {
                check("descriptor", descriptor, operand(last))?;
                check("soffset", access.base, operand(last + 1))?;
            } else if let Some(base) = text.operands.get(last) {
                check("base", access.base, base)?;
            } else if access.base != Operand::Null {
                return differs("base", &access.base, "none");
            }
            let offset = text.number("offset").unwrap_or(0);
            if i64::from(access.offset) != offset {
                return differs("offset", &access.offset, &offset.to_string());
            }
            Ok(())
        }
        Effect::ScalarLoad {
            bytes,
            dst,
            base,
            index,
            offset,
        } => {
            let is_part = ["i8", "u8", "i16", "u16"]
                .iter()
                .any(|end| text.mnemonic.ends_with(end));
            if is_part != (bytes < 4) {
                return differs("bytes", &bytes, &text.mnemonic);
            }
            check("dst", dst, operand(0))?;
            check("base", base, operand(1))?;
            let constant = match (index, text.operands.get(2)) {
                (Operand::Null, Some(third))
                    if third.starts_with("0x") || third.starts_with("-0x") =>
                {
                    number(third)
                }
                (_, third) => {
                    if let Some(third) = third {
                        check("index", index, third)?;
                    }
                    hex_modifier(&text.modifiers)
                }
            };
            if constant.unwrap_or(0) != i64::from(offset) {
                return differs("offset", &offset, &text.modifiers);
            }
            Ok(())
        }
        Effect::GetPc { dst } => check("dst", dst, operand(0)),
        Effect::SetPc { src } => check("src", src, operand(0)),
        Effect::Call { dst, target } => {
            check("dst", dst, operand(0))?;
            match target {
                hetdwarf::isa::CallTarget::Registers(src) => check("src", src, operand(1)),
                hetdwarf::isa::CallTarget::Address(address) => branch(ours, address, operand(1)),
                other => Err(format!("{other:?}")),
            }
        }
        Effect::Branch { target, .. } => {
            branch(ours, target, operand(text.operands.len().saturating_sub(1)))
        }
        _ => Ok(()),
    }
}

fn branch(ours: &Instruction, target: u64, text: &str) -> Result<(), String> {
    // The operand is an unsigned number of dwords. If it is a label, there is nothing to compare.
    let Ok(dwords) = text.parse::<i64>() else {
        return Ok(());
    };
    let dwords = (dwords << 48) >> 48;
    let expected = (ours.address + 4).wrapping_add_signed(4 * dwords);
    if target == expected {
        Ok(())
    } else {
        Err(format!("target {target:#x} for {text}"))
    }
}

/// Returns the first of several registers.
fn first_register(text: &str) -> String {
    match text.split_once('[') {
        Some((file, rest)) => {
            let first = rest.split(':').next().unwrap_or(rest);
            format!("{file}{first}")
        }
        None => text.to_owned(),
    }
}

/// Returns true if the second operand is a mask that a vector instruction also writes.
fn is_mask(text: &Text, operand: &str) -> bool {
    let writes_mask = ["_co_", "v_mad_u64_u32", "v_mad_i64_i32"];
    let is_written = writes_mask.iter().any(|one| text.mnemonic.contains(one));
    is_written
        && (operand.starts_with("vcc")
            || operand.starts_with('s')
            || operand == "null"
            || operand.starts_with("ttmp"))
}

fn hex_modifier(modifiers: &str) -> Option<i64> {
    modifiers
        .split_whitespace()
        .find_map(|one| number(one.strip_prefix("offset:")?))
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text
        .strip_prefix('-')
        .map_or((false, text), |rest| (true, rest));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16)
            .ok()
            .or_else(|| u64::from_str_radix(hex, 16).ok().map(u64::cast_signed))?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// Returns true if a range of scalar registers is aligned: to even numbers, or to multiples of four for more than two. LLVM prints others
/// as if they were.
fn is_aligned(span: Span) -> bool {
    let alignment = if span.count > 2 {
        4
    } else {
        u8::min(span.count, 2)
    };
    match span.first {
        MachineRegister::Sgpr(n) | MachineRegister::Ttmp(n) => n.is_multiple_of(alignment),
        _ => true,
    }
}

fn same(ours: Operand, theirs: &str) -> bool {
    // gfx11 and later name halves of vector registers for 16-bit operations.
    let theirs = theirs.trim_end_matches(".l").trim_end_matches(".h");
    match ours {
        Operand::Registers(span) if !is_aligned(span) => true,
        Operand::Registers(span) => span.to_string() == theirs,
        Operand::Integer(value) => {
            number(theirs).is_some_and(|n| n == i64::from(value) || n == i64::from(value) & 0xffff)
        }
        Operand::Literal(value) => {
            number(theirs).is_some_and(|n| {
                n == i64::from(value)
                    || n == i64::from(value.cast_signed())
                    || n.cast_unsigned() >> 32 == u64::from(value)
            }) || theirs.contains("lit(")
        }
        Operand::Literal64(value) => {
            number(theirs) == Some(value.cast_signed()) || theirs.contains("lit")
        }
        Operand::Null => matches!(theirs, "null" | "off" | ""),
        Operand::Float(_) => theirs.parse::<f64>().is_ok() || theirs.starts_with("0x"),
        Operand::Other(_) => true,
        _ => false,
    }
}
