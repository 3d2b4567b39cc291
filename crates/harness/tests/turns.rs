//! The one loop of all that take turns.

use clap::{Args, Command, FromArgMatches};
use harness::turns::{Cell, Rules, Turns, take_turns};
use harness::{Progress, Session, SharedFlags};
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
        vec![Estimate::new(100.0, Some(Interval::new(100.0, 100.0 + self.width)))]
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
fn a_narrow_cell_ends_at_the_least_and_a_wide_one_at_the_most() {
    let mut cells = [Dummy { width: 5.0, ..Dummy::default() }, Dummy { width: 6.0, ..Dummy::default() }];
    let turns = run(&mut cells, &rules(None), |_| ControlFlow::Continue(()));
    assert_eq!((cells[0].turns, cells[1].turns), (3, 7));
    assert_eq!(turns.ended, [EndedBy::Converged, EndedBy::Budget]);
    assert_eq!((turns.order.len(), turns.order[6].clone()), (7, vec![1]));
    let warning = rules(None).not_converged(&cells, &turns, "the figure of ").unwrap();
    assert!(warning.message().contains("the figure of dummy 6 "), "{}", warning.message());
}

#[test]
fn without_time_there_is_one_round_and_more_for_who_has_nothing() {
    let mut cells = [Dummy { barren: true, width: 9.0, ..Dummy::default() }, Dummy { width: 9.0, ..Dummy::default() }];
    let turns = run(&mut cells, &rules(Some(Duration::ZERO)), |_| ControlFlow::Continue(()));
    assert_eq!((cells[0].turns, cells[1].turns), (7, 1));
    assert_eq!(turns.order[1..], vec![vec![0]; 6]);
}

#[test]
fn who_takes_longer_has_fewer_turns() {
    let mut cells = [Dummy { width: 9.0, ..Dummy::default() }, Dummy { width: 8.0, ..Dummy::default() }];
    run(&mut cells, &rules(None), |cell| {
        cell.spent += Duration::from_secs(if cell.width == 9.0 { 4 } else { 1 });
        ControlFlow::Continue(())
    });
    // The first has its second turn when the other has had as much time.
    assert_eq!((cells[0].turns, cells[1].turns), (7, 7));
}

#[test]
fn a_turn_can_end_it_all_and_a_failure_ends_its_cell() {
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
