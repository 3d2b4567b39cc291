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
mod git;
mod incoming;
mod listing;
mod location;
mod manifest;
mod objects;
mod records;
mod shell;
mod trust;

pub use archive::Archive;
pub use baseline::{Baseline, Baselines};
pub use catalogue::{Catalogue, Name, StoredAs};
pub use git::is_disk_full;
pub use incoming::Fetched;
pub use listing::{Entry, Listing, Skipped, Summary, short};
pub use location::{Location, NotKept};
pub use manifest::{Build, Manifest};
pub use objects::is_hash;
pub use records::PortableRecord;
pub use shell::quoted;
