//! Folded stacks, a line each, as flame graphs are drawn from: the lock, where it was waited for, who had it; and the
//! time in µs.

use crate::trace::measure::NamedWait;
use std::collections::BTreeMap;

/// The lines, in order of their names.
pub fn text(waits: &[NamedWait]) -> String {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for wait in waits {
        let holder = wait.holder.as_deref().map(|holder| format!("held by {holder}"));
        let frames = [Some(wait.lock.as_str()), Some(wait.site.as_str()), holder.as_deref()];
        // A semicolon parts the frames, and a line is a stack.
        let frames = frames.into_iter().flatten().map(|frame| frame.replace([';', '\n'], ":"));
        *sums.entry(frames.collect::<Vec<String>>().join(";")).or_default() += wait.wait.ended - wait.wait.began;
    }
    sums.iter().map(|(stack, ns)| format!("{stack} {}\n", (ns / 1e3).round().max(1.0))).collect()
}
