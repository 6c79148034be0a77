//! Compares arithmetic over constants with two other implementations of C's arithmetic: Rust's integers, and gcc.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::expressions;

/// A pseudo-random sequence that is the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// Returns a value of a random size. Small values and those near the limits of types are likely.
    fn value(&mut self) -> u64 {
        let bits = self.one_of(&[1, 4, 8, 16, 31, 32, 33, 63, 64]);
        let value = self.next() >> (64 - bits);
        value.wrapping_add(self.one_of(&[0, 0, 1, u64::MAX]))
    }
}

/// A C integer as a Rust integer. Types narrower than `int` promote to `int`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Int {
    I(i32),
    U(u32),
    L(i64),
    Ul(u64),
}

use Int::{I, L, U, Ul};

impl Int {
    fn ty(self) -> &'static str {
        match self {
            I(_) => "int",
            U(_) => "unsigned int",
            L(_) => "long",
            Ul(_) => "unsigned long",
        }
    }

    fn text(self) -> String {
        match self {
            I(v) => v.to_string(),
            U(v) => v.to_string(),
            L(v) => v.to_string(),
            Ul(v) => v.to_string(),
        }
    }

    fn bits(self) -> u64 {
        match self {
            I(v) => i64::from(v) as u64,
            U(v) => v.into(),
            L(v) => v as u64,
            Ul(v) => v,
        }
    }

    /// Applies the usual arithmetic conversions.
    fn with(self, other: Int) -> (Int, Int) {
        let rank = |v: Int| match v {
            I(_) => 0,
            U(_) => 1,
            L(_) => 2,
            Ul(_) => 3,
        };
        let to = |v: Int| match rank(self).max(rank(other)) {
            0 => I(v.bits() as i32),
            1 => U(v.bits() as u32),
            2 => L(v.bits() as i64),
            _ => Ul(v.bits()),
        };
        (to(self), to(other))
    }

    /// Applies a binary operator. Returns None if C does not define the result, except that signed overflow wraps.
    fn binary(self, operator: &str, other: Int) -> Option<Int> {
        if let "<<" | ">>" = operator {
            return self.shift(operator, other);
        }
        macro_rules! apply {
            ($make:path, $a:expr, $b:expr) => {{
                let (a, b) = ($a, $b);
                match operator {
                    "+" => Some($make(a.wrapping_add(b))),
                    "-" => Some($make(a.wrapping_sub(b))),
                    "*" => Some($make(a.wrapping_mul(b))),
                    "/" if b == 0 => None,
                    "/" => Some($make(a.wrapping_div(b))),
                    "%" if b == 0 => None,
                    "%" => Some($make(a.wrapping_rem(b))),
                    "&" => Some($make(a & b)),
                    "|" => Some($make(a | b)),
                    "^" => Some($make(a ^ b)),
                    "<" => Some(I(i32::from(a < b))),
                    ">" => Some(I(i32::from(a > b))),
                    "<=" => Some(I(i32::from(a <= b))),
                    ">=" => Some(I(i32::from(a >= b))),
                    "==" => Some(I(i32::from(a == b))),
                    "!=" => Some(I(i32::from(a != b))),
                    _ => unreachable!("{operator}"),
                }
            }};
        }
        match self.with(other) {
            (I(a), I(b)) => apply!(I, a, b),
            (U(a), U(b)) => apply!(U, a, b),
            (L(a), L(b)) => apply!(L, a, b),
            (Ul(a), Ul(b)) => apply!(Ul, a, b),
            different => unreachable!("{different:?}"),
        }
    }

    fn shift(self, operator: &str, count: Int) -> Option<Int> {
        let count = match count {
            I(v) => u32::try_from(v).ok()?,
            U(v) => v,
            L(v) => u32::try_from(v).ok()?,
            Ul(v) => u32::try_from(v).ok()?,
        };
        let left = operator == "<<";
        match self {
            I(v) => (if left {
                v.checked_shl(count)
            } else {
                v.checked_shr(count)
            })
            .map(I),
            U(v) => (if left {
                v.checked_shl(count)
            } else {
                v.checked_shr(count)
            })
            .map(U),
            L(v) => (if left {
                v.checked_shl(count)
            } else {
                v.checked_shr(count)
            })
            .map(L),
            Ul(v) => (if left {
                v.checked_shl(count)
            } else {
                v.checked_shr(count)
            })
            .map(Ul),
        }
    }

    fn unary(self, operator: &str) -> Int {
        match (operator, self) {
            ("!", v) => I(i32::from(v.bits() == 0)),
            ("+", v) => v,
            ("-", I(v)) => I(v.wrapping_neg()),
            ("-", U(v)) => U(v.wrapping_neg()),
            ("-", L(v)) => L(v.wrapping_neg()),
            ("-", Ul(v)) => Ul(v.wrapping_neg()),
            ("~", I(v)) => I(!v),
            ("~", U(v)) => U(!v),
            ("~", L(v)) => L(!v),
            ("~", Ul(v)) => Ul(!v),
            other => unreachable!("{other:?}"),
        }
    }

    fn cast(self, ty: &str) -> Int {
        let bits = self.bits();
        match ty {
            "signed char" => I((bits as i8).into()),
            "unsigned char" => I((bits as u8).into()),
            "short" => I((bits as i16).into()),
            "unsigned short" => I((bits as u16).into()),
            "int" => I(bits as i32),
            "unsigned" => U(bits as u32),
            "long" => L(bits as i64),
            "unsigned long" => Ul(bits),
            "bool" => I(i32::from(bits != 0)),
            _ => unreachable!("{ty}"),
        }
    }
}

