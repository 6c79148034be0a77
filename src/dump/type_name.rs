//! Formats names of types as llvm-dwarfdump prints them after references: `const char *`, `void (*)(int)`, `geom::Shape`, and `structure ` for one
//! without a name.
//!
//! The library's [`type_name`](crate::debug_info::type_name()) formats names as debuggers do, without scopes, from types already read. This module
//! works on the entries directly.

use core::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fallible_iterator::FallibleIterator;
use gimli::constants as dw;
use gimli::{DwAt, DwTag};

use super::Naming;
use super::names::{LONGEST, cut};
use super::scope::{Scopes, is_scoped};
use crate::debug_info::attribute::tag_name;
use crate::debug_info::{DebugInfo, Die, DieId, DieValue, Language, UnitId, last_index};

/// The maximum nesting of types in one name.
const DEPTH: u32 = 32;
/// The maximum number of entries visited for one name.
const STEPS: u32 = 2048;
/// The maximum number of bytes of names kept.
const KEPT: usize = 1 << 24;

/// Formats names of types, and caches them.
#[derive(Debug)]
pub(super) struct TypeNames<'d, 'a> {
    info: &'d DebugInfo<'a>,
    naming: Naming,
    known: RefCell<(HashMap<DieId, Rc<str>>, usize)>,
    scopes: Scopes,
}

impl<'d, 'a> TypeNames<'d, 'a> {
    pub(super) fn new(info: &'d DebugInfo<'a>, naming: Naming) -> TypeNames<'d, 'a> {
        TypeNames {
            info,
            naming,
            known: RefCell::default(),
            scopes: Scopes::default(),
        }
    }

    /// Returns the definition in a type unit, if the entry only refers to it.
    fn defined(&self, die: Die<'a>) -> Die<'a> {
        let Some(signature) = die.attribute(dw::DW_AT_signature) else {
            return die;
        };
        match self.info.target(&die, signature) {
            Ok(Some(definition)) => self.info.die(definition).unwrap_or(die),
            _ => die,
        }
    }

    /// Returns the name of the type at `id`.
    pub(super) fn name(&self, id: DieId) -> Rc<str> {
        if let Some(name) = self.known.borrow().0.get(&id) {
            return Rc::clone(name);
        }
        let mut namer = Namer {
            names: self,
            out: String::new(),
            word: true,
            qualifiers: Vec::new(),
            steps: STEPS,
        };
        let die = self.info.die(id).ok().map(|die| self.defined(die));
        namer.qualified(die.as_ref(), DEPTH);
        let name: Rc<str> = namer.out.into();
        let mut known = self.known.borrow_mut();
        known.1 = known.1.saturating_add(name.len());
        if known.1 > KEPT {
            known.0.clear();
            known.1 = name.len();
        }
        known.0.insert(id, Rc::clone(&name));
        name
    }
}

fn is_pointer(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type
            | dw::DW_TAG_ptr_to_member_type
    )
}

/// The qualifiers, in the order of a name.
const QUALIFIERS: [(DwTag, &str); 3] = [
    (dw::DW_TAG_const_type, "const"),
    (dw::DW_TAG_volatile_type, "volatile"),
    (dw::DW_TAG_restrict_type, "restrict"),
];

fn is_qualifier(tag: DwTag, naming: Naming) -> bool {
    // llvm-dwarfdump names a `restrict` type by its tag only.
    let is_passed_over = naming == Naming::Llvm && tag == dw::DW_TAG_restrict_type;
    !is_passed_over && QUALIFIERS.iter().any(|(known, _)| *known == tag)
}

/// The integer types whose literals show their type, with the suffix.
const SUFFIXES: [(&str, &str); 6] = [
    ("int", ""),
    ("unsigned int", "U"),
    ("long", "L"),
    ("unsigned long", "UL"),
    ("long long", "LL"),
    ("unsigned long long", "ULL"),
];

