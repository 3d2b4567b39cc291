//! The environment of every experiment, and the trait that it implements.
//!
//! An experiment implements [`Experiment`]; its [`Entry`] is its line in the registry, through which the command, the
//! survey, the report, the comparison and the archive access it. Nothing here depends on an experiment.

mod bar;
mod calibrated;
mod entry;
mod evidence;
mod exit;
mod experiment;
mod finished;
pub mod help;
mod interruption;
mod live;
mod mode;
mod observer;
pub mod output;
pub mod parse_count;
pub mod parse_duration;
mod run;
mod session;
mod smt_monitor;
mod story;
pub mod turns;

pub use calibrated::Calibrated;
pub use entry::{Entry, Rows};
pub use evidence::{EvidenceChoice, label};
pub use exit::{Interrupted, LeftOut, Outcome, UsageError};
pub use experiment::{Described, Example, Experiment, Layout, SurveyPart, THIS_RECORD, Views, report_to};
pub use finished::{AnyFinished, AnyRecord, Finished};
pub use interruption::Interruption;
pub use live::{Live, LiveLine, Shown};
pub use mode::ModeFlags;
pub use observer::{MINUTE, Observer, Progress};
pub use run::{Interim, Passed, Run, WatchedGaps};
pub use session::{COMMON_OPTIONS, CpuChoice, Format, Neighbour, Session, SharedFlags};
pub use smt_monitor::SmtMonitor;
pub use story::{StoryPart, story, story_text};
