//! The lock latency laboratory of the Be Newsletter, 1998.

use super::record::{Operation, Row, SpikeRow};
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
    spike.map(|spike| Estimate::from(spike.mean_ns))
}

fn median(row: Option<&Row>) -> Option<Estimate> {
    row.map(|row| Estimate::new(row.p50_ns, row.p50_ci_ns))
}

/// An unlock is deduced by subtracting the hold time: one below what that scatters is not known.
fn unlock(name: &str, then_ns: f64, row: Option<&Row>) -> ThenAndNow {
    let spike = row.and_then(|row| row.spikes.first());
    let known = spike.filter(|spike| row.is_some_and(|row| spike.mean_ns >= row.resolution_ns));
    let compared = time(name, then_ns, mean(known));
    match row {
        Some(row) => compared.or(&format!("< {:.0} ns", row.resolution_ns)),
        None => compared,
    }
}

/// The rows of the latency experiment, asked as 1998 asked its graphs.
struct Laboratory<'a>(&'a [(usize, &'a Row)]);

impl Laboratory<'_> {
    fn one_thread(&self) -> Vec<ThenAndNow> {
        let first = |lock, operation| self.row(lock, 1, operation).and_then(|row| row.spikes.first());
        let (semaphore, benaphore) = (first("sysv", Operation::Lock), first("benaphore", Operation::Lock));
        let faster = semaphore.zip(benaphore).map(|(slow, fast)| slow.mean_ns / fast.mean_ns);
        let faster = faster.filter(|ratio| ratio.is_finite()).map(Estimate::from);
        let mut echoes = self.echoes("sysv").into_iter().map(Estimate::from);
        let longest = self.row("sysv", 1, Operation::Lock).map(|row| Estimate::from(row.max_ns));
        vec![
            time("semaphore, lock", 3_500.0, mean(semaphore)),
            share("semaphore, lock", 0.996, semaphore),
            unlock("semaphore, unlock", 3_500.0, self.row("sysv", 1, Operation::Unlock)),
            time("semaphore, round trip", 13_100.0, median(self.row("sysv", 1, Operation::RoundTrip))).detail(),
            time("shortest echo of the semaphore's lock", 5_000.0, echoes.next()).detail(),
            time("next echo of it", 27_000.0, echoes.next()).detail(),
            time("longest delay of the semaphore's lock", 3e6, longest).detail(),
            time("benaphore, lock", 300.0, mean(benaphore)),
            share("benaphore, lock", 0.9996, benaphore),
            unlock("benaphore, unlock", 300.0, self.row("benaphore", 1, Operation::Unlock)),
            time("benaphore, round trip", 6_700.0, median(self.row("benaphore", 1, Operation::RoundTrip))).detail(),
            ThenAndNow::new(1998, "semaphore over benaphore, lock", Unit::Times, 12.0, faster),
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
    row.spikes
        .iter()
        .find(|spike| spike.median_ns >= hold_ns && spike.median_ns < PREEMPTED_NS && spike.echo_of.is_none())
}

/// The largest spike of those that did not wait for the other thread.
fn free(row: &Row) -> Option<&SpikeRow> {
    row.spikes.iter().find(|spike| spike.median_ns < row.hold_us * 1e3 / 2.0)
}