const BINARY: &[&str] = &[
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!=",
];
const TYPES: &[&str] = &[
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "bool",
];

/// Returns a literal, and its value according to C17 §6.4.4.1.
fn literal(random: &mut Random) -> (String, Int) {
    let value = random.value();
    let suffix = random.one_of(&["", "", "u", "l", "ul"]);
    let hexadecimal = random.below(3) == 0;
    // A decimal literal that fits no signed type has no type in C.
    let value = if hexadecimal || suffix.contains('u') {
        value
    } else {
        value >> 1
    };
    let text = if hexadecimal {
        format!("{value:#x}{suffix}")
    } else {
        format!("{value}{suffix}")
    };
    let unsigned = suffix.contains('u');
    let short = !suffix.contains('l');
    let value = if short && !unsigned && i32::try_from(value).is_ok() {
        I(value as i32)
    } else if short && (unsigned || hexadecimal) && u32::try_from(value).is_ok() {
        U(value as u32)
    } else if !unsigned && i64::try_from(value).is_ok() {
        L(value as i64)
    } else {
        Ul(value)
    };
    (text, value)
}

/// Returns an expression with all its brackets, and its value if it has one.
fn expression(random: &mut Random, depth: u32) -> (String, Option<Int>) {
    if depth == 0 || random.below(6) == 0 {
        let (text, value) = literal(random);
        return (text, Some(value));
    }
    let (left, a) = expression(random, depth - 1);
    match random.below(8) {
        0 => {
            let operator = random.one_of(&["-", "~", "!", "+"]);
            (format!("({operator} {left})"), a.map(|a| a.unary(operator)))
        }
        1 => {
            let ty = random.one_of(TYPES);
            // The value is promoted at once, so that only four types occur.
            (format!("(+({ty}){left})"), a.map(|a| a.cast(ty)))
        }
        2 => {
            let (right, b) = expression(random, depth - 1);
            let operator = random.one_of(&["&&", "||"]);
            let is_and = operator == "&&";
            let value = a.and_then(|a| {
                if (a.bits() != 0) != is_and {
                    return Some(I(i32::from(!is_and)));
                }
                Some(I(i32::from(b?.bits() != 0)))
            });
            (format!("({left} {operator} {right})"), value)
        }
        3 => {
            let (then, b) = expression(random, depth - 1);
            let (otherwise, c) = expression(random, depth - 1);
            // The type is common to both branches, so both must be known here.
            let value = match (a, b, c) {
                (Some(a), Some(b), Some(c)) => {
                    let (b, c) = b.with(c);
                    Some(if a.bits() != 0 { b } else { c })
                }
                _ => None,
            };
            let text = format!("({left} ? {then} : {otherwise})");
            match (a, value) {
                // Undefined behaviour in the other branch would leave the type unknown here.
                (Some(_), None) => (format!("({left} / 0)"), None),
                _ => (text, value),
            }
        }
        _ => {
            let (right, b) = expression(random, depth - 1);
            let operator = random.one_of(BINARY);
            let value = a.zip(b).and_then(|(a, b)| a.binary(operator, b));
            (format!("({left} {operator} {right})"), value)
        }
    }
}

