//! Observers of a measurement: a progress bar for a user at a terminal, lines, live views.

use crate::bar::Bar;
use crate::exit::Interruption;
use crate::live::{Live, Shown};
use crate::output::eprint_line;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use terminal::escaped;

/// Receives a measurement piece by piece while it runs, and may end it.
pub trait Observer<Piece: ?Sized> {
    /// Names the part that is being measured now.
    fn note(&self, what: &str);

    /// Receives a piece that has been measured.
    fn piece(&mut self, piece: &Piece) -> ControlFlow<()>;

    /// Waits until this time, or until the user ends the measurement.
    fn wait(&mut self, until: Instant) -> ControlFlow<()>;
}

/// The progress of a measurement, on stderr and only for a user at a terminal.
#[derive(Clone)]
pub struct Progress {
    bar: Arc<Mutex<Bar>>,
    began: Instant,
    budget: Duration,
    /// The text that precedes each note.
    part: String,
    interruption: Interruption,
    /// When the next line of a long run is due; `None` where there are no lines.
    next_line: Option<Arc<Mutex<Instant>>>,
    live: Live,
}

/// The period of the lines that a long run prints, on a terminal or into a file.
pub const MINUTE: Duration = Duration::from_secs(60);

impl Progress {
    /// Creates a bar that fills in `budget`; an invisible one without a user.
    pub fn over(budget: Duration, interruption: &Interruption, is_visible: bool) -> Self {
        let bar = Arc::new(Mutex::new(Bar::new(is_visible)));
        let (began, interruption) = (Instant::now(), interruption.clone());
        Self { bar, began, budget, part: String::new(), interruption, next_line: None, live: Live::default() }
    }

    /// Returns a copy that also prints a line a minute.
    pub fn with_minutes(mut self) -> Self {
        self.next_line = Some(Arc::new(Mutex::new(self.began + MINUTE)));
        self
    }

    /// Returns a copy that also reports to a program that draws it.
    pub fn with_live(mut self, live: &Live) -> Self {
        self.live = live.clone();
        self
    }

    /// Reports the present value of a cell of a table to a program that draws it.
    pub fn show(&self, place: (String, String), shown: impl FnOnce() -> Option<Shown>) {
        if self.live.is_open()
            && let Some(shown) = shown()
        {
            self.live.tell(self.part.trim_end_matches(": "), place, shown);
        }
    }

    /// Prints a line of a long run, if a minute has passed since the last.
    pub fn minute(&self, words: impl FnOnce() -> String) {
        let Some(next) = &self.next_line else { return };
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        if Instant::now() < *next {
            return;
        }
        *next += MINUTE;
        // A repetition may have lasted longer.
        *next = (*next).max(Instant::now());
        let minutes = self.began.elapsed().as_secs() / 60;
        let line = format!("{:>3}:{:02} h  {}{}", minutes / 60, minutes % 60, self.part, words());
        let mut bar = self.bar();
        bar.clear();
        eprint_line(&escaped(&line));
        bar.tick();
    }

    /// Creates an invisible bar.
    pub fn hidden() -> Self {
        Self::over(Duration::ZERO, &Interruption::default(), false)
    }

    /// Returns a copy for a part, which is named before each note.
    pub fn of_part(&self, name: &str) -> Self {
        let mut part = self.clone();
        part.part = format!("{name}: ");
        part
    }

    /// Names the part that is being measured now.
    pub fn note(&self, what: &str) {
        let elapsed = self.began.elapsed();
        let done = elapsed.min(self.budget).as_secs_f64() / self.budget.as_secs_f64().max(f64::MIN_POSITIVE);
        let left = format!("{:.0} s", self.budget.saturating_sub(elapsed).as_secs_f64());
        self.bar().set(done, &left, &escaped(&format!("{}{what}", self.part)));
    }

    fn bar(&self) -> MutexGuard<'_, Bar> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // A part shares the view of the whole run.
        if self.part.is_empty() {
            self.bar().finish();
        }
    }
}

impl<Piece: ?Sized> Observer<Piece> for Progress {
    fn note(&self, what: &str) {
        self.note(what);
    }

    fn piece(&mut self, _: &Piece) -> ControlFlow<()> {
        self.interruption.flow()
    }

    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        // A line noted a moment after another is held back; it is drawn now, if it is time.
        self.bar().tick();
        self.interruption.wait(until)
    }
}
