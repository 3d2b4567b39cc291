//! The plan made from the flags, its description in a record, and the number of nodes that a trace supports.

use super::flags::{Flags, MOST_NODES, MOST_STEPS};
use crate::model::trace::{self, Description, Trace};
use chance::{Delay, Network};
use harness::{Session, UsageError};
use instruments::warning::{FewSamples, LeftOut, Warning, WarningKind};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const MOST_ROUNDS: f64 = 20.0;
/// The number of gaps below which their rate is known to a tenth at best.
const FEW_GAPS: usize = 100;
const DEFAULT_PROCESSES: [u64; 9] = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536];

/// The nodes and processes to compute for one length of step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPlan {
    pub step_ns: u64,
    /// The distribution of the delay of one node.
    pub delay: Delay,
    /// The distribution of its delay if its step never begins in a gap.
    pub delay_while_running: Delay,
    /// The maximum number of nodes whose median the trace supports.
    pub supported_nodes: u64,
    pub nodes: Vec<u64>,
    pub processes: Vec<u64>,
}

/// The input of the computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub trace: Trace,
    pub steps: Vec<StepPlan>,
    pub network: Network,
    pub steps_a_run: Option<u64>,
    pub extrapolate: bool,
    pub seed: u64,
    /// The results that the trace is too short for, and other warnings.
    pub warnings: Vec<Warning>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub trace: Description,
    /// The number of ranks of a job with a trace each; `trace` describes all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u64>,
    pub step_us: Vec<f64>,
    pub overhead_us: f64,
    pub latency_us: f64,
    pub extrapolate: bool,
    pub assumptions: Vec<String>,
}

impl Plan {
    /// Checks the flags and reads the trace.
    pub fn of(flags: &Flags, session: &Session) -> anyhow::Result<Self> {
        let Some(path) = &flags.trace else {
            let remedy = "record a trace of this machine with `contend noise --trace FILE`";
            return Err(UsageError(format!("one of --trace FILE or --ranks RECORD is required: {remedy}")).into());
        };
        let trace = trace::read("--trace", path, flags.span)?;
        Self::on(trace, flags, true, session)
    }

    /// Plans the default numbers of nodes on a trace of the same run, exactly: without a simulated barrier.
    pub fn exact(trace: Trace, flags: &Flags, session: &Session) -> anyhow::Result<Self> {
        Self::on(trace, flags, false, session)
    }

    fn on(trace: Trace, flags: &Flags, is_simulated: bool, session: &Session) -> anyhow::Result<Self> {
        let mut warnings: Vec<Warning> = few_gaps(&trace.description).into_iter().collect();
        let steps = flags.step.iter().map(|step| StepPlan::of(*step, flags, is_simulated, &trace, &mut warnings));
        let steps = steps.collect::<anyhow::Result<_>>()?;
        let ns = |time: Duration| if is_simulated { time.as_nanos() as u64 } else { 0 };
        let network = Network { overhead_ns: ns(flags.overhead), latency_ns: ns(flags.latency) };
        let (steps_a_run, extrapolate) = (flags.steps, flags.extrapolate);
        Ok(Self { trace, steps, network, steps_a_run, extrapolate, seed: session.seed, warnings })
    }

    /// Returns the description for the record.
    pub fn parameters(&self) -> Parameters {
        let own = [
            "independence: every node repeats the recorded interruptions, starting at its own random moment",
            "exact values: a step begins at a random moment of the recording, including its gaps",
            "simulated values: a step begins when the barrier releases its process",
            "confidence intervals: they cover the random draws of the simulation, not the difference to another recording",
        ];
        let of_trace = self.trace.description.assumptions();
        Parameters {
            trace: self.trace.description.clone(),
            ranks: None,
            step_us: self.steps.iter().map(|step| step.step_ns as f64 / 1e3).collect(),
            overhead_us: self.network.overhead_ns as f64 / 1e3,
            latency_us: self.network.latency_ns as f64 / 1e3,
            extrapolate: self.extrapolate,
            assumptions: own.into_iter().map(str::to_owned).chain(of_trace).collect(),
        }
    }
}

impl StepPlan {
    fn of(
        step: Duration,
        flags: &Flags,
        is_simulated: bool,
        trace: &Trace,
        warnings: &mut Vec<Warning>,
    ) -> anyhow::Result<Self> {
        let step_ns = step.as_nanos() as u64;
        let delay = trace.gaps.delay(step_ns).map_err(|error| UsageError(format!("--step {step:?}: {error}")))?;
        let delay_while_running = trace.gaps.delay_while_running(step_ns)?;
        let supported_nodes = delay.supported_workers(MEDIAN);
        let support =
            Support { step, nodes: supported_nodes, extrapolate: flags.extrapolate, span_s: trace.description.span_s };
        if supported_nodes == 0 && !flags.extrapolate {
            let refused = if is_simulated { format!("--step {step:?}") } else { "the trace".to_owned() };
            return Err(support.refusal(&refused, 1).into());
        }
        if is_simulated {
            fits(step, flags, trace, &delay)?;
        }
        let nodes = support.admit("--nodes", &flags.nodes, default_nodes(), warnings)?;
        let processes = match is_simulated {
            true => support.admit("--processes", &flags.processes, DEFAULT_PROCESSES.into_iter(), warnings)?,
            false => Vec::new(),
        };
        warnings.extend(longer_gap(step_ns, trace));
        Ok(Self { step_ns, delay, delay_while_running, supported_nodes, nodes, processes })
    }
}

