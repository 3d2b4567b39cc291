//! An animation that nobody answers to can compute ahead: what it has in store carries it over a loss.
//!
//! In a frame it gets the quanta that it does not lose, and shows a picture that costs it a part of the frame. What is
//! left goes into the store, up to its size; what is missing comes out of it. If the store has not enough, the picture
//! is late. The store is a state, and a frame a step from state to state: equal states merge, so that there are few.

use super::limits::LIMITS;
use super::lost::Lost;
use crate::model::frames::plan::Plan;
use crate::model::frames::record::AnimationRow;
use crate::model::frames::then;
use anyhow::bail;
use chance::Distribution;

/// The window in which 1999 counts losses.
const WINDOW_FRAMES: u64 = 2;

/// Outcomes of states, some seconds' worth, after which a risk that still changes is given up.
const MOST_OUTCOMES: usize = 16_000_000;

/// The animation's row, from the quanta that one frame loses.
///
/// # Errors
/// More states than there is memory for, or a store that takes too long to fill.
pub fn row(plan: &Plan, quantum_ns: u64, lost: &Distribution<u64, f64>) -> anyhow::Result<AnimationRow> {
    let frame_ns = plan.frame_ns as f64;
    let needs_ns = plan.animation.needs_share * frame_ns;
    let store = Store {
        size_ns: (plan.animation.ahead_frames * needs_ns).round() as i64,
        spare_ns: (frame_ns - needs_ns).round() as i64,
        quantum_ns: quantum_ns as i64,
    };
    let resisted = store.bears(store.size_ns);
    let window = Lost { contest: plan.contest, quanta: WINDOW_FRAMES * plan.frame_ns / quantum_ns };
    let in_window = Distribution::<_, f64>::within(&window, &LIMITS)?;
    let at_least = resisted.max(1);
    let probability = in_window.more_than(&(at_least - 1));
    let frames = frames_to_first_glitch(&store, lost)?;
    Ok(AnimationRow {
        quantum_us: quantum_ns as f64 / 1e3,
        window_frames: WINDOW_FRAMES,
        resisted_quanta: resisted,
        lost_quanta: at_least,
        probability,
        every_s: (probability > 0.0).then(|| WINDOW_FRAMES as f64 * frame_ns / 1e9 / probability),
        first_glitch_s: frames.map(|frames| frames * frame_ns / 1e9),
        then_every_s: then::animation_s(plan, quantum_ns),
    })
}

/// What is computed ahead, in nanoseconds of the CPU.
struct Store {
    size_ns: i64,
    /// What a frame without a loss leaves.
    spare_ns: i64,
    quantum_ns: i64,
}

impl Store {
    /// The quanta that a frame may lose with this much in store.
    fn bears(&self, level_ns: i64) -> u64 {
        ((level_ns + self.spare_ns) / self.quantum_ns) as u64
    }

    /// After a frame; negative if the picture was late.
    fn after(&self, level_ns: i64, lost: u64) -> i64 {
        (level_ns + self.spare_ns - lost as i64 * self.quantum_ns).min(self.size_ns)
    }
}

/// The mean number of frames from a full store to the first late picture, `None` if there is none: the chance to come
/// this far, summed over the frames. Once there are no new states and the risk of a frame has settled, the rest is a
/// geometric series.
fn frames_to_first_glitch(store: &Store, lost: &Distribution<u64, f64>) -> anyhow::Result<Option<f64>> {
    let source = lost.source();
    let mut states = Distribution::floating(&chance::constant(store.size_ns))?;
    let (mut survival, mut frames) = (1.0, 0.0);
    let mut last = (0, f64::NAN);
    let mut outcomes = 0;
    while outcomes < MOST_OUTCOMES {
        outcomes += states.len() * source.len();
        let risk = states.mean_of(|level_ns| lost.more_than(&store.bears(*level_ns)));
        // A store that was full once may stay full: states only ever join.
        let settled = states.len() == last.0 && (risk - last.1).abs() <= 1e-9 * risk;
        if settled && risk == 0.0 {
            return Ok(None);
        }
        frames += survival;
        survival *= 1.0 - risk;
        if settled || survival < 1e-15 {
            return Ok(Some(frames + if survival < 1e-15 { 0.0 } else { survival / risk }));
        }
        last = (states.len(), risk);
        let next = states.then(|chance, level_ns| {
            let after = store.after(level_ns, *chance.draw(&source));
            chance.given(after >= 0);
            after
        })?;
        states = next;
    }
    bail!("the probability does not converge: its buffer takes too many frames to fill")
}