/// Returns the answers of `print` for constants.
fn evaluate(texts: &[String]) -> Vec<Value> {
    let texts = texts.iter().map(String::as_str);
    expressions("lds", ".rocm.hsaco", "w10", &["--lane", "5"], texts)
}

#[test]
fn integers_are_those_of_c() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let cases: Vec<_> = (0..3000)
        .map(|n| expression(&mut random, 1 + n % 5))
        .collect();
    let texts: Vec<String> = cases.iter().map(|(text, _)| text.clone()).collect();
    let mut defined = 0;
    for ((text, expected), answer) in cases.iter().zip(evaluate(&texts)) {
        assert!(answer["error"].is_null(), "{text}: {answer}");
        let lane = &answer["lanes"][0];
        match expected {
            Some(expected) => {
                defined += 1;
                assert_eq!(answer["type"], expected.ty(), "{text}: {expected:?}");
                assert_eq!(lane["value"], expected.text(), "{text}: {lane}");
                assert_eq!(lane["state"], "ok", "{text}");
            }
            // The expression contains a division by zero, or a shift by too many bits.
            None => {
                assert_eq!(lane["state"], "error", "{text}: {lane}");
                let message = lane["message"].as_str().unwrap();
                assert!(
                    message.contains("zero") || message.contains("shift"),
                    "{text}: {lane}"
                );
            }
        }
    }
    assert!(
        (1500..2990).contains(&defined),
        "{defined} of {}",
        cases.len()
    );
}

/// Returns an expression with floating-point numbers, and without brackets around operators.
fn flat(random: &mut Random, depth: u32) -> String {
    let mut text = String::new();
    for index in 0..1 + random.below(5) {
        if index > 0 {
            let operator = match random.below(8) {
                0 => random.one_of(&["&&", "||"]),
                _ => random.one_of(BINARY),
            };
            write!(text, " {operator} ").unwrap();
        }
        if random.below(4) == 0 {
            text.push_str(random.one_of(&["- ", "~ ", "! ", "+ ", "(int)", "(char)", "(float)"]));
            text.push_str(random.one_of(&["", "", "(unsigned short)", "(double)", "- "]));
        }
        match random.below(6) {
            0 if depth > 0 => write!(text, "({})", flat(random, depth - 1)).unwrap(),
            1 if depth > 0 => {
                let (a, b) = (flat(random, depth - 1), flat(random, depth - 1));
                write!(text, "({a} ? {b} : {})", flat(random, depth - 1)).unwrap();
            }
            2 => text.push_str(random.one_of(&["1.5", "0.1f", "1e3", "3e-2f", "0x1.8p4", "7."])),
            3 => text.push_str(random.one_of(&[
                "sizeof(int)",
                "sizeof 1.5f",
                "sizeof(short[3])",
                "'a'",
            ])),
            _ => text.push_str(&literal(random).0),
        }
    }
    text
}