pub fn few_gaps(trace: &Description) -> Option<Warning> {
    let count = trace.gaps;
    let what = "gaps, on which every figure rests";
    (count < FEW_GAPS).then(|| Warning::from(FewSamples { what: what.into(), count: count as u64 }))
}

fn longer_gap(step_ns: u64, trace: &Trace) -> Option<Warning> {
    let (step_us, longest_gap_us) = (step_ns as f64 / 1e3, trace.description.longest_gap_us);
    (trace.gaps.longest_ns() > step_ns).then_some(Warning::from(StepShorterThanGap { step_us, longest_gap_us }))
}

pub fn default_nodes() -> impl Iterator<Item = u64> {
    (0..=6).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power))).chain([MOST_NODES])
}

/// Checks that the simulated time fits into 64 bits, even if every step has the longest delay.
fn fits(step: Duration, flags: &Flags, trace: &Trace, delay: &Delay) -> Result<(), UsageError> {
    let message = flags.overhead.as_nanos() as f64 + flags.latency.as_nanos() as f64 + trace.gaps.longest_ns() as f64;
    let longest_ns = step.as_nanos() as f64 + delay.slowest_quantile_ns(1, 1.0) + MOST_ROUNDS * message;
    let steps = flags.steps.unwrap_or(MOST_STEPS) as f64;
    let all_ns = steps * longest_ns + 4.0 * trace.gaps.span_ns() as f64;
    if all_ns < u64::MAX as f64 / 2.0 {
        return Ok(());
    }
    Err(UsageError(format!(
        "--step {step:?}: the steps together exceed 64 bits of nanoseconds; use fewer --steps or shorter ones"
    )))
}

/// The quantile that a trace must be long enough for to support a value.
const MEDIAN: f64 = 0.5;

/// The limits of a trace with steps of one length.
pub struct Support {
    pub step: Duration,
    pub nodes: u64,
    pub extrapolate: bool,
    /// The length of the recording.
    pub span_s: f64,
}

impl Support {
    /// Returns the requested numbers, or those of the defaults that the trace supports.
    pub fn admit(
        &self,
        flag: &str,
        requested: &[u64],
        defaults: impl Iterator<Item = u64>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<u64>, UsageError> {
        let all: Vec<u64> = if requested.is_empty() { defaults.collect() } else { requested.to_vec() };
        let Some(&beyond) = all.iter().find(|number| **number > self.nodes) else { return Ok(all) };
        let (name, first) = (flag.trim_start_matches('-'), terminal::count(beyond));
        let what = format!("a number of {name} from {first} on, with steps of {:?},", self.step);
        let supported = terminal::count(self.nodes);
        if self.extrapolate {
            warnings.push(Warning::from(Extrapolated { what, supported }));
            return Ok(all);
        }
        if !requested.is_empty() {
            return Err(self.refusal(&format!("{flag} {beyond}"), beyond));
        }
        let reason = format!("the recording supports {supported}; record for longer, or allow it with --extrapolate");
        warnings.push(Warning::from(LeftOut { what, reason }));
        Ok(all.into_iter().filter(|number| *number <= self.nodes).collect())
    }

    pub fn refusal(&self, flag: &str, nodes: u64) -> UsageError {
        let needed_s = self.step.as_secs_f64() / -(MEDIAN.ln() / nodes as f64).exp_m1();
        UsageError(format!(
            "{flag}: a recording of {} s supports {} nodes with steps of {:?}; for {} record at least {:.3} s with \
             `contend noise --seconds … --trace FILE`, or allow it with --extrapolate",
            self.span_s,
            terminal::count(self.nodes),
            self.step,
            terminal::count(nodes),
            // Rounded up, so that the advised length is enough.
            (needed_s * 1e3).ceil() / 1e3,
        ))
    }
}

/// The warning that a value exceeds the support of its recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Extrapolated {
    /// The value.
    what: String,
    /// The limit of the recording's support.
    supported: String,
}

impl WarningKind for Extrapolated {
    const CODE: &'static str = "extrapolated";

    fn message(&self) -> String {
        let Self { what, supported } = self;
        format!("{what} is extrapolated: the recording supports only {supported}")
    }

    fn remedy(&self) -> &'static str {
        "record a longer trace with `contend noise --seconds … --trace FILE`"
    }
}

/// The warning that the work of a step is shorter than an interruption that it meets.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct StepShorterThanGap {
    /// The step's work, in µs.
    step_us: f64,
    /// The longest interruption, in µs.
    longest_gap_us: f64,
}

impl WarningKind for StepShorterThanGap {
    const CODE: &'static str = "step_shorter_than_gap";

    fn message(&self) -> String {
        let Self { step_us, longest_gap_us } = self;
        format!("the longest gap ({longest_gap_us:.1} µs) is longer than a step ({step_us:.1} µs)")
    }

    fn remedy(&self) -> &'static str {
        "one gap delays several steps: read the mean together with the median, and prefer the simulated barrier, \
         whose steps follow each other, to the exact value, whose steps begin at random moments"
    }
}
