//! `contend noise --wake`: a thread sleeps until an instant, and again; how late it runs, and why.

mod account;
mod lateness;
mod measure;
#[cfg(test)]
pub mod night;
mod plan;
mod policy;
pub mod record;
mod row;
mod section;
mod show;
mod sleeper;
mod timer;
mod turn;

pub use measure::run_plan;
pub use plan::WakePlan;
pub use policy::Policy;
pub use section::{figures, findings};
pub use show::show;
pub use timer::Timer;
