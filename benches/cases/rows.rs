//! Compares this crate and gimli in reading call frame information: all entries, all rows of all entries, and rows of addresses in random
//! order.
//!
//! The sections are `.debug_frame` of AMDGPU code, and `.eh_frame` of x86 code that `benches/mixes.sh` builds. For addresses in random
//! order, both get an existing index of the entries by address, and find the entry and the row anew each time. gimli's context is reused,
//! as its documentation advises. The starts of the rows are compared when a case is made.

use fallible_iterator::FallibleIterator;
use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame, EndianSlice,
    FrameDescriptionEntry, LittleEndian, PartialFrameDescriptionEntry, RegisterRule, UnwindContext,
    UnwindContextStorage, UnwindOffset, UnwindSection, UnwindTableRow,
};
use hetdwarf::frame::{Entry, FrameIndex, FrameSection, Rows, SectionKind};
use hetdwarf::object::CodeObject;
use object::{Object, ObjectSection};
use std::hint::black_box;

use super::{Case, Maker, fixture, keep, maker};

type Bytes = EndianSlice<'static, LittleEndian>;
type Cie = CommonInformationEntry<Bytes>;
type Fde = FrameDescriptionEntry<Bytes>;

/// Storage for the rows of AMDGPU code, which can have more rules than gimli's own storage holds.
struct Store;

impl UnwindContextStorage<usize> for Store {
    type Rules = Box<[(gimli::Register, RegisterRule<usize>); 1024]>;
    type Stack = Box<[UnwindTableRow<usize, Self>; 4]>;
}

/// The number of queried addresses.
const ADDRESSES: u32 = 256;

/// AMDGPU code of GCC. gimli does not read the tables of LLVM, whose CFA is in an address space (`DW_CFA_LLVM_def_aspace_cfa`).
const AMDGPU: &str = "corpus/gcc12/offload-gfx906-O1.hsaco";

pub(super) fn makers() -> Vec<Maker> {
    let mut makers = Vec::new();
    add(&mut makers, "offload-gfx906-O1.hsaco", || {
        let object = keep(CodeObject::parse(fixture(AMDGPU)).unwrap());
        let bytes = object.section(".debug_frame").unwrap().unwrap();
        let mut section = DebugFrame::new(bytes, LittleEndian);
        section.set_address_size(8);
        (FrameSection::debug_frame(bytes), section)
    });
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/target/mixes/gcc");
    if std::path::Path::new(path).exists() {
        add(&mut makers, "SQLite", move || {
            let file: &'static [u8] = keep(std::fs::read(path).unwrap());
            let file = object::File::parse(file).unwrap();
            let section = file.section_by_name(".eh_frame").unwrap();
            let (bytes, address) = (section.data().unwrap(), section.address());
            let ours = FrameSection::new(bytes, SectionKind::EhFrame, address, 8);
            let mut section = EhFrame::new(bytes, LittleEndian);
            section.set_address_size(8);
            (ours, AtAddress(section, address))
        });
    }
    makers
}

/// A section of gimli, with its base addresses.
trait Peer {
    type Section: UnwindSection<Bytes>;
    fn section(&self) -> &Self::Section;
    fn bases(&self) -> BaseAddresses;
}

impl Peer for DebugFrame<Bytes> {
    type Section = Self;
    fn section(&self) -> &Self {
        self
    }
    fn bases(&self) -> BaseAddresses {
        BaseAddresses::default()
    }
}

struct AtAddress(EhFrame<Bytes>, u64);

impl Peer for AtAddress {
    type Section = EhFrame<Bytes>;
    fn section(&self) -> &EhFrame<Bytes> {
        &self.0
    }
    fn bases(&self) -> BaseAddresses {
        BaseAddresses::default().set_eh_frame(self.1)
    }
}

fn add<P: Peer + 'static>(
    makers: &mut Vec<Maker>,
    name: &str,
    read: impl Fn() -> (FrameSection<'static>, P) + Copy + 'static,
) where
    <P::Section as UnwindSection<Bytes>>::Offset: 'static,
{
    let mut both =
        |subject: &'static str, ours: fn(&Table<P>) -> Sum, theirs: fn(&Table<P>) -> Sum| {
            for (who, run) in [("hetdwarf", ours), ("gimli", theirs)] {
                makers.push(maker(format!("rows/{name}, {subject}/{who}"), move || {
                    let (section, peer) = read();
                    let table = Table::new(section, peer);
                    let (found, other) = (ours(&table), theirs(&table));
                    assert_eq!(found, other, "{subject}");
                    Case::repeated(found.count, move || run(&table))
                }));
            }
        };
    both("an entry", parse, parse_gimli);
    both("a row", step, step_gimli);
    both("a row of any address", random, random_gimli);
}

/// The result of a run.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    /// The number of entries, rows or addresses.
    count: u32,
    /// The sum of their first addresses.
    starts: u64,
}

