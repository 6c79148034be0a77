//! Formats variant parts: the members of the variant that is present, and Rust enumerations, which consist of one.
//!
//! Source: DWARF 5 §5.7.10. rustc writes an `enum` as a structure of one variant part, whose variants have one member each, named like its type.

use core::fmt::{self, Write as _};

use super::{LOOKED_AT_PER_STEP, Options, Part, Printer, TypedBytes, shape};
use crate::debug_info::types::{Member, Type, TypeId, TypeKind, TypeTable, Variant};
use crate::meter::Meter;

/// The maximum nesting of variant parts.
const DEPTH: u32 = 32;

/// A part of a record that is present.
#[derive(Debug)]
pub(crate) enum Present {
    /// A member.
    Member(Member),
    /// A Rust variant: its name, and its contents.
    Variant { name: String, payload: Member },
    /// The reason why the present variant is unknown.
    Unknown(String),
}

/// Lists the members of a record that are present in a value, including members of variants.
pub(crate) fn present(
    table: &TypeTable,
    members: &[Member],
    value: &TypedBytes<'_>,
    meter: &Meter,
) -> Vec<Present> {
    let options = Options::default();
    let mut nothing = String::new();
    let printer = Printer::new(table, value, &options, meter, &mut nothing, None);
    let owned = |shown| match shown {
        Shown::Member(member) => Present::Member(Member::clone(member)),
        Shown::Variant { name, payload } => Present::Variant {
            name: str::to_owned(name),
            payload: payload.clone(),
        },
        Shown::Unknown(why) => Present::Unknown(why),
    };
    let shown = printer.present(members, Part::WHOLE);
    shown.into_iter().map(owned).collect()
}

/// Returns the number of the variant present in the record with these bytes.
///
/// # Errors
/// The reason why it is unknown, as text.
pub(crate) fn present_variant(
    table: &TypeTable,
    variants: TypeId,
    value: &TypedBytes<'_>,
    meter: &Meter,
) -> Result<usize, String> {
    let options = Options::default();
    let mut nothing = String::new();
    let printer = Printer::new(table, value, &options, meter, &mut nothing, None);
    let ty = table.get(variants);
    let present = printer.variant(ty, Part::WHOLE)?;
    let TypeKind::Variants { variants, .. } = &ty.kind else {
        return Err("<incomplete type>".to_owned());
    };
    let mut numbers = variants.iter();
    let number = numbers.position(|variant| core::ptr::eq(variant, present));
    number.ok_or_else(|| "<no variant>".to_owned())
}

/// Returns the contents and the name of a Rust variant: its only member, which is named like its type.
pub(crate) fn payload_of<'t>(
    table: &'t TypeTable,
    variant: &'t Variant,
) -> Option<(&'t str, &'t Member)> {
    let [payload] = variant.members.as_slice() else {
        return None;
    };
    let name = payload.name.as_deref()?;
    let own = table.get(payload.ty);
    let before = own.name.as_deref()?.strip_suffix(name)?;
    let is_own = before.is_empty() || before.ends_with("::");
    let is_payload = is_own && matches!(own.kind, TypeKind::Record { .. });
    is_payload.then_some((name, payload))
}

/// A part of a record to print.
#[derive(Debug)]
pub(super) enum Shown<'m> {
    /// A member.
    Member(&'m Member),
    /// A Rust variant: its name, and its contents.
    Variant { name: &'m str, payload: &'m Member },
    /// The reason why the present variant is unknown.
    Unknown(String),
}

