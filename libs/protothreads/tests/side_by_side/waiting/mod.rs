//! Semaphores, mutexes, events, channels and timers, under hand-written and async threads.

mod any_program;
mod channels;
mod locks;
mod timers;

use protothreads::{Handle, Link, Runtime, Scheduler};
use std::future::Future;
use std::pin::Pin;

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
