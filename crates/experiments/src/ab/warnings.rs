//! Observations about a comparison that its reader must know.

use instruments::warning::WarningKind;
use serde::Serialize;
use terminal::percent;

/// Each command always prints the same, and they print different things.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputDiffers {
    pub first: String,
    pub second: String,
}

impl WarningKind for OutputDiffers {
    const CODE: &'static str = "output_differs";

    fn message(&self) -> String {
        format!("{} and {} print different output in every run", self.first, self.second)
    }

    fn remedy(&self) -> &'static str {
        "check that both do the same work; --same-output makes this an error"
    }
}

/// Several commands write the same file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SameFile {
    pub path: String,
    pub files: usize,
}

impl WarningKind for SameFile {
    const CODE: &'static str = "same_file";

    fn message(&self) -> String {
        let more = if self.files > 1 { format!(" and {} others", self.files - 1) } else { String::new() };
        format!("more than one command writes {}{more}", self.path)
    }

    fn remedy(&self) -> &'static str {
        "give each command its own --directory, or reset the file with --prepare: a run may depend on the run before it"
    }
}

/// Other guests or programs disturbed many runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisturbedRuns {
    pub share: f64,
    /// Whether their blocks are omitted.
    pub omitted: bool,
}

impl WarningKind for DisturbedRuns {
    const CODE: &'static str = "disturbed_runs";

    fn message(&self) -> String {
        let treatment = if self.omitted { "their blocks are omitted" } else { "they are used" };
        format!("other programs or guests disturbed {} of the runs; {treatment}", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "the verdicts remain valid, since both sides are disturbed alike, but need more runs: raise --seconds, stop other \
         programs, or use --disturbed omit"
    }
}

/// The first command differs from itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlDiffers {
    pub change: String,
}

impl WarningKind for ControlDiffers {
    const CODE: &'static str = "control_differs";

    fn message(&self) -> String {
        format!("the first command was shown to differ from itself: {}", self.change)
    }

    fn remedy(&self) -> &'static str {
        "do not trust the other verdicts: a run depends on the run before it; reset its state with --prepare, and repeat"
    }
}

/// There are too few blocks for a verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FewBlocks {
    pub blocks: usize,
    pub fewest: usize,
}

impl WarningKind for FewBlocks {
    const CODE: &'static str = "few_blocks";

    fn message(&self) -> String {
        format!("{} runs of each command; a verdict needs at least {}", self.blocks, self.fewest)
    }

    fn remedy(&self) -> &'static str {
        "raise --seconds or --runs"
    }
}
