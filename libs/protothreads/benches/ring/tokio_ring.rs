//! The ring on tokio's `Notify`: under tokio's own current-thread runtime, and under a runtime of this crate.
use std::{cell::Cell, pin::Pin, rc::Rc};

use protothreads::{Fifo, Link, Runtime};
use tokio::{runtime::Builder, sync::Notify, task::LocalSet};

struct Members {
    places: Vec<(Notify, Cell<u32>)>,
    last: Cell<usize>,
    done: Notify,
}

impl Members {
    fn new(threads: usize, hops: u32) -> Self {
        let places: Vec<_> = (0..threads).map(|_| (Notify::new(), Cell::new(hops))).collect();
        places[0].0.notify_one();
        Self { places, last: Cell::new(0), done: Notify::new() }
    }

    async fn member(&self, index: usize) {
        let (own, token) = &self.places[index];
        let next = &self.places[if index + 1 == self.places.len() { 0 } else { index + 1 }];
        loop {
            own.notified().await;
            if token.get() == 0 {
                self.last.set(index);
                return self.done.notify_one();
            }
            next.1.set(token.get() - 1);
            next.0.notify_one();
        }
    }
}

/// Runs the ring under tokio.
pub fn on_tokio(threads: usize, hops: u32) -> usize {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let (members, local) = (Rc::new(Members::new(threads, hops)), LocalSet::new());
    for index in 0..threads {
        let members = Rc::clone(&members);
        local.spawn_local(async move { members.member(index).await });
    }
    local.block_on(&runtime, members.done.notified());
    members.last.get() + 1
}

/// Runs the same futures under this crate.
pub fn on_protothreads(threads: usize, hops: u32) -> usize {
    let members = Members::new(threads, hops);
    let links: Vec<_> = (0..threads).map(|_| Link::new()).collect();
    let runtime = Runtime::new(&links, Fifo::new(), &());
    let mut bodies: Pin<Box<[_]>> = (0..threads).map(|index| members.member(index)).collect::<Box<_>>().into();
    runtime.run_with(bodies.as_mut(), |_| false);
    members.last.get() + 1
}