/// Returns a C program that prints the type and the value of each expression.
fn program(texts: &[&String]) -> String {
    let mut source = String::from(
        r#"#include <stdio.h>
#include <signal.h>
#include <setjmp.h>
static sigjmp_buf out;
static void trap(int s) { siglongjmp(out, 1); }
#define NAME(x) _Generic((x), char: "char", signed char: "char", unsigned char: "unsigned char", short: "short", \
  unsigned short: "unsigned short", int: "int", unsigned: "unsigned int", long: "long", \
  unsigned long: "unsigned long", float: "float", double: "double")
#define BITS(x) do { __typeof__(x) v = (x); unsigned long b = 0; __builtin_memcpy(&b, &v, sizeof v); \
  printf("%s %d %016lx\n", NAME(x), (int)sizeof v, b); } while (0)
#define SHOW(x) do { if (sigsetjmp(out, 1)) printf("trap\n"); else BITS(x); } while (0)
int main(void) { signal(SIGFPE, trap);
"#,
    );
    for text in texts {
        // Here a character constant has type char, as in gdb and C++. In C it has type int.
        let text = text.replace("'a'", "(char)97");
        writeln!(source, "SHOW(({text}));").unwrap();
    }
    source.push_str("return 0; }\n");
    source
}

/// Compares types and values of expressions with all operators and without brackets with gcc's.
#[test]
fn precedence_types_and_values_are_those_of_gcc() {
    let version = Command::new("gcc").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) || !cfg!(target_arch = "x86_64") {
        dwarf_tests::skipped("gcc for x86-64 is not installed");
        return;
    }
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let texts: Vec<String> = (0..5000).map(|_| flat(&mut random, 2)).collect();
    // Compilers also reject the expressions that `print` rejects, for example `%` on a float: gcc is tested below.
    let answers = evaluate(&texts);
    let (good, refused): (Vec<_>, Vec<_>) = texts
        .iter()
        .zip(&answers)
        .partition(|(_, answer)| answer["error"].is_null());
    let defined: Vec<_> = good
        .into_iter()
        .filter(|(_, answer)| answer["lanes"][0]["state"] == "ok")
        .collect();
    let folder = std::env::temp_dir().join(format!("hetdwarf-print-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("a.c");
    let run = |source_text: &str, output: &str| {
        std::fs::write(&source, source_text).unwrap();
        let arguments = ["-w", "-O0", "-std=gnu11", "-fwrapv", "-o", output];
        Command::new("gcc")
            .args(arguments)
            .arg(&source)
            .current_dir(&folder)
            .output()
            .unwrap()
    };
    let sources: Vec<&String> = defined.iter().map(|(text, _)| *text).collect();
    let compiled = run(&program(&sources), "a.out");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let printed = Command::new(folder.join("a.out")).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), defined.len());
    let mut compared = 0;
    for ((text, answer), line) in defined.iter().zip(lines) {
        // Dividing the smallest number by -1 traps in C, and wraps here.
        let Some((ty, bits)) = line.rsplit_once(' ').filter(|_| line != "trap") else {
            continue;
        };
        let (ty, size) = ty.rsplit_once(' ').unwrap();
        // Converting an out-of-range float to an integer is undefined in C.
        if is_open(text) {
            continue;
        }
        compared += 1;
        assert_eq!(answer["type"], ty, "{text}");
        let value = u64::from_str_radix(bits, 16).unwrap();
        let bytes = &value.to_le_bytes()[..size.parse().unwrap()];
        let found = answer["lanes"][0]["bytes"].as_str().unwrap();
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let is_nan = answer["lanes"][0]["value"]
            .as_str()
            .unwrap()
            .contains("nan");
        assert!(
            found == digits || is_nan,
            "{text}: {digits} by gcc, {answer}"
        );
    }
    for (text, answer) in refused.iter().take(40) {
        let compiled = run(&program(&[text]), "b.out");
        assert!(!compiled.status.success(), "gcc takes {text}: {answer}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        compared > 900 && refused.len() > 100,
        "{compared}, {}",
        refused.len()
    );
}

/// Returns true if a float may be converted to an integer type. C defines this only for values in range.
fn is_open(text: &str) -> bool {
    text.contains("(int)") || text.contains("(char)") || text.contains("(unsigned short)")
}
