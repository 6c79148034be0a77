//! Distinguishes the attributes of HET from others with the same codes, and names the attributes and tags that gimli does not know.
//!
//! LLVM assigned codes to some of the extensions that differ from those in HET, and uses HET's codes for other attributes. Both are read: the code,
//! the tag and the class of the form together identify an attribute. Interpreting the value is left to the callers. Sources: HET A.7.5.4 and its
//! appendix "Attributes by Tag Value"; the codes that LLVM assigned.

use std::borrow::Cow;

use gimli::constants::*;
use gimli::{AttributeValue, DwAt, DwTag};

use super::Bytes;

/// The class of a form. Source: DWARF 5 §7.5.5, as far as the extensions need it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A number.
    Constant,
    /// An operation expression.
    Exprloc,
    /// A location list.
    Loclist,
    /// Text.
    String,
    /// Any other class.
    Other,
}

/// One row: an attribute, its codes, and the tags on which it may occur.
macro_rules! extensions {
    ($($variant:ident, $name:literal, $llvm:expr, $het:expr, $classes:expr, $tags:expr, $what:literal;)*) => {
        /// An attribute of HET.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Extension { $(#[doc = concat!("`", $name, "`: ", $what, ".")] $variant,)* }

        /// Every attribute of HET.
        pub const EXTENSIONS: &[ExtensionRow] = &[$(ExtensionRow {
            extension: Extension::$variant, name: $name, llvm: $llvm, het: $het,
            classes: &$classes, tags: &$tags,
        },)*];
    };
}

/// The specification of an attribute.
#[non_exhaustive]
#[derive(Debug)]
pub struct ExtensionRow {
    /// The attribute.
    pub extension: Extension,
    /// The name.
    pub name: &'static str,
    /// The code that LLVM assigned.
    pub llvm: Option<DwAt>,
    /// The code in HET A.7.5.4.
    pub het: Option<DwAt>,
    /// The classes its forms may have.
    pub classes: &'static [Class],
    /// The tags on which it may occur.
    pub tags: &'static [DwTag],
}

use Class::{Constant, Exprloc, Loclist, String as Text};

const SUBPROGRAMS: [DwTag; 3] = [
    DW_TAG_subprogram,
    DW_TAG_inlined_subroutine,
    DW_TAG_entry_point,
];
const POINTERS: [DwTag; 4] = [
    DW_TAG_pointer_type,
    DW_TAG_reference_type,
    DW_TAG_rvalue_reference_type,
    DW_TAG_base_type,
];
const POINTERS_AND_OBJECTS: [DwTag; 6] = [
    DW_TAG_pointer_type,
    DW_TAG_reference_type,
    DW_TAG_rvalue_reference_type,
    DW_TAG_variable,
    DW_TAG_formal_parameter,
    DW_TAG_constant,
];
const UNITS: [DwTag; 4] = [
    DW_TAG_compile_unit,
    DW_TAG_partial_unit,
    DW_TAG_skeleton_unit,
    DW_TAG_type_unit,
];

#[rustfmt::skip]
extensions! {
// attribute     name                         LLVM                HET                 classes                       tags                  meaning
    MemorySpace,  "DW_AT_LLVM_memory_space",   Some(DwAt(0x3e0f)), None,               [Constant],                   POINTERS_AND_OBJECTS, "the memory space of the source language";
    AddressSpace, "DW_AT_LLVM_address_space",  Some(DwAt(0x3e10)), None,               [Constant],                   POINTERS,             "the address space a pointer points into";
    Lanes,        "DW_AT_LLVM_lanes",          Some(DwAt(0x3e11)), Some(DwAt(0x3e0a)), [Constant],                   SUBPROGRAMS,          "the number of lanes of a \
                                                                                                                                            wavefront";
    LanePc,       "DW_AT_LLVM_lane_pc",        Some(DwAt(0x3e12)), Some(DwAt(0x3e0b)), [Exprloc, Loclist],           SUBPROGRAMS,          "the conceptual position of each \
                                                                                                                                            lane";
    VectorSize,   "DW_AT_LLVM_vector_size",    Some(DwAt(0x3e13)), Some(DwAt(0x3e0c)), [Constant],                   [DW_TAG_base_type],   "the number of elements of a vector base \
                                                                                                                                            type";
    ActiveLane,   "DW_AT_LLVM_active_lane",    None,               Some(DwAt(0x3e08)), [Exprloc, Loclist],           SUBPROGRAMS,          "the lanes that are active in the source \
                                                                                                                                            language";
    Augmentation, "DW_AT_LLVM_augmentation",   None,               Some(DwAt(0x3e09)), [Text],                       UNITS,                "the extensions that a unit \
                                                                                                                                            uses";
    Iterations,   "DW_AT_LLVM_iterations",     None,               Some(DwAt(0x3e0a)), [Constant, Exprloc, Loclist], SUBPROGRAMS,          "the number of loop iterations that run at \
                                                                                                                                            once";
}

