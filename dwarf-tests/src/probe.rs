//! Calls every public entry point on an input. The results do not matter.

use core::ops::Range;

use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Apertures, Lane, Register, WaveSize};
use hetdwarf::coverage::coverage;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::debug_info::{DieValue, type_name};
use hetdwarf::display::Options;
use hetdwarf::eval::{
    Context, ExpressionBytes, LaneFocus, Outcome, Reading, ResultKind, Unit, evaluate,
};
use hetdwarf::expr::{Dialect, Encoding, ParseOptions, Printer, RegisterStyle, operations, parse};
use hetdwarf::frame::{Entry, FramePrinter, Rows};
use hetdwarf::inspect::{Program, Stop, StopFrame, StopOptions};
use hetdwarf::location::{Access, Arena, read, read_lanes};
use hetdwarf::object::{CodeObject, ObjectInfo, code_objects};
use hetdwarf::query::Query;
use hetdwarf::report::UnwindDocument;
use hetdwarf::wave::{AccessError, Memory, Snapshot, Wave};

/// A wave in which everything is zero except the execution mask.
pub struct Zeros(pub WaveSize);

impl Wave for Zeros {
    fn wave_size(&self) -> WaveSize {
        self.0
    }

    fn read_register(
        &self,
        register: Register,
        _: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        out.fill(if register == Register::exec(self.0) {
            0xff
        } else {
            0
        });
        Ok(())
    }

    fn read_memory(&self, _: Memory, _: u64, out: &mut [u8]) -> Result<(), AccessError> {
        out.fill(0);
        Ok(())
    }

    fn apertures(&self) -> Option<Apertures> {
        Some(Apertures {
            shared_base: 1 << 48,
            private_base: 2 << 48,
        })
    }
}

/// Runs every query on a file.
pub fn file(data: &[u8]) {
    let Ok(found) = code_objects(data) else {
        return;
    };
    for member in found.iter().take(3) {
        if let Ok(object) = CodeObject::parse(&member.data) {
            code_object(&object);
        }
    }
}

/// Runs every query on a code object.
pub fn code_object<'a>(object: &'a CodeObject<'a>) {
    let _ = ObjectInfo::of(object);
    let _ = object.kernels();
    let _ = object.metadata();
    let _ = object.symbols();
    let _ = object.read_image(0x1000, 64);
    let Ok(program) = Program::load(object) else {
        return;
    };
    let mut addresses = vec![0, 0x1a00];
    entries(&program, &mut addresses);
    frames(&program);
    let _ = coverage(&program).total();
    addresses.dedup();
    addresses.truncate(5);
    for pc in addresses {
        stop(&program, pc);
    }
}

/// Reads units, functions, lines and a part of the entries.
fn entries(program: &Program<'_>, addresses: &mut Vec<u64>) {
    let info = program.info();
    let mut units = info.units();
    (0..50).for_each(|_| drop(units.next()));
    for unit in info.unit_ids().take(3) {
        if let Ok(functions) = info.functions(unit) {
            addresses.extend(
                functions
                    .iter()
                    .flat_map(|f| f.ranges.iter().map(|range| range.start + 8)),
            );
        }
        if let Ok(Some(table)) = info.line_table(unit) {
            let _ = table.rows();
            let _ = info.source_file(unit, 1);
        }
        let mut types = TypeTable::default();
        let Ok(mut dies) = info.dies(unit) else {
            continue;
        };
        let mut count = 0;
        while let Ok(Some(die)) = dies.next() {
            count += 1;
            if count > 400 {
                break;
            }
            for attribute in die.attributes() {
                if let Ok(DieValue::LocationList(offset)) = info.value(&die, attribute)
                    && let Ok(list) = info.location_list(unit, offset, &info.for_query())
                {
                    let _ = list.take(1000).count();
                }
            }
            if count < 40
                && let Ok(id) = info.read_type(&mut types, Some(die.id()), &info.for_query())
            {
                let _ = type_name(&types, id);
            }
            let _ = info.byte_size(die.id());
        }
    }
}

/// Reads and prints call frame information: entries and rows.
fn frames(program: &Program<'_>) {
    let section = *program.cfi().section();
    let printer = FramePrinter::new(section, RegisterStyle::default(), program.dialect());
    let mut entries = section.entries();
    let mut count = 0;
    while let Ok(Some(entry)) = entries.next() {
        count += 1;
        if count > 20 {
            break;
        }
        let mut text = String::new();
        let _ = printer.entry(&entry, &mut text);
        if let Entry::Fde(fde) = entry
            && let Ok(mut rows) = Rows::new(&fde, section.name())
        {
            while let Ok(Some(_)) = rows.next() {}
        }
    }
}

