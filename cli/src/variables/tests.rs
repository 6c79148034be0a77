//! Tests the layout of small documents.

use super::*;
use hetdwarf::arch::{Lane, ProcessAddress};
use hetdwarf::report::{Hex, LaneDocument, TypeText, ValueNote, ValueText};

/// Returns a variable with the values of lanes: `!` is inactive, `-` optimised away, `?` an error.
fn variable(
    declaration: &str,
    kind: VariableKind,
    scope: &str,
    values: &[&str],
) -> VariableDocument {
    let (ty, name) = declaration.rsplit_once(' ').unwrap();
    let lane = |(lane, value): (usize, &&str)| {
        let (state, value, message) = match *value {
            "!" => (ValueStateKind::Inactive, None, None),
            "-" => (
                ValueStateKind::OptimizedOut,
                None,
                Some("it is nowhere".into()),
            ),
            "?" => (ValueStateKind::Error, None, Some("byte 3 is bad".into())),
            value => (ValueStateKind::Ok, Some(ValueText::new(value, [])), None),
        };
        let lane = Lane(lane.try_into().unwrap());
        let mut document = LaneDocument::of_state(lane, None, state);
        document.value = value;
        document.message = message;
        document
    };
    let line = if name.ends_with('2') { 2 } else { 1 };
    let name = name.trim_end_matches('2').to_owned();
    // The tests use a single array.
    let ty = TypeText::new(ty.to_owned(), usize::from(ty.ends_with(']')));
    let mut variable = VariableDocument::new(name.into(), kind, ty);
    variable.decl.line = Some(line);
    variable.scope = (!scope.is_empty()).then(|| scope.to_owned().into());
    variable.lanes = values.iter().enumerate().map(lane).collect();
    variable
}

fn frame(index: usize, function: &str, place: Option<(&str, u64)>) -> FrameDocument {
    let mut frame = FrameDocument::of_symbol(ProcessAddress(0x10), None);
    (frame.index, frame.call_frame) = (index, index);
    frame.function = Some(function.to_owned().into());
    frame.file = place.map(|(file, _)| file.to_owned().into());
    frame.line = place.map(|(_, line)| line);
    frame
}

