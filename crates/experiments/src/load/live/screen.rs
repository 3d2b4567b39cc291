//! The terminal as a live view. However the command ends, except by SIGKILL, the terminal is as it was before: on a
//! panic by the hook that the library sets, otherwise when the view is dropped.

use super::history::{History, POWERS};
use crate::load::flags::View;
use crate::load::record::IntervalRow;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Bar, BarChart, BarGroup, Block, RenderDirection, Sparkline};
use ratatui::{DefaultTerminal, Frame};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;
use terminal::percent;

/// A picture of the load that follows the measurement.
pub struct Screen {
    terminal: DefaultTerminal,
    picture: Picture,
}

impl Screen {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// It is none after all.
    pub fn open(view: View, interval: Duration) -> io::Result<Self> {
        let picture = Picture { view, interval, all: History::default(), cpus: BTreeMap::new(), last: String::new() };
        let mut screen = Self { terminal: ratatui::try_init()?, picture };
        screen.draw()?;
        Ok(screen)
    }

    /// Adds an interval.
    ///
    /// # Errors
    /// The terminal has gone.
    pub fn interval(&mut self, rows: &[IntervalRow]) -> io::Result<()> {
        self.picture.add(rows);
        self.draw()
    }

    /// Handles keys for this long; says whether the view was closed.
    pub fn closed(&mut self, patience: Duration) -> bool {
        // A terminal that cannot be read has gone.
        match event::poll(patience).and_then(|any| if any { event::read().map(Some) } else { Ok(None) }) {
            Ok(Some(Event::Key(key))) => match (key.code, key.modifiers) {
                // The terminal passes Ctrl-C on as a key while the view has it.
                (KeyCode::Char('c'), KeyModifiers::CONTROL) => {
                    signal_hook::low_level::raise(signal_hook::consts::SIGINT).is_err()
                }
                (KeyCode::Char('q') | KeyCode::Esc, _) => true,
                (KeyCode::Char('g'), _) => self.turn_to(View::Graph),
                (KeyCode::Char('b'), _) => self.turn_to(View::Bars),
                _ => false,
            },
            Ok(Some(Event::Resize(..))) => self.draw().is_err(),
            Ok(_) => false,
            Err(error) => error.kind() != io::ErrorKind::Interrupted,
        }
    }

    fn turn_to(&mut self, view: View) -> bool {
        self.picture.view = view;
        self.draw().is_err()
    }