/// Names of attributes with an unambiguous code that gimli does not have or that LLVM has changed. Where HET uses the code too, [`EXTENSIONS`] takes
/// precedence.
#[rustfmt::skip]
const OTHER_NAMES: &[(DwAt, &str)] = &[
    (LANGUAGE_NAME, "DW_AT_language_name"),
    (DwAt(0x91), "DW_AT_language_version"),
    (DwAt(0x3e02), "DW_AT_LLVM_sysroot"),
    (DwAt(0x3e03), "DW_AT_LLVM_tag_offset"),
    (DwAt(0x3e04), "DW_AT_LLVM_ptrauth_key"),
    (DwAt(0x3e05), "DW_AT_LLVM_ptrauth_address_discriminated"),
    (DwAt(0x3e06), "DW_AT_LLVM_ptrauth_extra_discriminator"),
    (DwAt(0x3e07), "DW_AT_LLVM_apinotes"),
    (DwAt(0x3e08), "DW_AT_LLVM_ptrauth_isa_pointer"),
    (DwAt(0x3e09), "DW_AT_LLVM_ptrauth_authenticates_null_values"),
    (DwAt(0x3e0a), "DW_AT_LLVM_ptrauth_authentication_mode"),
    (DwAt(0x3e0b), "DW_AT_LLVM_num_extra_inhabitants"),
    (DwAt(0x3e0c), "DW_AT_LLVM_stmt_sequence"),
    (DwAt(0x3e0d), "DW_AT_LLVM_coro_suspend_idx"),
    (DwAt(0x3e0e), "DW_AT_LLVM_alloc_type"),
    (DwAt(0x3fee), "DW_AT_APPLE_objc_direct"),
    (DwAt(0x3fef), "DW_AT_APPLE_sdk"),
    (DwAt(0x3ff0), "DW_AT_APPLE_origin"),
];

/// `DW_AT_language_name` of DWARF 6.
pub(super) const LANGUAGE_NAME: DwAt = DwAt(0x90);

/// `DW_CC_LLVM_DeviceKernel`, once called `DW_CC_LLVM_OpenCLKernel`.
pub(super) const DEVICE_KERNEL: u64 = 0xc7;

/// Tags that gimli has no name for.
const OTHER_TAGS: &[(DwTag, &str)] = &[
    (DwTag(0x4300), "DW_TAG_LLVM_ptrauth_type"),
    (DwTag(0x6000), "DW_TAG_LLVM_annotation"),
];

impl ExtensionRow {
    /// Returns true if an attribute with this code, tag and class matches the row.
    fn is(&self, tag: DwTag, code: DwAt, class: Class) -> bool {
        (self.llvm == Some(code) || self.het == Some(code))
            && self.classes.contains(&class)
            && self.tags.contains(&tag)
    }
}

/// Returns the HET attribute that an attribute stands for, or `None` if it is another one.
///
/// `DW_AT_LLVM_lanes` and a constant `DW_AT_LLVM_iterations` share a code (0x3e0a in HET A.7.5.4) and both fit. The first is returned, since nearly
/// every function has lanes.
#[must_use]
#[inline]
pub fn extension(tag: DwTag, attribute: &gimli::Attribute<Bytes<'_>>) -> Option<Extension> {
    // Most attributes are standard ones, and return here.
    if attribute.name().0 < DW_AT_lo_user.0 {
        return None;
    }
    vendors_extension(tag, attribute)
}

