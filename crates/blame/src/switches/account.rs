//! The kernel's account of a thread, which exists whether or not its switches are recorded.

use crate::sampling::sums_in;
use std::fs::read_to_string;

/// Returns the time that the thread has run, in ns, and how often it came to a CPU. The account of one that runs is
/// brought up to date at each tick; it is 0 where the kernel keeps none.
fn sums(thread: u32) -> Option<(u64, u64)> {
    let text = read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    let [ran, _, came] = sums_in(&text)?;
    (ran > 0).then_some((ran, came))
}

/// Returns the time that the thread has run.
pub fn ran(thread: u32) -> Option<u64> {
    sums(thread).map(|(ran, _)| ran)
}

/// Returns how often the thread came to a CPU.
pub fn came(thread: u32) -> Option<u64> {
    sums(thread).map(|(_, came)| came)
}

/// The state of a thread that is not seen to be switched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Asleep,
    /// It runs, or would if it had a CPU; how long it had run until then.
    Ready(Option<u64>),
}

/// Returns the thread's current state.
pub fn state(thread: u32) -> State {
    let stat = read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    // The letter behind the name, in which there may be anything.
    let letter = stat.rsplit_once(") ").and_then(|(_, rest)| rest.bytes().next());
    if letter == Some(b'R') { State::Ready(ran(thread)) } else { State::Asleep }
}
