//! Tests of the loop that interleaves repetitions.

use super::{Cell, Rules, Turns, take_turns};
use crate::{Finished, Progress, Session, SharedFlags};
use clap::{Args, Command, FromArgMatches};
use instruments::cpus::{self, CpuSet};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::{EndedBy, Interval};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

#[derive(Default)]
struct Dummy {
    turns: u64,
    width: f64,
    spent: Duration,
    barren: bool,
    failed: bool,
}

impl Cell for Dummy {
    fn title(&self) -> String {
        format!("dummy {}", self.width)
    }

    fn turns(&self) -> u64 {
        self.turns
    }

    fn figures(&self) -> Vec<Estimate> {
        let interval = self.width.is_finite().then(|| Interval::new(100.0, 100.0 + self.width));
        vec![Estimate::new(100.0, interval)]
    }

    fn has_result(&self) -> bool {
        self.turns > 0 && !self.barren
    }

    fn spent(&self) -> Duration {
        self.spent
    }

    fn is_over(&self) -> bool {
        self.failed
    }
}

fn session() -> Session {
    let command = SharedFlags::augment_args(Command::new("test"));
    let flags = SharedFlags::from_arg_matches(&command.get_matches_from(["test", "--seed", "1"])).unwrap();
    Session::open(&flags).unwrap()
}

fn rules(budget: Option<Duration>) -> Rules {
    Rules { began: Instant::now(), budget, precision: Some(0.05), at_least: 3, at_most: 7 }
}

fn run(cells: &mut [Dummy], rules: &Rules, mut visit: impl FnMut(&mut Dummy) -> ControlFlow<()>) -> Turns {
    take_turns(cells, rules, &session(), &Progress::hidden(), |cell| {
        cell.turns += 1;
        Ok(visit(cell))
    })
    .unwrap()
}

#[test]
fn narrow_cell_ends_at_the_minimum_and_wide_at_the_maximum() {
    let mut cells = [Dummy { width: 5.0, ..Dummy::default() }, Dummy { width: 6.0, ..Dummy::default() }];
    let turns = run(&mut cells, &rules(None), |_| ControlFlow::Continue(()));
    assert_eq!((cells[0].turns, cells[1].turns), (3, 7));
    assert_eq!(turns.ended, [EndedBy::Converged, EndedBy::Budget]);
    assert_eq!((turns.order.len(), turns.order[6].clone()), (7, vec![1]));
    let warning = rules(None).not_converged(&cells, &turns, "the figure of ").unwrap();
    assert!(warning.message().contains("the figure of dummy 6 "), "{}", warning.message());
}

#[test]
fn value_without_an_interval_has_no_width() {
    let mut cells = [6.0, f64::INFINITY, f64::INFINITY].map(|width| Dummy { width, ..Dummy::default() });
    let turns = run(&mut cells, &rules(None), |_| ControlFlow::Continue(()));
    let warning = rules(None).not_converged(&cells, &turns, "the figure of ").unwrap();
    let expected = "the figure of dummy inf (one of 2 such configurations): too few repetitions for a 95 % confidence \
                    interval; target width: 5.0 %";
    assert_eq!(warning.message(), expected);
    assert_eq!(warning.field("relative_width"), Some(&serde_json::Value::Null));
}

#[test]
fn without_time_only_cells_without_results_get_more_rounds() {
    let mut cells = [Dummy { barren: true, width: 9.0, ..Dummy::default() }, Dummy { width: 9.0, ..Dummy::default() }];
    let turns = run(&mut cells, &rules(Some(Duration::ZERO)), |_| ControlFlow::Continue(()));
    assert_eq!((cells[0].turns, cells[1].turns), (7, 1));
    assert_eq!(turns.order[1..], vec![vec![0]; 6]);
}

#[test]
fn slower_cell_has_fewer_repetitions() {
    let mut cells = [Dummy { width: 9.0, ..Dummy::default() }, Dummy { width: 8.0, ..Dummy::default() }];
    run(&mut cells, &rules(None), |cell| {
        cell.spent += Duration::from_secs(if cell.width == 9.0 { 4 } else { 1 });
        ControlFlow::Continue(())
    });
    // The first has its second repetition when the other has had as much time.
    assert_eq!((cells[0].turns, cells[1].turns), (7, 7));
}

