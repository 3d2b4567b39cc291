//! Records kept, found and shared.
//!
//! The archive is a bare Git repository. A record is one commit under a reference of its own that is named by the
//! commit's hash, `refs/records/<hash>`: its tree has the record as it was printed, and a manifest of what Git forgets
//! about the machine and the program. Nothing is ever rewritten, and two writers never want the same reference: neither
//! a concurrent run nor a killed one stands in the way of another, and sharing is the union of references. Beside them
//! names are given to records that others are held against ([`Baseline`]); these may mean others later.

mod archive;
mod baseline;
mod catalogue;
mod claim;
mod draft;
mod environment;
mod git;
mod incoming;
mod listing;
mod location;
mod manifest;
mod names;
mod objects;
mod process;
mod records;
mod shell;
mod summary;
mod trust;
mod warning;
mod whole;

pub use archive::Archive;
pub use baseline::{Baseline, Baselines};
pub use catalogue::{Catalogue, StoredAs};
pub use incoming::Fetched;
pub use listing::{Listing, Skipped};
pub use location::Location;
pub use manifest::{Build, Manifest};
pub use names::Name;
pub use process::is_disk_full;
pub use shell::quoted;
pub use summary::{Entry, Summary, short};
pub use warning::NotKept;
pub use whole::Whole;