#[inline(never)]
fn vendors_extension(tag: DwTag, attribute: &gimli::Attribute<Bytes<'_>>) -> Option<Extension> {
    let code = attribute.name();
    let class = class(&attribute.raw_value());
    EXTENSIONS
        .iter()
        .find(|row| row.is(tag, code, class))
        .map(|row| row.extension)
}

/// Returns the class of a value. Before DWARF 4 expressions had block forms (DWARF 3 §7.5.4). No extension has class block, so this is unambiguous.
fn class(value: &AttributeValue<Bytes<'_>>) -> Class {
    use AttributeValue as V;
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "classes that no extension has are not told apart"
    )]
    match value {
        V::Block(_) | V::Exprloc(_) => Exprloc,
        V::SecOffset(_) | V::LocationListsRef(_) | V::DebugLocListsIndex(_) => Loclist,
        V::Data1(_)
        | V::Data2(_)
        | V::Data4(_)
        | V::Data8(_)
        | V::Data16(_)
        | V::Sdata(_)
        | V::Udata(_) => Constant,
        V::String(_)
        | V::DebugStrRef(_)
        | V::DebugStrOffsetsIndex(_)
        | V::DebugLineStrRef(_)
        | V::DebugStrRefSup(_) => Text,
        _ => Class::Other,
    }
}

/// Returns the name of an attribute on `tag`. Without a name, this is `DW_AT_unknown_` and the code in hexadecimal.
#[must_use]
pub fn attribute_name(tag: DwTag, attribute: &gimli::Attribute<Bytes<'_>>) -> Cow<'static, str> {
    let code = attribute.name();
    if let Some(extension) = extension(tag, attribute) {
        return Cow::Borrowed(extension.name());
    }
    match plain_name(code) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("DW_AT_unknown_{:x}", code.0)),
    }
}

/// Returns the name of an attribute outside the extensions.
fn plain_name(code: DwAt) -> Option<&'static str> {
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == code);
    let name = other.map(|(_, name)| *name).or(code.static_string());
    name.filter(|name| !is_bound(name))
}

/// Returns true if a name denotes the first or last vendor code. These name no attribute or tag.
fn is_bound(name: &str) -> bool {
    // The names from DWARF 1 are obsolete.
    let is_old = matches!(name, "DW_AT_fund_type" | "DW_AT_subscr_data");
    is_old || name.ends_with("_lo_user") || name.ends_with("_hi_user")
}

/// Returns the name of an attribute without a tag, as in an abbreviation: the meaning of its code on most tags.
#[must_use]
pub fn attribute_code_name(code: DwAt) -> Cow<'static, str> {
    let extension = EXTENSIONS.iter().find(|row| row.llvm == Some(code));
    let name = extension.map(|row| row.name);
    match name.or_else(|| plain_name(code)) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("DW_AT_unknown_{:x}", code.0)),
    }
}

/// Returns true if a text is the name of a tag, as spelled by [`tag_name`].
#[must_use]
pub fn is_tag_name(text: &str) -> bool {
    text.starts_with("DW_TAG_")
        && (1..=u16::MAX)
            .map(DwTag)
            .any(|tag| tag_name(tag) == text && !text.starts_with("DW_TAG_unknown_"))
}

/// Returns the name of a tag. Without a name, this is `DW_TAG_unknown_` and the code in hexadecimal.
#[must_use]
pub fn tag_name(tag: DwTag) -> Cow<'static, str> {
    let other = OTHER_TAGS.iter().find(|(other, _)| *other == tag);
    let name = tag.static_string().or(other.map(|(_, name)| *name));
    match name.filter(|name| !is_bound(name)) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("DW_TAG_unknown_{:x}", tag.0)),
    }
}

impl Extension {
    /// Returns the attribute's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        EXTENSIONS
            .iter()
            .find(|row| row.extension == self)
            .map_or("", |row| row.name)
    }

    /// Returns the code that LLVM assigned.
    pub(super) fn llvm_code(self) -> Option<DwAt> {
        EXTENSIONS.iter().find(|row| row.extension == self)?.llvm
    }
}

/// Returns true if a tag denotes a structure, class, interface or union.
pub(super) fn is_record(tag: DwTag) -> bool {
    [
        DW_TAG_structure_type,
        DW_TAG_class_type,
        DW_TAG_union_type,
        DW_TAG_interface_type,
    ]
    .contains(&tag)
}
