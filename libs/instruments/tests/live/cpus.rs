//! CPU lists, affinity and priority on the machine that runs the test.

use instruments::cpus::priority::{Policy, current};
use instruments::cpus::schedule::{Schedule, current_slice, reschedule_current_thread, weight};
use instruments::cpus::{self, CpuSet, MAX_CPU, ParseCpuSetError, UnusableCpus, priority, realtime};
use proptest::prelude::*;
use std::thread;
use std::time::Duration;

proptest! {
    #[test]
    fn set_survives_printing_and_parsing(numbers in prop::collection::vec(0..=MAX_CPU, 0..64)) {
        let set: CpuSet = numbers.iter().copied().collect();
        prop_assert_eq!(set.to_string().parse::<CpuSet>(), Ok(set));
    }

    #[test]
    fn dense_sets_are_written_with_ranges(first in 0..MAX_CPU - 100, length in 2..100usize) {
        let set: CpuSet = (first..first + length).collect();
        prop_assert_eq!(set.to_string(), format!("{first}-{}", first + length - 1));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-0-9, x]{0,12}") {
        if let Ok(set) = text.parse::<CpuSet>() {
            prop_assert!(set.last().is_none_or(|last| last <= MAX_CPU));
        }
    }
}

#[test]
fn lists_are_read_in_any_order_and_written_in_one() {
    for (list, canonical) in
        [("0", "0"), ("0,1", "0-1"), ("8,0-3", "0-3,8"), (" 3 , 1 \n", "1,3"), ("2,2", "2"), ("", "")]
    {
        assert_eq!(list.parse::<CpuSet>().unwrap().to_string(), canonical, "{list:?}");
    }
}

#[test]
fn a_bad_piece_is_named() {
    let error = |list: &str| list.parse::<CpuSet>().unwrap_err();
    assert_eq!(error("0,zero"), ParseCpuSetError::NotANumber { piece: "zero".to_owned() });
    assert_eq!(error("-1"), ParseCpuSetError::NotANumber { piece: "-1".to_owned() });
    assert_eq!(error("0,+1"), ParseCpuSetError::NotANumber { piece: "+1".to_owned() });
    assert_eq!(error("0,3-1"), ParseCpuSetError::Backwards { piece: "3-1".to_owned() });
    assert_eq!(error("0,,1"), ParseCpuSetError::EmptyPiece { list: "0,,1".to_owned() });
    assert_eq!(error("0-4294967295"), ParseCpuSetError::TooLarge { piece: "0-4294967295".to_owned() });
    assert_eq!(
        error("99999999999999999999999"),
        ParseCpuSetError::TooLarge { piece: "99999999999999999999999".to_owned() }
    );
    assert!(error("0,3-1").to_string().contains("`3-1`"));
}

#[test]
fn a_thread_can_be_pinned_to_each_allowed_cpu_and_released() {
    std::thread::spawn(|| {
        let allowed = cpus::allowed().unwrap();
        for cpu in allowed.iter() {
            cpus::pin_current_thread(cpu).unwrap();
            assert_eq!(cpus::current_cpu(), cpu);
            assert_eq!(cpus::allowed().unwrap(), CpuSet::single(cpu));
        }
        cpus::restrict_current_thread(&allowed).unwrap();
        assert_eq!(cpus::allowed().unwrap(), allowed);
    })
    .join()
    .unwrap();
}

#[test]
fn pinning_to_a_cpu_that_does_not_exist_is_an_error() {
    let error = cpus::pin_current_thread(MAX_CPU).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let error = cpus::restrict_current_thread(&CpuSet::default()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn a_request_is_checked_against_this_machine() {
    let allowed = cpus::allowed().unwrap();
    assert_eq!(cpus::resolve(&allowed, &allowed).unwrap(), allowed);
    let error = cpus::resolve(&CpuSet::single(MAX_CPU), &allowed).unwrap_err();
    assert!(matches!(error, UnusableCpus::NoSuchCpu { cpu: MAX_CPU, .. }), "{error}");
    assert!(error.to_string().contains(&allowed.to_string()), "{error}");
}

#[test]
fn allowed_cpus_are_online() {
    let online = cpus::online().unwrap();
    assert!(cpus::allowed().unwrap().iter().all(|cpu| online.contains(cpu)));
}

#[test]
fn the_realtime_probe_changes_no_thread() {
    let before = priority::current().unwrap();
    let answer = realtime::may_use_realtime();
    assert_eq!(answer, realtime::may_use_realtime(), "the answer is stable");
    assert_eq!(priority::current().unwrap(), before);
}

// Threads with changed scheduling, as the kernel reports them.

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

#[test]
fn ten_nice_values_are_a_factor_of_about_nine() {
    assert_eq!((weight(-20), weight(0), weight(19)), (88_761, 1_024, 15));
    for nice in -20..=9 {
        let factor = f64::from(weight(nice)) / f64::from(weight(nice + 10));
        assert!((8.5..10.5).contains(&factor), "{nice}: {factor}");
    }
}