/// Stops at an address, and reads the call stack and the variables of two frames. Returns the number of variables.
pub fn stop(program: &Program<'_>, pc: u64) -> usize {
    let wave = Zeros(
        program
            .processor()
            .default_wave_size()
            .unwrap_or(WaveSize::Wave64),
    );
    let arena = Arena::new();
    let stop = Stop::new(program, &wave, pc, StopOptions::default(), &arena);
    let _ = UnwindDocument::new(&stop);
    let mut variables = 0;
    for frame in stop.call_frames().take(2) {
        if let Ok(Some(function)) = frame.function() {
            let _ = frame.inlined(&function);
        }
        let _ = frame.line();
        let mut types = TypeTable::default();
        let mut names = Vec::new();
        for value in frame.variables(&mut types).unwrap_or_default() {
            variables += 1;
            names.extend(value.variable.name.as_deref().map(str::to_owned));
            for lane in [Lane(0), Lane(63)] {
                let _ = value.state(lane);
                let _ = value.text(lane, &types, &Options::default());
            }
        }
        questions(frame, &names);
    }
    variables
}

/// Evaluates expressions with the names of some variables, regardless of their types.
fn questions(frame: StopFrame<'_, '_, '_>, names: &[String]) {
    let Ok(mut query) = Query::new(frame) else {
        return;
    };
    for name in names.iter().take(4) {
        for (before, after) in [
            ("", ""),
            ("*", ""),
            ("**", ""),
            ("&", ""),
            ("sizeof ", ""),
            ("(int)", " + 1"),
            ("", "[1]"),
            ("", "[1][2]"),
            ("", "->x"),
            ("", ".y"),
            ("", "@3"),
            ("!", " && 1.5"),
        ] {
            let text = format!("{before}{name}{after}");
            if let Ok(answer) = query.evaluate(&text, &[Lane(0), Lane(31)]) {
                for lane in &answer.lanes {
                    let _ = query.text(lane, &Options::default());
                }
            }
        }
    }
}

/// Decodes, prints and parses an expression, and evaluates it for one lane and for all lanes.
pub fn expression(bytes: &[u8]) {
    for dialect in [
        Dialect::User,
        Dialect::OneByte,
        Dialect::Draft,
        Encoding::AMDGPU.in_memory().dialect,
    ] {
        let encoding = Encoding {
            dialect,
            ..Encoding::AMDGPU
        };
        let _ = operations(bytes, encoding).count();
        text(&Printer::new(encoding).expression(bytes));
        let wave = Zeros(WaveSize::Wave64);
        for (lane, kind) in [
            (LaneFocus::One(Lane(3)), ResultKind::Any),
            (LaneFocus::All, ResultKind::Location),
            (LaneFocus::None, ResultKind::Value),
        ] {
            let arena = Arena::new();
            let context = Context::new(&arena)
                .with_wave(&wave)
                .with_lane(lane)
                .with_reading(Reading::Tolerant);
            let expression = ExpressionBytes::alone(bytes, Unit::unknown(encoding));
            if let Ok(Outcome::Location(location)) = evaluate(&expression, kind, &context) {
                let access = Access {
                    wave: &wave,
                    lane: Some(Lane(3)),
                    max_bits: 1 << 20,
                    meter: None,
                };
                for bits in [
                    1,
                    64,
                    4096,
                    if cfg!(debug_assertions) {
                        1 << 14
                    } else {
                        1 << 20
                    },
                ] {
                    let _ = read(&location, bits, &access);
                }
                let _ = read_lanes(&location, 64, &access);
                let _ = location.offset_by_bits(8, &arena);
            }
        }
    }
}

/// Parses text as an expression.
pub fn text(text: &str) {
    let options = ParseOptions {
        encoding: Encoding::AMDGPU.in_memory(),
        ..ParseOptions::default()
    };
    if let Ok(expression) = parse(text, &options) {
        let _ = expression.encode(options.encoding);
    }
}

/// Reads a snapshot, and writes it again.
pub fn snapshot(bytes: &[u8]) {
    if let Ok(snapshot) = Snapshot::from_json(bytes) {
        let text = snapshot.to_json();
        assert_eq!(
            Snapshot::from_json(text.as_bytes()),
            Ok(snapshot),
            "a snapshot reads back"
        );
    }
}
