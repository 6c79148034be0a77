//! placeholder
/// a
#[derive(Debug)]
pub struct Apertures;
