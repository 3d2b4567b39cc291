//! The word of an adaptive readers' lock: what its bits are, and how each side may change them. No step is taken here.

pub(super) const WRITER: u32 = 1 << 31;
pub(super) const WRITERS: u32 = 1 << 30;
pub(super) const READERS: u32 = 1 << 29;
pub(super) const RESERVED: u32 = 1 << 28;
pub(super) const COUNT: u32 = RESERVED - 1;

/// The queues of the word.
pub(super) const READING: u32 = 1;
pub(super) const WRITING: u32 = 2;

/// What a thread that asks may disregard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// It has slept: it has waited for its turn.
    pub(super) slept: bool,
    /// The reservation is its own.
    pub(super) reserved: bool,
    /// Those who have a claim before it don't come.
    pub(super) void: bool,
}

impl Claim {
    /// Of one that has just come.
    pub(super) const NONE: Claim = Claim { slept: false, reserved: false, void: false };

    /// The word without a reservation that has served its purpose.
    fn used(self, word: u32) -> u32 {
        if self.reserved || self.void { word & !RESERVED } else { word }
    }
}

/// One of the two ways to hold the lock.
pub(super) trait Side {
    /// Says that one of this side may sleep.
    const MARK: u32;
    /// Where it sleeps.
    const QUEUE: u32;

    /// The word as one with this claim takes it, if it may.
    fn taken(word: u32, claim: Claim) -> Option<u32>;
    /// Whether somebody holds the lock who will wake one of this side.
    fn must_wait(word: u32) -> bool;
}

pub(super) struct Reading;
/// Reading past writers that wait.
pub(super) struct Again;
pub(super) struct Writing;

impl Side for Reading {
    const MARK: u32 = READERS;
    const QUEUE: u32 = READING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        // While readers hold the lock, the last of them wakes the writer that the mark is of, however long this thread
        // was without a CPU in the meantime. On a free lock, the mark may be of a writer that gave up.
        let yields_to_writers = word & WRITERS != 0 && !(claim.void && is_free(word));
        let is_reserved = word & RESERVED != 0 && !claim.void;
        let is_barred = (yields_to_writers || is_reserved) && !claim.slept;
        (word & WRITER == 0 && word & COUNT != COUNT && !is_barred).then(|| claim.used(word) + 1)
    }

    /// A reservation alone is not slept on: nobody would say that it is gone.
    fn must_wait(word: u32) -> bool {
        word & WRITER != 0 || (word & COUNT != 0 && word & WRITERS != 0)
    }
}

impl Side for Again {
    const MARK: u32 = READERS;
    const QUEUE: u32 = READING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        (word & WRITER == 0 && word & COUNT != COUNT).then(|| claim.used(word) + 1)
    }

    fn must_wait(word: u32) -> bool {
        word & WRITER != 0
    }
}

impl Side for Writing {
    const MARK: u32 = WRITERS;
    const QUEUE: u32 = WRITING;

    fn taken(word: u32, claim: Claim) -> Option<u32> {
        let is_barred = word & RESERVED != 0 && !claim.slept && !claim.void;
        // Who woke this one has taken the mark away, and others may sleep.
        let mark = if claim.slept { WRITERS } else { 0 };
        (word & (WRITER | COUNT) == 0 && !is_barred).then(|| claim.used(word) | WRITER | mark)
    }

    fn must_wait(word: u32) -> bool {
        word & (WRITER | COUNT) != 0
    }
}

pub(super) fn is_free(word: u32) -> bool {
    word & (WRITER | COUNT) == 0
}

/// The word as a reader leaves, and whether a writer is to be woken.
pub(super) fn left_by_reader(word: u32) -> (u32, bool) {
    let left = word.wrapping_sub(1);
    let wakes = is_free(left) && left & WRITERS != 0;
    (if wakes { left & !WRITERS } else { left }, wakes)
}

/// The word as a writer leaves. `WRITERS` stays while readers go first: the last of them looks at it.
pub(super) fn left_by_writer(word: u32) -> u32 {
    let left = word & !(WRITER | READERS);
    if word & READERS != 0 { left } else { left & !WRITERS }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A reader that had no CPU for half a millisecond while it looked at the word passed a waiting writer.
    #[test]
    fn a_late_reader_does_not_pass_a_writer_that_waits_for_readers() {
        let late = Claim { void: true, ..Claim::NONE };
        assert_eq!(Reading::taken(WRITERS | 1, late), None);
        assert_eq!(Reading::taken(WRITERS, late), Some(WRITERS | 1), "the writer may have given up");
        assert_eq!(Reading::taken(RESERVED | 1, late), Some(2), "a reservation is void in the end");
        assert_eq!(Reading::taken(WRITERS | 1, Claim { slept: true, ..Claim::NONE }), Some(WRITERS | 2));
    }
}
