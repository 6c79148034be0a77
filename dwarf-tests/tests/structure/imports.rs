//! Finds the modules of a crate that each module names, from their tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The path of a module from the crate's root. The path of the root is empty.
pub type Module = Vec<String>;

/// A path in the source, and the module that contains it.
struct Written {
    module: Module,
    path: Vec<String>,
}

/// The modules of a crate without its tests, and the paths in their sources.
#[derive(Default)]
pub struct Modules {
    /// The modules that are files, with the paths of the files.
    files: BTreeMap<Module, String>,
    /// The names that imports introduce, with their paths.
    names: BTreeMap<(Module, String), Vec<String>>,
    written: Vec<Written>,
}

impl Modules {
    /// Reads the sources below a folder.
    pub fn read(sources: &Path) -> Modules {
        let mut modules = Modules::default();
        modules.read_folder(sources, &Vec::new());
        modules
    }

    fn read_folder(&mut self, folder: &Path, module: &Module) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let mut inner = module.clone();
            match name {
                "tests" | "main" => continue,
                "mod" | "lib" => {}
                _ => inner.push(name.to_owned()),
            }
            if path.is_dir() {
                self.read_folder(&path, &inner);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let tokens: TokenStream = text.parse().unwrap();
                self.files.insert(inner.clone(), path.display().to_string());
                self.read_items(tokens, &inner);
            }
        }
    }

    /// Reads the paths in a file, in an inline module, or in brackets.
    fn read_items(&mut self, tokens: TokenStream, module: &Module) {
        let mut tokens = tokens.into_iter().peekable();
        let mut is_test = false;
        while let Some(token) = tokens.next() {
            match &token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                    is_test |= group.to_string().replace(' ', "") == "[cfg(test)]";
                    self.read_items(group.stream(), module);
                }
                TokenTree::Group(group) if is_test => {
                    is_test = group.delimiter() != Delimiter::Brace;
                }
                TokenTree::Group(group) => self.read_items(group.stream(), module),
                TokenTree::Punct(end) if end.as_char() == ';' => is_test = false,
                _ if is_test => {}
                TokenTree::Ident(word) if word == "use" => {
                    let import: Vec<_> = tokens
                        .by_ref()
                        .take_while(
                            |token| !matches!(token, TokenTree::Punct(end) if end.as_char() == ';'),
                        )
                        .collect();
                    self.read_import(&import, &[], module);
                }
                TokenTree::Ident(word) if word == "mod" => {
                    let Some(TokenTree::Ident(name)) = tokens.next() else {
                        continue;
                    };
                    if let Some(TokenTree::Group(group)) = tokens.peek() {
                        let mut inner = module.clone();
                        inner.push(name.to_string());
                        self.read_items(group.stream(), &inner);
                        tokens.next();
                    }
                }
                TokenTree::Ident(word) if word == "crate" || word == "super" => {
                    let mut path = vec![word.to_string()];
                    while is_colons(tokens.peek()) {
                        tokens.next();
                        tokens.next();
                        match tokens.peek() {
                            Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                            _ => break,
                        }
                        tokens.next();
                    }
                    self.add(path, module);
                }
                _ => {}
            }
        }
    }

    /// Reads the part after `use`: a path, perhaps with a list in braces or a new name at its end.
    fn read_import(&mut self, tokens: &[TokenTree], before: &[String], module: &Module) {
        let mut path = before.to_vec();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    let Some(TokenTree::Ident(name)) = tokens.get(at + 1) else {
                        return;
                    };
                    self.names
                        .insert((module.clone(), name.to_string()), path.clone());
                    return self.add(path, module);
                }
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Group(group) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    for one in inner.split(
                        |token| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ','),
                    ) {
                        self.read_import(one, &path, module);
                    }
                    return;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        if let Some(name) = path.last() {
            self.names
                .insert((module.clone(), name.clone()), path.clone());
            self.add(path, module);
        }
    }

    fn add(&mut self, path: Vec<String>, module: &Module) {
        let module = module.clone();
        self.written.push(Written { module, path });
    }

    /// Returns the module in a file that a path refers to, as seen from a module. Returns `None` for another crate.
    fn resolve(&self, path: &[String], from: &Module, depth: usize) -> Option<Module> {
        let mut at = from.clone();
        let mut is_first = true;
        for word in path {
            let inner: Module = at.iter().chain([word]).cloned().collect();
            match word.as_str() {
                "crate" => at.clear(),
                "super" => _ = at.pop(),
                "self" => {}
                _ if self.files.contains_key(&inner) => at = inner,
                _ => {
                    let name = self.names.get(&(at.clone(), word.clone()));
                    return match name {
                        Some(other) if depth < 8 && other != path => {
                            self.resolve(other, &at, depth + 1)
                        }
                        _ => (!is_first).then(|| self.file_of(at)),
                    };
                }
            }
            is_first = false;
        }
        Some(self.file_of(at))
    }

    /// Returns the innermost enclosing module that is a file.
    fn file_of(&self, mut module: Module) -> Module {
        while !self.files.contains_key(&module) && !module.is_empty() {
            module.pop();
        }
        module
    }

    /// Returns the pairs of a module and a module that it uses.
    pub fn uses(&self) -> BTreeSet<(Module, Module)> {
        self.written
            .iter()
            .filter_map(|written| {
                let used = self.resolve(&written.path, &written.module, 0)?;
                Some((self.file_of(written.module.clone()), used))
            })
            .filter(|(one, other)| one != other)
            .collect()
    }

    /// Returns the files with their modules.
    pub fn files(&self) -> impl Iterator<Item = (&Module, &String)> {
        self.files.iter()
    }
}

/// Returns true if `::` follows.
fn is_colons(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(colon)) if colon.as_char() == ':' && colon.spacing() == proc_macro2::Spacing::Joint)
}