#[test]
fn repetition_can_end_the_loop_and_failure_ends_its_cell() {
    let mut cells = [Dummy { width: 9.0, failed: true, ..Dummy::default() }, Dummy { width: 9.0, ..Dummy::default() }];
    let turns =
        run(
            &mut cells,
            &rules(None),
            |cell| {
                if cell.turns == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
    assert_eq!((cells[0].turns, cells[1].turns), (0, 2));
    assert_eq!(turns.ended, [EndedBy::Budget, EndedBy::Interrupted]);
}

#[test]
fn cells_without_a_repetition_when_the_time_is_up_are_left_out() {
    let session = session();
    session.interruption.request_at(Instant::now()).unwrap();
    let mut cells = [1.0, 2.0, 3.0].map(|width| Dummy { width, ..Dummy::default() });
    let turns = take_turns(&mut cells, &rules(None), &session, &Progress::hidden(), |cell| {
        cell.turns += 1;
        while !session.interruption.is_requested() {
            std::thread::yield_now();
        }
        Ok(ControlFlow::Continue(()))
    });
    let turns = turns.unwrap();
    assert_eq!((turns.left_out.len(), turns.cells), (2, 3));
    assert_eq!(turns.left_out().unwrap().code(), "left_out");
    assert!(turns.ended.iter().all(|ended| *ended == EndedBy::Budget));
    assert!(session.interruption.is_out_of_time() && !session.is_cut_short());
}

/// Runs a loop that loses a CPU: a cpuset that shrinks during a run takes the CPU from the thread that conducts it, as
/// this thread does to itself here.
fn run_that_loses_a_cpu(error: Option<&str>) -> Option<(anyhow::Result<Turns>, Session, CpuSet)> {
    let before = cpus::allowed().unwrap();
    if before.len() < 2 {
        println!("skipped: needs two CPUs");
        return None;
    }
    let (session, mut cells) = (session(), [Dummy::default()]);
    let turns = take_turns(&mut cells, &rules(None), &session, &Progress::hidden(), |cell| {
        cell.turns += 1;
        cell.width = 100.0;
        if cell.turns < 3 {
            return Ok(ControlFlow::Continue(()));
        }
        cpus::restrict_current_thread(&CpuSet::single(before.first().unwrap()))?;
        error.map_or(Ok(ControlFlow::Continue(())), |error| Err(anyhow::anyhow!("{error}")))
    });
    assert_eq!(cells[0].turns, 3);
    Some((turns, session, before))
}

#[test]
fn loss_of_a_cpu_ends_the_run_and_keeps_its_repetitions() {
    for error in [None, Some("a thread could not be pinned to CPU 1")] {
        let Some((turns, session, before)) = run_that_loses_a_cpu(error) else { return };
        assert_eq!(turns.unwrap().ended, [EndedBy::Interrupted]);
        assert!(session.is_cut_short());
        let taken = session.interruption.cpus_taken().unwrap();
        assert_eq!(taken.left, before.first().unwrap().to_string());
        cpus::restrict_current_thread(&before).unwrap();
    }
}

/// Some experiments conduct their repetitions from a pinned thread: it has lost nothing.
#[test]
fn a_pinned_conductor_has_all_cpus_of_its_run() {
    let session = session();
    let pinned = || {
        cpus::pin_current_thread(cpus::current_cpu()).unwrap();
        let mut cells = [Dummy::default()];
        let turns = take_turns(&mut cells, &rules(None), &session, &Progress::hidden(), |cell| {
            cell.turns += 1;
            cell.width = 100.0;
            Ok(ControlFlow::Continue(()))
        });
        assert_eq!((cells[0].turns, turns.unwrap().ended), (7, vec![EndedBy::Budget]));
    };
    std::thread::scope(|scope| scope.spawn(pinned).join().unwrap());
    assert!(session.interruption.cpus_taken().is_none());
}

/// A run whose cells do not alternate continues as long as it can, and its record reports the loss.
#[test]
fn record_of_a_run_that_lost_a_cpu_has_a_warning() {
    let before = cpus::allowed().unwrap();
    if before.len() < 2 {
        return println!("skipped: needs two CPUs");
    }
    let session = session();
    let codes = |used: &CpuSet| {
        let finished = Finished::measured((), vec![1], Vec::new(), used.clone(), None);
        let record = finished.erased().unwrap().take_record("test", &session);
        assert!(!record.environment.interrupted);
        record.warnings.iter().map(|warning| warning.code().to_owned()).collect::<Vec<String>>()
    };
    assert!(!codes(&before).contains(&"cpus_taken_away".to_owned()));
    let left = CpuSet::single(before.first().unwrap());
    cpus::restrict_current_thread(&left).unwrap();
    assert!(codes(&before).contains(&"cpus_taken_away".to_owned()));
    assert!(!codes(&left).contains(&"cpus_taken_away".to_owned()), "a CPU that was not measured on is not missed");
    cpus::restrict_current_thread(&before).unwrap();
}
