//! Hostile input that is crafted by hand, grouped by its contents.

mod entries;
mod expressions;
mod frames;
mod results;
mod stops;
mod types;

pub use entries::*;
pub use expressions::{Everywhere, encode, evaluate_within};
pub use frames::debug_frame;
pub use stops::{stop_files, stopped_wave};
pub use types::type_files;

#[test]
#[ignore = "takes minutes"]
fn everything_made_to_do_harm_at_its_largest() {
    expressions::expressions(10);
    frames::call_frame_information(10);
    types::entries_and_types(10);
    stops::whole_stops(10);
}
