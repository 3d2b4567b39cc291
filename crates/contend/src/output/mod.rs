//! Where a record goes, and in which form.

mod csv;
mod destination;
mod home;
mod provenance;
mod store;

pub use destination::{Destination, View, print_or_write};
pub use home::missing_above;
