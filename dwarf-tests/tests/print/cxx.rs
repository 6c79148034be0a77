//! Tests features of C++ that the OpenCL of the emulated waves lacks: `this`, references, bit-fields, base classes, namespaces, vectors,
//! arrays of several dimensions, lists.
//!
//! The program was never run. The test puts different values into each lane at the locations that `llvm-dwarfdump` shows for the variables,
//! and evaluates their names.

use std::path::PathBuf;

use dwarf_tests::{fixture, hetdwarf};
use serde_json::{Value, json};

pub(crate) const LANES: i64 = 32;
/// The address of a lane's private memory in the generic address space.
pub(crate) const PRIVATE: u64 = 0x2_0000_0000_0000;
pub(crate) const LOAD: u64 = 0x10_0000;

/// The scratch of a wave, filled lane by lane. The frame starts at 0, because s33 is 0.
pub(crate) struct Scratch(Vec<u8>);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        // The initial bytes are not 0, so that unwritten memory is detected.
        Scratch(vec![0xa5; 0x400 * 32])
    }

    /// Writes bytes of a lane. USAGE "Private Address Space": dwords of neighbouring lanes are adjacent.
    fn put(&mut self, lane: i64, address: usize, bytes: &[u8]) {
        for (at, byte) in (address..).zip(bytes) {
            let lane = usize::try_from(lane).unwrap();
            self.0[at / 4 * 128 + lane * 4 + at % 4] = *byte;
        }
    }

    pub(crate) fn ints(&mut self, lane: i64, address: usize, values: &[i64]) {
        for (index, value) in values.iter().enumerate() {
            self.put(lane, address + index * 4, &(*value as i32).to_le_bytes());
        }
    }

    pub(crate) fn long(&mut self, lane: i64, address: usize, value: u64) {
        self.put(lane, address, &value.to_le_bytes());
    }
}

/// Evaluates expressions in frame 0 of a wave that stopped at `pc` of a fixture's object.
pub(crate) fn expressions<'t>(
    name: &str,
    place: (&Object, u64),
    scratch: Scratch,
    texts: impl Iterator<Item = &'t str>,
) -> Vec<Value> {
    expressions_in("0", name, place, scratch, texts)
}

