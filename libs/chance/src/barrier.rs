//! Bulk-synchronous steps that end in a dissemination barrier, simulated in max-plus arithmetic.
//!
//! # Model
//!
//! - In round r of ⌈log2 P⌉, a process sends to the process 2^r places after it and waits for the one 2^r places
//!   before it. After the last round it has a message, direct or indirect, from each process, and begins its next
//!   step.
//! - The gaps of its node delay a process while it works and while it handles a message. A gap during a wait costs
//!   nothing.
//! - Each moment is therefore a maximum of sums of earlier moments.
//!
//! # References
//!
//! Hensgen, Finkel and Manber, "Two Algorithms for Barrier Synchronization" (1988).

use crate::Gaps;
use fastrand::Rng;

/// The costs of a network in the LogP model (Culler and others, 1993).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Time that a process needs to handle one message, in nanoseconds.
    pub overhead_ns: u64,
    /// Transfer time from one process to another, in nanoseconds.
    pub latency_ns: u64,
}

/// Steps at the start of a run that are not counted, because all processes begin a run at the same moment.
const WARM_UP: u64 = 3;

/// A simulated bulk-synchronous job.
///
/// # Examples
///
/// ```
/// use chance::{Barrier, Gaps, Network, Noise};
/// let noise = Noise::of(&Gaps::parse("0 500", Some(50_000))?.gaps);
/// let barrier = Barrier::of(Network { overhead_ns: 0, latency_ns: 0 }, 1_000, 256, 50);
/// let apart = barrier.simulate(&noise, 20, &mut fastrand::Rng::with_seed(7), &|| false);
/// // A node loses 1 % of its time, and among 256 hardly a step is without a gap.
/// assert!(apart.is_some_and(|apart| apart.run_means_ns.iter().all(|mean_ns| *mean_ns > 1_300.0)));
/// # Ok::<(), chance::TraceError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    /// The network between the processes.
    pub network: Network,
    /// Work of each process before each barrier, in nanoseconds.
    pub step_ns: u64,
    /// The number of processes at the barrier.
    pub processes: u64,
    /// Rounds of the barrier; one more for twice the processes.
    pub rounds: u32,
    /// Counted steps of a run.
    pub steps: u64,
}

/// The result of [`Barrier::simulate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The time of each counted step of all runs, in nanoseconds.
    pub steps_ns: Vec<f64>,
    /// The mean time of a step in each run, in nanoseconds.
    pub run_means_ns: Vec<f64>,
    /// The time of a step without noise, in nanoseconds.
    pub quiet_ns: u64,
}

impl Simulated {
    /// Returns the mean time of a step over all runs, in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        mean(&self.run_means_ns)
    }
}

impl Barrier {
    /// Creates a barrier of `processes` processes, with the number of rounds that they need.
    pub fn of(network: Network, step_ns: u64, processes: u64, steps: u64) -> Self {
        Self { network, step_ns, processes, rounds: processes.next_power_of_two().ilog2(), steps }
    }

    /// Returns the control: all nodes are interrupted at the same moments, so that one process stands for all.
    pub fn together(self, steps: u64) -> Self {
        Self { processes: 1, steps, ..self }
    }

    /// Simulates `runs` runs in which each node begins at a random moment of the recording.
    ///
    /// Returns `None` if `interrupted` became true.
    pub fn simulate(
        &self,
        noise: &Noise,
        runs: u64,
        rng: &mut Rng,
        interrupted: &dyn Fn() -> bool,
    ) -> Option<Simulated> {
        let mut all = Simulated { steps_ns: Vec::new(), run_means_ns: Vec::new(), quiet_ns: self.quiet_ns() };
        for _ in 0..runs {
            let nodes = (0..self.processes).map(|_| Node::at(noise, rng.u64(..noise.span_ns()))).collect();
            let steps = self.run(noise, nodes, interrupted)?;
            all.run_means_ns.push(mean(&steps));
            all.steps_ns.extend(steps);
        }
        Some(all)
    }

    fn quiet_ns(&self) -> u64 {
        self.step_ns + u64::from(self.rounds) * (self.network.overhead_ns + self.network.latency_ns)
    }

