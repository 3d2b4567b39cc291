//! Where a record goes, and in which form.

mod csv;
mod destination;
mod provenance;
mod store;

pub use destination::{Destination, View, print_or_write};
