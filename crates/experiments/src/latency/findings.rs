//! Statements about the rows, their lines of the ladder, and the values of 1998 and 2002 with those of today.

use super::exclusion::{sound, sound_by};
use super::flags::Placement;
use super::ranking::{FreePairs, PAIR, WAIT, ranking};
use super::record::{LatencyRecord, Operation, Row, SpikeRow};
use harness::report_to;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::ranking::{contests, is_object, timed_lock};
use record::{Aspect, Cost, Finding, Origin, ThenAndNow, Unit, VariationSource};
use terminal::nanoseconds;

/// The lock of most programs.
const USUAL: &str = "std";

type Placed<'a> = (usize, &'a Row);

/// Returns the command that follows: the best and the worst lock under contention after uncontended ones, and their
/// throughput after that. The histograms of a single lock are in the report.
pub fn next(record: &LatencyRecord<'_>) -> Option<Vec<String>> {
    let ranks = ranking(record.results);
    let deciding = contests(&ranks).filter(|contest| [PAIR, WAIT].contains(&contest[0].figure.as_str())).last();
    let (Some(contest), cpus) = (deciding, record.environment.machine.cpu.allowed.as_ref()) else {
        return Some(report_to("latency.html"));
    };
    let [first, .., last] = contest else { return Some(report_to("latency.html")) };
    // The record has the file's name of a user's own lock, without its directory.
    if [first, last].iter().any(|rank| is_object(&rank.lock)) {
        return Some(report_to("latency.html"));
    }
    let locks = format!("{},{}", first.lock, last.lock);
    let threads = record.results.iter().map(|row| row.threads).max().unwrap_or(1);
    let words = match cpus.is_some_and(|cpus| cpus.len() > 1) {
        true if threads == 1 => ["latency", "--lock", &locks, "--threads", "2", "--placement", "spread"].to_vec(),
        _ => ["throughput", "--lock", &locks].to_vec(),
    };
    Some(words.into_iter().map(str::to_owned).collect())
}

/// Statements about an uncontended lock, a contended one, and one with a competitor for the CPU.
pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let rows = &sound_by(rows, |placed| placed.1)[..];
    let alone = cells(rows, Operation::Lock, (1, 0));
    let together = cells(rows, Operation::Lock, (2, 0));
    let contested = cells(rows, Operation::RoundTrip, (1, 1));
    let usual_first = |cells: &[Placed<'_>], of: fn(Placed<'_>) -> Option<Finding>| {
        let mut cells = cells.to_vec();
        cells.sort_by_key(|(_, row)| row.lock != USUAL);
        cells.into_iter().find_map(of)
    };
    let pairs = FreePairs::of(rows.iter().map(|(_, row)| *row));
    let found = [
        uncontended(&alone, pairs),
        slowest(&alone, pairs),
        usual_first(&together, handed_over),
        usual_first(&contested, with_competitor),
    ];
    found.into_iter().flatten().collect()
}

/// Returns the first thread's rows of an operation, with these numbers of threads and competitors.
fn cells<'a>(rows: &[Placed<'a>], operation: Operation, company: (usize, usize)) -> Vec<Placed<'a>> {
    let wanted = |row: &Row| row.thread == 0 && row.operation == operation && (row.threads, row.competitors) == company;
    rows.iter().copied().filter(|(_, row)| wanted(row)).collect()
}

