//! Semaphores, mutexes, events, channels and timers, under hand-written and async threads.

use proptest::prelude::*;
use protothreads::{
    Bitmap, Channel, Event, Fifo, Handle, InOrder, Link, Mutex, Random, Reverse, RunNext, Runtime, Scheduler,
    Semaphore, Sleeper, Slot, Thread, ThreadHandle, Timer, run, run_with,
};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Poll, ready};

type Boxed<'f> = Pin<Box<dyn Future<Output = ()> + 'f>>;

/// Runs boxed bodies, which `body` creates from each thread's handle, under a scheduler.
fn run_async<'r, S: Scheduler, W>(
    runtime: &'r Runtime<'r, Link, S, W>,
    body: impl Fn(Handle<'r, Link, S, W>) -> Boxed<'r>,
) -> protothreads::Report {
    let mut threads: Vec<_> = (0..runtime.thread_count()).map(|index| body(runtime.handle(index))).collect();
    runtime.run_with(Pin::new(&mut threads[..]), |_| false)
}

fn links(threads: usize) -> Vec<Link> {
    (0..threads).map(|_| Link::new()).collect()
}

// Semaphores, mutexes and events.

#[test]
fn semaphore_serves_waiters_in_order() {
    #[derive(Default)]
    struct Shared(RefCell<Vec<usize>>);
    let (shared, semaphore, links) = (Shared::default(), Semaphore::new(0), links(6));
    let runtime = Runtime::new(&links, Fifo::new(), &shared);
    let semaphore = &semaphore;
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            if handle.index() == 5 {
                for _ in 0..5 {
                    semaphore.signal(handle.runtime());
                }
                assert!(!semaphore.try_wait(), "all units were granted");
            } else {
                semaphore.wait(&mut handle).await;
                handle.shared().0.borrow_mut().push(handle.index());
            }
        })
    });
    assert_eq!((report.finished, &*shared.0.borrow()), (6, &vec![0, 1, 2, 3, 4]));
}

#[test]
fn dropped_wait_takes_no_unit_at_any_position() {
    for dropped in 0..3 {
        let (semaphore, links, served) = (Semaphore::new(0), links(4), RefCell::new(Vec::new()));
        let runtime = Runtime::new(&links, Fifo::new(), &());
        let (semaphore, served) = (&semaphore, &served);
        let report = run_async(&runtime, |mut handle| {
            Box::pin(async move {
                if handle.index() == 3 {
                    semaphore.signal(handle.runtime());
                    semaphore.signal(handle.runtime());
                } else if handle.index() == dropped {
                    {
                        let mut wait = pin!(semaphore.wait(&mut handle));
                        assert!(poll_fn(|context| Poll::Ready(wait.as_mut().poll(context))).await.is_pending());
                    }
                    handle.give_way().await;
                } else {
                    semaphore.wait(&mut handle).await;
                    served.borrow_mut().push(handle.index());
                }
            })
        });
        assert_eq!((report.finished, served.borrow().len(), semaphore.units()), (4, 2, 0), "{dropped}");
    }
}

#[test]
fn unit_granted_to_a_dropped_wait_goes_to_the_next() {
    let (semaphore, links, served) = (Semaphore::new(0), links(3), Cell::new(0));
    let runtime = Runtime::new(&links, Fifo::new(), &());
    let (semaphore, served) = (&semaphore, &served);
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            match handle.index() {
                0 => {
                    let mut wait = pin!(semaphore.wait(&mut handle));
                    let mut polls = 0;
                    // It is polled once, woken because it was granted the unit, and dropped without being polled
                    // again.
                    poll_fn(|context| {
                        polls += 1;
                        if polls == 1 { wait.as_mut().poll(context) } else { Poll::Ready(()) }
                    })
                    .await;
                }
                1 => {
                    semaphore.wait(&mut handle).await;
                    served.set(served.get() + 1);
                }
                _ => semaphore.signal(handle.runtime()),
            }
        })
    });
    assert_eq!((report.finished, served.get()), (3, 1));
}

#[test]
fn a_mutex_is_held_across_waits() {
    let (mutex, links) = (Mutex::new((0, 0)), links(20));
    let runtime = Runtime::new(&links, RunNext::new(), &mutex);
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            for _ in 0..10 {
                let mut pair = handle.shared().lock(&mut handle).await;
                pair.0 += 1;
                handle.give_way().await;
                assert!(handle.shared().try_lock(&handle).is_none());
                pair.1 += 1;
                assert_eq!(pair.0, pair.1);
            }
        })
    });
    assert_eq!(report.finished, 20);
    assert_eq!(mutex.into_inner(), (200, 200));
}

