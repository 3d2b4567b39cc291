//! Explicit-state models of the locks, over the transitions that the locks themselves use.
//!
//! A model examines every order of the steps of a few threads, without a bound on preemptions: time, spins, yields and the
//! kernel's choices may each turn out either way in every step. Memory is sequentially consistent, which is enough for a
//! lock of one word; loom's models cover the orderings.

extern crate std;

use core::{
    fmt::Debug,
    hash::{BuildHasherDefault, Hash, Hasher},
};
use std::{collections::HashMap, vec, vec::Vec};

/// The states of a model, and the steps between them.
pub(crate) trait Model {
    type State: Clone + Eq + Hash + Debug;

    fn start(&self) -> Self::State;
    /// Adds the states after each step that is possible now.
    fn steps(&self, state: &Self::State, after: &mut Vec<Self::State>);
    /// Returns whether all threads have finished.
    fn is_end(&self, state: &Self::State) -> bool;
    /// Returns what is wrong with this state.
    fn fault(&self, state: &Self::State) -> Option<&'static str>;
}

/// Examines all states; returns their number, or the steps that lead to a fault or to a state from which no end can be
/// reached: a thread there waits forever.
pub(crate) fn explore<M: Model>(model: &M) -> Result<usize, Vec<M::State>> {
    let mut numbers = HashMap::<M::State, u32, BuildHasherDefault<Multiply>>::default();
    let (mut states, mut parents) = (vec![model.start()], vec![0]);
    let mut edges = Vec::new();
    numbers.insert(model.start(), 0);
    let mut after = Vec::new();
    let mut at = 0;
    while at < states.len() {
        if let Some(fault) = model.fault(&states[at]) {
            std::println!("{fault}");
            return Err(path(&states, &parents, at));
        }
        after.clear();
        model.steps(&states[at], &mut after);
        for next in after.drain(..) {
            let number = *numbers.entry(next).or_insert_with_key(|next| {
                states.push(next.clone());
                parents.push(at as u32);
                states.len() as u32 - 1
            });
            edges.push((number, at as u32));
        }
        at += 1;
    }
    drop(numbers);
    edges.sort_unstable();
    let mut can_end: Vec<bool> = states.iter().map(|state| model.is_end(state)).collect();
    let mut pending: Vec<u32> = (0..states.len() as u32).filter(|&at| can_end[at as usize]).collect();
    while let Some(to) = pending.pop() {
        let first = edges.partition_point(|&(end, _)| end < to);
        for &(_, from) in edges[first..].iter().take_while(|&&(end, _)| end == to) {
            if !core::mem::replace(&mut can_end[from as usize], true) {
                pending.push(from);
            }
        }
    }
    match can_end.iter().position(|can| !can) {
        Some(stuck) => {
            std::println!("a thread waits forever");
            Err(path(&states, &parents, stuck))
        }
        None => Ok(states.len()),
    }
}

/// Returns the states on the way to this one.
fn path<S: Clone>(states: &[S], parents: &[u32], to: usize) -> Vec<S> {
    let mut path: Vec<S> = core::iter::successors(Some(to), |&at| (at != 0).then(|| parents[at] as usize))
        .map(|at| states[at].clone())
        .collect();
    path.reverse();
    path
}

/// A hasher for states, which no input makes collide.
#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// The blocked threads, in the order in which they blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Queue<const N: usize>([Option<u8>; N]);

impl<const N: usize> Queue<N> {
    pub(crate) const EMPTY: Self = Queue([None; N]);

    pub(crate) fn push(&mut self, thread: usize) {
        let end = self.0.iter().position(Option::is_none).expect("there is a place for each thread");
        self.0[end] = Some(thread as u8);
    }

    /// Removes and returns the first thread of those.
    pub(crate) fn take(&mut self, of: impl Fn(usize) -> bool) -> Option<usize> {
        let at = self.0.iter().position(|thread| thread.is_some_and(|thread| of(thread.into())))?;
        let thread = self.0[at].take();
        self.0[at..].rotate_left(1);
        thread.map(usize::from)
    }
}
