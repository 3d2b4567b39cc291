//! The environment of every experiment, and the trait that it implements.
//!
//! An experiment implements [`Experiment`]; its [`Entry`] is its line in the registry, through which the command, the
//! survey, the report, the comparison and the archive access it. Nothing here depends on an experiment.

mod bar;
mod entry;
mod evidence;
mod exit;
mod experiment;
mod finished;
pub mod help;
mod live;
mod observer;
pub mod output;
pub mod parse_count;
pub mod parse_duration;
mod place;
mod run;
mod session;
mod smt_monitor;
pub mod turns;

pub use entry::{Entry, Rows};
pub use evidence::{EvidenceChoice, StoryPart, label, story, story_text};
pub use exit::{Interrupted, Interruption, LOOK, LeftOut, Outcome, UsageError};
pub use experiment::{Described, Example, Experiment, Layout, ModeFlags, SurveyPart, THIS_RECORD, Views, report_to};
pub use finished::{AnyFinished, AnyRecord, Finished, environment};
pub use live::{Live, LiveLine, Shown};
pub use observer::{MINUTE, Observer, Progress};
pub use run::{Calibrated, Interim, Passed, Run, WatchedGaps};
pub use session::{COMMON_OPTIONS, CpuChoice, Format, Neighbour, Session, SharedFlags};
pub use smt_monitor::SmtMonitor;
