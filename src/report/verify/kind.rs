//! Names the kind of mistake of a finding in words that are the same in every build. They contain no register, address or offset. They do not depend
//! on the position of the code, on the target or on the optimisation level.

use crate::arch::{Register, RegisterClass};
use crate::cfi_check::{Condition, Contradiction, Subject};

/// Returns the kind of a contradiction: the subject of its row and, after a comma, the condition.
///
/// The return address counts as a scalar register, because an epilogue restores it together with them.
pub(super) fn of(contradiction: &Contradiction) -> String {
    let subject = match contradiction.subject {
        Subject::Cfa => "cfa",
        Subject::Row => "row",
        Subject::ReturnAddress => "scalar",
        Subject::Register(register) => match register.class() {
            _ if Some(register) == Register::sgpr(32) => "stack-pointer",
            Some(RegisterClass::Exec) => "exec",
            Some(RegisterClass::Vgpr | RegisterClass::Agpr) => "vector",
            Some(
                RegisterClass::Sgpr
                | RegisterClass::Pc
                | RegisterClass::Vcc
                | RegisterClass::Status,
            )
            | None => "scalar",
        },
    };
    let condition = match contradiction.condition {
        Condition::Always => return subject.to_owned(),
        Condition::LanesActive => "lanes-active",
        Condition::LanesInactive => "lanes-inactive",
        Condition::LanesSwitchedOff => "lanes-switched-off",
        Condition::StackMisaligned => "stack-misaligned",
    };
    format!("{subject},{condition}")
}

/// Returns the register of the caller whose value a debugger gets wrong, if the contradiction is about one.
pub(super) fn register(contradiction: &Contradiction) -> Option<String> {
    match contradiction.subject {
        Subject::ReturnAddress => Some("pc".to_owned()),
        Subject::Register(register) => Some(register.to_string()),
        Subject::Cfa | Subject::Row => None,
    }
}

/// Returns a message without its variable parts: names between backquotes, words with digits, and counts.
pub(super) fn shape(message: &str) -> String {
    let message = message
        .split_once(", here and ")
        .map_or(message, |(before, _)| before);
    let message = match message.rsplit_once("; ") {
        Some((before, after)) if after.contains(" more of this rule") => before,
        Some(_) | None => message,
    };
    let mut text = String::with_capacity(message.len());
    for (number, part) in message.split('`').enumerate() {
        if number % 2 == 1 {
            text.push('…');
            continue;
        }
        for word in part.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
            let (stem, last) = match word.char_indices().next_back() {
                Some((at, c)) if !c.is_alphanumeric() && c != '_' => {
                    word.split_at_checked(at).unwrap_or((word, ""))
                }
                Some(_) | None => (word, ""),
            };
            match stem.contains(|c: char| c.is_ascii_digit()) {
                true => text.push('…'),
                false => text.push_str(stem),
            }
            text.push_str(last);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn what_differs_from_place_to_place_is_left_out() {
        for (message, expected) in [
            (
                "DW_AT_location of `sink`: the object takes 64 bits, and a composite location has 32; 1 more of this rule in this unit",
                "DW_AT_location of …: the object takes … bits, and a composite location has …",
            ),
            (
                "the CFA: s17 has 32 bits, here and in 73 more places",
                "the CFA: … has … bits",
            ),
            (
                "the frame base of `Shape` is in register s33; 88 more of this rule in this unit",
                "the frame base of … is in register …",
            ),
            (
                "the entry for 0x10..0x18 is empty",
                "the entry for …..… is empty",
            ),
            ("", ""),
            ("`", "…"),
        ] {
            assert_eq!(shape(message), expected);
        }
    }
}
