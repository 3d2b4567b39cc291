//! The output of a record: its destination and its form.

mod csv;
mod destination;
mod folder;
mod home;
pub mod markdown;
mod provenance;
mod store;
pub mod warnings;

pub use destination::{Destination, View, print_or_write, whole_record};
pub use home::missing_above;
