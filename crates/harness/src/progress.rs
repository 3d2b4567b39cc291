//! How far a measurement is, on stderr and only for a person at a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A bar over the time budget of a measurement.
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
    budget: Duration,
}

impl Progress {
    /// A bar that fills in `budget`; an invisible one when nobody looks.
    pub fn over(budget: Duration, visible: bool) -> Self {
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(budget.as_millis() as u64), target);
        let style = ProgressStyle::with_template("{bar:32} {percent:>3} %  {prefix:>5} left  {msg}");
        bar.set_style(style.expect("the template is well-formed"));
        Self { bar, began: Instant::now(), budget }
    }

    /// What is being measured now.
    pub fn note(&self, what: &str) {
        let elapsed = self.began.elapsed();
        self.bar.set_position(elapsed.min(self.budget).as_millis() as u64);
        self.bar.set_prefix(format!("{:.0} s", self.budget.saturating_sub(elapsed).as_secs_f64()));
        self.bar.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
