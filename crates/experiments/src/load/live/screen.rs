//! The terminal as a live view.

use crate::load::flags::View;
use crate::load::record::IntervalRow;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::{Color, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Text};
use ratatui_widgets::barchart::{Bar, BarChart, BarGroup};
use ratatui_widgets::block::Block;
use ratatui_widgets::sparkline::{RenderDirection, Sparkline};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;
use terminal::full_screen::{self, Canvas, Event, Input, Key, Tty};
use terminal::{percent, span_label};

/// A chart of the load that follows the measurement.
pub struct Screen {
    tty: Tty,
    canvas: Canvas,
    /// The size of the terminal when it was last drawn.
    area: Rect,
    input: Input,
    picture: Picture,
}

impl Screen {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// There is no terminal.
    pub fn open(view: View, interval: Duration) -> io::Result<Self> {
        let picture = Picture::new(view, interval);
        let tty = Tty::take(false)?;
        let canvas = tty.canvas()?;
        let mut screen = Self { tty, canvas, area: Rect::ZERO, input: Input::default(), picture };
        screen.draw()?;
        Ok(screen)
    }

    /// Adds an interval.
    ///
    /// # Errors
    /// The terminal was closed.
    pub fn interval(&mut self, rows: &[IntervalRow]) -> io::Result<()> {
        self.picture.add(rows);
        self.draw()
    }

    /// Handles keys for this long; returns whether the view was closed.
    pub fn closed(&mut self, patience: Duration) -> bool {
        // A terminal that cannot be read was closed.
        let Ok(events) = self.tty.events(&mut self.input, patience) else { return true };
        let is_closed = events.into_iter().any(|event| self.closed_by(event));
        is_closed || (full_screen::size() != self.area && self.draw().is_err())
    }

    fn closed_by(&mut self, event: Event) -> bool {
        match event {
            // The terminal passes Ctrl-C on as a key while the view has it.
            Event::Key(Key::Ctrl('c')) => signal_hook::low_level::raise(signal_hook::consts::SIGINT).is_err(),
            Event::Key(Key::Ctrl('z')) => self.suspended().is_err(),
            Event::Key(Key::Char('?' | 'h')) => self.turn_help(),
            Event::Key(Key::Char('q') | Key::Escape) => true,
            Event::Key(Key::Char('g')) => self.turn_to(View::Graph),
            Event::Key(Key::Char('b')) => self.turn_to(View::Bars),
            _ => false,
        }
    }

    /// Suspends the process on Ctrl-Z, which the terminal passes on as a key: the view releases the terminal for as
    /// long as the shell has it.
    ///
    /// The whole process group stops, as it would without a view.
    fn suspended(&mut self) -> io::Result<()> {
        self.tty.pause();
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        self.tty.resume()?;
        self.canvas = self.tty.canvas()?;
        self.draw()
    }

    fn turn_help(&mut self) -> bool {
        self.picture.help = !self.picture.help;
        self.draw().is_err()
    }

    fn turn_to(&mut self, view: View) -> bool {
        self.picture.view = view;
        self.draw().is_err()
    }

    fn draw(&mut self) -> io::Result<()> {
        self.area = full_screen::size();
        self.canvas.draw(|frame| self.picture.draw(frame)).map(drop)
    }
}

/// The contents of the view.
struct Picture {
    view: View,
    interval: Duration,
    /// The mean of all CPUs.
    all: History,
    cpus: BTreeMap<usize, History>,
    /// The values of the last interval.
    last: Vec<String>,
    /// Whether the keys are shown instead.
    help: bool,
}

const KEYS: [&str; 6] = [
    "g        show the load of each CPU over time",
    "b        show the mean load over the last 1, 2, 4 … seconds",
    "? or h   switch between these keys and the chart",
    "q, Esc   stop the measurement and show its results",
    "Ctrl-C   stop the measurement and show its results",
    "Ctrl-Z   suspend; fg in the shell resumes",
];

/// The least height of a readable graph.
const LOWEST_GRAPH: u16 = 4;

impl Picture {
    fn new(view: View, interval: Duration) -> Self {
        Self { view, interval, all: History::default(), cpus: BTreeMap::new(), last: Vec::new(), help: false }
    }

