//! The sequences of this processor as they are when nothing interrupts them, in memory that the kernel does not look
//! at: so they can be run where it restarts none, in an emulator.

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

/// What stands before an abort handler: what the C library registers on this processor.
const SIGNATURE: u32 = if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00 };

thread_local! {
    /// As `struct rseq` begins, whose second word says which sequence the thread is in.
    static AREA: Cell<[u64; 4]> = const { Cell::new([0; 4]) };
}

/// Runs a sequence on an area of the thread's own, and returns its answer. Asserts that it left the area as it was: an
/// address left there would be followed by the kernel after a `dlclose`.
fn alone<O>(run: impl FnOnce(usize) -> O) -> O {
    AREA.with(|area| {
        area.set([0, 1, 0, 0]);
        let offset = (area.as_ptr().addr()).wrapping_sub(sequence::thread_pointer() as usize);
        let answer = run(offset);
        assert_eq!(area.get(), [0; 4], "the sequence clears its own word and leaves the others");
        answer
    })
}

/// The descriptors in this program: the linker names both ends of their section.
fn descriptors() -> &'static [Descriptor] {
    unsafe extern "C" {
        #[link_name = "__start___rseq_cs"]
        static FIRST: Descriptor;
        #[link_name = "__stop___rseq_cs"]
        static END: Descriptor;
    }
    let (first, end) = (&raw const FIRST, &raw const END);
    let count = (end.addr() - first.addr()) / size_of::<Descriptor>();
    // SAFETY: the section contains only descriptors, each of this size and alignment, and nothing writes to it.
    unsafe { core::slice::from_raw_parts(first, count) }
}

#[test]
fn the_kernel_would_accept_every_descriptor() {
    assert!(!descriptors().is_empty());
    descriptors().iter().for_each(check);
}

fn check(descriptor: &Descriptor) {
    assert_eq!((descriptor.version, descriptor.flags), (0, 0));
    assert!((8..=24).contains(&descriptor.length), "three instructions or four: {} bytes", descriptor.length);
    assert!(!(descriptor.start..descriptor.start + descriptor.length).contains(&descriptor.abort));
    // SAFETY: four bytes of this program's code, before the abort handler.
    let signature = unsafe { core::ptr::with_exposed_provenance::<u32>(descriptor.abort - 4).read_unaligned() };
    assert_eq!(signature, SIGNATURE);
}

#[test]
fn an_unlock_stores_zero_to_a_word_that_is_as_expected_and_to_no_other() {
    for (before, stored, after) in [(1, true, 0), (0, false, 0), (3, false, 3), (1 << 31 | 1, false, 1 << 31 | 1)] {
        let words = [7, before, 7].map(AtomicU32::new);
        // SAFETY: the offset is that of the thread's area.
        let said = alone(|offset| unsafe { sequence::store_zero_if::<1>(offset, &words[1]) });
        assert_eq!((said, words.map(AtomicU32::into_inner)), (stored, [7, after, 7]));
    }
}

#[test]
fn an_owner_stores_to_a_word_that_is_as_expected_and_to_no_other() {
    const HIGH: u64 = 1 << 40;
    for (before, stored, after) in [(HIGH, true, HIGH | 1), (HIGH | 2, false, HIGH | 2), (0, false, 0)] {
        let words = [7, before, 7].map(AtomicU64::new);
        // SAFETY: the offset is that of the thread's area.
        let said = alone(|offset| unsafe { sequence::store_if(offset, &words[1], HIGH, HIGH | 1) });
        assert_eq!(
            (said, words[1].load(Relaxed), words[0].load(Relaxed) + words[2].load(Relaxed)),
            (stored, after, 14)
        );
    }
}

#[test]
fn each_thread_has_a_pointer_of_its_own() {
    let mine = sequence::thread_pointer();
    let other = std::thread::scope(|scope| scope.spawn(sequence::thread_pointer).join().unwrap());
    assert!(mine != 0 && mine != other && (mine | other).is_multiple_of(4));
}
