//! A command that was started here, while it runs and after it has ended.

use crate::child::{Child, Ended};
use crate::command_line;
use crate::feed::Feed;
use std::path::PathBuf;
use std::time::Instant;

/// A command, and what came of it.
pub struct Run {
    pub words: Vec<String>,
    pub child: Child,
    pub feed: Feed,
    pub ended: Option<Ended>,
    /// The cell of a matrix that it measures.
    pub cell: Option<(usize, usize)>,
    /// The page that it makes, to be opened.
    pub page: Option<PathBuf>,
    began: Instant,
    /// How often it was asked to stop.
    stops: u32,
}

impl Run {
    pub fn of(words: Vec<String>, child: Child, cell: Option<(usize, usize)>) -> Self {
        let (feed, began) = (Feed::default(), Instant::now());
        Self { words, child, feed, ended: None, cell, page: None, began, stops: 0 }
    }

    /// Takes what has come; whether there was anything.
    pub fn look(&mut self) -> bool {
        let lines = self.child.lines();
        let mut is_new = !lines.is_empty();
        lines.into_iter().for_each(|line| self.feed.add(line));
        if self.ended.is_none() {
            self.ended = self.child.ended();
            is_new |= self.ended.is_some();
        }
        is_new
    }

    /// Asks it to end and to keep what was measured; who does not hear is ended.
    pub fn stop(&mut self) {
        self.stops += 1;
        if self.stops > 2 { self.child.kill() } else { self.child.stop() }
    }

    pub fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// For people: what it is at.
    pub fn words_of_state(&self) -> String {
        let seconds = self.began.elapsed().as_secs();
        match self.ended {
            None if self.stops > 0 => "stopping and saving the results (s again: stop at once)".to_owned(),
            None => {
                let at = self.feed.begun().map(|place| format!(": {} {}", place.row, place.column));
                format!("{seconds} s{}", at.unwrap_or_default())
            }
            Some(Ended::Done) => "done".to_owned(),
            Some(Ended::Stopped) => "stopped; the results so far were saved".to_owned(),
            Some(Ended::Failed(code)) => format!("failed with status {code}: {}", self.first_error()),
            Some(Ended::Killed(signal)) => format!("killed by signal {signal}; nothing was saved"),
        }
    }

    fn first_error(&self) -> String {
        let errors = self.child.errors();
        let line = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("no error message");
        terminal::escaped(line).into_owned()
    }

    /// What it printed, and below what it said on stderr.
    pub fn text(&self) -> String {
        let (text, errors) = (self.child.text(), self.child.errors());
        let line = command_line::shown(&self.words);
        let state = self.words_of_state();
        let text = if text.is_empty() { format!("$ {line}\n\n{state}\n") } else { text };
        if errors.trim().is_empty() { text } else { format!("{text}\n{errors}") }
    }
}
