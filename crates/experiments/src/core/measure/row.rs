//! The row of a CPU.

use super::blocks::{blocks, shared_share_ci};
use super::costs::costs;
use super::hours::hours;
use super::observed::{Observed, Ran};
use super::pairs::{Pairs, pairs_of};
use super::stretches::{stretches, timeline};
use super::watch::Watch;
use crate::core::record::{Memory, Row};
use instruments::neighbour::{self, CoreWidth, Sharing};
use instruments::statistics::order::{median, sample_quantile};

/// `None` for a CPU that was never watched.
pub fn row(cpu: usize, seen: &Observed, watch: &Watch, pairs: &Pairs, began_unix_s: u64) -> Option<Row> {
    let last = seen.steps.last()?;
    let core_width = &seen.core_width;
    let told: Vec<(f64, Sharing)> =
        seen.steps.iter().map(|step| (step.at_s, core_width.sharing(&[step.probed]))).collect();
    let count = |wanted| told.iter().filter(|(_, sharing)| *sharing == wanted).count() as f64;
    let (alone, shared, neither) = (count(Sharing::Alone), count(Sharing::Shared), count(Sharing::Neither));
    let blocks = blocks(&told);
    let costs = costs(&seen.steps, &told, &blocks, watch.probe.step_ns());
    let cost_of = |kind: &str| costs.iter().find(|cost| cost.kind == kind).and_then(|cost| cost.ratio);
    let agreement = Agreement::of(seen, &told);
    let frequency_ghz = median(&seen.steps.iter().map(|step| f64::from(step.probed.cycles_per_ns)).collect::<Vec<_>>());
    let best_cycles = core_width.best(last.probed.cpu);
    let ticks = |cycles: f64| Some(cycles / frequency_ghz? / watch.clock.ns_per_tick());
    Some(Row {
        cpu,
        steps: told.len() as u64,
        shared_share: (alone + shared > 0.0).then(|| shared / (alone + shared)),
        shared_share_ci: shared_share_ci(&told, &blocks),
        neither_share: neither / told.len() as f64,
        best_ticks: best_cycles.and_then(ticks),
        best_cycles,
        doubt: core_width.doubt(last.probed.cpu).map(|doubt| doubt.to_string()),
        frequency_ghz,
        cost_width: cost_of("width"),
        cost_latency: cost_of("latency"),
        costs,
        stretches: stretches(&told),
        timeline: timeline(&told),
        hours: hours(&told, began_unix_s),
        memory: memory(&seen.memory),
        checked: agreement.checked,
        agreement_share: (agreement.told > 0).then(|| agreement.agreed as f64 / agreement.told as f64),
        pairs: pairs_of(cpu, pairs),
        beside: seen.beside.rows(),
    })
}

/// How far short probes and long ones in their midst agree.
struct Agreement {
    checked: u64,
    /// Those that both found alone or shared.
    told: u64,
    agreed: u64,
}

impl Agreement {
    fn of(seen: &Observed, told: &[(f64, Sharing)]) -> Self {
        let long = |step: &super::observed::Step| match step.ran {
            Ran::LongProbe(probed) => Some(probed),
            Ran::Kind(..) => None,
        };
        let both: Vec<_> =
            seen.steps.iter().zip(told).filter_map(|(step, (_, short))| Some((*short, long(step)?))).collect();
        // A longer probe hides less of its start-up, so its best time is learned separately.
        let mut core_width = CoreWidth::default();
        both.iter().for_each(|(_, probed)| _ = core_width.learn(probed));
        let both = both.iter().map(|(short, probed)| (*short, core_width.sharing(&[*probed])));
        let mut agreement = Self { checked: 0, told: 0, agreed: 0 };
        for (short, long) in both {
            agreement.checked += 1;
            if short != Sharing::Neither && long != Sharing::Neither {
                agreement.told += 1;
                agreement.agreed += u64::from(short == long);
            }
        }
        agreement
    }
}

fn memory(answers: &[neighbour::Memory]) -> Option<Memory> {
    let latencies: Vec<f64> = answers.iter().map(|answer| answer.latency_ns).collect();
    let reads: Vec<f64> = answers.iter().map(|answer| answer.bytes_per_ns).collect();
    Some(Memory {
        count: answers.len() as u64,
        latency_p10_ns: sample_quantile(&latencies, 0.1)?,
        latency_p50_ns: sample_quantile(&latencies, 0.5)?,
        latency_p90_ns: sample_quantile(&latencies, 0.9)?,
        read_p50_gb_per_s: sample_quantile(&reads, 0.5)?,
        read_p10_gb_per_s: sample_quantile(&reads, 0.1)?,
    })
}