impl Sum {
    fn add(&mut self, start: u64) {
        self.count += 1;
        self.starts = self.starts.wrapping_add(start);
    }
}

/// A section, as both libraries represent it.
struct Table<P: Peer> {
    section: FrameSection<'static>,
    index: FrameIndex<'static>,
    peer: P,
    /// The first address, the end and the offset of each FDE, sorted by address.
    ranges: Vec<(u64, u64, usize)>,
    addresses: Vec<u64>,
}

impl<P: Peer> Table<P> {
    fn new(section: FrameSection<'static>, peer: P) -> Table<P> {
        let mut ranges = Vec::new();
        let mut entries = section.entries();
        while let Some(entry) = entries.next().unwrap() {
            if let Entry::Fde(fde) = entry {
                let offset = usize::try_from(fde.offset).unwrap();
                ranges.push((fde.initial_location, fde.end(), offset));
            }
        }
        ranges.sort_unstable();
        let code: Vec<_> = ranges.iter().map(|(start, end, _)| *start..*end).collect();
        let addresses = super::scattered(&code, ADDRESSES);
        Table {
            section,
            index: FrameIndex::new(section),
            peer,
            ranges,
            addresses,
        }
    }
}

fn parse<P: Peer>(table: &Table<P>) -> Sum {
    let mut entries = table.section.entries();
    let mut sum = Sum::default();
    while let Some(entry) = entries.next().unwrap() {
        if let Entry::Fde(fde) = black_box(&entry) {
            sum.add(fde.initial_location);
        }
    }
    sum
}

/// Reads an entry. Its CIE is read only if it differs from the previous entry's.
fn fde<S: UnwindSection<Bytes>>(
    partial: PartialFrameDescriptionEntry<'_, S, Bytes>,
    last: &mut Option<(usize, Cie)>,
) -> Fde {
    let fde = partial.parse(|section, bases, offset| {
        let at = UnwindOffset::into(offset);
        if let Some((_, cie)) = last.as_ref().filter(|(known, _)| *known == at) {
            return Ok(cie.clone());
        }
        let cie = section.cie_from_offset(bases, offset)?;
        Ok(last.insert((at, cie)).1.clone())
    });
    fde.unwrap()
}

fn each_gimli<P: Peer>(table: &Table<P>, mut visit: impl FnMut(&Fde)) {
    let (section, bases) = (table.peer.section(), table.peer.bases());
    let (mut entries, mut last) = (section.entries(&bases), None);
    while let Some(entry) = entries.next().unwrap() {
        if let CieOrFde::Fde(partial) = entry {
            visit(&fde(partial, &mut last));
        }
    }
}

fn parse_gimli<P: Peer>(table: &Table<P>) -> Sum {
    let mut sum = Sum::default();
    each_gimli(table, |fde| sum.add(black_box(fde).initial_address()));
    sum
}

fn step<P: Peer>(table: &Table<P>) -> Sum {
    let mut entries = table.section.entries();
    let (mut sum, mut last) = (Sum::default(), None);
    while let Some(entry) = entries.next().unwrap() {
        let Entry::Fde(fde) = entry else { continue };
        let rows = match &mut last {
            Some(rows) => {
                Rows::restart(rows, &fde).unwrap();
                rows
            }
            None => last.insert(Rows::new(&fde, table.section.name()).unwrap()),
        };
        while let Some(row) = rows.next().unwrap() {
            sum.add(black_box(row).start);
        }
    }
    sum
}

fn step_gimli<P: Peer>(table: &Table<P>) -> Sum {
    let (section, bases) = (table.peer.section(), table.peer.bases());
    let mut context = UnwindContext::<_, Store>::new_in();
    let mut sum = Sum::default();
    each_gimli(table, |fde| {
        let mut rows = fde.rows(section, &bases, &mut context).unwrap();
        while let Some(row) = rows.next_row().unwrap() {
            sum.add(black_box(row).start_address());
        }
    });
    sum
}

fn random<P: Peer>(table: &Table<P>) -> Sum {
    let mut sum = Sum::default();
    for pc in &table.addresses {
        let (_, row) = table.index.row_at(*pc, None).unwrap().unwrap();
        sum.add(black_box(row).start);
    }
    sum
}

fn random_gimli<P: Peer>(table: &Table<P>) -> Sum {
    let (section, bases) = (table.peer.section(), table.peer.bases());
    let mut context = UnwindContext::<_, Store>::new_in();
    let (mut sum, mut last) = (Sum::default(), None);
    for pc in &table.addresses {
        let after = table.ranges.partition_point(|(start, ..)| start <= pc);
        let (_, _, offset) = table.ranges[after - 1];
        let partial = section
            .partial_fde_from_offset(&bases, offset.into())
            .unwrap();
        let fde = fde(partial, &mut last);
        let row = fde.unwind_info_for_address(section, &bases, &mut context, *pc);
        sum.add(black_box(row.unwrap()).start_address());
    }
    sum
}
