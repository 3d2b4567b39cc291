//! Records kept, found and shared.
//!
//! The archive is a bare Git repository. A record is one commit under a reference of its own that is named by the
//! commit's hash, `refs/records/<hash>`: its tree has the record as it was printed, and a manifest of what Git forgets
//! about the machine and the program. Nothing is ever rewritten, and two writers never want the same reference: neither
//! a concurrent run nor a killed one stands in the way of another, and sharing is the union of references.

mod archive;
mod claim;
mod git;
mod integrity;
mod location;
mod lookup;
mod manifest;
mod names;
mod stale;
mod summary;
mod warning;

pub use archive::Archive;
pub use location::Location;
pub use lookup::{Likeness, kept_as, named, recalled};
pub use manifest::{Build, Manifest};
pub use summary::{Entry, Summary, short};
pub use warning::NotKept;
