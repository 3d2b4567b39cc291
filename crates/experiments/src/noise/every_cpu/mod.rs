//! Several CPUs at once: which are read, what each is for, what hits them together, and where they lost time when.

mod choice;
mod moments;
mod role;
mod show;
mod time_bins;

pub use choice::chosen;
pub use moments::{Moments, together};
pub use role::role;
pub use show::show;
pub use time_bins::TimeBins;
