//! How long threads have run, by the kernel's account: what tells one that slept through a window from one that ran
//! through it, since neither was switched.

use super::timeline::Gone;
use std::fs::read_to_string;

/// Of each thread how long it had run, in ns.
#[derive(Default)]
pub struct Ran(Vec<(u32, u64)>);

impl Ran {
    /// Of these threads until now.
    pub fn of(threads: &[u32]) -> Self {
        Self(threads.iter().filter_map(|&thread| Some((thread, ran(thread)?))).collect())
    }

    /// What they did since then, if they did the same all the time.
    pub fn since(self) -> impl Iterator<Item = (u32, Gone)> {
        self.0.into_iter().filter_map(|(thread, before)| {
            let gone = match ran(thread)? > before {
                true => Gone::Not,
                false if state(thread)? == b'R' => Gone::Preempted,
                false => Gone::Asleep,
            };
            Some((thread, gone))
        })
    }
}

/// The account of one that runs is brought up to date at each tick; it is 0 where the kernel keeps none.
fn ran(thread: u32) -> Option<u64> {
    read_to_string(format!("/proc/{thread}/schedstat")).ok()?.split(' ').next()?.parse().ok().filter(|&ns| ns > 0)
}

/// The letter behind the name, in which there may be anything.
fn state(thread: u32) -> Option<u8> {
    let stat = read_to_string(format!("/proc/{thread}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.bytes().next()
}
