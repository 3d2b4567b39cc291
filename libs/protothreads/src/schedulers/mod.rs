//! The schedulers: a file each.
mod bitmap;
mod fifo;
mod polling;
mod run_next;

pub use bitmap::Bitmap;
pub use fifo::Fifo;
pub use polling::{InOrder, Random, Reverse};
pub use run_next::RunNext;
