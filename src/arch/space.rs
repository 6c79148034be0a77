//! placeholder
/// address spaces
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressSpace {
    /// none
    None,
}
impl AddressSpace {
    /// name
    pub fn name(self) -> &'static str {
        "none"
    }
}
/// memory spaces
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// none
    None,
}
