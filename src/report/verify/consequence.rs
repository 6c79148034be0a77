//! Describes in one sentence the wrong output of a debugger that a finding causes.

use super::FindingDocument;

impl FindingDocument {
    /// Returns the wrong output of a debugger that this finding causes. Returns None for rules whose message already describes it, and for rules
    /// about debugging information that is only incomplete.
    #[must_use]
    pub fn consequence(&self) -> Option<String> {
        let function = match &self.function {
            Some(function) => format!("`{function}`"),
            None => "this function".to_owned(),
        };
        if self.rule.starts_with("lane-pc-") {
            return Some(format!(
                "debuggers will show inactive lanes of {function} at wrong lines"
            ));
        }
        if self.rule == "lane-active-wrong" {
            return Some(format!(
                "debuggers will show wrong lanes of {function} as active"
            ));
        }
        let (subject, condition) = match self.kind.split_once(',') {
            Some((subject, condition)) => (subject, Some(condition)),
            None => (self.kind.as_str(), None),
        };
        let wrong = match (subject, self.registers.as_slice()) {
            ("" | "row", _) => return None,
            ("cfa", _) => "a wrong stack, and wrong values in callers".to_owned(),
            (_, [register]) if register == "pc" => "a wrong caller".to_owned(),
            (_, [register]) => format!("a wrong value of {register} in callers"),
            (_, registers) => format!("wrong values of {} in callers", registers.join(", ")),
        };
        let when = match condition {
            Some("lanes-active") => ", in lanes active on entry",
            Some("lanes-inactive") => ", in lanes inactive on entry",
            Some("lanes-switched-off") => ", if lanes were switched off since entry",
            Some("stack-misaligned") => ", if the stack was not aligned on entry",
            Some(_) | None => "",
        };
        Some(format!("debuggers will show {wrong} of {function}{when}"))
    }
}
