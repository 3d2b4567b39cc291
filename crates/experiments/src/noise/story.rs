//! The story of one event: who had the CPU, from a little before it began until it ended.

use super::story_part::StoryPart;
use instruments::evidence::{Timeline, ran};

/// So much before the event, in nanoseconds: who had the CPU when it began.
const BEFORE_NS: f64 = 20_000.0;
/// Of a longer story the shortest parts are left out.
const MOST: usize = 16;

/// What the kernel recorded of this CPU around an event, in ticks; nothing where nothing was recorded.
pub fn story(timeline: &Timeline, cpu: usize, (start, end): (u64, u64)) -> Vec<StoryPart> {
    let clock = timeline.clock;
    let mut parts = ran(timeline, cpu, start.saturating_sub(clock.to_ticks(BEFORE_NS)), end);
    if parts.len() > MOST {
        let mut lengths: Vec<u64> = parts.iter().map(|part| part.end - part.start).collect();
        lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
        let (least, mut room) = (lengths[MOST - 1], MOST);
        parts.retain(|part| {
            let stays = room > 0 && part.end - part.start >= least;
            room -= usize::from(stays);
            stays
        });
    }
    let us = |ticks: u64| clock.to_ns(ticks) / 1e3;
    let part = |part: instruments::evidence::Ran| StoryPart {
        from_us: if part.start >= start { us(part.start - start) } else { -us(start - part.start) },
        length_us: us(part.end - part.start),
        who: part.who,
    };
    parts.into_iter().map(part).collect()
}
