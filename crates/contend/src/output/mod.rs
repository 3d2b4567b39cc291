//! The output of a record: its destination and its form.

mod csv;
mod destination;
pub mod markdown;
mod store;
pub mod warnings;

pub use destination::{Destination, NotArchived, View, print_or_write, whole_record};
pub use store::missing_above;
