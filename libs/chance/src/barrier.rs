//! Steps that end in a dissemination barrier, simulated in max-plus arithmetic.
//!
//! Hensgen, Finkel and Manber, "Two Algorithms for Barrier Synchronization" (1988): in round r of ⌈log2 P⌉ a process
//! sends to the one 2^r places on and waits for the one 2^r places back. When it is through the last round it has heard
//! of all, and begins its next step. A process is late by the gaps of its node while it works and while it handles a
//! message; waiting costs nothing, whatever happens in the meantime. So every moment is a maximum of sums of earlier ones.

use crate::Gaps;
use fastrand::Rng;

/// A network, in the words of LogP (Culler and others, 1993).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// What handling a message costs a process.
    pub overhead_ns: u64,
    /// From one process to another.
    pub latency_ns: u64,
}

/// Steps that do not count: until a run has forgotten that all its processes began at once.
const WARM_UP: u64 = 3;

/// A simulated job.
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
    /// Between all of them.
    pub network: Network,
    /// Work before each barrier.
    pub step_ns: u64,
    /// How many meet.
    pub processes: u64,
    /// Rounds of the barrier; twice the processes need one more.
    pub rounds: u32,
    /// Counted steps of a run.
    pub steps: u64,
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Every step's time.
    pub steps_ns: Vec<f64>,
    /// The mean step of each run.
    pub run_means_ns: Vec<f64>,
    /// A step without noise.
    pub quiet_ns: u64,
}

impl Simulated {
    /// The mean step.
    pub fn mean_ns(&self) -> f64 {
        mean(&self.run_means_ns)
    }
}

impl Barrier {
    /// A barrier of this number of processes.
    pub fn of(network: Network, step_ns: u64, processes: u64, steps: u64) -> Self {
        Self { network, step_ns, processes, rounds: processes.next_power_of_two().ilog2(), steps }
    }

    /// The control: all nodes are interrupted at the same moments, so all processes are alike, and one stands for all.
    pub fn together(self, steps: u64) -> Self {
        Self { processes: 1, steps, ..self }
    }

    /// Runs with each node at a random moment of the recording; `None` if it was interrupted.
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

    /// The time of each counted step, from the last process through one barrier to the last through the next.
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

    /// Each process sends, then waits for the one this number of places back.
    fn round(&self, distance: usize, nodes: &mut [Node], noise: &Noise, now: &mut [u64], sent: &mut [u64]) {
        if self.network.overhead_ns == 0 {
            sent.copy_from_slice(now);
        } else {
            work(nodes, noise, now, self.network.overhead_ns, sent);
        }
        let latency_ns = self.network.latency_ns;
        let heard = |now: &mut [u64], own: &[u64], others: &[u64]| {
            for ((now, own), other) in now.iter_mut().zip(own).zip(others) {
                *now = (*own).max(other + latency_ns);
            }
        };
        // One process that stands for many hears from itself.
        let distance = distance % now.len();
        let (wrapped, straight) = now.split_at_mut(distance);
        heard(wrapped, &sent[..distance], &sent[sent.len() - distance..]);
        heard(straight, &sent[distance..], &sent[..sent.len() - distance]);
    }
}

/// Every node does the same work, each from its own moment.
fn work(nodes: &mut [Node], noise: &Noise, from: &[u64], work_ns: u64, done: &mut [u64]) {
    for ((node, from), done) in nodes.iter_mut().zip(from).zip(done) {
        *done = node.work(noise, *from, work_ns);
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

// A recording of interruptions, played on each node from a separate moment.

/// A recording of interruptions that is played over and over.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    gaps: Vec<(u64, u64)>,
    span_ns: u64,
}

impl Noise {
    /// The interruptions of a recording.
    pub fn of(gaps: &Gaps) -> Self {
        let ends = gaps.iter().map(|gap| (gap.start_ns, gap.start_ns + gap.duration_ns));
        Self { gaps: ends.collect(), span_ns: gaps.span_ns() }
    }

    /// How long the recording is.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// When simulated time begins: late enough that a recording may have begun before.
    fn beginning_ns(&self) -> u64 {
        self.span_ns
    }
}

/// A node's place in the recording. Its time only moves on.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// When the present pass through the recording began.
    pass_ns: u64,
    /// The next gap, or the one that it is in.
    next: usize,
    starts_ns: u64,
    ends_ns: u64,
}

impl Node {
    /// A node that is `offset_ns` into the recording at the beginning.
    fn at(noise: &Noise, offset_ns: u64) -> Self {
        let next = noise.gaps.partition_point(|gap| gap.1 <= offset_ns);
        let mut node = Self { pass_ns: noise.beginning_ns() - offset_ns, next, starts_ns: 0, ends_ns: 0 };
        node.look(noise);
        node
    }

    /// When `work_ns` of work is done that the node begins at `now_ns`, or when the gap is over that it is in then.
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
    fn without_noise_in_reach_a_step_takes_its_work_and_its_rounds() {
        for (processes, rounds) in [(1, 0), (2, 1), (3, 2), (64, 6), (100, 7)] {
            let (apart, together) = simulate(barrier(processes, 5, 10), "0 1", 1 << 60);
            let mut steps = apart.steps_ns.iter().chain(&together.steps_ns);
            assert!(steps.all(|step| *step == f64::from(1_000 + rounds * 15)), "{processes}");
        }
    }

    /// With a network that takes no time, no process begins a step before the slowest has ended the one before.
    #[test]
    fn a_barrier_lets_nobody_through_before_the_last_arrives() {
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
    fn noise_at_once_costs_what_one_node_pays_and_noise_apart_more() {
        let (apart, together) = simulate(barrier(256, 0, 0), "0 500", 50_000);
        let share = |simulated: &Simulated| simulated.mean_ns() / 1_000.0;
        // One node loses 1 % of the time; 256 nodes hardly have a step without a gap.
        assert!((1.005..1.02).contains(&share(&together)), "{}", share(&together));
        assert!(share(&apart) > 1.4, "{}", share(&apart));
    }
}

#[cfg(test)]
mod noise_tests {
    use super::*;

    #[test]
    fn work_is_late_by_the_gaps_that_it_meets() {
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

    /// The simulated mean over random starts is that of the exact distribution.
    #[test]
    fn a_random_start_has_the_exact_mean_delay() {
        let gaps = Gaps::parse("10 5\n40 20\n63 1\n", Some(100)).unwrap().gaps;
        let noise = Noise::of(&gaps);
        let late: u64 = (0..100).map(|offset| Node::at(&noise, offset).work(&noise, 100, 30) - 130).sum();
        // Starts at whole nanoseconds stand for the nanosecond after them: half a nanosecond less delay within a gap.
        let exact = gaps.delay(30).unwrap().mean_ns();
        assert!((late as f64 / 100.0 - exact).abs() <= 0.5, "{late} {exact}");
    }
}
