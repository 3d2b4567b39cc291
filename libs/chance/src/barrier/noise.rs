//! A recording of interruptions, played on each node from a moment of its own.

use crate::Gaps;

/// A recording of interruptions that is played over and over.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    gaps: Vec<(u64, u64)>,
    span_ns: u64,
}

impl Noise {
    /// Of what was recorded.
    pub fn of(gaps: &Gaps) -> Self {
        let ends = gaps.iter().map(|gap| (gap.start_ns, gap.start_ns + gap.duration_ns));
        Self { gaps: ends.collect(), span_ns: gaps.span_ns() }
    }

    /// How long the recording is.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// When simulated time begins: late enough that a recording may have begun before.
    pub(super) fn beginning_ns(&self) -> u64 {
        self.span_ns
    }
}

/// A node's place in the recording. Its time only moves on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// When the present pass through the recording began.
    pass_ns: u64,
    /// The next gap, or the one that it is in.
    next: usize,
    starts_ns: u64,
    ends_ns: u64,
}

impl Node {
    /// A node that is `offset_ns` into the recording at the beginning.
    pub(super) fn at(noise: &Noise, offset_ns: u64) -> Self {
        let next = noise.gaps.partition_point(|gap| gap.1 <= offset_ns);
        let mut node = Self { pass_ns: noise.beginning_ns() - offset_ns, next, starts_ns: 0, ends_ns: 0 };
        node.look(noise);
        node
    }

    /// When `work_ns` of work is done that the node begins at `now_ns`, or when the gap is over that it is in then.
    #[inline]
    pub(super) fn work(&mut self, noise: &Noise, mut now_ns: u64, mut work_ns: u64) -> u64 {
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
