//! What was seen of a CPU, in memory that does not grow with time.

use instruments::neighbour::{KINDS, Memory, Probed, SocketProbe, Split, Workspace, Yardstick};

/// A stretch between two probes, and what ran in it.
#[derive(Clone, Copy)]
pub struct Step {
    /// Since the start of the run.
    pub at_s: f64,
    pub probed: Probed,
    pub ran: Ran,
}

/// What ran between two probes.
#[derive(Clone, Copy)]
pub enum Ran {
    /// A loop of [`KINDS`], by its place, for so many ns.
    Kind(u8, f32),
    /// A probe ten times as long.
    LongProbe(Probed),
}

/// All that was seen of a CPU.
pub struct Observed {
    pub steps: Vec<Step>,
    /// What its thread works with.
    pub workspace: Workspace,
    pub socket: SocketProbe,
    pub memory: Vec<Memory>,
    pub yardstick: Yardstick,
    /// Of each turn, the share of steps in which the core was shared, as far as could be told by then.
    pub turns: Vec<f64>,
    /// Steps that the yardstick has seen.
    learned: usize,
}

/// So many steps of a CPU are kept, at 32 bytes each.
pub const MOST_STEPS: usize = 400_000;
/// Every so many steps a long probe stands where a loop would.
const LONG_EVERY: usize = 16;

impl Observed {
    /// With room for all that can come.
    pub fn new(socket: SocketProbe) -> Self {
        Self {
            steps: Vec::with_capacity(MOST_STEPS),
            workspace: Workspace::new(),
            socket,
            memory: Vec::new(),
            yardstick: Yardstick::default(),
            turns: Vec::new(),
            learned: 0,
        }
    }

    /// Learns from the steps of the last turn.
    pub fn end_turn(&mut self) {
        let new = &self.steps[self.learned..];
        new.iter().for_each(|step| _ = self.yardstick.learn(&step.probed));
        let shared_share = Split::of(new.iter().map(|step| (0.0, self.yardstick.sharing(&[step.probed])))).shared_share;
        self.turns.extend(shared_share);
        self.learned = self.steps.len();
    }

    /// What is to run in the next step; `None` for a long probe.
    pub fn next_kind(&self) -> Option<usize> {
        let number = self.steps.len();
        let is_long = number % LONG_EVERY == LONG_EVERY - 1;
        (!is_long).then(|| (number - number / LONG_EVERY) % KINDS.len())
    }
}