/// Returns the lines after the first.
fn lines(variables: Vec<VariableDocument>) -> Vec<String> {
    let content = FrameVariables::new(frame(0, "f", Some(("src/f.cl", 3))), variables);
    let mut out = anstream::StripStream::new(Vec::new());
    let frames = [content];
    let mut printer = Printer::new(100, &frames);
    printer.print(&frames[0], &mut out).unwrap();
    let text = String::from_utf8(out.into_inner()).unwrap();
    assert!(text.starts_with("#0 f at f.cl:3 (pc 0x10)\n"), "{text}");
    text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn parameters_come_first_and_what_is_the_same_is_said_once() {
    let lines = lines(vec![
        variable("int i", VariableKind::Variable, "f", &["1", "2"]),
        variable("int j", VariableKind::Variable, "f", &["3", "3"]),
        variable("char * p", VariableKind::Parameter, "f", &["0x1", "0x1"]),
        variable("long[4] q", VariableKind::Parameter, "f", &["{1}", "{2}"]),
        variable("[]i16 s", VariableKind::Variable, "f", &["{4}", "{4}"]),
    ]);
    assert_eq!(
        lines,
        [
            "char *p = 0x1 (all lanes)",
            "int j = 3 (all lanes)",
            "[]i16 s = {4} (all lanes)",
            "lane         0    1",
            "long q[4]  {1}  {2}",
            "int i        1    2",
        ]
    );
}

#[test]
fn lanes_without_a_value_are_explained_below() {
    let lines = lines(vec![
        variable(
            "int a",
            VariableKind::Variable,
            "f",
            &["1", "-", "!", "?", "-"],
        ),
        variable(
            "int b",
            VariableKind::Variable,
            "f",
            &["-", "-", "!", "-", "-"],
        ),
    ]);
    assert_eq!(
        lines,
        [
            "int b = <optimized out> (it is nowhere)",
            "lane   0  1  3  4",
            "int a  1  ?  ?  ?",
            "int a: ? is <optimized out> (it is nowhere) in lanes 1, 4",
            "int a: ? is <error> (byte 3 is bad) in lane 3",
            "lane 2 is not active here",
        ]
    );
}

#[test]
fn long_values_have_a_line_each() {
    let long = "{x = 1, y = 2, z = 3, w = 4}";
    let lines = lines(vec![variable(
        "V v",
        VariableKind::Variable,
        "f",
        &[long, "{x = 0}", long, "-"],
    )]);
    assert_eq!(
        lines,
        [
            "V v",
            "  lanes 0, 2: {x = 1, y = 2, z = 3, w = 4}",
            "  lane 1: {x = 0}",
            "  lane 3: <optimized out> (it is nowhere)",
        ]
    );
}

#[test]
fn scopes_and_variables_of_one_name_are_told_apart() {
    let lines = lines(vec![
        variable("int i2", VariableKind::Variable, "f", &["1", "1"]),
        variable("int i", VariableKind::Variable, "f", &["2", "2"]),
        variable("int i", VariableKind::Variable, "g", &["3", "3"]),
        variable("int i", VariableKind::Global, "", &["4", "4"]),
    ]);
    assert_eq!(
        lines,
        [
            "in f:",
            "int i (line 2) = 1 (all lanes)",
            "int i (line 1) = 2 (all lanes)",
            "in g:",
            "int i = 3 (all lanes)",
            "in the file:",
            "int i = 4 (all lanes)",
        ]
    );
}

#[test]
fn one_lane_is_a_line_for_each_variable() {
    let lines = lines(vec![
        variable("int a", VariableKind::Variable, "f", &["1"]),
        variable("int b", VariableKind::Variable, "f", &["-"]),
    ]);
    assert_eq!(
        lines,
        ["int a = 1", "int b = <optimized out> (it is nowhere)"]
    );
    let nothing = self::lines(vec![variable(
        "int a",
        VariableKind::Variable,
        "f",
        &["!", "!"],
    )]);
    assert_eq!(nothing, ["lanes 0-1 are not active here"]);
}

#[test]
fn what_is_of_the_file_is_said_in_the_first_frame_only() {
    let content = |index, function: &str| {
        let mut table = variable("int table", VariableKind::Global, "", &["3", "3"]);
        table.die = Hex(0x77);
        let own = variable("int i", VariableKind::Variable, function, &["1", "2"]);
        FrameVariables::new(frame(index, function, None), vec![own, table])
    };
    let mut bare = content(2, "h");
    bare.variables.remove(0);
    let frames = [content(0, "f"), content(1, "g"), bare];
    let mut printer = Printer::new(100, &frames);
    let mut out = anstream::StripStream::new(Vec::new());
    for content in &frames {
        printer.print(content, &mut out).unwrap();
    }
    let text = String::from_utf8(out.into_inner()).unwrap();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "#0 f (pc 0x10)",
            "in f:",
            "lane   0  1",
            "int i  1  2",
            "in the file:",
            "int table = 3 (all lanes)",
            "#1 g (pc 0x10)",
            "lane   0  1",
            "int i  1  2",
            "#2 h (pc 0x10)",
            "no variables except those of the file",
        ]
    );
}

#[test]
fn work_items_and_notes_have_their_place() {
    let mut narrow = variable("int i", VariableKind::Variable, "f", &["1", "2", "3"]);
    let mut wide = variable(
        "S s",
        VariableKind::Variable,
        "f",
        &[
            "{x = 1, name = \"abcdefgh\"}",
            "{x = 1, name = \"abcdefgh\"}",
            "{2}",
        ],
    );
    for variable in [&mut narrow, &mut wide] {
        for (lane, x) in variable.lanes.iter_mut().zip([4, 5, 9]) {
            lane.work_item = Some([x, 2, 0]);
        }
    }
    wide.note = Some(ValueNote::Prologue);
    assert_eq!(
        lines(vec![narrow.clone(), wide]),
        [
            "lane          0  1  2",
            "item (x,2,0)  4  5  9",
            "int i         1  2  3",
            "S s",
            "  lanes 0-1 (4,2,0)-(5,2,0): {x = 1, name = \"abcdefgh\"}",
            "  lane 2 (9,2,0): {2}",
            "stopped in the prologue; may not be set yet: s",
        ]
    );
    narrow.lanes[2].work_item = Some([9, 3, 0]);
    narrow.lanes[1].work_item = None;
    assert_eq!(
        lines(vec![narrow]),
        [
            "lane         0  1        2",
            "item   (4,2,0)  -  (9,3,0)",
            "int i        1  2        3",
        ]
    );
}
