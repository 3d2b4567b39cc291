//! A figure over all records: its series, the steps in it, and what else changed there.

mod answer;
mod series;
mod show;

pub use answer::Answer;
pub use series::{Series, series};
pub use show::text;