impl<'a> Printer<'a> {
    /// Returns the members of a record that are present, including members of variants.
    pub(super) fn present(&self, members: &'a [Member], part: Part) -> Vec<Shown<'a>> {
        let mut shown = Vec::new();
        self.add_present(members, part, DEPTH, &mut shown);
        shown
    }

    fn add_present(
        &self,
        members: &'a [Member],
        part: Part,
        depth: u32,
        shown: &mut Vec<Shown<'a>>,
    ) {
        for member in members {
            // A bit-field of zero bits has no value. Without a name it only moves the next one.
            if member.name.is_none() && member.bit_size == Some(0) {
                continue;
            }
            let ty = self.table.get(member.ty);
            if let TypeKind::Variants { .. } = ty.kind {
                match (self.variant(ty, part), depth.checked_sub(1)) {
                    (Ok(variant), Some(depth)) => self.add_variant(variant, part, depth, shown),
                    (Ok(_), None) => shown.push(Shown::Unknown("{...}".to_owned())),
                    (Err(reason), _) => shown.push(Shown::Unknown(reason)),
                }
            } else {
                shown.push(Shown::Member(member));
            }
        }
    }

    fn add_variant(
        &self,
        variant: &'a Variant,
        part: Part,
        depth: u32,
        shown: &mut Vec<Shown<'a>>,
    ) {
        match payload_of(self.table, variant) {
            Some((name, payload)) => shown.push(Shown::Variant { name, payload }),
            None => self.add_present(&variant.members, part, depth, shown),
        }
    }

    /// Returns the variant present in the record at `part`, or the text in its place.
    fn variant(&self, ty: &'a Type, part: Part) -> Result<&'a Variant, String> {
        let TypeKind::Variants {
            discriminant,
            variants,
        } = &ty.kind
        else {
            return Err("<incomplete type>".to_owned());
        };
        let default = || variants.iter().find(|variant| variant.choices.is_none());
        let Some(discriminant) = discriminant else {
            return default()
                .or(variants.first())
                .ok_or_else(|| "<no variant>".to_owned());
        };
        let at = discriminant.bit_offset.map(|offset| Part {
            bit_field: discriminant.bit_size,
            ..part.inner(offset)
        });
        let value = at.and_then(|at| self.integer_at(discriminant.ty, at));
        let Some(value) = value else {
            return Err("<unsupported: DW_AT_discr>".to_owned());
        };
        let value = value.map_err(|lost| lost.text().unwrap_or_default().to_owned())?;
        let mut looked_at = 0u64;
        let chosen = variants.iter().find(|variant| {
            let mut choices = variant.choices.iter().flatten();
            looked_at += 1;
            choices.any(|(low, high)| {
                looked_at += 1;
                (*low..=*high).contains(&value)
            })
        });
        let steps = looked_at.div_ceil(LOOKED_AT_PER_STEP);
        (self.meter.work(steps)).map_err(|error| format!("<{error}>"))?;
        chosen
            .or_else(default)
            .ok_or_else(|| format!("<no variant for {value}>"))
    }

    /// Prints a part of a record.
    pub(super) fn shown(&mut self, shown: &Shown<'a>, part: Part) -> fmt::Result {
        match shown {
            Shown::Member(member) => self.member(member, part),
            Shown::Unknown(text) => self.out.put(text),
            Shown::Variant { name, payload } => {
                self.out.put(name)?;
                self.payload(payload, part)
            }
        }
    }

    /// Prints the contents of a Rust variant: nothing, `(5)` or `{r = 5}`.
    fn payload(&mut self, payload: &Member, part: Part) -> fmt::Result {
        let ty = shape::resolve(self.table, payload.ty).ty;
        let (TypeKind::Record { members, .. }, Some(offset)) = (&ty.kind, payload.bit_offset)
        else {
            return Ok(());
        };
        if members.is_empty() {
            return Ok(());
        }
        if part.depth >= self.options.max_depth {
            return self.out.put("{...}");
        }
        // `record` descends a level for each member, `part` stays at the payload.
        let at = Part {
            depth: part.depth,
            ..part.inner(offset)
        };
        let is_tuple = members.iter().enumerate().all(|(number, member)| {
            let name = member
                .name
                .as_deref()
                .and_then(|name| name.strip_prefix("__"));
            name.is_some_and(|name| name == number.to_string())
        });
        if !is_tuple {
            return self.record(ty, members, at);
        }
        let mut separator = "(";
        for member in members {
            self.out.put(separator)?;
            separator = ", ";
            self.unnamed(member, at)?;
        }
        self.out.put(")")
    }

    /// Prints a variant part alone: the variant that is present.
    pub(super) fn variant_part(&mut self, ty: &'a Type, part: Part) -> fmt::Result {
        let mut shown = Vec::new();
        match self.variant(ty, part) {
            Ok(variant) => self.add_variant(variant, part, DEPTH, &mut shown),
            Err(reason) => shown.push(Shown::Unknown(reason)),
        }
        let mut separator = "";
        for shown in &shown {
            write!(self.out, "{separator}")?;
            separator = ", ";
            self.shown(shown, part)?;
        }
        Ok(())
    }
}
