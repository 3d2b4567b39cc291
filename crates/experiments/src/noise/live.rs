//! Lines during the measurement.

use super::cause_groups::largest;
use super::flags::View;
use super::record::Line;
use super::show::microseconds;
use anyhow::Context;
use harness::{Observer, Progress, output};
use std::io;
use std::ops::ControlFlow;
use std::time::Instant;
use terminal::{escaped, percent};

/// The output of each piece; without any, the progress is shown.
pub struct Live {
    view: Option<View>,
    progress: Progress,
    lines: u64,
    /// The reason why stdout can no longer be written, if any.
    failed: Option<io::Error>,
}

/// The number of lines after which the heading is repeated.
const SCREEN: u64 = 24;

impl Live {
    pub fn new(view: Option<View>, progress: Progress) -> Self {
        Self { view, progress, lines: 0, failed: None }
    }

    /// Returns the progress of repetitions, which is hidden where lines are printed.
    pub fn of_turns(&self) -> Progress {
        if self.view.is_some() { Progress::hidden() } else { self.progress.of_part("noise") }
    }

    /// Prints a line.
    ///
    /// A closed reader ends the measurement.
    fn line(&mut self, line: &Line) -> ControlFlow<()> {
        let printed = match self.view {
            None => return ControlFlow::Continue(()),
            Some(View::Json) => output::print_json_piece(line),
            Some(View::Lines) => {
                let heading = self.lines.is_multiple_of(SCREEN).then(|| line_heading() + "\n");
                output::print_piece(&(heading.unwrap_or_default() + &line_text(line) + "\n"))
            }
        };
        self.lines += 1;
        match printed {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Returns the error of the lines.
    ///
    /// # Errors
    /// Stdout could not be written. A closed reader is not an error.
    pub fn end(self) -> anyhow::Result<()> {
        let failed = self.failed.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        failed.map_or(Ok(()), |error| Err(error).context("cannot print the lines"))
    }
}

impl Observer<Line> for Live {
    fn note(&self, what: &str) {
        if self.view.is_none() {
            self.progress.note(what);
        }
    }

    fn piece(&mut self, line: &Line) -> ControlFlow<()> {
        self.line(line)
    }

    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        Observer::<Line>::wait(&mut self.progress, until)
    }
}

/// Returns the heading of the lines of a live run.
fn line_heading() -> String {
    format!(
        "{:>8}  {:<12} {:>8} {:>7} {:>7} {:>8}  {}",
        "time", "scenario", "lost", "gaps", ">256 µs", "longest", "most"
    )
}

/// Returns a line of a live run, without its end.
fn line_text(line: &Line) -> String {
    let most = largest(&line.causes)
        .map_or_else(String::new, |cause| format!("{} {}", percent(cause.row.share), cause.label()));
    let scenario: String = line.scenario.chars().take(12).collect();
    let text = format!(
        "{:>7.1}s  {scenario:<12} {:>8} {:>7} {:>7} {:>8}  {most}",
        line.time_s,
        percent(line.lost_share),
        line.gaps,
        line.over_256us,
        microseconds(line.longest_us)
    );
    escaped(&text).chars().take(80).collect::<String>().trim_end().to_owned()
}
