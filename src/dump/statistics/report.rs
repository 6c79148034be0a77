//! Writes the document: names and numbers, in the order of llvm-dwarfdump.

use std::io::{self, Write};

use crate::coverage::statistics::{Coverage, Described, GROUPS, Groups, Statistics, Variables};
use crate::dump::sources::Sources;
use crate::report::to_json;

/// The version of the metrics.
const VERSION: u64 = 9;

/// The names of the coverage groups.
const GROUP_NAMES: [&str; GROUPS] = [
    "0%",
    "(0%,10%)",
    "[10%,20%)",
    "[20%,30%)",
    "[30%,40%)",
    "[40%,50%)",
    "[50%,60%)",
    "[60%,70%)",
    "[70%,80%)",
    "[80%,90%)",
    "[90%,100%)",
    "100%",
];

/// The metrics, in order.
pub(super) struct Report {
    numbers: Vec<(String, u64)>,
}

impl Report {
    /// Converts the collected statistics to the reported metrics.
    pub(super) fn new(found: &Statistics, sources: &Sources<'_>) -> Report {
        let mut report = Report {
            numbers: Vec::new(),
        };
        let (mut functions, mut with_source, mut out_of_line, mut inlined) = (0, 0, 0, 0);
        let (mut with_origins, mut unique, mut variables, mut with_location) = (0, 0, 0, 0);
        let (mut parameters, mut locals) = (Described::default(), Described::default());
        for counts in found.functions.values() {
            let names = counts.names.len() as u64;
            let copies = counts.inlined.saturating_add(counts.out_of_line);
            let all = match counts.is_function {
                true => names.saturating_mul(copies),
                false => [
                    counts.locals.count,
                    counts.constant_members,
                    counts.artificial,
                ]
                .into_iter()
                .fold(0, u64::saturating_add),
            };
            let add = |sum: &mut u64, number: u64| *sum = u64::saturating_add(*sum, number);
            add(&mut variables, all);
            add(&mut unique, names);
            add(&mut with_location, counts.with_location);
            add(&mut with_location, counts.constant_members);
            if counts.is_function {
                add(&mut functions, 1);
                add(&mut with_source, u64::from(counts.has_source_location));
                add(&mut out_of_line, counts.out_of_line);
                add(&mut inlined, counts.inlined);
                add(&mut with_origins, counts.abstract_origins);
            }
            parameters.add(counts.parameters);
            locals.add(counts.locals);
        }
        let counts = &found.counts;
        report.add("#functions", functions);
        report.add("#functions with location", with_source);
        report.add("#out-of-line functions", out_of_line);
        report.add("#inlined functions", inlined);
        report.add("#inlined functions with abstract origins", with_origins);
        report.add("#unique source variables", unique);
        report.add("#source variables", variables);
        report.add("#source variables with location", with_location);
        report.add("#call site entries", counts.call_site_entries);
        report.add("#call site DIEs", counts.call_sites);
        report.add("#call site parameter DIEs", counts.call_site_parameters);
        let covered = "bytes in any scope covered by DW_AT_location";
        report.add(
            "sum_all_variables(#bytes in parent scope)",
            counts.all.scope,
        );
        report.add(
            &format!("sum_all_variables(#{covered})"),
            counts.location_bytes,
        );
        report.covered("variables", counts.all);
        for (what, coverage) in [("params", counts.parameters), ("local_vars", counts.locals)] {
            report.add(
                &format!("sum_all_{what}(#bytes in parent scope)"),
                coverage.scope,
            );
            report.covered(what, coverage);
        }
        report.add("#bytes within functions", counts.function_bytes);
        report.add("#bytes within inlined functions", counts.inlined_bytes);
        report.described("params", parameters);
        report.described("local vars", locals);
        for (name, size) in sources.section_sizes() {
            report.add(&format!("#bytes in {name}"), size);
        }
        report.groups(&found.variables);
        let lines = &found.lines;
        report.add("#bytes with line information", lines.bytes);
        report.add("#bytes with line-0 locations", lines.bytes_of_line_0);
        report.add("#line entries", lines.rows);
        report.add("#line entries (is_stmt)", lines.statements);
        report.add("#line entries (unique)", lines.unique());
        report.add("#line entries (unique non-0)", lines.unique_non_0());
        report
    }
}

impl Report {
    fn add(&mut self, name: &str, number: u64) {
        self.numbers.push((name.to_owned(), number));
    }

    fn covered(&mut self, what: &str, coverage: Coverage) {
        let name = |by| format!("sum_all_{what}(#bytes in parent scope covered by {by})");
        self.add(&name("DW_AT_location"), coverage.covered);
        self.add(&name("DW_OP_entry_value"), coverage.entry_values);
    }

    fn described(&mut self, what: &str, described: Described) {
        self.add(&format!("#{what}"), described.count);
        self.add(
            &format!("#{what} with source location"),
            described.with_source,
        );
        self.add(&format!("#{what} with type"), described.with_type);
        self.add(
            &format!("#{what} with binary location"),
            described.with_location,
        );
    }

    fn groups(&mut self, variables: &Variables) {
        let kinds: [(&str, &Groups); 3] = [
            ("variables", &variables.all),
            ("params", &variables.parameters),
            ("local vars", &variables.locals),
        ];
        for (what, groups) in kinds {
            let name = format!("#{what} processed by location statistics");
            self.add(&name, groups.count);
            for (note, numbers) in [
                ("", &groups.all),
                (" - entry values", &groups.without_entry_values),
            ] {
                for (group, number) in GROUP_NAMES.iter().zip(numbers) {
                    self.add(
                        &format!(
                            "#{what}{note} with {group} of parent scope covered by DW_AT_location"
                        ),
                        *number,
                    );
                }
            }
        }
    }

    /// Writes the document.
    ///
    /// * `name`: the name of the file;
    /// * `format`: the format of the file.
    pub(super) fn write(&self, name: &str, format: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{{\n  \"version\": {VERSION},")?;
        writeln!(out, "  \"file\": {},", to_json(&name)?)?;
        writeln!(out, "  \"format\": {},", to_json(&format)?)?;
        let last = self.numbers.len().saturating_sub(1);
        for (index, (name, number)) in self.numbers.iter().enumerate() {
            let comma = if index < last { "," } else { "" };
            let name = to_json(name)?;
            match *number {
                // A sum that overflows.
                u64::MAX => writeln!(out, "  {name}: \"overflowed\"{comma}")?,
                number => writeln!(out, "  {name}: {number}{comma}")?,
            }
        }
        writeln!(out, "}}")
    }
}
