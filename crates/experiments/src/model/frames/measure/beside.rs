//! A recorded trace, cut into frames one after another.

use chance::{Estimate, Gaps};

/// What each frame of the recording lost.
pub struct Measured {
    lost_ns: Vec<u64>,
    frame_ns: u64,
    quantum_ns: u64,
}

impl Measured {
    /// Cuts a recording that holds at least one frame; what is left at its end is not counted.
    pub fn cut(gaps: &Gaps, frame_ns: u64, quantum_ns: u64) -> Self {
        let frames = (gaps.span_ns() / frame_ns) as usize;
        let mut lost_ns = vec![0; frames];
        for gap in gaps.iter() {
            let (mut from, end) = (gap.start_ns, gap.start_ns + gap.duration_ns);
            while from < end {
                let frame = from / frame_ns;
                let to = end.min((frame + 1) * frame_ns);
                if let Some(lost) = lost_ns.get_mut(frame as usize) {
                    *lost += to - from;
                }
                from = to;
            }
        }
        Self { lost_ns, frame_ns, quantum_ns }
    }

    /// Frames that lost this many quanta, to the nearest.
    pub fn rounded(&self, lost_quanta: u64) -> Estimate {
        self.share(|lost_ns| self.quanta(lost_ns) == lost_quanta)
    }

    /// Frames that lost more than this share of their time.
    pub fn more_than(&self, share: f64) -> Estimate {
        self.share(|lost_ns| lost_ns as f64 > share * self.frame_ns as f64)
    }

    /// The most quanta that a frame lost, to the nearest.
    pub fn most(&self) -> u64 {
        self.lost_ns.iter().map(|lost_ns| self.quanta(*lost_ns)).max().unwrap_or(0)
    }

    fn quanta(&self, lost_ns: u64) -> u64 {
        (lost_ns + self.quantum_ns / 2) / self.quantum_ns
    }

    fn share(&self, event: impl Fn(u64) -> bool) -> Estimate {
        let hits = self.lost_ns.iter().filter(|lost_ns| event(**lost_ns)).count() as u64;
        Estimate { hits, runs: self.lost_ns.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_counts_in_every_frame_that_it_touches() {
        let gaps = Gaps::parse("5 1\n18 14\n", Some(45)).unwrap().gaps;
        let measured = Measured::cut(&gaps, 10, 2);
        assert_eq!(measured.lost_ns, [1, 2, 10, 2]);
        assert_eq!(measured.rounded(1), Estimate { hits: 3, runs: 4 });
        assert_eq!(measured.more_than(0.1), Estimate { hits: 3, runs: 4 });
        assert_eq!(measured.most(), 5);
    }
}
