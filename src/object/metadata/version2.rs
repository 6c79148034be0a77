//! Converts the metadata of code objects of version 2 to the form of later versions. The keys have other names, and the attributes and code
//! properties of a kernel have their own maps.
//!
//! Source: [USAGE](crate) "Code Object V2 Metadata".

use std::sync::Arc;

use rmpv::Value;

use super::{Metadata, malformed, read, yaml};
use crate::error::Result;
use crate::meter::{Held, Meter};

/// Names in version 2, and in later versions.
type Keys = &'static [(&'static str, &'static str)];

const DOCUMENT: Keys = &[
    ("Version", "amdhsa.version"),
    ("Printf", "amdhsa.printf"),
    ("Kernels", "amdhsa.kernels"),
];

const KERNEL: Keys = &[
    ("Name", ".name"),
    ("SymbolName", ".symbol"),
    ("Language", ".language"),
    ("LanguageVersion", ".language_version"),
    ("Args", ".args"),
    ("ReqdWorkGroupSize", ".reqd_workgroup_size"),
    ("WorkGroupSizeHint", ".workgroup_size_hint"),
    ("VecTypeHint", ".vec_type_hint"),
    ("RuntimeHandle", ".device_enqueue_symbol"),
    ("KernargSegmentSize", ".kernarg_segment_size"),
    ("GroupSegmentFixedSize", ".group_segment_fixed_size"),
    ("PrivateSegmentFixedSize", ".private_segment_fixed_size"),
    ("KernargSegmentAlign", ".kernarg_segment_align"),
    ("WavefrontSize", ".wavefront_size"),
    ("NumSGPRs", ".sgpr_count"),
    ("NumVGPRs", ".vgpr_count"),
    ("MaxFlatWorkGroupSize", ".max_flat_workgroup_size"),
    ("IsDynamicCallStack", ".uses_dynamic_stack"),
    ("NumSpilledSGPRs", ".sgpr_spill_count"),
    ("NumSpilledVGPRs", ".vgpr_spill_count"),
];

const ARGUMENT: Keys = &[
    ("Name", ".name"),
    ("TypeName", ".type_name"),
    ("Size", ".size"),
    ("ValueKind", ".value_kind"),
    ("ValueType", ".value_type"),
    ("PointeeAlign", ".pointee_align"),
    ("AddrSpaceQual", ".address_space"),
    ("AccQual", ".access"),
    ("ActualAccQual", ".actual_access"),
    ("IsConst", ".is_const"),
    ("IsRestrict", ".is_restrict"),
    ("IsVolatile", ".is_volatile"),
    ("IsPipe", ".is_pipe"),
];

/// The keys of an argument whose values are names with another spelling in later versions.
const NAMES: [&str; 5] = [
    ".value_kind",
    ".value_type",
    ".address_space",
    ".access",
    ".actual_access",
];

/// Reads the note's contents.
pub(super) fn document(note: &[u8], meter: &Arc<Meter>) -> Result<Metadata> {
    let note = note.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = core::str::from_utf8(note).map_err(|_| malformed("it is not UTF-8"))?;
    // Released when the values are dropped.
    let held = Held::new(Arc::clone(meter));
    let mut value = yaml::read(text, &held)?;
    rename(&mut value, DOCUMENT);
    let root = entries(&mut value);
    for kernel in items(root, "amdhsa.kernels") {
        for part in ["Attrs", "CodeProps"] {
            let inner = take(kernel, part);
            if let (Value::Map(kernel), Some(Value::Map(inner))) = (&mut *kernel, inner) {
                kernel.extend(inner);
            }
        }
        rename(kernel, KERNEL);
        arguments(items(entries(kernel), ".args"));
    }
    read::from_value(&value.as_ref(), meter)
}

/// Computes the offsets of the arguments, which follow one another in memory, each aligned. Only later versions store the offsets.
fn arguments<'v>(arguments: impl Iterator<Item = &'v mut Value>) {
    let mut end = Some(0_u64);
    for argument in arguments {
        rename(argument, ARGUMENT);
        let Value::Map(entries) = argument else {
            continue;
        };
        for (key, value) in entries.iter_mut() {
            if let (Some(key), Some(name)) = (key.as_str(), value.as_str())
                && NAMES.contains(&key)
            {
                *value = later_name(name).into();
            }
        }
        let number = |name: &str| {
            let found = entries.iter().find(|(key, _)| key.as_str() == Some(name));
            found.and_then(|(_, value)| value.as_u64())
        };
        let (size, alignment) = (number(".size"), number("Align"));
        let offset = end
            .zip(alignment.filter(|alignment| alignment.is_power_of_two()))
            .and_then(|(end, alignment)| end.checked_next_multiple_of(alignment));
        end = offset.zip(size).and_then(|(at, size)| at.checked_add(size));
        if let Some(offset) = offset {
            entries.push((".offset".into(), offset.into()));
        }
    }
}

/// Converts `HiddenGlobalOffsetX` to `hidden_global_offset_x`.
fn later_name(name: &str) -> String {
    if name == "HiddenMultiGridSyncArg" {
        return "hidden_multigrid_sync_arg".to_owned();
    }
    let mut later = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !later.is_empty() {
            later.push('_');
        }
        later.push(c.to_ascii_lowercase());
    }
    later
}

/// Returns the entries of a map, or none for another value.
fn entries(value: &mut Value) -> &mut [(Value, Value)] {
    if let Value::Map(entries) = value {
        entries
    } else {
        &mut []
    }
}

/// Returns the items of the list with this key.
fn items<'v>(
    entries: &'v mut [(Value, Value)],
    key: &'static str,
) -> impl Iterator<Item = &'v mut Value> {
    let mut lists = entries.iter_mut();
    let list = lists.find(|(name, _)| name.as_str() == Some(key));
    let list = list.and_then(|(_, value)| {
        let Value::Array(list) = value else {
            return None;
        };
        Some(list)
    });
    list.into_iter().flatten()
}

/// Removes the entry with this key from a map, and returns it.
fn take(value: &mut Value, key: &str) -> Option<Value> {
    let Value::Map(entries) = value else {
        return None;
    };
    let at = entries
        .iter()
        .position(|(name, _)| name.as_str() == Some(key))?;
    Some(entries.remove(at).1)
}

fn rename(value: &mut Value, keys: Keys) {
    let Value::Map(entries) = value else {
        return;
    };
    for (key, _) in entries {
        let known = keys.iter().find(|(old, _)| key.as_str() == Some(old));
        if let Some((_, new)) = known {
            *key = (*new).into();
        }
    }
}

#[cfg(test)]
mod tests;