/// A name under construction. The text before the variable's position is written on the way into a type, the text after it on the way back.
struct Namer<'n, 'd, 'a> {
    names: &'n TypeNames<'d, 'a>,
    out: String,
    /// True if the last text was a word.
    word: bool,
    /// The qualifiers of a function type, which follow the parameters.
    qualifiers: Vec<&'static str>,
    steps: u32,
}

impl<'a> Namer<'_, '_, 'a> {
    fn push(&mut self, text: &str) {
        if self.out.len() < LONGEST {
            self.out.push_str(cut(text));
        }
    }

    /// Returns the target type of an entry, or `None` for `void`.
    fn inner(&mut self, die: &Die<'a>) -> Option<Die<'a>> {
        self.referenced(die, dw::DW_AT_type)
    }

    fn referenced(&mut self, die: &Die<'a>, name: DwAt) -> Option<Die<'a>> {
        let info = self.names.info;
        let target = info.target(die, die.attribute(name)?).ok()??;
        let found = info.die(target).ok()?;
        Some(self.names.defined(found))
    }

    fn qualified(&mut self, die: Option<&Die<'a>>, depth: u32) {
        let inner = self.before(die, depth);
        self.after(die, inner.as_ref(), false, depth);
    }

    fn scope(&mut self, die: &Die<'a>, depth: u32) {
        let info = self.names.info;
        for parent in self.names.scopes.of(info, die.id()) {
            if let Ok(parent) = info.die(parent) {
                self.own_name(&self.names.defined(parent), depth);
                self.push("::");
            }
        }
    }

    /// Writes the text before a variable's name, and returns the inner type.
    fn before(&mut self, die: Option<&Die<'a>>, depth: u32) -> Option<Die<'a>> {
        self.word = true;
        let Some(die) = die else {
            self.push("void");
            return None;
        };
        let (Some(depth), Some(steps)) = (depth.checked_sub(1), self.steps.checked_sub(1)) else {
            self.push("...");
            return None;
        };
        self.steps = steps;
        let tag = die.tag();
        if is_pointer(tag) {
            let inner = self.inner(die);
            self.before(inner.as_ref(), depth);
            if self.word {
                self.push(" ");
            }
            if self.needs_parentheses(inner.as_ref()) {
                self.push("(");
            }
            if tag == dw::DW_TAG_ptr_to_member_type
                && let Some(class) = self.referenced(die, dw::DW_AT_containing_type)
            {
                self.qualified(Some(&class), depth);
                self.push("::");
            }
            self.push(match tag {
                dw::DW_TAG_reference_type => "&",
                dw::DW_TAG_rvalue_reference_type => "&&",
                _ => "*",
            });
            self.word = false;
            return inner;
        }
        if is_qualifier(tag, self.names.naming) {
            self.qualifiers_before(die, depth);
            return None;
        }
        match tag {
            dw::DW_TAG_subroutine_type => {
                let inner = self.inner(die);
                self.before(inner.as_ref(), depth);
                if self.word {
                    self.push(" ");
                }
                self.word = false;
                inner
            }
            dw::DW_TAG_array_type => {
                let inner = self.inner(die);
                self.before(inner.as_ref(), depth);
                inner
            }
            _ => {
                if is_scoped(tag) {
                    self.scope(die, depth);
                }
                self.own_name(die, depth);
                None
            }
        }
    }

    /// Writes the name of an entry, or its kind if it has none.
    fn own_name(&mut self, die: &Die<'a>, depth: u32) {
        let info = self.names.info;
        self.word = true;
        if let Some(attribute) = die.attribute(dw::DW_AT_name)
            && let Ok(DieValue::String(name)) = info.value(die, attribute)
        {
            // LLVM's separator between a name and its template arguments.
            let name = match name.raw().strip_prefix("_STN|") {
                Some(parts) => parts.replacen('|', "", 1),
                None if name.raw() == "decltype(nullptr)" => "std::nullptr_t".to_owned(),
                None => name.raw().to_owned(),
            };
            self.push(&name);
            // Compilers that omit template arguments from the name have them as entries.
            if !name.ends_with('>') && self.template(die, true, depth) {
                let ends = if self.out.ends_with('>') { " >" } else { ">" };
                self.push(ends);
            }
        } else if die.tag() == dw::DW_TAG_namespace {
            self.push("(anonymous namespace)");
        } else {
            let tag = tag_name(die.tag());
            let kind = tag
                .strip_prefix("DW_TAG_")
                .and_then(|t| t.strip_suffix("_type"));
            if let Some(kind) = kind {
                self.push(kind);
                self.push(" ");
            }
        }
    }

    /// Writes the template arguments, without the closing bracket. Returns true if there is any, or an empty pack.
    ///
    /// * `first`: true if none was written before.
    fn template(&mut self, die: &Die<'a>, mut first: bool, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let mut is_template = false;
        for argument in self.children(die) {
            match argument.tag() {
                dw::DW_TAG_GNU_template_parameter_pack => {
                    if !self.template(&argument, first, depth) && first {
                        self.push("<");
                    }
                    first = false;
                }
                dw::DW_TAG_template_type_parameter
                | dw::DW_TAG_template_value_parameter
                | dw::DW_TAG_GNU_template_template_param => {
                    self.push(if first { "<" } else { ", " });
                    first = false;
                    self.template_argument(&argument, depth);
                }
                _ => continue,
            }
            is_template = true;
        }
        is_template
    }

    fn template_argument(&mut self, argument: &Die<'a>, depth: u32) {
        let value = |name| {
            let attribute = argument.attribute(name)?;
            self.names.info.value(argument, attribute).ok()
        };
        if argument.tag() == dw::DW_TAG_GNU_template_template_param {
            if let Some(DieValue::String(name)) = value(dw::DW_AT_GNU_template_name) {
                self.push(name.raw());
            }
            return;
        }
        let number = value(dw::DW_AT_const_value).and_then(|value| value.number());
        let ty = self.inner(argument);
        let (Some(ty), dw::DW_TAG_template_value_parameter) = (&ty, argument.tag()) else {
            return self.qualified(ty.as_ref(), depth);
        };
        let Some(number) = number else { return };
        let name = match ty.attribute(dw::DW_AT_name) {
            Some(attribute) => self.names.info.value(ty, attribute).ok(),
            None => None,
        };
        let name = match &name {
            Some(DieValue::String(name)) => name.raw(),
            _ => "",
        };
        if matches!(name, "char" | "signed char" | "unsigned char") {
            if name != "char" {
                self.push(&format!("({name})"));
            }
            return self.push(&character(number));
        }
        if let Some((_, suffix)) = SUFFIXES.iter().find(|(known, _)| *known == name) {
            return self.push(&format!("{number}{suffix}"));
        }
        match name {
            "bool" => self.push(if number == 0 { "false" } else { "true" }),
            _ => {
                self.push("(");
                self.qualified(Some(ty), depth);
                self.push(&format!("){number}"));
            }
        }
    }

    /// Returns nested qualifiers, and the type that they qualify.
    fn qualifiers(&mut self, die: &Die<'a>) -> (Vec<&'static str>, Option<Die<'a>>) {
        let mut found = Vec::new();
        let mut next = Some(die.clone());
        for _ in 0..DEPTH {
            let Some(die) = next.take_if(|die| is_qualifier(die.tag(), self.names.naming)) else {
                break;
            };
            found.push(die.tag());
            next = self.inner(&die);
        }
        let words = QUALIFIERS.iter().filter(|(tag, _)| found.contains(tag));
        (words.map(|(_, word)| *word).collect(), next)
    }

    fn qualifiers_before(&mut self, die: &Die<'a>, depth: u32) {
        let (words, target) = self.qualifiers(die);
        let mut element = target.clone();
        for _ in 0..depth {
            match element {
                Some(array) if array.tag() == dw::DW_TAG_array_type => element = self.inner(&array),
                _ => break,
            }
        }
        let of_pointer = element.is_some_and(|element| is_pointer(element.tag()));
        let of_function = target
            .as_ref()
            .is_some_and(|t| t.tag() == dw::DW_TAG_subroutine_type);
        if !of_pointer && !of_function {
            for word in &words {
                self.push(word);
                self.push(" ");
            }
        }
        self.before(target.as_ref(), depth);
        if of_pointer {
            self.word = true;
            self.push(&words.join(" "));
        }
    }

    /// Writes the text after a variable's name.
    fn after(
        &mut self,
        die: Option<&Die<'a>>,
        inner: Option<&Die<'a>>,
        of_member: bool,
        depth: u32,
    ) {
        let (Some(die), Some(depth), Some(steps)) =
            (die, depth.checked_sub(1), self.steps.checked_sub(1))
        else {
            return;
        };
        self.steps = steps;
        let tag = die.tag();
        if is_pointer(tag) {
            if self.needs_parentheses(inner) {
                self.push(")");
            }
            let next = inner.and_then(|inner| self.inner(inner));
            let of_member = tag == dw::DW_TAG_ptr_to_member_type;
            self.after(inner, next.as_ref(), of_member, depth);
        } else if is_qualifier(tag, self.names.naming) {
            let (words, target) = self.qualifiers(die);
            let next = target.as_ref().and_then(|target| self.inner(target));
            if target
                .as_ref()
                .is_some_and(|target| target.tag() == dw::DW_TAG_subroutine_type)
            {
                self.qualifiers = words;
            }
            self.after(target.as_ref(), next.as_ref(), false, depth);
        } else if tag == dw::DW_TAG_subroutine_type {
            let words = core::mem::take(&mut self.qualifiers);
            let of_object = self.parameters(die, of_member, depth);
            for (_, word) in QUALIFIERS {
                if words.contains(&word) || of_object.contains(&word) {
                    self.push(" ");
                    self.push(word);
                }
            }
            if die.flag(dw::DW_AT_reference) {
                self.push(" &");
            }
            if die.flag(dw::DW_AT_rvalue_reference) {
                self.push(" &&");
            }
            let next = inner.and_then(|inner| self.inner(inner));
            self.after(inner, next.as_ref(), false, depth);
        } else if tag == dw::DW_TAG_array_type {
            self.dimensions(die);
            // llvm-dwarfdump leaves out the text after an element's name.
            if self.names.naming != Naming::Llvm {
                let next = inner.and_then(|inner| self.inner(inner));
                self.after(inner, next.as_ref(), false, depth);
            }
        }
    }

    fn needs_parentheses(&mut self, die: Option<&Die<'a>>) -> bool {
        let Some(die) = die else { return false };
        let target = if is_qualifier(die.tag(), self.names.naming) {
            self.qualifiers(die).1
        } else {
            Some(die.clone())
        };
        target.is_some_and(|target| {
            matches!(
                target.tag(),
                dw::DW_TAG_subroutine_type | dw::DW_TAG_array_type
            )
        })
    }

    /// Returns the children of an entry, within the limit for a name.
    fn children(&mut self, die: &Die<'a>) -> Vec<Die<'a>> {
        let mut children = Vec::new();
        let Ok(mut dies) = self.names.info.subtree(die.id()) else {
            return children;
        };
        while let Ok(Some(child)) = dies.next() {
            let Some(steps) = self.steps.checked_sub(1) else {
                break;
            };
            self.steps = steps;
            if child.depth() == 1 && !child.is_null() {
                children.push(child);
                if dies.skip_children().is_err() {
                    break;
                }
            }
        }
        children
    }

    /// Writes the parameters of a function, and returns the qualifiers of the object that `this` points to.
    fn parameters(&mut self, die: &Die<'a>, of_member: bool, depth: u32) -> Vec<&'static str> {
        let mut of_object = Vec::new();
        self.push("(");
        let mut separator = "";
        for (index, child) in self.children(die).into_iter().enumerate() {
            // The type of `this` follows from the class.
            let this = index == 0 && of_member && child.flag(dw::DW_AT_artificial);
            if this
                && let Some(pointer) = self.inner(&child)
                && pointer.tag() == dw::DW_TAG_pointer_type
                && let Some(object) = self.inner(&pointer)
            {
                of_object = self.qualifiers(&object).0;
            }
            if this || !is_parameter(child.tag()) {
                continue;
            }
            self.push(separator);
            separator = ", ";
            if child.tag() == dw::DW_TAG_unspecified_parameters {
                self.push("...");
            } else {
                let ty = self.inner(&child);
                self.qualified(ty.as_ref(), depth);
            }
        }
        self.push(")");
        of_object
    }

    fn dimensions(&mut self, die: &Die<'a>) {
        let lowest = self.lowest_index(die.id().unit);
        for child in self.children(die) {
            if child.tag() != dw::DW_TAG_subrange_type {
                continue;
            }
            // llvm-dwarfdump does not read bounds in signed forms, and computes a wrong size.
            let number = |name| {
                let attribute = child.attribute(name)?;
                let is_passed_over =
                    self.names.naming == Naming::Llvm && attribute.form() == dw::DW_FORM_sdata;
                let value = self.names.info.value(&child, attribute).ok()?;
                value.number().filter(|_| !is_passed_over)
            };
            let start = number(dw::DW_AT_lower_bound).filter(|bound| Some(*bound) != lowest);
            let count = number(dw::DW_AT_count);
            let last = number(dw::DW_AT_upper_bound);
            let size = match (count, last, start.or(lowest)) {
                (Some(count), ..) => Some(count),
                (None, Some(last), Some(first)) => {
                    let last = last_index(last);
                    Some(last.saturating_sub(first).saturating_add(1))
                }
                _ => None,
            };
            let text = match (start, size) {
                (None, None) => "[]".to_owned(),
                (None, Some(size)) => format!("[{size}]"),
                (Some(start), None) => format!("[[{start}, ?)]"),
                (Some(start), Some(size)) => {
                    format!("[[{start}, {})]", start.saturating_add(size))
                }
            };
            self.push(&text);
        }
    }

    /// Returns the lowest index of arrays in the language of a unit (DWARF 5 table 7.17).
    fn lowest_index(&self, unit: UnitId) -> Option<i128> {
        let info = self.names.info;
        let language = match info.unit_info(unit).ok()?.language {
            Some(Language::Code(code)) => u16::try_from(code).ok(),
            Some(Language::Name(_)) | None => None,
        };
        let known = language.and_then(|code| dw::DwLang(code).default_lower_bound());
        // Languages without an entry in the table are treated like C.
        Some(known.map_or(0, |bound| bound.try_into().unwrap_or(0)))
    }
}

/// Formats a character as in C.
fn character(number: i128) -> String {
    let escapes = [
        ('\\', "\\\\"),
        ('\'', "\\'"),
        ('\u{7}', "\\a"),
        ('\u{8}', "\\b"),
        ('\u{c}', "\\f"),
        ('\n', "\\n"),
        ('\r', "\\r"),
        ('\t', "\\t"),
        ('\u{b}', "\\v"),
    ];
    // A negative one is written as its byte.
    let bits = match number {
        -128..0 => number & 0xff,
        _ => number,
    };
    let letter = u8::try_from(bits).ok().map(char::from);
    if let Some((_, escape)) = escapes.iter().find(|(known, _)| Some(*known) == letter) {
        return format!("'{escape}'");
    }
    match letter {
        Some(letter @ ' '..='~') => format!("'{letter}'"),
        Some(_) => format!("'\\x{bits:02x}'"),
        None if bits <= 0xffff => format!("'\\u{bits:04x}'"),
        None => format!("'\\U{bits:08x}'"),
    }
}

fn is_parameter(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_formal_parameter | dw::DW_TAG_unspecified_parameters
    )
}
