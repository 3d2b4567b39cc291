//! Every gap of a cell.

/// A gap in nanoseconds since the cell's first reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptGap {
    pub start_ns: f64,
    pub duration_ns: f64,
}

/// Every gap of a cell.
#[derive(Default)]
pub struct GapTrace {
    pub first_reading: Option<u64>,
    pub gaps: Vec<KeptGap>,
    /// When nobody watched: the kernel's record was read.
    pub unwatched: Vec<KeptGap>,
    /// From the first reading to the last.
    pub span_ns: f64,
}

impl GapTrace {
    /// The watched time alone: pieces and turns joined end to end.
    pub fn joined(self) -> Self {
        let mut unwatched = self.unwatched.iter().peekable();
        let mut cut_ns = 0.0;
        let gaps = self.gaps.into_iter().map(|gap| {
            while let Some(pause) = unwatched.next_if(|pause| pause.start_ns <= gap.start_ns) {
                cut_ns += pause.duration_ns;
            }
            KeptGap { start_ns: gap.start_ns - cut_ns, ..gap }
        });
        let gaps = gaps.collect();
        let span_ns = self.span_ns - self.unwatched.iter().map(|pause| pause.duration_ns).sum::<f64>();
        Self { gaps, span_ns, unwatched: Vec::new(), ..self }
    }
}
