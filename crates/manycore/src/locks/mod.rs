//! The locks: each as its algorithm, step by step, on the words of the modelled machine.
//!
//! A queue node of thread `i` is named `i + 1`, and 0 means none. Data of an algorithm that only the
//! holder changes is plain data here, where its accesses hit or belong to lines that are accessed anyway.

mod adaptive;
mod malthusian;
mod queues;
mod spinning;

pub use adaptive::Adaptive;
pub use malthusian::Malthusian;
pub use queues::{Clh, Cna, Mcs, Reciprocating};
pub use spinning::{Std, Ticket, Ttas};

use crate::machine::Machine;
use crate::thread::Thread;

/// The names of the locks that the model has; those of the registry where it has the lock too.
pub const NAMES: [&str; 9] = ["adaptive", "std", "ttas", "ticket", "mcs", "clh", "reciprocating", "cna", "malthusian"];

/// A lock of the model.
pub trait Algorithm {
    fn new(machine: &mut Machine, threads: usize) -> Self;
    async fn acquire(&self, thread: &Thread);
    async fn release(&self, thread: &Thread);
}
