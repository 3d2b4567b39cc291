//! Storage, search and exchange of records.
//!
//! The archive is a bare Git repository. A record is one commit under a separate reference that is named by the
//! commit's hash, `refs/records/<hash>`. Its tree contains the record as it was printed, and a manifest of the
//! properties of the machine and the program that Git does not store. Nothing is ever rewritten, and two writers never
//! use the same reference. Therefore neither a concurrent run nor a killed one blocks another, and sharing is the union
//! of references. In addition, names are given to records that other records are compared with ([`Baseline`]); the
//! meaning of these names may change.

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
mod portable;
mod process;
mod records;
mod shell;
mod summary;
mod trust;
mod warning;

pub use archive::Archive;
pub use baseline::{Baseline, Baselines};
pub use catalogue::{Catalogue, StoredAs};
pub use incoming::Fetched;
pub use listing::{Listing, Skipped};
pub use location::Location;
pub use manifest::{Build, Manifest};
pub use names::Name;
pub use portable::PortableRecord;
pub use process::is_disk_full;
pub use shell::quoted;
pub use summary::{Entry, Summary, short};
pub use warning::NotKept;
