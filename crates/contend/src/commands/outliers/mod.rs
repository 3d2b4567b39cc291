//! The values of several machines: grouped by machine, and the outlier compared with the spread between them.

mod gather;
mod judged;
mod show;

pub use gather::{Reading, of_archive, readings};
pub use judged::{Machines, Odd};
pub use show::{table, text};