    fn add(&mut self, rows: &[IntervalRow]) {
        let Some(time_s) = rows.first().map(|row| row.time_s) else { return };
        let mean = |figure: fn(&IntervalRow) -> f64| rows.iter().map(figure).sum::<f64>() / rows.len() as f64;
        for row in rows {
            self.cpus.entry(row.cpu).or_default().push(time_s, row.shares.load_share);
        }
        self.all.push(time_s, mean(|row| row.shares.load_share));
        self.last = vec![
            format!("load {}", percent(mean(|row| row.shares.load_share))),
            format!("/proc/stat {}", percent(mean(|row| row.shares.proc_stat_share.unwrap_or(f64::NAN)))),
            format!("lost inside {}", percent(mean(|row| row.shares.lost_inside_share))),
        ];
    }

    fn draw(&self, frame: &mut Frame) {
        let parts = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
        let [top, body, bottom] = Layout::vertical(parts).areas(frame.area());
        frame.render_widget(Line::from(as_many_as_fit(&self.last, top.width)), top);
        match self.view {
            _ if self.help => frame.render_widget(Text::from_iter(KEYS), body),
            View::Bars => self.bars(frame, body),
            _ => self.graph(frame, body),
        }
        let keys = ["? keys", "q quit", "g graph", "b bars"].map(str::to_owned);
        frame.render_widget(Line::from(as_many_as_fit(&keys, bottom.width)), bottom);
    }

    /// Draws the load of the last intervals, the newest at the right, for each CPU or for all together where space is
    /// short.
    fn graph(&self, frame: &mut Frame, area: Rect) {
        let each = area.height / (self.cpus.len() as u16).max(1);
        if each < LOWEST_GRAPH || self.cpus.len() < 2 {
            return self.strip(frame, area, "all CPUs", &self.all);
        }
        let rows = Layout::vertical(self.cpus.keys().map(|_| Constraint::Fill(1))).split(area);
        for ((cpu, history), row) in self.cpus.iter().zip(rows.iter()) {
            self.strip(frame, *row, &format!("CPU {cpu}"), history);
        }
    }

    /// Draws a strip from 0 % at the lower edge to 100 % at the upper one.
    fn strip(&self, frame: &mut Frame, area: Rect, name: &str, history: &History) {
        let now = history.latest().next().map_or_else(|| "…".to_owned(), percent);
        let width = usize::from(area.width.saturating_sub(2));
        let ago = span_label((self.interval.as_secs_f64() * width as f64).round() as u32);
        let block = Block::bordered()
            .title(format!("{name}: {now}"))
            .title(Line::from("100 %").right_aligned())
            .title_bottom(format!("{ago} ago"))
            .title_bottom(Line::from("0 %, now").right_aligned());
        let loads: Vec<u64> = history.latest().take(width).map(|load| (load * 1_000.0) as u64).collect();
        let graph = Sparkline::default().data(&loads).max(1_000).direction(RenderDirection::RightToLeft);
        frame.render_widget(graph.block(block).style(Style::new().fg(Color::Green)), area);
    }

    /// Draws the mean over the last 1, 2, 4 … seconds, as far back as has been measured.
    fn bars(&self, frame: &mut Frame, area: Rect) {
        let bar = |power: u32| {
            let mean = self.all.mean_over(power)?;
            let (value, label) = ((mean * 1_000.0) as u64, span_label(1 << power));
            Some(Bar::default().value(value).label(Line::from(label)).text_value(format!("{:.0}", mean * 100.0)))
        };
        let bars: Vec<Bar> = (0..=POWERS).map_while(bar).collect();
        let group = BarGroup::default().bars(&bars);
        let chart = BarChart::default().data(group).bar_width(4).bar_gap(1).max(1_000);
        let block = Block::bordered().title("mean load (%) over the last …");
        frame.render_widget(chart.block(block).bar_style(Style::new().fg(Color::Green)), area);
    }
}

/// Joins as many parts as fit: a value that is cut would be wrong.
fn as_many_as_fit(parts: &[String], width: u16) -> String {
    parts.iter().fold(String::new(), |line, part| {
        let longer = if line.is_empty() { part.clone() } else { format!("{line}   {part}") };
        if longer.chars().count() <= usize::from(width) { longer } else { line }
    })
}

/// Means go back this far: 2 to the 15th seconds, about nine hours.
const POWERS: u32 = 15;

/// Sums from the first interval on, so that every mean is one subtraction, as in 1998.
#[derive(Debug, Default)]
struct History {
    /// The end of each interval and the load's time up to it, in seconds; oldest first.
    sums: VecDeque<(f64, f64)>,
}

