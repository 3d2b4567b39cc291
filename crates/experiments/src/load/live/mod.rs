//! The output during the measurement: lines, JSON lines, a graph or bars, and the file of metrics.

mod metrics;
mod screen;

use super::flags::View;
use super::plan::Plan;
use super::record::{IntervalRow, Row};
use super::show;
use anyhow::Context;
use harness::{Interruption, Observer, Progress, Session, Shown, output};
use instruments::warning::{LeftOut, Warning};
use metrics::MetricsFile;
use screen::Screen;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};
use terminal::Page;

/// The views of a run, and the reasons to end it.
pub struct Live {
    view: Option<View>,
    interruption: Interruption,
    interval: Duration,
    screen: Option<Screen>,
    metrics: Option<MetricsFile>,
    /// The progress, for a program that draws it.
    progress: Progress,
    /// The reason why stdout can no longer be written, if any.
    failed: Option<io::Error>,
}

/// The interval at which a waiting thread checks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

impl Live {
    /// Checks that the file of metrics can be written.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(view: Option<View>, metrics: Option<&Path>, session: &Session, plan: &Plan) -> anyhow::Result<Self> {
        let open = |path: &Path| {
            MetricsFile::open(path).with_context(|| format!("--metrics {}: cannot write the file", path.display()))
        };
        let metrics = metrics.map(open).transpose()?;
        let (interruption, interval) = (session.interruption.clone(), plan.interval);
        let progress = Progress::hidden().with_live(&session.live);
        Ok(Self { view, interruption, interval, screen: None, metrics, progress, failed: None })
    }

    /// Opens the view.
    ///
    /// # Errors
    /// The terminal cannot be switched.
    pub fn begin(&mut self) -> io::Result<()> {
        match self.view {
            Some(View::Lines) => self.print(&show::heading()),
            Some(view @ (View::Graph | View::Bars)) => self.screen = Some(Screen::open(view, self.interval)?),
            Some(View::Json) | None => {}
        }
        Ok(())
    }

    /// Closes the view.
    ///
    /// Errors of the view are warnings: the measurement continued.
    pub fn end(self) -> Vec<Warning> {
        drop(self.screen);
        let stdout = self.failed.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        let stdout =
            stdout.map(|error| Warning::from(LeftOut { what: "the rest".into(), reason: format!("stdout: {error}") }));
        stdout.into_iter().chain(self.metrics.and_then(|metrics| metrics.warning())).collect()
    }

    fn print(&mut self, line: &str) {
        self.failed = output::print_piece(&format!("{line}\n")).err();
    }
}

impl Observer<[IntervalRow]> for Live {
    fn note(&self, _: &str) {}

    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.interruption.is_requested() || self.failed.is_some() {
                return ControlFlow::Break(());
            }
            if left.is_zero() {
                return ControlFlow::Continue(());
            }
            let look = left.min(LOOK);
            let closed = self.screen.as_mut().map(|screen| screen.closed(look));
            match closed {
                Some(true) => return ControlFlow::Break(()),
                Some(false) => {}
                None => std::thread::sleep(look),
            }
        }
    }

    fn piece(&mut self, rows: &[IntervalRow]) -> ControlFlow<()> {
        match self.view {
            Some(View::Lines) => {
                let line = show::line(&rows.iter().collect::<Vec<_>>(), &Page::of_stdout());
                self.print(&line);
            }
            Some(View::Json) => self.failed = json_lines(rows.iter().cloned().map(Row::Interval)).err(),
            Some(View::Graph | View::Bars) | None => {}
        }
        for row in rows {
            self.progress
                .show((format!("CPU {}", row.cpu), String::new()), || Some(Shown::Level(row.shares.load_share)));
        }
        if let Some(screen) = &mut self.screen {
            self.failed = screen.interval(rows).err();
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.interval(rows);
        }
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Prints an object per line.
///
/// # Errors
/// Stdout cannot be written.
pub fn json_lines<R: serde::Serialize>(rows: impl IntoIterator<Item = R>) -> io::Result<()> {
    rows.into_iter().try_for_each(|row| output::print_json_piece(&row))
}
