//! Threads with changed scheduling, as the kernel reports them.

use instruments::cpus::priority::{self, Policy, current};
use instruments::cpus::realtime;
use instruments::cpus::schedule::{Schedule, current_slice, reschedule_current_thread};
use std::thread;
use std::time::Duration;

#[test]
fn the_realtime_probe_changes_no_thread() {
    let before = priority::current().unwrap();
    let answer = realtime::may_use_realtime();
    assert_eq!(answer, realtime::may_use_realtime(), "the answer is stable");
    assert_eq!(priority::current().unwrap(), before);
}

/// Returns the kernel's report of a thread that requested `schedule`; `None` without permission.
fn as_granted(schedule: Schedule) -> Option<(Policy, i32)> {
    let rescheduled =
        thread::spawn(move || reschedule_current_thread(schedule).map(|()| current().expect("one's own thread")));
    match rescheduled.join().expect("no panic") {
        Ok(now) => Some((now.policy, now.nice)),
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            println!("skipped: needs CAP_SYS_NICE for {schedule:?}");
            None
        }
        Err(error) => panic!("{schedule:?}: {error}"),
    }
}

#[test]
fn every_thread_may_lower_its_priority() {
    assert_eq!(as_granted(Schedule::Idle).map(|(policy, _)| policy), Some(Policy::Idle));
    assert_eq!(as_granted(Schedule::Batch { nice: 5 }), Some((Policy::Batch, 5)));
    let slice = Some(Duration::from_micros(100));
    assert_eq!(as_granted(Schedule::Fair { nice: 19, slice }), Some((Policy::Other, 19)));
}

#[test]
fn capability_permits_a_higher_priority() {
    if let Some(granted) = as_granted(Schedule::Fair { nice: -12, slice: None }) {
        assert_eq!(granted, (Policy::Other, -12));
    }
    for (schedule, policy) in
        [(Schedule::Fifo { priority: 1 }, Policy::Fifo), (Schedule::RoundRobin { priority: 2 }, Policy::RoundRobin)]
    {
        if let Some(granted) = as_granted(schedule) {
            assert_eq!(granted.0, policy);
        }
    }
}

#[test]
fn values_out_of_range_are_refused() {
    let refused = thread::spawn(|| reschedule_current_thread(Schedule::Fifo { priority: 100 })).join().unwrap();
    assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EINVAL));
}

#[test]
fn requested_time_slice_is_kept_since_linux_6_12() {
    let slice = Some(Duration::from_micros(300));
    let kept = thread::spawn(move || {
        reschedule_current_thread(Schedule::Fair { nice: 0, slice }).expect("nice 0 is granted");
        current_slice()
    });
    match kept.join().expect("no panic") {
        None => println!("skipped: needs Linux 6.12"),
        kept => assert_eq!(kept, slice),
    }
}
