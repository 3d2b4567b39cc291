//! The kernel trace in experiments: the choice whether it is read, its causes in words, and the timeline of one event:
//! the threads that had the CPU, from a little before it began until it ended; in a record, and as text.

use clap::ValueEnum;
use instruments::evidence::{Cause, Kind, Ran, Timeline, ran};
use serde::{Deserialize, Serialize};
use terminal::{Page, nanoseconds};

/// The choice whether the kernel trace is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EvidenceChoice {
    /// the best source that this process may read
    Best,
    /// no events: causes stay unknown, and recording costs nothing
    None,
}

/// Returns a cause in words: `task cron`, `interrupt local_timer`, `hypervisor`.
pub fn label(cause: &Cause) -> String {
    let kind = match cause.kind {
        Kind::Task => "task",
        Kind::Interrupt => "interrupt",
        Kind::Softirq => "softirq",
        Kind::SwitchedOut => "descheduled",
        Kind::Blocked => "blocked voluntarily",
        Kind::Steal => "hypervisor",
        Kind::RealtimeThrottling => "real-time throttling",
        Kind::CgroupThrottling => "cgroup throttling",
        Kind::TimerSlack => "timer slack",
        Kind::TimerLate => "late timer",
        Kind::Idle => "idle",
        Kind::Own => "own work",
        Kind::Unexplained => "unexplained",
    };
    match &cause.name {
        Some(name) => format!("{kind} {name}"),
        None => kind.to_owned(),
    }
}

/// A thread or an interrupt that had the CPU for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoryPart {
    /// The time since the event began; negative before it.
    pub from_us: f64,
    pub length_us: f64,
    #[serde(flatten)]
    pub who: Cause,
}

/// The time before the event that its timeline includes, in nanoseconds, to show which thread had the CPU when it
/// began.
const BEFORE_NS: f64 = 20_000.0;
/// The maximum number of parts; the shortest parts of a longer timeline are omitted.
const MOST: usize = 16;

/// Returns the kernel events of this CPU around an event, in ticks; nothing where nothing was recorded.
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
    let part = |part: Ran| StoryPart {
        from_us: if part.start >= start { us(part.start - start) } else { -us(start - part.start) },
        length_us: us(part.end - part.start),
        who: part.who,
    };
    parts.into_iter().map(part).collect()
}

/// Draws a line for each part; times are since the event began.
pub fn story_text(story: &[StoryPart], page: &Page) -> String {
    if story.is_empty() {
        return "  The kernel trace has no events of that time.\n".into();
    }
    let line = |part: &StoryPart| {
        let pid = part.who.pid.map_or_else(String::new, |pid| format!(" ({pid})"));
        let sign = if part.from_us < 0.0 { "-" } else { "+" };
        let from = nanoseconds(part.from_us.abs() * 1e3);
        let text = format!(
            "  {:>10}  {:>8}  {}{pid}",
            format!("{sign}{from}"),
            nanoseconds(part.length_us * 1e3),
            label(&part.who)
        );
        page.cut(&text) + "\n"
    };
    story.iter().map(line).collect()
}
