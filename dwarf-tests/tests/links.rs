//! Checks the relative links of all pages: the file and the heading must exist. Also checks that the book lists every page of `docs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dwarf_tests::package;

fn root() -> PathBuf {
    package().parent().unwrap().canonicalize().unwrap()
}

/// Collects the pages below a folder, without symbolic links, fixtures and build output.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap_or_default();
        let is_left_out = ["target", "fixtures", "node_modules", "corpus", "artifacts"]
            .contains(&name)
            || name.starts_with('.')
            || path.is_symlink();
        if is_left_out {
            continue;
        }
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|one| one == "md") {
            found.push(path);
        }
    }
}

/// Returns the lines of a page outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Returns the targets of the links in a line, except for links in code.
fn links(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        let before = &rest[..at];
        let target = &rest[at + 2..];
        let end = target.find(')').unwrap_or(target.len());
        // The text of a link can be code. Its last backquote is then before the bracket.
        let is_code = before.matches('`').count() % 2 == 1;
        if !is_code {
            found.push(&target[..end]);
        }
        rest = &target[end..];
    }
    let attributes = ["src=\"", "srcset=\""].into_iter();
    found.extend(attributes.filter_map(|name| {
        let (_, value) = line.split_once(name)?;
        value.split_once('"').map(|(value, _)| value)
    }));
    found
}

/// Returns the anchors of a page's headings, as mdBook and GitHub make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim();
            let kept = heading.chars().filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                _ => letter
                    .is_alphanumeric()
                    .then(|| letter.to_ascii_lowercase()),
            });
            kept.collect()
        })
        .collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let root = root();
    let (mut found, mut wrong, mut count) = (Vec::new(), Vec::new(), 0);
    pages(&root, &mut found);
    for page in &found {
        let text = std::fs::read_to_string(page).unwrap();
        let name = page.strip_prefix(&root).unwrap().display();
        for link in prose(&text).flat_map(links) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            if !target.exists() {
                wrong.push(format!("{name}: {link}: there is no such file"));
            } else if !anchor.is_empty() && target.extension().is_some_and(|one| one == "md") {
                let text = std::fs::read_to_string(&target).unwrap();
                if !anchors(&text).contains(anchor) {
                    wrong.push(format!("{name}: {link}: there is no such heading"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} links");
}

#[test]
fn the_book_has_every_page() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = summary
        .lines()
        .flat_map(links)
        .map(|link| {
            docs.join(link)
                .canonicalize()
                .unwrap_or_else(|error| panic!("{link}: {error}"))
        })
        .collect();
    let mut found = Vec::new();
    pages(&docs, &mut found);
    pages(&root().join("spec-notes"), &mut found);
    found.retain(|page| !page.ends_with("SUMMARY.md") && !listed.contains(page));
    assert!(found.is_empty(), "docs/SUMMARY.md does not list {found:?}");
}
