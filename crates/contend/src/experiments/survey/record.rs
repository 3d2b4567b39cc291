//! What came out: the rows of each experiment, and the figures of 1998 beside today's.

use super::flags::Parameters;
use crate::experiments::clock::{self, ClockFigures};
use crate::experiments::latency::{self, Operation, SpikeRow};
use crate::record::Record;
use serde::{Deserialize, Serialize};

/// A record of the survey.
pub type SurveyRecord = Record<Parameters, Row>;

/// A row, told from the others by its field `experiment`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "experiment", rename_all = "snake_case")]
pub enum Row {
    Clock(clock::Row),
    Latency(Box<latency::Row>),
    ThenAndNow(ThenAndNow),
}

/// A figure that one of the pages of 1998 gives, and today's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThenAndNow {
    /// What it is.
    pub figure: String,
    pub unit: Unit,
    /// On a Pentium II at 350 MHz (locks) or a Pentium Pro at 200 MHz (clock) under BeOS.
    pub then: f64,
    /// `null` when today's measurement has nothing that corresponds.
    pub today: Option<f64>,
    /// `then` over `today`.
    pub ratio: Option<f64>,
    /// Why there is no figure of today.
    pub note: Option<String>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Ns,
    Share,
    Times,
    Mhz,
    Cycles,
}

impl ThenAndNow {
    fn new(figure: &str, unit: Unit, then: f64, today: Option<f64>) -> Self {
        let ratio = today.filter(|today| *today > 0.0).map(|today| then / today);
        let note = today.is_none().then(|| "not seen".to_owned());
        Self { figure: figure.to_owned(), unit, then, today, ratio, note }
    }

    /// An unlock is deduced by subtracting the hold time: one below what that scatters is not known.
    fn of_unlock(figure: &str, then_ns: f64, row: Option<&latency::Row>) -> Self {
        let spike = row.and_then(|row| row.spikes.first());
        let known = spike.filter(|spike| row.is_some_and(|row| spike.mean_ns >= row.resolution_ns));
        let mut compared = Self::new(figure, Unit::Ns, then_ns, known.map(|spike| spike.mean_ns));
        if let (None, Some(row)) = (known, row) {
            compared.note = Some(format!("< {:.0} ns", row.resolution_ns));
        }
        compared
    }
}

/// Every figure that the two pages of 1998 give and the survey measures.
pub fn comparison(clock: &[clock::Row], latency: &[latency::Row]) -> Vec<ThenAndNow> {
    let laboratory = Laboratory(latency);
    [
        clock_figures(&clock::figures(clock)),
        laboratory.one_thread(),
        laboratory.two_threads("sysv", "semaphore", SEMAPHORE),
        laboratory.two_threads("benaphore", "benaphore", BENAPHORE),
    ]
    .concat()
}

/// Rico Tudor, "Where Does the Time Go?", Be Newsletter, October 1998.
fn clock_figures(today: &ClockFigures) -> Vec<ThenAndNow> {
    vec![
        ThenAndNow::new("a clock read", Unit::Ns, 280.0, today.read_cost_ns),
        ThenAndNow::new("effective MHz before the first tick", Unit::Mhz, 199.5, today.undisturbed_mhz),
        ThenAndNow::new("a load from the L1 cache", Unit::Cycles, 3.0, today.load_cycles),
        ThenAndNow::new("period of the tick", Unit::Ns, 1e6, today.tick_ns),
        ThenAndNow::new("lost to the tick", Unit::Share, 1.5 / 199.5, today.tick_lost_share),
    ]
}

/// What 1998 gives for two threads: ping-pong mean and share, fast path mean and share, round trip.
struct TwoThreads {
    waited_ns: f64,
    waited_share: f64,
    free_ns: f64,
    free_share: f64,
    round_trip_ns: Option<f64>,
}

const SEMAPHORE: TwoThreads = TwoThreads {
    waited_ns: 24_138.0,
    waited_share: 0.856_77,
    free_ns: 3_545.0,
    free_share: 0.117_41,
    round_trip_ns: Some(35_100.0),
};

const BENAPHORE: TwoThreads =
    TwoThreads { waited_ns: 24_700.0, waited_share: 0.82, free_ns: 310.0, free_share: 0.143, round_trip_ns: None };

/// The rows of the latency experiment, asked as 1998 asked its graphs.
struct Laboratory<'a>(&'a [latency::Row]);

