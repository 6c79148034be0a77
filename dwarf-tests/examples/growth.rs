//! Draws the measurements of `benches/large.sh`: `growth DATA.tsv PLOT.svg` writes a plot and prints a table.

use std::collections::BTreeMap;
use std::fmt::Write;

/// One measurement.
#[derive(Clone, Copy)]
struct Point {
    bytes: f64,
    seconds: f64,
    kib: f64,
    instructions: Option<u64>,
}

/// The measurements of each command, by size.
type Data = BTreeMap<String, Vec<Point>>;

const COLOURS: &[&str] = &[
    "#1b6ca8", "#57a639", "#c4451c", "#00796b", "#e08e0b", "#7a7a7a", "#7b3fa0",
];

/// A drawing area with logarithmic axes.
struct Panel {
    left: f64,
    title: &'static str,
    x: (f64, f64),
    y: (f64, f64),
    unit: fn(f64) -> String,
}

const TOP: f64 = 40.0;
const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 280.0;
/// The smallest value that is drawn, because clocks count hundredths of a second.
const LEAST_SECONDS: f64 = 0.01;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: growth DATA.tsv PLOT.svg";
    let (data, plot) = (
        arguments.next().expect(usage),
        arguments.next().expect(usage),
    );
    let data = read(&std::fs::read_to_string(data)?);
    std::fs::write(plot, draw(&data))?;
    print!("{}", table(&data));
    Ok(())
}

fn read(text: &str) -> Data {
    let mut data = Data::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, bytes, seconds, kib, instructions] = fields[..] else {
            panic!("{line}: five fields are expected");
        };
        data.entry(name.to_owned()).or_default().push(Point {
            bytes: bytes.parse().unwrap(),
            seconds: seconds.parse().unwrap(),
            kib: kib.parse().unwrap(),
            instructions: instructions.parse().ok(),
        });
    }
    data
}

/// A measured quantity: its name, and its text.
type Quantity = (&'static str, fn(&Point) -> String);

/// Returns the table: a row for each command and quantity, a column for each size.
fn table(data: &Data) -> String {
    let quantities: [Quantity; 3] = [
        ("seconds", |point| format!("{:.2}", point.seconds)),
        ("memory, MiB", |point| format!("{:.0}", point.kib / 1024.0)),
        ("million instructions", |point| match point.instructions {
            Some(count) => format!("{:.1}", count as f64 / 1e6),
            None => "–".to_owned(),
        }),
    ];
    let sizes = data.values().next().map_or(&[][..], Vec::as_slice);
    let mut text = "| |".to_owned();
    for point in sizes {
        write!(text, " {:.0} MiB |", point.bytes / f64::from(1 << 20)).unwrap();
    }
    writeln!(text, "\n|---|{}", "--:|".repeat(sizes.len())).unwrap();
    for (quantity, value) in quantities {
        for (name, points) in data {
            let values: Vec<String> = points.iter().map(value).collect();
            writeln!(text, "| {quantity}: `{name}` | {} |", values.join(" | ")).unwrap();
        }
    }
    text
}

impl Panel {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let part = |value: f64, (low, high): (f64, f64)| {
            (value.max(low).ln() - low.ln()) / (high.ln() - low.ln())
        };
        let across = self.left + WIDTH * part(x, self.x);
        (across, TOP + HEIGHT * (1.0 - part(y, self.y)))
    }

    fn frame(&self, svg: &mut String) {
        let Panel { left, title, .. } = self;
        writeln!(
            svg,
            r##"<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/><text x="{left}" y="{:.0}" font-weight="bold">{title}</text>"##,
            TOP - 12.0
        )
        .unwrap();
        let mut x = self.x.0;
        while x <= self.x.1 * 1.01 {
            let (across, _) = self.at(x, self.y.0);
            let (bottom, label) = (TOP + HEIGHT, TOP + HEIGHT + 16.0);
            writeln!(svg, r##"<path d="M{across:.1} {TOP}V{bottom}" stroke="#e4e4e4"/><text x="{across:.1}" y="{label}" text-anchor="middle">{x:.0} MiB</text>"##).unwrap();
            x *= 4.0;
        }
        let mut y = self.y.0;
        while y <= self.y.1 * 1.01 {
            let (_, down) = self.at(self.x.0, y);
            let label = (self.unit)(y);
            let (before, middle) = (left - 6.0, down + 4.0);
            writeln!(svg, r##"<path d="M{left} {down:.1}h{WIDTH}" stroke="#e4e4e4"/><text x="{before}" y="{middle:.1}" text-anchor="end">{label}</text>"##).unwrap();
            y *= 10.0;
        }
    }

    fn line(&self, svg: &mut String, points: impl Iterator<Item = (f64, f64)>, style: &str) {
        let places: Vec<String> = points
            .map(|(x, y)| self.at(x, y))
            .map(|(across, down)| format!("{across:.1} {down:.1}"))
            .collect();
        writeln!(
            svg,
            r#"<path d="M{}" fill="none" {style}/>"#,
            places.join("L")
        )
        .unwrap();
    }
}

fn draw(data: &Data) -> String {
    let time = Panel {
        left: 60.0,
        title: "seconds of the processor",
        x: (1.0, 512.0),
        y: (LEAST_SECONDS, 100.0),
        unit: |seconds| format!("{seconds} s"),
    };
    let memory = Panel {
        left: 480.0,
        title: "memory, at most; dotted: as much as the file, and twice that",
        x: (1.0, 512.0),
        y: (1.0, 2048.0),
        unit: |mebibytes| format!("{mebibytes:.0} MiB"),
    };
    let mut svg = String::from(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 420" font-family="sans-serif" font-size="11"><rect width="840" height="420" fill="#fff"/>"##,
    );
    svg.push('\n');
    time.frame(&mut svg);
    memory.frame(&mut svg);
    for factor in [1.0, 2.0] {
        let ends = [1.0, 512.0].map(|size| (size, size * factor));
        memory.line(
            &mut svg,
            ends.into_iter(),
            r##"stroke="#555" stroke-dasharray="2 3""##,
        );
    }
    let mebibyte = f64::from(1 << 20);
    for (number, ((name, points), colour)) in data.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let style = format!(r#"stroke="{colour}" stroke-width="1.8""#);
        let seconds = points.iter().map(|one| (one.bytes / mebibyte, one.seconds));
        time.line(&mut svg, seconds, &style);
        let kib = points
            .iter()
            .map(|one| (one.bytes / mebibyte, one.kib / 1024.0));
        memory.line(&mut svg, kib, &style);
        let (across, down) = (60 + number % 3 * 250, 370 + number / 3 * 20);
        let (text, bar) = (across + 26, down - 4);
        writeln!(
            svg,
            r#"<path d="M{across} {bar}h20" {style}/><text x="{text}" y="{down}">{name}</text>"#
        )
        .unwrap();
    }
    svg.push_str("</svg>\n");
    svg
}