fn uncontended(alone: &[Placed<'_>], pairs: FreePairs) -> Option<Finding> {
    let of = |usual: bool| alone.iter().filter(move |(_, row)| (row.lock == USUAL) == usual);
    let (place, row) = *of(true).chain(of(false)).find(|(_, row)| row.bare_pair_ns.is_some())?;
    let figure = pairs.of_row(row)?;
    let words = format!(
        "Locking and unlocking an uncontended {} takes {}, {}",
        lock_words(row),
        Unit::Ns.estimate(figure),
        pairs.words()
    );
    let source = Origin::of("latency", place, row.cell().to_string(), pairs.field());
    Some(Finding::new("free_lock", words, Unit::Ns, figure, source))
}

/// Returns the finding about the uncontended lock with the highest cost, if it is shown to cost more than the usual
/// one.
fn slowest(alone: &[Placed<'_>], pairs: FreePairs) -> Option<Finding> {
    let (_, usual) = alone.iter().find(|(_, row)| row.lock == USUAL)?;
    let timed = alone.iter().filter_map(|(place, row)| Some((*place, *row, pairs.of_row(row)?)));
    let (place, row, figure) = timed.max_by(|one, other| one.2.value.total_cmp(&other.2.value))?;
    let ends = pairs.times_longer(usual, row)?;
    let words = format!(
        "An uncontended {} takes {} per lock/unlock pair, {} the time of {USUAL} ({})",
        lock_words(row),
        Unit::Ns.estimate(figure),
        Unit::Times.words_with(figure.value / pairs.of_row(usual)?.value, Some(ends)),
        pairs.words()
    );
    let source = Origin::of("latency", place, row.cell().to_string(), pairs.field());
    Some(Finding::new("slowest_free_lock", words, Unit::Ns, figure, source))
}

fn handed_over((place, row): Placed<'_>) -> Option<Finding> {
    let spike = waited(row)?;
    let number = row.spikes.iter().position(|other| other.label == spike.label)?;
    let figure = row.estimate(spike.median_ns, spike.median_ci_ns)?;
    let words = format!(
        "Acquiring a {} lock that another thread on the same CPU holds for {} takes {}; main cause: {}",
        row.lock,
        Unit::Ns.words(row.hold_us * 1e3),
        Unit::Ns.estimate(figure),
        spike.cause
    );
    let source = Origin::of(
        "latency",
        place,
        format!("{}, spike {}", row.cell(), spike.label),
        &format!("spikes[{number}].median_ns"),
    );
    Some(Finding::new("lock_wait", words, Unit::Ns, figure, source))
}

fn with_competitor((place, row): Placed<'_>) -> Option<Finding> {
    let figure = row.estimate(row.p999_ns, row.p999_ci_ns)?;
    let words = format!(
        "With a competing thread on the same CPU, the p99.9 of a lock–hold–unlock cycle of {} (hold time {}) is {}",
        row.lock,
        Unit::Ns.words(row.hold_us * 1e3),
        Unit::Ns.estimate(figure)
    );
    let source = Origin::of("latency", place, row.cell().to_string(), "p999_ns");
    Some(Finding::new("competitor_p999", words, Unit::Ns, figure, source).repeated())
}

/// Returns the lines of the ladder: uncontended locks, contended ones, and one with a competitor for the CPU.
pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let rows = &sound(rows)[..];
    let firsts = || rows.iter().filter(|row| row.thread == 0);
    let locking = || firsts().filter(|row| row.operation == Operation::Lock && row.competitors == 0);
    let pairs = FreePairs::of(rows);
    let free = locking().filter(|row| row.threads == 1).filter_map(|row| uncontended_cost(row, pairs));
    let held = locking().filter(|row| row.threads == 2).filter_map(contended_cost);
    let company = |row: &&Row| (row.threads, row.competitors, row.operation) == (1, 1, Operation::RoundTrip);
    let with_competitor = firsts().filter(company).find(|row| row.lock == USUAL).and_then(competitor_cost);
    free.chain(held).chain(with_competitor).collect()
}

/// Returns an uncontended lock in words: `std lock`, or `libmine.so, by pointer`.
fn lock_words(row: &Row) -> String {
    if is_object(&row.lock) { timed_lock(&row.lock) } else { format!("{} lock", row.lock) }
}

/// Returns the cost of a lock and an unlock.
fn uncontended_cost(row: &Row, pairs: FreePairs) -> Option<Cost> {
    let cost = Cost::new(
        format!("an uncontended {}", lock_words(row)),
        format!("{}: lock and unlock in a bare loop ({})", row.name(), pairs.words()),
        pairs.of_row(row)?,
    );
    let of_1998 = match row.lock.as_str() {
        "sysv" => Some(7_000.0),
        "benaphore" => Some(600.0),
        _ => None,
    };
    let cost = cost.compared_as(Aspect::Uncontended, VariationSource::Operation).by_lock(&row.lock);
    Some(cost.with_old_value(1998, of_1998).with_old_value(2002, loop_2002(&row.lock)))
}

/// Returns the time of a lock in 2002's table of ulockflex: that of an iteration of one child that does no work, less
/// that of one without a lock.
fn loop_2002(lock: &str) -> Option<f64> {
    const WITHOUT_PER_S: f64 = 1_398_321.0;
    let with_per_s = match lock {
        "sysv" => 309_423.0,
        "usema" => 1_157_684.0,
        "usema-spin" => 1_136_147.0,
        "calock" => 1_115_431.0,
        "calock-spin" => 1_150_368.0,
        _ => return None,
    };
    Some(1e9 / with_per_s - 1e9 / WITHOUT_PER_S)
}

/// Returns the wait for a lock that the other thread holds.
fn contended_cost(row: &Row) -> Option<Cost> {
    let spike = waited(row)?;
    let is_here = row.placement == Placement::OneCpu.to_string();
    let place = if is_here { "this CPU" } else { "another CPU" };
    let figure = format!("{}, {}: median wait, spike {}", row.name(), hold_words(row), spike.label);
    let estimate = row.estimate(spike.median_ns, spike.median_ci_ns)?;
    let of_1998 = match row.lock.as_str() {
        "sysv" => Some(24_138.0),
        "benaphore" => Some(24_700.0),
        _ => None,
    };
    let cost = Cost::new(format!("a contended {} lock, {place}", row.lock), figure, estimate);
    let variation = if is_here { VariationSource::SingleOperation } else { VariationSource::Elapsed };
    let cost = cost.compared_as(Aspect::Contended, variation).under(hold_words(row));
    Some(cost.by_lock(&row.lock).with_old_value(1998, of_1998.filter(|_| is_here && is_ping_pong(spike))))
}

/// Returns the iteration of a thread that shares its CPU with one that never blocks.
fn competitor_cost(row: &Row) -> Option<Cost> {
    let figure = format!("{}, {}: p99.9 of a lock–hold–unlock cycle", row.cell(), hold_words(row));
    let estimate = row.estimate(row.p999_ns, row.p999_ci_ns)?;
    let cost = Cost::new("p99.9 of a lock, competitor", figure, estimate);
    let cost = cost.compared_as(Aspect::Tail, VariationSource::Rare);
    Some(cost.under(hold_words(row)).by_lock(&row.lock))
}

fn hold_words(row: &Row) -> String {
    format!("hold time {}", nanoseconds(row.hold_us * 1e3))
}

/// Compares with the lock latency laboratory of the Be Newsletter, 1998.
pub fn then_and_now(rows: &[Placed<'_>]) -> Vec<ThenAndNow> {
    if rows.is_empty() {
        return Vec::new();
    }
    let laboratory = Article1998(rows);
    [
        laboratory.one_thread(),
        laboratory.two_threads("sysv", "semaphore", SEMAPHORE),
        laboratory.two_threads("benaphore", "benaphore", BENAPHORE),
    ]
    .concat()
}

/// The values that 1998 gives for two threads: ping-pong mean and share, fast path mean and share, round trip.
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

/// Returns whether two threads handed the lock to each other, as in 1998, where nearly each lock waited for a whole hold.
/// A wait that is rare today is for the rest of a hold that was preempted, which is another quantity.
fn is_ping_pong(spike: &SpikeRow) -> bool {
    const AS_USUAL: f64 = 0.3;
    spike.share >= AS_USUAL
}

fn ping_pong(name: &str, then: &TwoThreads, waited: Option<&SpikeRow>) -> ThenAndNow {
    let alternating = waited.filter(|spike| is_ping_pong(spike));
    let compared = time(name, then.waited_ns, mean(alternating));
    match (waited, alternating) {
        (Some(rare), None) => compared.or(&format!("{} wait", Unit::Share.words(rare.share))),
        _ => compared,
    }
}

fn mean(spike: Option<&SpikeRow>) -> Option<Estimate> {
    spike?.mean_ns.map(Estimate::from)
}

fn median(row: Option<&Row>) -> Option<Estimate> {
    row.and_then(|row| row.estimate(row.p50_ns, row.p50_ci_ns))
}

/// Returns the ratio of two values, with an interval as wide as their intervals allow.
fn ratio(over: Option<Estimate>, under: Option<Estimate>) -> Option<Estimate> {
    let (over, under) = over.zip(under).filter(|(_, under)| under.value > 0.0)?;
    let ends = over.interval.zip(under.interval).filter(|(_, under)| under.low > 0.0);
    let interval = ends.map(|(over, under)| Interval::new(over.low / under.high, over.high / under.low));
    Some(Estimate::new(over.value / under.value, interval))
}

/// The rows of the latency experiment, read as 1998 read its graphs.
struct Article1998<'a>(&'a [Placed<'a>]);

impl Article1998<'_> {
    /// Compares with 1998, which gives a lock and an unlock separately, 3.5 µs each for the semaphore and 0.3 for the
    /// benaphore; of an uncontended lock the pair is known best.
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
        let (waited, free) = (row.and_then(waited), row.and_then(fast_path));
        let figure = |what: &str| format!("two threads, {name}, {what}");
        let mut figures = vec![
            ping_pong(&figure("ping-pong"), &then, waited),
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

    /// Returns the first thread's row, without competitors.
    fn row(&self, lock: &str, threads: usize, operation: Operation) -> Option<&Row> {
        let wanted = (lock, threads, 0, 0, operation);
        let key = |row: &&Row| (row.lock.as_str(), row.threads, row.competitors, row.thread, row.operation) == wanted;
        self.0.iter().map(|(_, row)| *row).find(key)
    }

    /// Returns the delays of the echoes of locking, the shortest first. 1998 attributed its two to the scheduler and a
    /// daemon; evidence would be needed to identify these with them.
    fn echoes(&self, lock: &str) -> Vec<f64> {
        let row = self.row(lock, 1, Operation::Lock);
        let mut delays: Vec<f64> =
            row.into_iter().flat_map(|row| &row.spikes).filter_map(|spike| spike.delay_ns).collect();
        delays.sort_by(f64::total_cmp);
        delays
    }
}

/// The wait above which a thread waited for a time slice of the CPU, not for one hold of the lock.
const PREEMPTED_NS: f64 = 500_000.0;

/// Returns the largest spike of those that waited about as long as the other thread held the lock.
pub fn waited(row: &Row) -> Option<&SpikeRow> {
    let hold_ns = row.hold_us * 1e3;
    row.spikes.iter().find(|spike| {
        spike.median_ns.is_some_and(|ns| (hold_ns..PREEMPTED_NS).contains(&ns)) && spike.echo_of.is_none()
    })
}

/// Returns the largest spike of those that did not wait for the other thread.
fn fast_path(row: &Row) -> Option<&SpikeRow> {
    row.spikes.iter().find(|spike| spike.median_ns.is_none_or(|ns| ns < row.hold_us * 1e3 / 2.0))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn usual_uncontended_lock_is_found_with_the_slowest() {
        let (sysv, std) = (row("sysv", 1, 0), row("std", 1, 0));
        let sysv = Row { bare_pair_ns: Some(600.0), bare_pair_ci_ns: Some(Interval::new(597.0, 603.0)), ..sysv };
        let found = findings(&[(3, &sysv), (7, &std)]);
        assert_eq!(
            found[0].words,
            "Locking and unlocking an uncontended std lock takes 18.0 ns (95 % CI 17.0–19.0 ns), all windows"
        );
        assert_eq!((found[0].value, found[0].source.row, found[0].source.field.as_str()), (18.0, 7, "bare_pair_ns"));
        assert!(
            found[1].words.starts_with(
                "An uncontended sysv lock takes 600 ns (95 % CI 597–603 ns) per lock/unlock pair, 33.3× ("
            ),
            "{found:?}"
        );
        assert_eq!(found[1].source.row, 3);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn lock_without_shown_difference_is_not_called_slower() {
        let (std, near) = (row("std", 1, 0), Row { bare_pair_ns: Some(18.5), ..row("usema", 1, 0) });
        let without = Row { bare_pair_ns: Some(600.0), bare_pair_ci_ns: None, ..row("sysv", 1, 0) };
        assert_eq!(findings(&[(0, &std), (1, &near)]).len(), 1);
        assert_eq!(findings(&[(0, &std), (1, &without)]).len(), 1, "no interval");
    }

    #[test]
    fn a_wait_names_its_hold_its_cause_and_its_spike() {
        let row = row("std", 2, 0);
        let found = findings(&[(0, &row)]);
        assert_eq!(
            found[0].to_string(),
            "Acquiring a std lock that another thread on the same CPU holds for 6.10 µs takes 11.0 µs \
             (95 % CI 10.0–12.0 µs); main cause: waited for the holder [latency: std, 2 threads, spike B]"
        );
    }

    #[test]
    fn competitor_shows_in_the_p999() {
        let row = Row { operation: Operation::RoundTrip, p999_ns: Some(4e6), p999_ci_ns: None, ..row("std", 1, 1) };
        let found = findings(&[(0, &row)]);
        assert!(found[0].words.contains("(hold time 6.10 µs) is 4.00 ms"), "{}", found[0].words);
        assert_eq!(found[0].source.cell, "std, 1 thread, 1 competitor");
    }

    #[test]
    fn unmeasured_values_have_no_finding() {
        let untimed = Row { bare_pair_ns: None, ..row("std", 1, 0) };
        assert_eq!(findings(&[(0, &untimed)]), []);
        let unseen = Row { spikes: Vec::new(), ..row("std", 2, 0) };
        assert_eq!(findings(&[(0, &unseen)]), []);
    }

    fn words(costs: &[Cost]) -> Vec<&str> {
        costs.iter().map(|cost| cost.what.as_str()).collect()
    }

    #[test]
    fn costs_distinguish_uncontended_and_contended_locks() {
        let spread = Row { placement: "spread".into(), ..row("std", 2, 0) };
        let mut sysv = row("sysv", 2, 0);
        sysv.spikes[1].share = 0.8;
        let found = costs(&[row("std", 1, 0), sysv, spread]);
        assert_eq!(
            words(&found),
            ["an uncontended std lock", "a contended sysv lock, this CPU", "a contended std lock, another CPU"]
        );
        assert_eq!((found[0].ns, found[1].ns), (18.0, 11e3));
        assert_eq!(found[1].then.iter().map(|then| then.year).collect::<Vec<u16>>(), [1998]);
        assert!(found[2].then.is_empty() && found[2].figure.contains("spread, hold time 6.10 µs"), "{found:?}");
    }

    #[test]
    fn old_values_are_given_with_their_locks() {
        let found = costs(&[row("sysv", 1, 0), row("usema", 1, 0), row("std", 1, 0)]);
        let years: Vec<Vec<u16>> = found.iter().map(|cost| cost.then.iter().map(|then| then.year).collect()).collect();
        assert_eq!(years, [vec![1998, 2002], vec![2002], vec![]]);
        assert!((found[0].then[1].ns - 2_516.7).abs() < 0.1, "{:?}", found[0]);
    }

    #[test]
    fn rare_wait_is_not_the_ping_pong_of_1998() {
        let with = |share: f64| {
            let mut row = row("sysv", 2, 0);
            row.spikes.iter_mut().for_each(|spike| spike.share = share);
            row
        };
        for (share, is_compared) in [(0.8, true), (0.0016, false)] {
            let row = with(share);
            let compared = then_and_now(&[(0, &row)]);
            let found = compared.iter().find(|one| one.figure == "two threads, semaphore, ping-pong").unwrap();
            assert_eq!((found.today.is_some(), found.note.is_none()), (is_compared, is_compared), "{found:?}");
            let on_ladder = costs(&[row]).into_iter().find(|cost| cost.what.starts_with("a contended")).unwrap();
            assert_eq!(on_ladder.then.iter().any(|then| then.year == 1998), is_compared);
        }
    }

    #[test]
    fn unmeasured_values_have_no_cost() {
        let untimed = Row { bare_pair_ns: None, ..row("std", 1, 0) };
        let unseen = Row { spikes: Vec::new(), ..row("std", 2, 0) };
        assert_eq!(costs(&[untimed, unseen, row("std", 1, 1)]), []);
    }
}