#[test]
fn event_releases_waiters_and_later_threads() {
    let (event, links, passed) = (Event::new(), links(5), Cell::new(0));
    let runtime = Runtime::new(&links, Fifo::new(), &event);
    let passed = &passed;
    let report = run_async(&runtime, |mut handle| {
        Box::pin(async move {
            match handle.index() {
                3 => handle.shared().set(handle.runtime()),
                _ => {
                    handle.shared().wait(&mut handle).await;
                    passed.set(passed.get() + 1);
                }
            }
        })
    });
    assert_eq!((report.finished, passed.get(), event.is_set()), (5, 4, true));
    event.reset();
    assert!(!event.is_set());
}

// Channels, between hand-written threads and without threads.

#[test]
fn hand_written_threads_use_a_channel() {
    struct Half {
        count: Cell<u32>,
        value: Cell<Option<u32>>,
    }
    impl Thread for Half {
        type Shared = Channel<u32, 3>;
        fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
            while self.count.get() < 100 {
                if handle.index() == 0 {
                    let mut value = self.value.take().or(Some(self.count.get()));
                    let sent = handle.shared().poll_send(handle, &mut value);
                    self.value.set(value);
                    ready!(sent);
                } else {
                    assert_eq!(ready!(handle.shared().poll_receive(handle)), self.count.get());
                }
                self.count.set(self.count.get() + 1);
            }
            Poll::Ready(())
        }
    }
    let half = || Slot::new(Half { count: Cell::new(0), value: Cell::new(None) });
    assert_eq!(run(&[half(), half()], Fifo::new(), &Channel::new()).finished, 2);
    assert_eq!(run(&[half(), half()], Reverse::new(), &Channel::new()).finished, 2);
}

#[test]
fn full_channel_returns_the_value() {
    let links = links(1);
    let runtime = Runtime::new(&links, Fifo::new(), &());
    let channel = Channel::<_, 1>::new();
    assert_eq!(channel.try_send(&runtime, "one"), Ok(()));
    assert_eq!(channel.try_send(&runtime, "two"), Err("two"));
    assert_eq!((channel.try_receive(&runtime), channel.try_receive(&runtime)), (Some("one"), None));
}

// Threads that sleep until their own deadline, and the units that wake them.

/// A thread that sleeps until its own deadline.
struct Sleepy(u64);

impl Thread for Sleepy {
    type Shared = (Timer<Vec<Cell<Sleeper>>>, RefCell<Vec<u64>>);
    fn step<S: Scheduler>(&self, handle: &ThreadHandle<'_, Self, S>) -> Poll<()> {
        let (timer, woken) = handle.shared();
        ready!(timer.poll_sleep_until(handle, self.0));
        assert!(timer.now() >= self.0);
        woken.borrow_mut().push(self.0);
        Poll::Ready(())
    }
}

#[test]
fn dropped_sleep_wakes_no_thread() {
    let (links, timer) = (links(2), Timer::new([const { Cell::new(Sleeper::new()) }; 2]));
    let runtime = Runtime::new(&links, Fifo::new(), &timer);
    let body = |index: usize| {
        let mut handle = runtime.handle(index);
        async move {
            if index == 0 {
                let mut sleep = pin!(handle.shared().sleep_until(&mut handle, 5));
                assert!(poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context))).await.is_pending());
            } else {
                handle.shared().sleep_until(&mut handle, 7).await;
            }
        }
    };
    let mut idles = 0;
    let report = runtime.run_with(pin!([body(0), body(1)]), |runtime| {
        idles += 1;
        assert_eq!(timer.next_deadline(), (idles == 1).then_some(7));
        timer.advance(runtime, 7);
        idles == 1
    });
    assert_eq!((report.finished, idles), (2, 2));
}

#[test]
fn own_units_are_counted_up_to_the_maximum() {
    let threads = [Slot::new(Sleepy(0))];
    let shared = (Timer::new(Vec::<Cell<Sleeper>>::new()), RefCell::new(Vec::<u64>::new()));
    let runtime = Runtime::new(&threads, Fifo::new(), &shared);
    for _ in 0..protothreads::MOST_OWN_UNITS {
        runtime.signal(0);
    }
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.signal(0))).is_err());
}

proptest! {
    #[test]
    fn a_timer_wakes_in_order_of_time_and_never_early(
        deadlines in proptest::collection::vec(1_u64..50, 1..20),
        step in 1_u64..7,
    ) {
        let threads: Vec<_> = deadlines.iter().map(|deadline| Slot::new(Sleepy(*deadline))).collect();
        let timer = Timer::new(vec![Cell::new(Sleeper::new()); deadlines.len()]);
        let shared = (timer, RefCell::default());
        let mut now = 0;
        let report = run_with(&threads, Fifo::new(), &shared, |runtime| {
            now += step;
            shared.0.advance(runtime, now);
            shared.0.next_deadline().is_some() || now < 60
        });
        prop_assert_eq!(report.finished, deadlines.len());
        prop_assert!(shared.1.borrow().is_sorted());
    }
}

// Random programs under any scheduler.

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
