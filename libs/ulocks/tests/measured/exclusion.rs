//! Processes that use a lock at different addresses exclude each other.

use super::{child_role, file, open, open_or_create, run_again};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use ulocks::lock_api::RawMutex;
use ulocks::shared::{Guarded, Plain, SharedMemory};
use ulocks::{Adaptive, Calock, NoCount, Pi, Robust, Shared, Ticket, Usema, UsemaSpin};

#[repr(C)]
struct Counter<R: RawMutex> {
    halves: Guarded<R, [u64; 2]>,
    addresses: [AtomicU64; 2],
}

// SAFETY: zero is valid for both fields, and neither contains a pointer (the addresses are numbers to compare).
unsafe impl<R: RawMutex + Plain> Plain for Counter<R> {}

const ROUNDS: u64 = 5_000;

/// Counts in a file that two processes share. The child maps other memory first, and both map the file twice.
fn count<R: RawMutex + Plain>(file: &Path, child: bool) {
    let other_mappings: Vec<_> =
        (0..2 * usize::from(child)).map(|_| SharedMemory::<[u8; 65536]>::anonymous()).collect();
    let first = open_or_create::<Counter<R>>(file, 1).unwrap();
    let twice = open::<Counter<R>>(file, 1).unwrap();
    first.addresses[usize::from(child)].store((&raw const *first).addr() as u64, SeqCst);
    for round in 0..ROUNDS {
        let mapping = if round % 2 == 0 { &first } else { &twice };
        mapping.halves.with(|halves| {
            assert_eq!(halves[0], halves[1], "two processes were inside");
            halves[0] += 1;
            if round % 128 == 0 {
                thread::yield_now();
            }
            halves[1] += 1;
        });
    }
    drop(other_mappings);
}

fn counts_between_processes<R: RawMutex + Plain>(name: &str) {
    let test = name_of!(processes_exclude_each_other_at_different_addresses);
    if let Some((file, lock)) = child_role() {
        if lock == name {
            count::<R>(&file, true);
        }
        return;
    }
    let (_directory, file) = file();
    let mut child = run_again(test, &file, name);
    count::<R>(&file, false);
    assert!(child.wait().unwrap().success(), "{name}: the other process failed");
    let memory = open::<Counter<R>>(&file, 1).unwrap();
    assert_eq!(memory.halves.with(|halves| *halves), [2 * ROUNDS; 2], "{name}");
    assert_ne!(memory.addresses[0].load(SeqCst), memory.addresses[1].load(SeqCst), "{name}: different addresses");
}

#[test]
fn processes_exclude_each_other_at_different_addresses() {
    counts_between_processes::<Adaptive<Shared>>("adaptive");
    counts_between_processes::<Calock<Shared>>("calock");
    counts_between_processes::<Usema<Shared>>("usema");
    counts_between_processes::<UsemaSpin<Shared>>("usema-spin");
    counts_between_processes::<Ticket<NoCount>>("ticket");
    counts_between_processes::<Pi<Shared>>("pi");
    counts_between_processes::<Robust<Shared>>("robust");
}