    fn draw(&mut self) -> io::Result<()> {
        self.terminal.draw(|frame| self.picture.draw(frame)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// What is drawn.
struct Picture {
    view: View,
    interval: Duration,
    /// The mean of all CPUs.
    all: History,
    cpus: BTreeMap<usize, History>,
    /// The figures of the last interval.
    last: String,
}

/// A graph lower than this shows nothing.
const LOWEST_GRAPH: u16 = 4;

impl Picture {
    fn add(&mut self, rows: &[IntervalRow]) {
        let Some(time_s) = rows.first().map(|row| row.time_s) else { return };
        let mean = |figure: fn(&IntervalRow) -> f64| rows.iter().map(figure).sum::<f64>() / rows.len() as f64;
        for row in rows {
            self.cpus.entry(row.cpu).or_default().push(time_s, row.shares.load_share);
        }
        self.all.push(time_s, mean(|row| row.shares.load_share));
        self.last = format!(
            "load {}, /proc/stat {}, lost inside {}",
            percent(mean(|row| row.shares.load_share)),
            percent(mean(|row| row.shares.proc_stat_share.unwrap_or(f64::NAN))),
            percent(mean(|row| row.shares.lost_inside_share)),
        );
    }

    fn draw(&self, frame: &mut Frame) {
        let parts = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
        let [top, body, bottom] = Layout::vertical(parts).areas(frame.area());
        frame.render_widget(Line::from(format!("contend load: {}", self.last)), top);
        match self.view {
            View::Bars => self.bars(frame, body),
            _ => self.graph(frame, body),
        }
        let keys = format!("every {:?}   g graph   b bars   q quit", self.interval);
        frame.render_widget(Line::from(keys), bottom);
    }

    /// The load of the last intervals, newest at the right: of each CPU, or of all together where there is no room.
    fn graph(&self, frame: &mut Frame, area: Rect) {
        let each = area.height / (self.cpus.len() as u16).max(1);
        if each < LOWEST_GRAPH || self.cpus.len() < 2 {
            return strip(frame, area, "all CPUs", &self.all);
        }
        let rows = Layout::vertical(self.cpus.keys().map(|_| Constraint::Fill(1))).split(area);
        for ((cpu, history), row) in self.cpus.iter().zip(rows.iter()) {
            strip(frame, *row, &format!("CPU {cpu}"), history);
        }
    }

    /// The mean over the last 1, 2, 4 … seconds, as far back as has been measured.
    fn bars(&self, frame: &mut Frame, area: Rect) {
        let bar = |power: u32| {
            let mean = self.all.mean_over(power)?;
            let (value, label) = ((mean * 1_000.0) as u64, span_label(1 << power));
            Some(Bar::default().value(value).label(Line::from(label)).text_value(format!("{:.0}", mean * 100.0)))
        };
        let bars: Vec<Bar> = (0..=POWERS).map_while(bar).collect();
        let group = BarGroup::default().bars(&bars);
        let chart = BarChart::default().data(group).bar_width(4).bar_gap(1).max(1_000);
        let block = Block::bordered().title("mean load in per cent over the last …");
        frame.render_widget(chart.block(block).bar_style(Style::new().fg(Color::Green)), area);
    }
}

fn strip(frame: &mut Frame, area: Rect, name: &str, history: &History) {
    let now = history.latest().next().map_or_else(|| "…".to_owned(), percent);
    let block = Block::bordered().title(format!("{name}: {now}"));
    let width = usize::from(area.width.saturating_sub(2));
    let loads: Vec<u64> = history.latest().take(width).map(|load| (load * 1_000.0) as u64).collect();
    let graph = Sparkline::default().data(&loads).max(1_000).direction(RenderDirection::RightToLeft);
    frame.render_widget(graph.block(block).style(Style::new().fg(Color::Green)), area);
}

fn span_label(seconds: u32) -> String {
    match seconds {
        below if below < 60 => format!("{below}s"),
        below if below < 3_600 => format!("{}m", below / 60),
        hours => format!("{:.1}h", f64::from(hours) / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::record::Shares;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn row(time_s: f64, cpu: usize, load_share: f64) -> IntervalRow {
        let shares = Shares {
            load_share,
            cputime_share: 1.0 - load_share,
            grind_share: 1.0 - load_share,
            lost_inside_share: 0.0,
            proc_stat_share: Some(0.1),
            exec_share: None,
            speed_share: None,
        };
        IntervalRow { time_s, cpu, shares, resting_exec_share: None, efficiency_share: None }
    }

    fn drawn(view: View, width: u16, height: u16, cpus: usize) -> String {
        let mut picture = Picture {
            view,
            interval: Duration::from_secs(1),
            all: History::default(),
            cpus: BTreeMap::new(),
            last: String::new(),
        };
        for second in 1..=9 {
            let rows: Vec<IntervalRow> = (0..cpus).map(|cpu| row(f64::from(second), cpu, 0.5)).collect();
            picture.add(&rows);
        }
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| picture.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_graph_has_a_strip_for_each_cpu_that_there_is_room_for() {
        let roomy = drawn(View::Graph, 80, 24, 2);
        assert!(roomy.contains("CPU 0: 50.0 %") && roomy.contains("CPU 1: 50.0 %") && roomy.contains('█'), "{roomy}");
        let crowded = drawn(View::Graph, 80, 24, 64);
        assert!(crowded.contains("all CPUs: 50.0 %") && !crowded.contains("CPU 0"), "{crowded}");
    }

    #[test]
    fn the_bars_go_back_as_far_as_was_measured() {
        let bars = drawn(View::Bars, 80, 24, 2);
        for label in ["1s", "2s", "4s", "8s"] {
            assert!(bars.contains(label), "{label} is missing:\n{bars}");
        }
        assert!(!bars.contains("16s") && bars.contains("50"), "{bars}");
    }

    #[test]
    fn a_tiny_terminal_does_no_harm() {
        for view in [View::Graph, View::Bars] {
            drawn(view, 3, 2, 2);
            drawn(view, 1, 1, 300);
        }
    }
}
