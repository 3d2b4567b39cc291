//! Explanations of processes that hang.
//!
//! [`Looker`] fills a [`Snapshot`] from outside: it writes nothing into a process and stops none. [`explain`] applies the
//! rules to two looks, and [`words`] makes sentences of the result. A hang is only found among threads that did not run
//! between the looks.

pub mod case;
pub mod explanation;
mod look;
mod rules;
pub mod snapshot;
mod still;
pub mod words;

pub use explanation::{Class, Explanation, Finding};
pub use look::{APART, Looker};
pub use rules::explain;
pub use snapshot::Snapshot;
pub use still::Still;
