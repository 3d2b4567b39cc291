//! Who is told what a measurement is at: the progress of a person at a terminal, lines, live views.

use crate::interruption::Interruption;
use crate::live::{Live, Shown};
use crate::output::eprint_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use terminal::escaped;

/// Sees a measurement while it goes on, piece by piece, and may end it.
pub trait Observer<Piece: ?Sized> {
    /// What is being measured now.
    fn note(&self, what: &str);

    /// A piece has been measured.
    fn piece(&mut self, piece: &Piece) -> ControlFlow<()>;

    /// Waits until then, or until someone asks for the end.
    fn wait(&mut self, until: Instant) -> ControlFlow<()>;
}

/// How far a measurement is, on stderr and only for a person at a terminal.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
    budget: Duration,
    /// Before each note.
    part: String,
    interruption: Interruption,
    /// When the next line of a long run is due; `None` where there are no lines.
    next_line: Option<Arc<Mutex<Instant>>>,
    live: Live,
}

/// A long run says a line in each such time, be there a terminal or a file.
pub const MINUTE: Duration = Duration::from_secs(60);

impl Progress {
    /// A bar that fills in `budget`; an invisible one when nobody looks.
    pub fn over(budget: Duration, interruption: &Interruption, is_visible: bool) -> Self {
        let target = if is_visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(budget.as_millis() as u64), target);
        let style = ProgressStyle::with_template("{bar:32} {percent:>3} %  {prefix:>5} left  {msg}");
        bar.set_style(style.expect("the template is well-formed"));
        let (began, interruption) = (Instant::now(), interruption.clone());
        Self { bar, began, budget, part: String::new(), interruption, next_line: None, live: Live::default() }
    }

    /// One that says a line a minute too.
    pub fn with_minutes(mut self) -> Self {
        self.next_line = Some(Arc::new(Mutex::new(self.began + MINUTE)));
        self
    }

    /// One that tells a program that draws it, too.
    pub fn with_live(mut self, live: &Live) -> Self {
        self.live = live.clone();
        self
    }

    /// What is known of a place in a table by now, for a program that draws it.
    pub fn show(&self, place: (String, String), shown: impl FnOnce() -> Option<Shown>) {
        if self.live.is_open()
            && let Some(shown) = shown()
        {
            self.live.tell(self.part.trim_end_matches(": "), place, shown);
        }
    }

    /// A line of a long run, if a minute has passed since the last.
    pub fn minute(&self, words: impl FnOnce() -> String) {
        let Some(next) = &self.next_line else { return };
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        if Instant::now() < *next {
            return;
        }
        *next += MINUTE;
        // A turn may have lasted longer.
        *next = (*next).max(Instant::now());
        let minutes = self.began.elapsed().as_secs() / 60;
        let line = format!("{:>3}:{:02} h  {}{}", minutes / 60, minutes % 60, self.part, words());
        self.bar.suspend(|| eprint_line(&escaped(&line)));
    }

    /// One that nobody sees.
    pub fn hidden() -> Self {
        Self::over(Duration::ZERO, &Interruption::default(), false)
    }

    /// The same for a part, which is named before each note.
    pub fn of_part(&self, name: &str) -> Self {
        let mut part = self.clone();
        part.part = format!("{name}: ");
        part
    }

    /// What is being measured now.
    pub fn note(&self, what: &str) {
        let elapsed = self.began.elapsed();
        self.bar.set_position(elapsed.min(self.budget).as_millis() as u64);
        self.bar.set_prefix(format!("{:.0} s", self.budget.saturating_sub(elapsed).as_secs_f64()));
        self.bar.set_message(escaped(&format!("{}{what}", self.part)).into_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // A part's view is that of the whole.
        if self.part.is_empty() {
            self.bar.finish_and_clear();
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
        self.bar.tick();
        self.interruption.wait(until)
    }
}