    /// Returns the time of each counted step, from the last process through one barrier to the last through the next.
    fn run(&self, noise: &Noise, mut nodes: Vec<Node>, interrupted: &dyn Fn() -> bool) -> Option<Vec<f64>> {
        let mut now = vec![noise.beginning_ns(); nodes.len()];
        let mut sent = now.clone();
        let mut last = noise.beginning_ns();
        let mut steps = Vec::with_capacity(self.steps as usize);
        for step in 0..WARM_UP + self.steps {
            if interrupted() {
                return None;
            }
            work(&mut nodes, noise, &now, self.step_ns, &mut sent);
            std::mem::swap(&mut now, &mut sent);
            for round in 0..self.rounds {
                self.round(1 << round, &mut nodes, noise, &mut now, &mut sent);
            }
            let end = now.iter().copied().max().unwrap_or(last);
            if step >= WARM_UP {
                steps.push((end - last) as f64);
            }
            last = end;
        }
        Some(steps)
    }

    /// Lets each process send and then wait for the process `distance` places before it.
    fn round(&self, distance: usize, nodes: &mut [Node], noise: &Noise, now: &mut [u64], sent: &mut [u64]) {
        if self.network.overhead_ns == 0 {
            sent.copy_from_slice(now);
        } else {
            work(nodes, noise, now, self.network.overhead_ns, sent);
        }
        let latency_ns = self.network.latency_ns;
        let receive = |now: &mut [u64], own: &[u64], senders: &[u64]| {
            for ((now, own), sender) in now.iter_mut().zip(own).zip(senders) {
                *now = (*own).max(sender + latency_ns);
            }
        };
        // One process that stands for many receives its own message.
        let distance = distance % now.len();
        let (wrapped, straight) = now.split_at_mut(distance);
        receive(wrapped, &sent[..distance], &sent[sent.len() - distance..]);
        receive(straight, &sent[distance..], &sent[..sent.len() - distance]);
    }
}

/// Does the same work on every node, each from its own moment.
fn work(nodes: &mut [Node], noise: &Noise, from: &[u64], work_ns: u64, done: &mut [u64]) {
    for ((node, from), done) in nodes.iter_mut().zip(from).zip(done) {
        *done = node.work(noise, *from, work_ns);
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

// A recording of interruptions, played on each node from a separate moment.

/// A recording of interruptions that repeats without end.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    gaps: Vec<(u64, u64)>,
    span_ns: u64,
}

impl Noise {
    /// Creates the noise from the interruptions of a recording.
    pub fn of(gaps: &Gaps) -> Self {
        let ends = gaps.iter().map(|gap| (gap.start_ns, gap.start_ns + gap.duration_ns));
        Self { gaps: ends.collect(), span_ns: gaps.span_ns() }
    }

    /// Returns the length of the recording, in nanoseconds.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// The begin of simulated time: a node that began its recording earlier has a moment of zero or more.
    fn beginning_ns(&self) -> u64 {
        self.span_ns
    }
}

/// A node's position in the recording, which only advances.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The begin of the current pass through the recording.
    pass_ns: u64,
    /// The index of the next gap, or of the gap that the node is in.
    next: usize,
    starts_ns: u64,
    ends_ns: u64,
}

impl Node {
    /// Creates a node that is `offset_ns` into the recording at the begin of simulated time.
    fn at(noise: &Noise, offset_ns: u64) -> Self {
        let next = noise.gaps.partition_point(|gap| gap.1 <= offset_ns);
        let mut node = Self { pass_ns: noise.beginning_ns() - offset_ns, next, starts_ns: 0, ends_ns: 0 };
        node.look(noise);
        node
    }

    /// Returns the end of `work_ns` of work that the node begins at `now_ns`; if it is in a gap then, the work begins
    /// after the gap.
    #[inline]
    fn work(&mut self, noise: &Noise, mut now_ns: u64, mut work_ns: u64) -> u64 {
        while now_ns + work_ns > self.starts_ns {
            if self.ends_ns > now_ns {
                work_ns -= self.starts_ns.saturating_sub(now_ns);
                now_ns = self.ends_ns;
            }
            self.next += 1;
            self.look(noise);
        }
        now_ns + work_ns
    }

