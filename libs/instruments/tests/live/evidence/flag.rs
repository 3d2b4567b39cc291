//! The flag that the kernel clears when it preempts.

use super::{INVOLUNTARY, clock, serialised, switches, with_competitor};
use instruments::evidence::preemption::PreemptionFlag;
use std::time::Duration;

#[test]
fn the_flag_is_cleared_by_preemptions() {
    let _alone = serialised();
    with_competitor(|_, _| {
        let Some(flag) = PreemptionFlag::of_current_thread() else {
            println!("skipped: needs a C library that registers rseq");
            return;
        };
        let clock = clock();
        let before = switches(&[INVOLUNTARY]);
        let mut seen = 0;
        flag.set();
        let start = clock.now();
        while clock.now() - start < clock.ticks_in(Duration::from_millis(400)) {
            if flag.was_cleared() {
                seen += 1;
                flag.set();
            }
        }
        let switches = switches(&[INVOLUNTARY]) - before;
        assert!(switches > 0, "the rival never ran in 400 ms");
        // Two preemptions may occur at the edges, and two so close that they count as one.
        assert!(seen + 4 >= switches / 10 * 9, "{seen} of {switches}");
    });
}

#[test]
fn unset_flag_reads_cleared_and_drop_clears_it() {
    let _alone = serialised();
    if let Some(flag) = PreemptionFlag::of_current_thread() {
        flag.set();
        drop(flag);
        let again = PreemptionFlag::of_current_thread().unwrap();
        assert!(again.was_cleared());
    }
}
