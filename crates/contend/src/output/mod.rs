//! Where a record goes, and in which form.

mod csv;
mod destination;
mod form;
mod provenance;
mod store;

pub use destination::{Destination, View, print_or_write};
pub use form::check_form;
