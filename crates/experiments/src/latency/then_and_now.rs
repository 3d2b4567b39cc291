//! The lock latency laboratory of the Be Newsletter, 1998.

use super::ranking::FreePairs;
use super::record::{Operation, Row, SpikeRow};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::{ThenAndNow, Unit};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    if rows.is_empty() {
        return Vec::new();
    }
    let laboratory = Laboratory(rows);
    [
        laboratory.one_thread(),
        laboratory.two_threads("sysv", "semaphore", SEMAPHORE),
        laboratory.two_threads("benaphore", "benaphore", BENAPHORE),
    ]
    .concat()
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

fn time(name: &str, then_ns: f64, today: Option<Estimate>) -> ThenAndNow {
    ThenAndNow::new(1998, name, Unit::Ns, then_ns, today)
}

fn share(name: &str, then: f64, spike: Option<&SpikeRow>) -> ThenAndNow {
    let today = spike.map(|spike| Estimate::from(spike.share));
    ThenAndNow::new(1998, &format!("{name}: its share"), Unit::Share, then, today).detail()
}

fn mean(spike: Option<&SpikeRow>) -> Option<Estimate> {
    spike?.mean_ns.map(Estimate::from)
}

fn median(row: Option<&Row>) -> Option<Estimate> {
    row.and_then(|row| row.estimate(row.p50_ns, row.p50_ci_ns))
}

/// Of two figures, as wide as their intervals allow.
fn ratio(over: Option<Estimate>, under: Option<Estimate>) -> Option<Estimate> {
    let (over, under) = over.zip(under).filter(|(_, under)| under.value > 0.0)?;
    let ends = over.interval.zip(under.interval).filter(|(_, under)| under.low > 0.0);
    let interval = ends.map(|(over, under)| Interval::new(over.low / under.high, over.high / under.low));
    Some(Estimate::new(over.value / under.value, interval))
}

/// The rows of the latency experiment, asked as 1998 asked its graphs.
struct Laboratory<'a>(&'a [(usize, &'a Row)]);

impl Laboratory<'_> {
    /// 1998 gives a lock and an unlock by themselves, 3.5 µs each for the semaphore and 0.3 for the benaphore; of what
    /// is free a pair is known best.
    fn one_thread(&self) -> Vec<ThenAndNow> {
        let lock = |lock| self.row(lock, 1, Operation::Lock);
        let first = |name| lock(name).and_then(|row| row.spikes.first());
        let pairs = FreePairs::of(self.0.iter().map(|(_, row)| *row));
        let pair = |name| lock(name).and_then(|row| pairs.of_row(row));
        let mut echoes = self.echoes("sysv").into_iter().map(Estimate::from);
        vec![
            time("semaphore, lock and unlock", 7_000.0, pair("sysv")),
            share("semaphore, lock", 0.996, first("sysv")),
            time("semaphore, round trip", 13_100.0, median(self.row("sysv", 1, Operation::RoundTrip))).detail(),
            time("shortest echo of the semaphore's lock", 5_000.0, echoes.next()).detail(),
            time("next echo of it", 27_000.0, echoes.next()).detail(),
            time("benaphore, lock and unlock", 600.0, pair("benaphore")),
            share("benaphore, lock", 0.9996, first("benaphore")),
            time("benaphore, round trip", 6_700.0, median(self.row("benaphore", 1, Operation::RoundTrip))).detail(),
            ThenAndNow::new(
                1998,
                "semaphore over benaphore, lock and unlock",
                Unit::Times,
                12.0,
                ratio(pair("sysv"), pair("benaphore")),
            ),
        ]
    }

    fn two_threads(&self, lock: &str, name: &str, then: TwoThreads) -> Vec<ThenAndNow> {
        let row = self.row(lock, 2, Operation::Lock);
        let (waited, free) = (row.and_then(waited), row.and_then(free));
        let figure = |what: &str| format!("two threads, {name}, {what}");
        let mut figures = vec![
            time(&figure("ping-pong"), then.waited_ns, mean(waited)),
            share(&figure("ping-pong"), then.waited_share, waited),
            time(&figure("free"), then.free_ns, mean(free)),
            share(&figure("free"), then.free_share, free),
        ];
        if let Some(then) = then.round_trip_ns {
            let today = median(self.row(lock, 2, Operation::RoundTrip));
            figures.push(time(&figure("round trip"), then, today).detail());
        }
        figures
    }

    /// The first thread's row, without competitors.
    fn row(&self, lock: &str, threads: usize, operation: Operation) -> Option<&Row> {
        let wanted = (lock, threads, 0, 0, operation);
        let key = |row: &&Row| (row.lock.as_str(), row.threads, row.competitors, row.thread, row.operation) == wanted;
        self.0.iter().map(|(_, row)| *row).find(key)
    }

    /// The delays of the echoes of locking, the shortest first. 1998 called its two the scheduler's and a daemon's;
    /// that these are the same takes evidence.
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
pub fn waited(row: &Row) -> Option<&SpikeRow> {
    let hold_ns = row.hold_us * 1e3;
    row.spikes.iter().find(|spike| {
        spike.median_ns.is_some_and(|ns| (hold_ns..PREEMPTED_NS).contains(&ns)) && spike.echo_of.is_none()
    })
}

/// The largest spike of those that did not wait for the other thread.
fn free(row: &Row) -> Option<&SpikeRow> {
    row.spikes.iter().find(|spike| spike.median_ns.is_none_or(|ns| ns < row.hold_us * 1e3 / 2.0))
}