impl Laboratory<'_> {
    /// The lock latency article of the Be Newsletter, 1998: one thread.
    fn one_thread(&self) -> Vec<ThenAndNow> {
        let first = |lock, operation| self.row(lock, 1, operation).and_then(|row| row.spikes.first());
        let mean = |lock, operation| first(lock, operation).map(|spike| spike.mean_ns);
        let trip = |lock| self.row(lock, 1, Operation::RoundTrip).map(|row| row.p50_ns);
        let (semaphore, benaphore) = (mean("sysv", Operation::Lock), mean("benaphore", Operation::Lock));
        let faster = semaphore.zip(benaphore).map(|(slow, fast)| slow / fast).filter(|ratio| ratio.is_finite());
        let mut echoes = self.echoes("sysv").into_iter();
        let longest = self.row("sysv", 1, Operation::Lock).map(|row| row.max_ns);
        vec![
            ThenAndNow::new("semaphore, uncontended lock", Unit::Ns, 3_500.0, semaphore),
            ThenAndNow::new("  its share", Unit::Share, 0.996, first("sysv", Operation::Lock).map(|spike| spike.share)),
            ThenAndNow::of_unlock("semaphore, uncontended unlock", 3_500.0, self.row("sysv", 1, Operation::Unlock)),
            ThenAndNow::new("semaphore, round trip", Unit::Ns, 13_100.0, trip("sysv")),
            ThenAndNow::new("shortest echo of the semaphore's lock", Unit::Ns, 5_000.0, echoes.next()),
            ThenAndNow::new("next echo of it", Unit::Ns, 27_000.0, echoes.next()),
            ThenAndNow::new("longest delay", Unit::Ns, 3e6, longest),
            ThenAndNow::new("benaphore, uncontended lock", Unit::Ns, 300.0, benaphore),
            ThenAndNow::new(
                "  its share",
                Unit::Share,
                0.9996,
                first("benaphore", Operation::Lock).map(|spike| spike.share),
            ),
            ThenAndNow::of_unlock("benaphore, uncontended unlock", 300.0, self.row("benaphore", 1, Operation::Unlock)),
            ThenAndNow::new("benaphore, round trip", Unit::Ns, 6_700.0, trip("benaphore")),
            ThenAndNow::new("semaphore over benaphore, lock", Unit::Times, 12.0, faster),
        ]
    }

    fn two_threads(&self, lock: &str, name: &str, then: TwoThreads) -> Vec<ThenAndNow> {
        let row = self.row(lock, 2, Operation::Lock);
        let waited = row.and_then(waited);
        let free = row.and_then(free);
        let figure = |what: &str| format!("two threads, {name}, {what}");
        let mut figures = vec![
            ThenAndNow::new(&figure("ping-pong"), Unit::Ns, then.waited_ns, waited.map(|spike| spike.mean_ns)),
            ThenAndNow::new("  its share", Unit::Share, then.waited_share, waited.map(|spike| spike.share)),
            ThenAndNow::new(&figure("fast path"), Unit::Ns, then.free_ns, free.map(|spike| spike.mean_ns)),
            ThenAndNow::new("  its share", Unit::Share, then.free_share, free.map(|spike| spike.share)),
        ];
        if let Some(then) = then.round_trip_ns {
            let today = self.row(lock, 2, Operation::RoundTrip).map(|row| row.p50_ns);
            figures.push(ThenAndNow::new(&figure("round trip"), Unit::Ns, then, today));
        }
        figures
    }

    /// The first thread's row, without competitors.
    fn row(&self, lock: &str, threads: usize, operation: Operation) -> Option<&latency::Row> {
        let wanted = (lock, threads, 0, 0, operation);
        self.0.iter().find(|row| (row.lock.as_str(), row.threads, row.competitors, row.thread, row.operation) == wanted)
    }

    /// The delays of the echoes of locking, the shortest first. 1998 called its two the scheduler's and a daemon's; that
    /// these are the same takes evidence.
    fn echoes(&self, lock: &str) -> Vec<f64> {
        let row = self.row(lock, 1, Operation::Lock);
        let mut delays: Vec<f64> =
            row.into_iter().flat_map(|row| &row.spikes).filter_map(|spike| spike.delay_ns).collect();
        delays.sort_by(f64::total_cmp);
        delays
    }
}

/// A wait longer than this was for a time slice of the CPU, not for one hold of the lock.
const PREEMPTED_NS: f64 = 500_000.0;

/// The largest spike of those that waited about as long as the other thread held the lock.
fn waited(row: &latency::Row) -> Option<&SpikeRow> {
    let hold_ns = row.hold_us * 1e3;
    row.spikes
        .iter()
        .find(|spike| spike.median_ns >= hold_ns && spike.median_ns < PREEMPTED_NS && spike.echo_of.is_none())
}

/// The largest spike of those that did not wait for the other thread.
fn free(row: &latency::Row) -> Option<&SpikeRow> {
    row.spikes.iter().find(|spike| spike.median_ns < row.hold_us * 1e3 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_the_pages_is_there_even_when_nothing_was_measured() {
        let figures = comparison(&[], &[]);
        assert_eq!(figures.len(), 5 + 12 + 5 + 4);
        assert!(figures.iter().all(|figure| figure.today.is_none() && figure.ratio.is_none()));
    }

    #[test]
    fn a_ratio_is_then_over_today() {
        assert_eq!(ThenAndNow::new("", Unit::Ns, 280.0, Some(14.0)).ratio, Some(20.0));
        assert_eq!(ThenAndNow::new("", Unit::Ns, 280.0, Some(0.0)).ratio, None);
    }
}