impl History {
    /// Adds an interval that ended at `time_s`.
    fn push(&mut self, time_s: f64, load_share: f64) {
        let (last_s, sum_s) = self.sums.back().copied().unwrap_or((0.0, 0.0));
        if self.sums.is_empty() {
            self.sums.push_back((0.0, 0.0));
        }
        self.sums.push_back((time_s, sum_s + load_share * (time_s - last_s)));
        let oldest_s = time_s - f64::from(1 << POWERS);
        while self.sums.get(1).is_some_and(|&(time_s, _)| time_s <= oldest_s) {
            self.sums.pop_front();
        }
    }

    /// Returns the mean load over the last `2^power` seconds; `None` until this time has passed.
    fn mean_over(&self, power: u32) -> Option<f64> {
        let &(now_s, now_sum_s) = self.sums.back()?;
        let from_s = now_s - f64::from(1_u32 << power);
        // The ends of intervals are slightly off whole seconds.
        let at = self.sums.partition_point(|&(time_s, _)| time_s <= from_s + 0.05);
        let &(then_s, then_sum_s) = self.sums.get(at.checked_sub(1)?)?;
        (now_s > then_s).then(|| (now_sum_s - then_sum_s) / (now_s - then_s))
    }

    /// Returns the loads of the last intervals, newest first.
    fn latest(&self) -> impl Iterator<Item = f64> + '_ {
        let newer = self.sums.iter().rev();
        newer.zip(self.sums.iter().rev().skip(1)).map(|(new, old)| (new.1 - old.1) / (new.0 - old.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::record::Shares;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;

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
        let mut picture = Picture::new(view, Duration::from_secs(1));
        for second in 1..=9 {
            let rows: Vec<IntervalRow> = (0..cpus).map(|cpu| row(f64::from(second), cpu, 0.5)).collect();
            picture.add(&rows);
        }
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| picture.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn graph_has_a_strip_per_cpu_where_they_fit() {
        let roomy = drawn(View::Graph, 80, 24, 2);
        assert!(roomy.contains("CPU 0: 50.0 %") && roomy.contains("CPU 1: 50.0 %") && roomy.contains('█'), "{roomy}");
        let crowded = drawn(View::Graph, 80, 24, 64);
        assert!(crowded.contains("all CPUs: 50.0 %") && !crowded.contains("CPU 0"), "{crowded}");
    }

    #[test]
    fn bars_reach_back_as_far_as_was_measured() {
        let bars = drawn(View::Bars, 80, 24, 2);
        for label in ["1s", "2s", "4s", "8s"] {
            assert!(bars.contains(label), "{label} is missing:\n{bars}");
        }
        assert!(!bars.contains("16s") && bars.contains("50"), "{bars}");
    }

    #[test]
    fn graph_has_its_scale_and_its_time() {
        let graph = drawn(View::Graph, 80, 24, 2);
        for words in ["100 %", "0 %, now", "1m ago"] {
            assert!(graph.contains(words), "{words} is missing:\n{graph}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_omitted_whole() {
        let narrow = drawn(View::Graph, 40, 12, 1);
        assert!(narrow.contains("load 50.0 %   /proc/stat 10.0 %") && !narrow.contains("lost"), "{narrow}");
    }

    #[test]
    fn help_lists_the_keys() {
        let mut picture = Picture::new(View::Graph, Duration::from_secs(1));
        picture.help = true;
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| picture.draw(frame)).unwrap();
        let drawn = terminal.backend().to_string();
        assert!(drawn.contains("Ctrl-Z") && drawn.contains("q, Esc"), "{drawn}");
    }

    #[test]
    fn tiny_terminal_does_not_panic() {
        for view in [View::Graph, View::Bars] {
            drawn(view, 3, 2, 2);
            drawn(view, 1, 1, 300);
        }
    }

    #[test]
    fn means_go_back_in_powers_of_two() {
        let mut history = History::default();
        (1..=8).for_each(|second| history.push(f64::from(second), if second > 4 { 1.0 } else { 0.0 }));
        let close = |power, mean: f64| assert!((history.mean_over(power).unwrap() - mean).abs() < 1e-9, "2^{power}");
        close(0, 1.0);
        close(2, 1.0);
        close(3, 0.5);
        assert_eq!(history.mean_over(4), None);
        assert_eq!(history.latest().take(5).collect::<Vec<_>>(), [1.0, 1.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn an_endless_run_keeps_nine_hours() {
        let mut history = History::default();
        (1..=40_000).for_each(|second| history.push(f64::from(second), 0.25));
        assert!(history.sums.len() <= (1 << POWERS) + 2);
        assert!((history.mean_over(POWERS).unwrap() - 0.25).abs() < 1e-9);
    }
}
