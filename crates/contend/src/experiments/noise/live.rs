//! Lines while it measures.

use super::flags::View;
use super::record::Line;
use super::show;
use std::io::{self, Write};
use std::ops::ControlFlow;

/// Prints what is wanted of each piece.
pub struct Live {
    view: Option<View>,
    lines: u64,
}

/// The heading is said again after so many lines.
const SCREEN: u64 = 24;

impl Live {
    pub fn new(view: Option<View>) -> Self {
        Self { view, lines: 0 }
    }

    /// Prints a line. When nobody reads it any more, there is no reason to go on.
    pub fn line(&mut self, line: &Line) -> ControlFlow<()> {
        let mut stdout = io::stdout().lock();
        let printed = match self.view {
            None => return ControlFlow::Continue(()),
            Some(View::Json) => serde_json::to_writer(&mut stdout, line).map_err(io::Error::from),
            Some(View::Lines) => {
                let heading = self.lines.is_multiple_of(SCREEN).then(|| writeln!(stdout, "{}", show::line_heading()));
                heading.unwrap_or(Ok(())).and_then(|()| write!(stdout, "{}", show::line(line)))
            }
        };
        self.lines += 1;
        match printed.and_then(|()| writeln!(stdout)).and_then(|()| stdout.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
