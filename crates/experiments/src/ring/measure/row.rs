//! The row of a contestant in a ring.

use super::cell::Cell;
use super::memory::Memory;
use crate::ring::record::Row;
use crate::ring::then;
use harness::Lookout;
use instruments::neighbour::{Probed, Sharing};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use instruments::statistics::{EndedBy, Interval};

impl Cell {
    /// Its row; `None` if it never had a turn.
    pub fn row(
        &self,
        ended_by: EndedBy,
        memory: Memory,
        limit: Option<(String, f64)>,
        lookout: &Lookout,
    ) -> Option<Row> {
        // By all that was learned since.
        let split = self.split(lookout);
        let had_a_turn = self.answer.is_some() || self.failure.is_some();
        let contestant = had_a_turn.then_some(&self.plan.contestant)?;
        // What failed once is not to be believed.
        let ns_per_hop = self.ns_per_hop().filter(|_| self.failure.is_none());
        let [alone, shared] = [split.alone, split.shared].map(|figure| figure.filter(|_| ns_per_hop.is_some()));
        let (cycles, frequency) = (alone.and(self.cycles(lookout)), alone.and(self.frequency(lookout)));
        let best = alone.map(|figure| figure.value).or(ns_per_hop);
        let per_hop = |count: u64| (self.all_hops > 0).then(|| count as f64 / self.all_hops as f64);
        Some(Row {
            contestant: contestant.name.clone(),
            class: contestant.class,
            scheduler: contestant.scheduler.clone(),
            threads: self.plan.threads,
            hops: self.hops,
            answer: self.answer,
            correct: self.failure.is_none(),
            failure: self.failure.clone(),
            large: self.plan.arrangement.is_some(),
            arrangement: self.plan.arrangement,
            pinned: self.plan.pinned,
            ns_per_hop,
            ns_per_hop_ci: ns_per_hop.and(self.interval()),
            core_shared_share: split.shared_share,
            core_correlation: split.correlation,
            ns_per_hop_alone: alone.map(|figure| figure.value),
            ns_per_hop_alone_ci: alone.and_then(|figure| figure.interval),
            cycles_per_hop_alone: cycles.map(|figure| figure.value),
            cycles_per_hop_alone_ci: cycles.and_then(|figure| figure.interval),
            core_ghz_alone: frequency.map(|(ghz, _)| ghz),
            core_ghz_alone_span: frequency.map(|(_, span)| span),
            ns_per_hop_shared: shared.map(|figure| figure.value),
            ns_per_hop_shared_ci: shared.and_then(|figure| figure.interval),
            repeats: self.samples.len(),
            spent_s: self.spent.as_secs_f64(),
            ended_by: ns_per_hop.map(|_| ended_by),
            start_ms: median(&self.starts_ns).map(|ns| ns / 1e6),
            limit_ns: limit.as_ref().map(|(_, ns)| *ns),
            times_limit: limit.as_ref().zip(best).map(|((_, limit_ns), ns)| ns / limit_ns),
            limit: limit.map(|(name, _)| name),
            rss_kib: memory.rss_kib,
            bytes_per_thread: memory.bytes_per_thread,
            kernel_bytes_per_thread: memory.kernel_bytes_per_thread(),
            kernel_stack_bytes_per_thread: memory.kernel_stack_bytes_per_thread,
            slab_bytes_per_thread: memory.slab_bytes_per_thread,
            page_table_bytes_per_thread: memory.page_table_bytes_per_thread,
            wasted_polls_per_hop: self.wasted_polls.and_then(per_hop),
            voluntary_switches_per_hop: per_hop(self.switches.voluntary),
            involuntary_switches_per_hop: per_hop(self.switches.involuntary),
            steal_share: (self.watched_s > 0.0).then(|| self.stolen_s / self.watched_s),
            then: then::beside(&contestant.name, self.plan.threads),
        })
    }

    /// The same in cycles of the core, whatever its frequency was.
    fn cycles(&self, lookout: &Lookout) -> Option<Estimate> {
        let in_cycles = |(ns, probed): &(f64, Probed)| (ns * f64::from(probed.cycles_per_ns), *probed);
        let turns: Vec<Vec<_>> = self.parts.iter().map(|turn| turn.iter().map(in_cycles).collect()).collect();
        lookout.split_turns(&turns).alone
    }

    /// The core's frequency in GHz while the parts that were alone ran: the median of the turns, and their ends.
    fn frequency(&self, lookout: &Lookout) -> Option<(f64, Interval)> {
        let of_turn = |turn: &Vec<(f64, Probed)>| {
            let alone = turn.iter().filter(|(_, probed)| lookout.sharing(&[*probed]) == Sharing::Alone);
            median(&alone.map(|(_, probed)| f64::from(probed.cycles_per_ns)).collect::<Vec<_>>())
        };
        let turns: Vec<f64> = self.parts.iter().filter_map(of_turn).collect();
        let ends = turns
            .iter()
            .fold(Interval::new(f64::INFINITY, 0.0), |ends, &ghz| Interval::new(ends.low.min(ghz), ends.high.max(ghz)));
        Some((median(&turns)?, ends))
    }
}
