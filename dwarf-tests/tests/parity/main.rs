//! Every public query of the library exists in C, C++ and Python, or `table.txt` has the reason. A new query fails until it is added to the
//! table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The types whose methods are queries.
const TYPES: &[&str] = &[
    "Program",
    "Programs",
    "Symbolizer",
    "Stop",
    "StopFrame",
    "VariableValue",
    "Tree",
    "Query",
    "TypeTable",
    "TypeKind",
    "DebugInfo",
    "CodeObject",
    "GpuCore",
    "FunctionFrame",
    "FrameTable",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the name after `before` in a line.
fn name_after<'l>(line: &'l str, before: &str) -> Option<&'l str> {
    let rest = line.split_once(before)?.1;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(rest.split_at(end.unwrap_or(rest.len())).0).filter(|name| !name.is_empty())
}

/// Returns the type of an `impl` without a trait.
fn type_of_impl(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => generics.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    if rest.contains(" for ") {
        return None;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(rest.split_at(end).0)
}

/// Returns the public methods of the types, and the public functions with their modules: `Stop::frames`, `coverage::compare`.
fn queries() -> BTreeSet<String> {
    let folder = root().join("src");
    let mut sources = Vec::new();
    files(&folder, &mut sources);
    let mut found = BTreeSet::new();
    for path in sources {
        let module = path.strip_prefix(&folder).unwrap().with_extension("");
        let module = module.iter().next().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(path).unwrap();
        let mut current = None;
        for line in text.lines() {
            if line.starts_with("impl") {
                current = type_of_impl(line).filter(|name| TYPES.contains(name));
            } else if line.starts_with('}') {
                current = None;
            }
            if line.starts_with("pub fn ") || line.starts_with("pub const fn ") {
                let name = name_after(line, "fn ").unwrap();
                found.insert(format!("{module}::{name}"));
            }
            let is_public =
                line.starts_with("    pub fn ") || line.starts_with("    pub const fn ");
            if let (Some(of), true, Some(name)) = (current, is_public, name_after(line, "fn ")) {
                found.insert(format!("{of}::{name}"));
            }
        }
    }
    found
}

/// Returns the rows of the table: the query, and its columns.
fn rows(table: &str) -> Vec<(&str, Vec<&str>)> {
    let lines = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut columns = line.split('|').map(str::trim);
            (columns.next().unwrap(), columns.collect())
        })
        .collect()
}

/// Returns members by class, from lines that begin a class and lines that name a member.
fn members(
    text: &str,
    class: impl Fn(&str) -> Option<&str>,
    of: impl Fn(&str) -> Vec<&str>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(name) = class(line) {
            name.clone_into(&mut current);
        } else {
            let names = of(line).into_iter().map(str::to_owned);
            found.entry(current.clone()).or_default().extend(names);
        }
    }
    found
}

/// The available queries in each language.
struct Known {
    c: String,
    structs: BTreeMap<String, BTreeSet<String>>,
    cpp: BTreeMap<String, BTreeSet<String>>,
    python: BTreeMap<String, BTreeSet<String>>,
}

impl Known {
    fn read() -> Known {
        let (c, cpp) = (
            read("capi/include/hetdwarf.h"),
            read("capi/include/hetdwarf.hpp"),
        );
        let python = read("python/package/hetdwarf/_native.pyi");
        let words = |line: &str| {
            let code = line.split("//").next().unwrap_or_default();
            let names = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let structs = members(
            &c,
            |line| name_after(line, "typedef struct ").filter(|_| line.ends_with('{')),
            |line| {
                let field = line
                    .strip_prefix("  ")
                    .and_then(|line| line.strip_suffix(';'));
                let field = field.and_then(|field| field.split('[').next());
                field
                    .and_then(|field| field.rsplit([' ', '*']).next())
                    .into_iter()
                    .collect()
            },
        );
        let mut classes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut current = String::new();
        for line in cpp.lines() {
            if line.starts_with("class ") {
                current = name_after(line, "class ").unwrap().to_owned();
            }
            classes
                .entry(current.clone())
                .or_default()
                .extend(words(line));
        }
        let python = members(
            &python,
            |line| match line.starts_with("class ") {
                true => name_after(line, "class "),
                false => line.starts_with("def ").then_some(""),
            },
            |line| name_after(line, "def ").into_iter().collect(),
        );
        Known {
            c,
            structs,
            cpp: classes,
            python,
        }
    }

    /// Checks an entry of a column. The columns are C, C++ and Python.
    fn has(&self, column: usize, entry: &str) -> bool {
        let member = |known: &BTreeMap<String, BTreeSet<String>>, separator: &str| {
            let (class, name) = entry.split_once(separator)?;
            Some(known.get(class)?.contains(name))
        };
        match column {
            0 if entry.contains('.') => member(&self.structs, ".").unwrap_or(false),
            0 => self.c.contains(&format!(" {entry}(")),
            1 => member(&self.cpp, "::").unwrap_or(false),
            _ if entry.contains('.') => member(&self.python, ".").unwrap_or(false),
            _ => read("python/package/hetdwarf/_native.pyi").contains(&format!("\ndef {entry}(")),
        }
    }
}

#[test]
fn every_query_is_made_in_every_language_or_says_why_not() {
    let table = read("dwarf-tests/tests/parity/table.txt");
    let rows = rows(&table);
    let listed: BTreeSet<String> = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed.len(), rows.len(), "a query is listed twice");
    let queries = queries();
    let new: Vec<_> = queries.difference(&listed).collect();
    assert!(
        new.is_empty(),
        "not in table.txt: how are these asked? {new:#?}"
    );
    let gone: Vec<_> = listed.difference(&queries).collect();
    assert!(
        gone.is_empty(),
        "in table.txt, but not in the library: {gone:#?}"
    );
    let known = Known::read();
    let mut wrong = Vec::new();
    for (name, columns) in &rows {
        let mut is_said = false;
        for (column, entry) in columns.iter().enumerate() {
            match entry.strip_prefix('-') {
                // The reason also applies to the following columns.
                Some(reason) => {
                    is_said |= !reason.trim().is_empty();
                }
                None if !known.has(column, entry) => {
                    wrong.push(format!("{name}: there is no {entry}"))
                }
                None => {}
            }
        }
        if columns.len() < 3 && !is_said {
            wrong.push(format!("{name}: a column lacks, and no reason is given"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn impls_are_recognised() {
    assert_eq!(type_of_impl("impl<'p, 'a> Stop<'p, 'a> {"), Some("Stop"));
    assert_eq!(type_of_impl("impl TypeTable {"), Some("TypeTable"));
    assert_eq!(type_of_impl("impl<'s> fmt::Debug for Stop<'s> {"), None);
}
