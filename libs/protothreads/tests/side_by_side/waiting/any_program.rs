//! Random programs under any scheduler.

use super::{links, run_async};
use proptest::prelude::*;
use protothreads::{
    Bitmap, Channel, Fifo, InOrder, Random, Reverse, RunNext, Runtime, Scheduler, Semaphore, Slot, Thread,
    ThreadHandle, run,
};
use std::cell::{Cell, RefCell};
use std::task::Poll;

/// The operations of the threads of a random program.
#[derive(Clone, Debug)]
enum Deed {
    Wait,
    Signal,
    GiveWay,
    Send,
    Receive,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![Just(Deed::Wait), Just(Deed::Signal), Just(Deed::GiveWay), Just(Deed::Send), Just(Deed::Receive)]
}

/// Returns the effects of a random program: units taken and returned, values received.
fn perform(program: &[Vec<Deed>], scheduler: impl Scheduler) -> (usize, u32, u32, Vec<usize>) {
    let (semaphore, channel) = (Semaphore::new(1), Channel::<usize, 2>::new());
    let (taken, given, received, sent) = (Cell::new(0), Cell::new(0), RefCell::new(Vec::new()), Cell::new(0));
    let links = links(program.len());
    let runtime = Runtime::new(&links, scheduler, &());
    let (semaphore, channel, taken, given, received, sent) = (&semaphore, &channel, &taken, &given, &received, &sent);
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            for deed in &program[handle.index()] {
                match deed {
                    Deed::Wait => {
                        semaphore.wait(&mut handle).await;
                        taken.set(taken.get() + 1);
                    }
                    Deed::Signal => {
                        semaphore.signal(handle.runtime());
                        given.set(given.get() + 1);
                    }
                    Deed::GiveWay => handle.give_way().await,
                    Deed::Send => {
                        let number = sent.replace(sent.get() + 1);
                        channel.send(&mut handle, number).await;
                    }
                    Deed::Receive => {
                        let number = channel.receive(&mut handle).await;
                        received.borrow_mut().push(number);
                    }
                }
            }
        })
    });
    assert_eq!(taken.get() + semaphore.units(), 1 + given.get(), "a unit was lost or made");
    (report.finished, taken.get(), given.get(), received.take())
}

proptest! {
    #[test]
    fn no_unit_and_no_value_is_lost_under_any_scheduler(
        program in proptest::collection::vec(proptest::collection::vec(deed(), 0..12), 1..9),
        seed in any::<u64>(),
    ) {
        for outcome in [
            perform(&program, Fifo::new()),
            perform(&program, RunNext::new()),
            perform(&program, Bitmap::new([Cell::new(0)])),
            perform(&program, InOrder::new()),
            perform(&program, Reverse::new()),
            perform(&program, Random::seeded(seed)),
        ] {
            let mut received = outcome.3;
            received.sort_unstable();
            let all = received.len();
            received.dedup();
            prop_assert_eq!(received.len(), all, "a value came twice");
        }
    }

    #[test]
    fn random_order_polls_each_thread_once_a_round(threads in 1_usize..300, seed in any::<u64>()) {
        struct Once;
        impl Thread for Once {
            type Shared = RefCell<Vec<usize>>;
            fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
                handle.shared().borrow_mut().push(handle.index());
                Poll::Ready(())
            }
        }
        let slots: Vec<_> = (0..threads).map(|_| Slot::new(Once)).collect();
        let polled = RefCell::default();
        let report = run(&slots, Random::seeded(seed), &polled);
        prop_assert_eq!((report.finished, report.wasted_polls), (threads, 0));
        let mut polled = polled.into_inner();
        polled.sort_unstable();
        prop_assert!(polled.into_iter().eq(0..threads));
    }
}
