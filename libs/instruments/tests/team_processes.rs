//! Teams of processes, in a program without a harness: they are forked, and a process that forks should have one
//! thread.

use instruments::clock::Clock;
use instruments::shared_memory::SharedArray;
use instruments::team::{Member, StartGate, TeamError, work_together_as_processes};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

type Test = (&'static str, fn(Clock));

const TESTS: [Test; 4] = [
    ("members_work_between_start_and_stop", members_work_between_start_and_stop),
    ("killed_child_is_reported_and_the_others_end", killed_child_is_reported_and_the_others_end),
    ("a_child_that_panics_is_reported", a_child_that_panics_is_reported),
    ("the_caller_can_cut_the_window_short", the_caller_can_cut_the_window_short),
];

/// Lists the tests with `--list`, and runs all of them or those that are named, as a program with a harness does.
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        return TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
    }
    let named: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|part| name.contains(part));
    let wanted: Vec<_> = TESTS.into_iter().filter(|(name, _)| is_wanted(name)).collect();
    let clock = Clock::calibrate(Duration::from_millis(20)).clock;
    for (name, test) in &wanted {
        test(clock);
        println!("test {name} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed", wanted.len());
}

fn no_child_remains() -> bool {
    rustix::process::waitpid(None, rustix::process::WaitOptions::NOHANG).is_err()
}

fn members_work_between_start_and_stop(clock: Clock) {
    let rounds = SharedArray::from_fn(4, |_| Ok(AtomicU64::new(0))).unwrap();
    let member = |place: usize| {
        let rounds = &rounds;
        Member {
            cpu: None,
            job: Box::new(move |gate: &StartGate| {
                let start = gate.ready().expect("no member cancels");
                assert!(clock.now() >= start);
                while clock.now() < gate.stop() {
                    rounds[place].fetch_add(1, Ordering::Relaxed);
                }
            }),
        }
    };
    work_together_as_processes(clock, Duration::from_millis(30), (0..4).map(member).collect(), || false).unwrap();
    assert!(rounds.iter().all(|count| count.load(Ordering::Relaxed) > 0));
    assert!(no_child_remains());
}

fn killed_child_is_reported_and_the_others_end(clock: Clock) {
    let waiting = || Member {
        cpu: None,
        job: Box::new(|gate: &StartGate| {
            gate.ready();
            std::thread::sleep(Duration::from_secs(600));
        }),
    };
    let dying = Member {
        cpu: None,
        job: Box::new(|gate: &StartGate| {
            gate.ready();
            let own_pid = rustix::process::getpid();
            rustix::process::kill_process(own_pid, rustix::process::Signal::KILL).unwrap();
        }),
    };
    let error = work_together_as_processes(clock, Duration::from_secs(1), vec![waiting(), dying, waiting()], || false)
        .unwrap_err();
    assert!(matches!(error, TeamError::Died { member: 1, .. }), "{error}");
    assert!(no_child_remains());
}

fn a_child_that_panics_is_reported(clock: Clock) {
    let panicking = Member { cpu: None, job: Box::new(|_: &StartGate| panic!("on purpose")) };
    let waiting = Member { cpu: None, job: Box::new(|gate: &StartGate| assert!(gate.ready().is_none())) };
    let error =
        work_together_as_processes(clock, Duration::from_secs(1), vec![waiting, panicking], || false).unwrap_err();
    assert!(matches!(error, TeamError::Died { .. }), "{error}");
    assert!(no_child_remains());
}

fn the_caller_can_cut_the_window_short(clock: Clock) {
    let arrived = SharedArray::from_fn(1, |_| Ok(AtomicU64::new(0))).unwrap();
    let member = || Member {
        cpu: None,
        job: Box::new(|gate: &StartGate| {
            gate.ready();
            arrived[0].fetch_add(1, Ordering::Relaxed);
            while clock.now() < gate.stop() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }),
    };
    // An hour, unless the window is cut: otherwise the test would not end.
    let hour = Duration::from_secs(3_600);
    let cut = || arrived[0].load(Ordering::Relaxed) == 2;
    work_together_as_processes(clock, hour, vec![member(), member()], cut).unwrap();
    assert!(no_child_remains());
}
