//! corosensei: coroutines with separate stacks, resumed first come, first served.

use super::{RingResult, RingSpec};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Instant;

/// The shared state of the coroutines: a token for each, and the queue of runnable ones.
struct Shared {
    tokens: Vec<Cell<Option<u64>>>,
    ready: RefCell<VecDeque<usize>>,
    last: Cell<Option<usize>>,
}

impl Shared {
    fn put(&self, place: usize, token: u64) {
        self.tokens[place].set(Some(token));
        self.ready.borrow_mut().push_back(place);
    }

    /// Passes the token on until the ring has an answer.
    fn member(&self, place: usize, yielder: &Yielder<(), ()>) {
        while self.last.get().is_none() {
            match self.tokens[place].take() {
                None => yielder.suspend(()),
                Some(0) => self.last.set(Some(place)),
                Some(token) => {
                    let next = if place + 1 == self.tokens.len() { 0 } else { place + 1 };
                    self.put(next, token - 1);
                }
            }
        }
    }
}

/// The size of a stack: deep enough for `member`, as small as a page allows.
const STACK: usize = 16 * 1024;

/// Passes the token around.
///
/// # Errors
/// The system has no room for this many stacks.
pub fn ring(spec: &RingSpec) -> io::Result<RingResult> {
    let tokens = (0..spec.threads).map(|_| Cell::new(None)).collect();
    let shared = Rc::new(Shared { tokens, ready: RefCell::default(), last: Cell::new(None) });
    let member = |place| {
        let stack = DefaultStack::new(STACK)?;
        let shared = Rc::clone(&shared);
        Ok(Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| shared.member(place, yielder)))
    };
    let mut members = (0..spec.threads).map(member).collect::<io::Result<Vec<_>>>()?;
    // All coroutines start, and wait.
    for member in &mut members {
        member.resume(());
    }
    let began = Instant::now();
    shared.put(0, spec.hops);
    while shared.last.get().is_none() {
        let next = shared.ready.borrow_mut().pop_front();
        let Some(next) = next else { break };
        members[next].resume(());
    }
    let hops_ns = began.elapsed().as_nanos() as f64;
    // They return: dropping a suspended coroutine unwinds it, which takes longer.
    for member in members.iter_mut().filter(|member| !member.done()) {
        member.resume(());
    }
    let place = shared.last.get().ok_or_else(|| io::Error::other("the token was lost"))?;
    Ok(RingResult { answer: place + 1, hops_ns, wasted_polls: None })
}
