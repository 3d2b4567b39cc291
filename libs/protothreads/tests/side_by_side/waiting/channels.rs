//! Channels, between hand-written threads and without threads.

use super::links;
use protothreads::{Channel, Fifo, Reverse, Runtime, Scheduler, Slot, Thread, ThreadHandle, run};
use std::cell::Cell;
use std::task::{Poll, ready};

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
