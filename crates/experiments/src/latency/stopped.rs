//! The wait that `--stop-above` ended it all at, in a record and in letters.

use super::plan::conditions;
use harness::{StoryPart, story_text};
use serde::{Deserialize, Serialize};
use terminal::{Page, nanoseconds};

/// The first wait that was longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoppedWait {
    pub lock: String,
    /// Threads that wanted the lock, and those that only wanted the CPU.
    pub threads: usize,
    pub competitors: usize,
    /// Which of the threads waited, from 0, and its CPU.
    pub thread: usize,
    pub cpu: usize,
    /// Since the measurement began.
    pub start_s: f64,
    pub wait_us: f64,
    /// What took most of it, as that of a spike, and how much.
    pub cause: String,
    pub cause_us: f64,
    /// The threads that held the lock during the wait, the oldest first; only the longest holds if there are many.
    pub holders: Vec<Holder>,
    /// The kernel trace of the CPUs of the waiting thread and of the threads that held the lock.
    pub stories: Vec<CpuStory>,
}

/// Another thread that had the lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    pub thread: usize,
    pub cpu: usize,
    /// Since the wait began; before it, negative.
    pub from_us: f64,
    pub length_us: f64,
}

/// Who had a CPU around the wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuStory {
    pub cpu: usize,
    pub story: Vec<StoryPart>,
}

/// The wait, who had the lock, and what ran.
pub fn text(wait: &StoppedWait, page: &Page) -> String {
    let us = |us: f64| nanoseconds(us * 1e3);
    let words = format!(
        "Stopped at {:.3} s: with {} and {}, thread {} on CPU {} waited {} for the lock; main cause, for {}: {}.",
        wait.start_s,
        wait.lock,
        conditions(wait.threads, wait.competitors),
        wait.thread,
        wait.cpu,
        us(wait.wait_us),
        us(wait.cause_us),
        wait.cause
    );
    let mut text = "\n".to_owned() + &terminal::wrapped("", "", &words, page);
    for holder in &wait.holders {
        let sign = if holder.from_us < 0.0 { "-" } else { "+" };
        let from = format!("{sign}{}", us(holder.from_us.abs()));
        let (thread, cpu) = (holder.thread, holder.cpu);
        let line = format!("  {from:>10}  {:>8}  thread {thread} held the lock (CPU {cpu})", us(holder.length_us));
        text += &(page.cut(&line) + "\n");
    }
    for story in &wait.stories {
        text += &format!("CPU {}\n{}", story.cpu, story_text(&story.story, page));
    }
    text
}
