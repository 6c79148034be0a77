//! placeholder
/// p
#[derive(Debug)]
pub struct Processor;
/// s
#[derive(Debug)]
pub enum ScratchAddressing {}
