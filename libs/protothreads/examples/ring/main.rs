//! A token travels around a ring of threads.
//!
//! Each thread waits for its own semaphore, subtracts one from the token's number and passes it on. The thread that
//! gets 0 reports its number: hops mod threads + 1.
//!
//! ```sh
//! cargo run --release -p protothreads --example ring -- 503 1000000
//! ```
//!
//! The command prints that number for hand-written threads, async ones and ordinary futures under each scheduler.
mod asynchronous;
mod hand_written;
mod neighbour;
mod ordinary;

use std::{cell::Cell, env, error::Error};

use protothreads::{Bitmap, Fifo, InOrder, Random, Report, Reverse, RunNext, Scheduler};

const SCHEDULERS: [&str; 6] = ["fifo", "run-next", "bitmap", "in order", "reverse", "random"];

/// A form of the ring: hand-written, async, or of ordinary futures.
#[derive(Clone, Copy, Debug)]
enum Form {
    HandWritten,
    Async,
    Ordinary,
}

fn ring(form: Form, scheduler: &str, threads: usize, hops: u32) -> (usize, Report) {
    fn under(form: Form, threads: usize, hops: u32, scheduler: impl Scheduler) -> (usize, Report) {
        match form {
            Form::HandWritten => hand_written::ring::<false>(threads, hops, scheduler),
            Form::Async => asynchronous::ring(threads, hops, scheduler),
            Form::Ordinary => ordinary::ring(threads, hops, scheduler),
        }
    }
    match scheduler {
        "fifo" => under(form, threads, hops, Fifo::new()),
        "run-next" => under(form, threads, hops, RunNext::new()),
        "bitmap" => under(form, threads, hops, Bitmap::new(vec![Cell::new(0); threads.div_ceil(64)])),
        "in order" => under(form, threads, hops, InOrder::new()),
        "reverse" => under(form, threads, hops, Reverse::new()),
        _ => under(form, threads, hops, Random::seeded(2008)),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (threads, hops) = match arguments.as_slice() {
        [] => (503, 100_000),
        [threads, hops] => (threads.parse()?, hops.parse()?),
        _ => return Err("usage: ring [THREADS HOPS]".into()),
    };
    if threads == 0 {
        return Err("a ring has at least one thread".into());
    }
    println!("{:<12} {:<10} {:>8} {:>20}", "threads are", "scheduler", "last", "wasted polls a hop");
    for form in [Form::HandWritten, Form::Async, Form::Ordinary] {
        for scheduler in SCHEDULERS {
            let (last, report) = ring(form, scheduler, threads, hops);
            let wasted = report.wasted_polls as f64 / f64::from(hops.max(1));
            println!("{:<12} {scheduler:<10} {last:>8} {wasted:>20.1}", format!("{form:?}"));
        }
    }
    println!("bytes a thread: {} hand-written, {} async", hand_written::SIZE, asynchronous::size());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_token_goes_to_hops_mod_threads_plus_1() {
        for form in [Form::HandWritten, Form::Async, Form::Ordinary] {
            for scheduler in SCHEDULERS {
                for threads in [1, 2, 503, 1000] {
                    for hops in [0, 1, 502, 503, 1007] {
                        let (last, report) = ring(form, scheduler, threads, hops);
                        assert_eq!(last, hops as usize % threads + 1, "{form:?} {scheduler} {threads} {hops}");
                        assert_eq!((report.finished, report.waiting), (1, threads - 1));
                    }
                }
            }
        }
    }

    #[test]
    fn a_ring_of_threads_placed_backward_has_the_same_answer() {
        for (threads, hops) in [(1, 0), (1, 5), (2, 3), (503, 5000), (1000, 1)] {
            let (last, _) = hand_written::ring::<true>(threads, hops, Fifo::new());
            assert_eq!(last, hops as usize % threads + 1);
        }
    }

    #[test]
    fn spurious_polls_are_none_in_queues_and_a_round_in_reverse() {
        for scheduler in ["fifo", "run-next", "bitmap", "in order"] {
            assert_eq!(ring(Form::HandWritten, scheduler, 503, 10_000).1.wasted_polls, 0, "{scheduler}");
        }
        let reverse = ring(Form::HandWritten, "reverse", 503, 10_000).1.wasted_polls;
        assert!(reverse.abs_diff(501 * 10_000) < 2 * 503, "{reverse}");
        let random = ring(Form::HandWritten, "random", 503, 10_000).1.wasted_polls;
        assert!((200 * 10_000..300 * 10_000).contains(&random), "{random}");
    }

    #[test]
    fn threads_are_small() {
        assert!(hand_written::SIZE <= 12 && asynchronous::size() <= 40);
    }
}
