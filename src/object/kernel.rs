//! Lists kernels: descriptor symbols and metadata joined by name.
//!
//! Source: USAGE "Symbols" (`*link-name*.kd`) and "Code Object V3 Metadata" (`.symbol`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::CodeObject;
use super::bytes::u64_at;
use super::descriptor::{KernelDescriptor, described};
use super::metadata::{KernelMetadata, Metadata};
use super::symbol::{SymbolKind, SymbolSection};
use crate::error::Result;

/// The suffix of the name of a kernel descriptor's symbol.
const SUFFIX: &str = ".kd";
/// The suffix in the metadata of version 2, which no symbol has.
const SUFFIX_V2: &str = "@kd";
/// `STT_AMDGPU_HSA_KERNEL`: the symbol of a kernel of version 2, at its `amd_kernel_code_t`.
const KERNEL_SYMBOL: SymbolKind = SymbolKind::Other(10);
/// The offset of the field in `amd_kernel_code_t` with the distance to the first instruction.
const ENTRY_OFFSET: u64 = 16;

/// One kernel.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The linkage name: the name of the descriptor's symbol without `.kd`, which is also the name of the code's symbol.
    pub name: String,
    /// The descriptor, or `None` if there is no symbol for it or its bytes are not in the file.
    pub descriptor: Option<KernelDescriptor>,
    /// The metadata of the kernel, or `None` if there is none.
    pub metadata: Option<KernelMetadata>,
    /// The address of the first instruction, for a kernel of version 2.
    entry_v2: Option<u64>,
}

impl Kernel {
    /// Returns the address of the first instruction in the code object.
    #[must_use]
    pub fn entry(&self) -> Option<u64> {
        let descriptor = self.descriptor.as_ref();
        descriptor.map(KernelDescriptor::entry).or(self.entry_v2)
    }

    /// Returns the number of lanes of the wavefronts, from the descriptor or else from the metadata.
    #[must_use]
    pub fn wave_size(&self) -> Option<crate::arch::WaveSize> {
        let stated = || self.metadata.as_ref()?.wavefront_size;
        self.descriptor
            .as_ref()
            .and_then(KernelDescriptor::wave_size)
            .or_else(|| crate::arch::WaveSize::from_lanes(stated()?))
    }
}

/// Returns all kernels, sorted by name.
pub(super) fn read_all(
    object: &CodeObject<'_>,
    metadata: Option<&Metadata>,
) -> Result<Vec<Kernel>> {
    let mut kernels: BTreeMap<Cow<'_, str>, Kernel> = BTreeMap::new();
    for symbol in object.symbols()? {
        let defined = matches!(symbol.section, SymbolSection::Index(_));
        let name = symbol.name.strip_suffix(SUFFIX);
        if let (true, Some(name)) = (defined, name.filter(|name| !name.is_empty())) {
            kernels.insert(
                Cow::Owned(name.to_owned()),
                Kernel {
                    name: name.to_owned(),
                    descriptor: descriptor(object, symbol.address),
                    metadata: None,
                    entry_v2: None,
                },
            );
        }
        if symbol.kind == KERNEL_SYMBOL && defined {
            kernels.insert(
                Cow::Owned(symbol.name.clone().into_owned()),
                Kernel {
                    name: symbol.name.clone().into_owned(),
                    descriptor: None,
                    metadata: None,
                    entry_v2: entry_v2(object, symbol.address),
                },
            );
        }
    }
    for stated in metadata.map_or(&[][..], Metadata::kernels) {
        let symbol = stated.symbol.as_deref().or(stated.name.as_deref());
        let Some(symbol) = symbol else {
            continue;
        };
        let name = symbol.strip_suffix(SUFFIX).unwrap_or(symbol);
        let name = name.strip_suffix(SUFFIX_V2).unwrap_or(name);
        let kernel = kernels
            .entry(Cow::Borrowed(name))
            .or_insert_with(|| Kernel {
                name: name.to_owned(),
                descriptor: None,
                metadata: None,
                entry_v2: None,
            });
        // A second description of the same kernel does not replace the first.
        if kernel.metadata.is_none() {
            kernel.metadata = Some(stated.clone());
        }
    }
    Ok(kernels.into_values().collect())
}

fn entry_v2(object: &CodeObject<'_>, address: u64) -> Option<u64> {
    let bytes = object.read_image(address.checked_add(ENTRY_OFFSET)?, 8)?;
    address.checked_add(u64_at(bytes, 0)?)
}

fn descriptor(object: &CodeObject<'_>, address: u64) -> Option<KernelDescriptor> {
    let bytes = object.read_image(address, KernelDescriptor::SIZE)?;
    Some(KernelDescriptor {
        address,
        bytes: bytes.try_into().ok()?,
        family: (object.target().processor().family()).and_then(described),
    })
}