    fn look(&mut self, noise: &Noise) {
        if self.next >= noise.gaps.len() {
            self.next = 0;
            self.pass_ns += noise.span_ns;
        }
        let (start_ns, end_ns) = noise.gaps[self.next];
        (self.starts_ns, self.ends_ns) = (self.pass_ns + start_ns, self.pass_ns + end_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gaps;

    fn barrier(processes: u64, overhead_ns: u64, latency_ns: u64) -> Barrier {
        Barrier::of(Network { overhead_ns, latency_ns }, 1_000, processes, 50)
    }

    fn simulate(barrier: Barrier, trace: &str, span_ns: u64) -> (Simulated, Simulated) {
        let noise = Noise::of(&Gaps::parse(trace, Some(span_ns)).unwrap().gaps);
        let mut rng = Rng::with_seed(7);
        let mut simulate = |barrier: Barrier| barrier.simulate(&noise, 20, &mut rng, &|| false).unwrap();
        (simulate(barrier), simulate(barrier.together(2_000)))
    }

    #[test]
    fn a_step_without_noise_takes_its_work_and_its_rounds() {
        for (processes, rounds) in [(1, 0), (2, 1), (3, 2), (64, 6), (100, 7)] {
            let (separate, simultaneous) = simulate(barrier(processes, 5, 10), "0 1", 1 << 60);
            let mut steps = separate.steps_ns.iter().chain(&simultaneous.steps_ns);
            assert!(steps.all(|step| *step == f64::from(1_000 + rounds * 15)), "{processes}");
        }
    }

    /// With a network that takes no time, no process begins a step before the slowest has ended the previous one.
    #[test]
    fn a_barrier_opens_only_after_the_last_arrival() {
        for processes in [2_u64, 3, 7, 64] {
            let barrier = barrier(processes, 0, 0);
            let noise = Noise::of(&Gaps::parse("0 300\n5000 50\n", Some(20_000)).unwrap().gaps);
            let mut rng = Rng::with_seed(processes);
            let mut nodes: Vec<Node> = (0..processes).map(|_| Node::at(&noise, rng.u64(..20_000))).collect();
            let (mut now, mut sent) = (vec![20_000; nodes.len()], vec![0; nodes.len()]);
            work(&mut nodes, &noise, &now.clone(), 9_000, &mut now);
            let slowest = now.iter().copied().max().unwrap();
            for round in 0..barrier.rounds {
                barrier.round(1 << round, &mut nodes, &noise, &mut now, &mut sent);
            }
            assert!(now.iter().all(|moment| *moment == slowest), "{processes}");
        }
    }

    #[test]
    fn independent_noise_costs_more_than_simultaneous_noise() {
        let (separate, simultaneous) = simulate(barrier(256, 0, 0), "0 500", 50_000);
        let share = |simulated: &Simulated| simulated.mean_ns() / 1_000.0;
        // One node loses 1 % of the time; with 256 nodes, hardly any step is without a gap.
        assert!((1.005..1.02).contains(&share(&simultaneous)), "{}", share(&simultaneous));
        assert!(share(&separate) > 1.4, "{}", share(&separate));
    }
}

#[cfg(test)]
mod noise_tests {
    use super::*;

    #[test]
    fn work_is_delayed_by_the_gaps_that_it_meets() {
        let noise = Noise::of(&Gaps::parse("10 5\n40 20\n", Some(100)).unwrap().gaps);
        let work = |offset: u64, work_ns: u64| Node::at(&noise, offset).work(&noise, 100, work_ns) - 100;
        assert_eq!(work(0, 10), 10);
        assert_eq!(work(0, 11), 16);
        assert_eq!(work(12, 5), 8);
        assert_eq!(work(15, 26), 46);
        assert_eq!(work(60, 60), 65);
        assert_eq!(work(0, 300), 400);
    }

    #[test]
    fn gaps_that_pass_while_a_node_waits_cost_nothing() {
        let noise = Noise::of(&Gaps::parse("10 5\n40 20\n", Some(100)).unwrap().gaps);
        let mut node = Node::at(&noise, 0);
        assert_eq!(node.work(&noise, 100, 5), 105);
        assert_eq!(node.work(&noise, 170, 30), 200);
        assert_eq!(node.work(&noise, 350, 5), 365);
    }

    /// The simulated mean over random starts is the mean of the exact distribution.
    #[test]
    fn a_random_start_has_the_exact_mean_delay() {
        let gaps = Gaps::parse("10 5\n40 20\n63 1\n", Some(100)).unwrap().gaps;
        let noise = Noise::of(&gaps);
        let late: u64 = (0..100).map(|offset| Node::at(&noise, offset).work(&noise, 100, 30) - 130).sum();
        // A start at a whole nanosecond stands for the nanosecond after it: half a nanosecond less delay within a
        // gap.
        let exact = gaps.delay(30).unwrap().mean_ns();
        assert!((late as f64 / 100.0 - exact).abs() <= 0.5, "{late} {exact}");
    }
}
