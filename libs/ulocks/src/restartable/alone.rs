//! Tests of this processor's sequences without interruption, in memory that the kernel does not read.
//!
//! They can therefore run where the kernel restarts no sequences, for example in an emulator.

extern crate std;

use super::sequence;
use core::{
    cell::Cell,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

/// `struct rseq_cs` of the kernel.
#[repr(C, align(32))]
struct Descriptor {
    version: u32,
    flags: u32,
    start: usize,
    length: usize,
    abort: usize,
}

/// Signature before an abort handler, as the C library registers it on this processor.
const SIGNATURE: u32 = if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00 };

thread_local! {
    /// Memory that replaces `struct rseq`; its second word is `rseq_cs`, which identifies the thread's current
    /// sequence.
    static AREA: Cell<[u64; 4]> = const { Cell::new([0; 4]) };
}

/// Runs a sequence on memory of this thread, and returns its result.
///
/// Asserts that the sequence left that memory as it was: after a `dlclose`, the kernel would follow an address that
/// was left there.
fn run_isolated<O>(run: impl FnOnce(usize) -> O) -> O {
    AREA.with(|area| {
        area.set([0, 1, 0, 0]);
        let offset = (area.as_ptr().addr()).wrapping_sub(sequence::thread_pointer() as usize);
        let answer = run(offset);
        assert_eq!(area.get(), [0; 4], "the sequence clears its own word and leaves the others");
        answer
    })
}

/// Returns the descriptors in this program; the linker defines symbols for both ends of their section.
fn descriptors() -> &'static [Descriptor] {
    unsafe extern "C" {
        #[link_name = "__start___rseq_cs"]
        static FIRST: Descriptor;
        #[link_name = "__stop___rseq_cs"]
        static END: Descriptor;
    }
    let (first, end) = (&raw const FIRST, &raw const END);
    let count = (end.addr() - first.addr()) / size_of::<Descriptor>();
    // SAFETY: the section contains only descriptors, each of this size and alignment, and no code writes to it.
    unsafe { core::slice::from_raw_parts(first, count) }
}

#[test]
fn every_descriptor_is_acceptable_to_the_kernel() {
    assert!(!descriptors().is_empty());
    descriptors().iter().for_each(check);
}

fn check(descriptor: &Descriptor) {
    assert_eq!((descriptor.version, descriptor.flags), (0, 0));
    assert!((8..=24).contains(&descriptor.length), "three instructions or four: {} bytes", descriptor.length);
    assert!(!(descriptor.start..descriptor.start + descriptor.length).contains(&descriptor.abort));
    // SAFETY: the address is that of the four bytes of this program's code before the abort handler.
    let signature = unsafe { core::ptr::with_exposed_provenance::<u32>(descriptor.abort - 4).read_unaligned() };
    assert_eq!(signature, SIGNATURE);
}

#[test]
fn unlock_stores_zero_only_to_a_word_with_the_expected_value() {
    for (before, stored, after) in [(1, true, 0), (0, false, 0), (3, false, 3), (1 << 31 | 1, false, 1 << 31 | 1)] {
        let words = [7, before, 7].map(AtomicU32::new);
        // SAFETY: the offset leads to `AREA` of this thread, which replaces its `struct rseq`.
        let stored_now = run_isolated(|offset| unsafe { sequence::store_zero_if::<1>(offset, &words[1]) });
        assert_eq!((stored_now, words.map(AtomicU32::into_inner)), (stored, [7, after, 7]));
    }
}

#[test]
fn owner_stores_only_to_a_word_with_the_expected_value() {
    const HIGH: u64 = 1 << 40;
    for (before, stored, after) in [(HIGH, true, HIGH | 1), (HIGH | 2, false, HIGH | 2), (0, false, 0)] {
        let words = [7, before, 7].map(AtomicU64::new);
        // SAFETY: the offset leads to `AREA` of this thread, which replaces its `struct rseq`.
        let stored_now = run_isolated(|offset| unsafe { sequence::store_if(offset, &words[1], HIGH, HIGH | 1) });
        assert_eq!(
            (stored_now, words[1].load(Relaxed), words[0].load(Relaxed) + words[2].load(Relaxed)),
            (stored, after, 14)
        );
    }
}

#[test]
fn running_threads_have_distinct_thread_pointers() {
    let pointer = sequence::thread_pointer();
    let pointer_of_other = std::thread::scope(|scope| scope.spawn(sequence::thread_pointer).join().unwrap());
    assert!(pointer != 0 && pointer != pointer_of_other && (pointer | pointer_of_other).is_multiple_of(4));
}
