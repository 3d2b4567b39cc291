//! Concurrent writers of an archive that are killed at any moment.

use crate::command::archive::has_git;
use crate::command::place::{Place, RUN, kept, kill, waited_for};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Writers that are killed at any moment, Git with them, and writers that are not.
#[test]
fn no_record_reported_as_archived_is_lost() {
    if !has_git() {
        return;
    }
    const WRITERS: usize = 8;
    let rounds = std::env::var("CONTEND_TEST_APPENDS").map_or(4, |all| all.parse::<usize>().unwrap() / WRITERS);
    let place = Place::new();
    let write = |writer: usize| -> Vec<String> {
        let mut usual = Duration::from_millis(400);
        (0..rounds).filter_map(|round| write_or_die(&place, writer * rounds + round, &mut usual)).collect()
    };
    let reported: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(!reported.is_empty());
    let found = place.ids();
    reported.iter().for_each(|id| assert!(found.contains(id), "{id} was reported as kept and is lost"));
    place.stdout(&["history", "verify"]);
    let next = place.keep();
    assert!(place.ids().contains(&next), "the next run is not blocked");
    // A Git whose contend was killed may run for another moment.
    waited_for(|| {
        place.keep();
        place.left().is_empty().then_some(())
    });
    println!("{} runs, {} reported as kept, {} found", WRITERS * rounds, reported.len(), found.len());
}

/// Runs a writer; every third one is killed at some moment within the time of the run before, with every Git that it
/// started.
fn write_or_die(place: &Place, run: usize, usual: &mut Duration) -> Option<String> {
    let began = Instant::now();
    let mut child = place.command(RUN).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    if run.is_multiple_of(3) {
        std::thread::sleep(usual.mul_f64((run * 37 % 100) as f64 / 100.0));
        let pid = child.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let _ = child.kill();
        children.split_whitespace().for_each(|pid| kill(pid.parse().unwrap()));
    }
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        *usual = began.elapsed();
    }
    kept(&output)
}