/// Evaluates expressions in a frame of a wave that stopped at `pc` of a fixture's object.
pub(crate) fn expressions_in<'t>(
    frame: &str,
    name: &str,
    (object, pc): (&Object, u64),
    scratch: Scratch,
    texts: impl Iterator<Item = &'t str>,
) -> Vec<Value> {
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let word = |(address, value): &(u64, i32)| json!({"space": "none", "address": format!("{:#x}", LOAD + address), "bytes": hex(&value.to_le_bytes())});
    let private = json!({"space": "private_wave", "address": "0x0", "bytes": hex(&scratch.0)});
    let memory: Vec<Value> = object.words.iter().map(word).chain([private]).collect();
    let snapshot = json!({
        "format": "hetdwarf-wave/1", "target": "gfx1100", "wave_size": 32,
        "pc": format!("{:#x}", LOAD + pc), "load_address": format!("{LOAD:#x}"),
        "registers": {"exec": "0xffffffff", "s33": "0x0"},
        "memory": memory,
        "apertures": {"shared_base": "0x1000000000000", "private_base": format!("{PRIVATE:#x}")},
    });
    let wave: PathBuf =
        std::env::temp_dir().join(format!("hetdwarf-{name}-{}.json", std::process::id()));
    std::fs::write(&wave, snapshot.to_string()).unwrap();
    let object = fixture(object.path);
    let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let mut arguments = vec!["print".to_owned(), path(&object)];
    arguments.extend(["--frame", frame, "--format", "json", "--wave"].map(str::to_owned));
    arguments.extend([path(&wave), "--".to_owned()]);
    arguments.extend(texts.map(str::to_owned));
    let ran = hetdwarf(arguments);
    std::fs::remove_file(&wave).unwrap();
    assert!(ran.err.is_empty(), "{}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    document["expressions"].as_array().unwrap().clone()
}

/// An object of the fixtures, and words of its global memory with their addresses.
pub(crate) struct Object {
    pub(crate) path: &'static str,
    pub(crate) words: &'static [(u64, i32)],
}

/// The addresses are llvm-nm's for _ZN4geom5Named5countE, _ZN4geom5levelE, level and _ZL6hidden.
const OBJECT: Object = Object {
    path: "print/cxx.hsaco",
    words: &[(0x4730, 7), (0x4734, 3), (0x4738, 4), (0x473c, 5)],
};

/// An expression, its type and its value in a lane.
pub(crate) type Row = (&'static str, &'static str, fn(i64) -> String);

pub(crate) fn text(value: impl ToString) -> String {
    value.to_string()
}

pub(crate) fn check(rows: &[Row], answers: &[Value]) {
    let mut wrong = Vec::new();
    assert_eq!(rows.len(), answers.len());
    for ((expression, ty, value), answer) in rows.iter().zip(answers) {
        if answer["type"] != *ty {
            wrong.push(format!(
                "`{expression}`: {}",
                answer.to_string().chars().take(200).collect::<String>()
            ));
            continue;
        }
        for lane in answer["lanes"].as_array().unwrap() {
            let expected = value(lane["lane"].as_i64().unwrap());
            let found = lane["value"].as_str().or(lane["message"].as_str());
            if found != Some(&expected) {
                wrong.push(format!("`{expression}`: expected {expected}, found {lane}"));
                break;
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The rows for `geom::Shape::scaled`. DW_AT_location: this +8, by +16, other +24, row +32, local +40, v +48, w +64, grid +72, x +96.
/// Shape: Point x 0, y 4; union tag/weight 8; bit-fields from 12; wide 16; axis 21.
#[rustfmt::skip]
const SCALED: &[Row] = &[
    ("x", "int", |_| text(99)),
    ("this->x", "int", |l| text(100 + l)),
    ("y", "int", |l| text(-l)),
    ("Shape::y", "int", |l| text(-l)),
    ("(*this).y - this->y", "int", |_| text(0)),
    ("tag", "int", |l| text(1000 * l)),
    ("weight == *(float *)&tag", "int", |_| text(1)),
    ("low", "unsigned int", |l| text(l & 7)),
    ("low - 8", "int", |l| text((l & 7) - 8)),
    ("mid", "unsigned int", |l| text((l * 3) & 127)),
    ("-mid", "int", |l| text(-((l * 3) & 127))),
    ("sign", "int", |l| text(l % 32 - 16)),
    ("sign * 2", "int", |l| text((l % 32 - 16) * 2)),
    ("wide", "long", |l| text(-(l << 30))),
    ("wide >> 30", "long", |l| text(-l)),
    ("(int)axis", "int", |_| text(200)),
    ("axis == geom::Axis::Y", "int", |_| text(1)),
    ("axis != Axis::X", "int", |_| text(1)),
    ("other.y", "int", |l| text(7 * l)),
    ("other.y + this->y", "int", |l| text(6 * l)),
    ("&other", "geom::Shape *", |_| format!("generic#{:#x}", PRIVATE + 0x240)),
    ("&other - this", "long", |_| text(2)),
    ("(char *)&other - (char *)this", "long", |_| text(0x30)),
    ("sizeof other", "unsigned long", |_| text(24)),
    ("row[1]", "const int", |l| text(2 * l)),
    ("row[2] - *row", "int", |l| text(2 * l)),
    ("sizeof row", "unsigned long", |_| text(12)),
    ("local - by", "int", |l| text(100 + l)),
    ("v[1]", "float", |_| text(2.5)),
    ("v.x", "float", |l| text(1 + l)),
    ("v.w + v.s2", "float", |_| text(1)),
    ("w[3]", "short", |_| text(-4)),
    ("w.x * w.y", "int", |l| text(-2 * l)),
    ("w", "short4", |l| format!("{{{l}, -2, 3, -4}}")),
    ("sizeof w", "unsigned long", |_| text(8)),
    ("grid[1][2]", "int", |l| text(6 + l)),
    ("grid[1]", "int[3]", |l| format!("{{{}, {}, {}}}", 4 + l, 5 + l, 6 + l)),
    ("sizeof grid[0]", "unsigned long", |_| text(12)),
    ("**grid", "int", |l| text(1 + l)),
    ("*(grid[0] + 4)", "int", |l| text(5 + l)),
    ("(*(grid + 1))[1]", "int", |l| text(5 + l)),
    ("&grid[1][0] - &grid[0][0]", "long", |_| text(3)),
    ("&grid[1] - &grid[0]", "long", |_| text(1)),
    ("level", "int", |_| text(3)),
    ("::level", "int", |_| text(4)),
    ("geom::level + ::level", "int", |_| text(7)),
    ("geom::Named::count", "int", |_| text(7)),
    ("Named::count * hidden", "int", |_| text(35)),
    ("sizeof(geom::Shape) + sizeof(Point)", "unsigned long", |_| text(32)),
    ("((Point *)this)->y", "int", |l| text(-l)),
    ("((geom::Point const *)&other)->y", "int", |l| text(7 * l)),
    ("*(Point *)this", "geom::Point", |l| format!("{{x = {}, y = {}}}", 100 + l, -l)),
    ("(Point *)this == &other", "int", |_| text(0)),
    ("scaled", "int (*)(geom::Shape *, int, geom::Shape &, const int (&)[3])", |_| format!("{:#x}", LOAD + 0x2200)),
    ("$sp", "void *", |_| text("the register or memory is not available")),
];

#[test]
fn members_references_and_names_are_those_of_cxx() {
    let mut scratch = Scratch::new();
    for lane in 0..LANES {
        scratch.long(lane, 8, PRIVATE + 0x210);
        scratch.ints(lane, 16, &[5]);
        scratch.long(lane, 24, PRIVATE + 0x240);
        scratch.long(lane, 32, PRIVATE + 0x280);
        scratch.ints(lane, 40, &[105 + lane]);
        for (index, value) in [(1 + lane) as f32, 2.5, -3.0, 4.0].into_iter().enumerate() {
            scratch.put(lane, 48 + index * 4, &value.to_le_bytes());
        }
        for (index, value) in [lane as i16, -2, 3, -4].into_iter().enumerate() {
            scratch.put(lane, 64 + index * 2, &value.to_le_bytes());
        }
        let grid: Vec<i64> = (1..=6).map(|value| value + lane).collect();
        scratch.ints(lane, 72, &grid);
        scratch.ints(lane, 96, &[99]);
        let fields = lane & 7 | ((lane * 3) & 127) << 3 | ((lane % 32 - 16) & 31) << 10;
        scratch.ints(lane, 0x210, &[100 + lane, -lane, 1000 * lane, fields]);
        let wide = ((-(lane << 30)) as u64) & 0xff_ffff_ffff;
        scratch.long(lane, 0x220, wide | 200 << 40);
        scratch.ints(lane, 0x240, &[1, 7 * lane]);
        scratch.ints(lane, 0x280, &[lane, 2 * lane, 3 * lane]);
    }
    let texts = SCALED.iter().map(|(text, ..)| *text);
    check(
        SCALED,
        &expressions("scaled", (&OBJECT, 0x24ec), scratch, texts),
    );
}

/// The rows for `chain` in its loop. DW_AT_location: head +8, n +16, sum +20, p +40. Node: next 0, value 8.
#[rustfmt::skip]
const CHAIN: &[Row] = &[
    ("head->value", "int", |l| text(1 + l)),
    ("head->next->value", "int", |l| text(20 - l)),
    ("head->next->next", "Node *", |_| text("generic#0x0")),
    ("head->next->next == nullptr", "int", |_| text(1)),
    ("head->next->next->value", "int", |_| text("the pointer is null (generic#0x0)")),
    ("head->next->next ? head->next->next->value : -1", "int", |_| text(-1)),
    ("head->next && head->next->value > 15", "int", |l| text(i64::from(20 - l > 15))),
    ("p == head->next", "int", |_| text(1)),
    ("p->value + sum * n", "int", |l| text(20 - l + (1 + l) * 3)),
    ("*head->next", "Node", |l| format!("{{next = 0x0, value = {}}}", 20 - l).replace("0x0", "generic#0x0")),
    ("&head->next->value", "int *", |_| format!("generic#{:#x}", PRIVATE + 0x318)),
    ("*(int *)((char *)p + 8)", "int", |l| text(20 - l)),
    ("level", "int", |_| text(4)),
];

#[test]
fn lists_are_followed_in_each_lane() {
    let mut scratch = Scratch::new();
    for lane in 0..LANES {
        scratch.long(lane, 8, PRIVATE + 0x300);
        scratch.ints(lane, 16, &[3, 1 + lane]);
        scratch.long(lane, 40, PRIVATE + 0x310);
        scratch.long(lane, 0x300, PRIVATE + 0x310);
        scratch.ints(lane, 0x308, &[1 + lane]);
        scratch.long(lane, 0x310, 0);
        scratch.ints(lane, 0x318, &[20 - lane]);
    }
    let texts = CHAIN.iter().map(|(text, ..)| *text);
    check(
        CHAIN,
        &expressions("chain", (&OBJECT, 0x1800), scratch, texts),
    );
}

#[test]
fn what_cxx_forbids_is_an_error() {
    let faults = [
        ("&low", "type"),
        ("sizeof low", "type"),
        ("low@2", "type"),
        ("(Shape &)other", "unsupported"),
        ("scaled(1, other, row)", "unsupported"),
        ("v.s4", "unknown-member"),
        ("w.z2", "unknown-member"),
        ("geom::levle", "unknown-name"),
        ("geom::Shape", "unsupported"),
        ("(geom::Shap *)this", "unknown-type"),
        ("this.x", "type"),
        ("this->zag", "unknown-member"),
        ("p", "unknown-name"),
    ];
    let texts = faults.iter().map(|(text, _)| *text);
    let answers = expressions("faults", (&OBJECT, 0x24ec), Scratch::new(), texts);
    for ((text, kind), answer) in faults.iter().zip(answers) {
        assert_eq!(answer["error"]["kind"], *kind, "{text}: {answer}");
    }
}
