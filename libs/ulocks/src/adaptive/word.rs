//! The word of an adaptive lock: what its bits are, and how each step changes them. No step is taken here.

pub(super) const HELD: u32 = 1;
pub(super) const WAITERS: u32 = 1 << 1;
pub(super) const RESERVED: u32 = 1 << 2;
const ONE_CREDIT: u32 = 1 << 3;
pub(super) const CREDIT: u32 = 15 << 3;
const ONE_SLICE: u32 = 1 << 7;
const SLICE: u32 = 3 << 7;
const WAKING: u32 = 1 << 9;
const AWAKE_SHIFT: u32 = 10;
const AWAKE: u32 = 15 << AWAKE_SHIFT;
const CPU_SHIFT: u32 = 14;
pub(super) const CPU: u32 = 0xff << CPU_SHIFT;
const STAMP_SHIFT: u32 = 22;
const STAMP: u32 = u32::MAX << STAMP_SHIFT;

/// How long sleepers wait while others circulate, at most and in units of about 10 µs. Each step halves it.
const LONGEST_SLICE: u32 = 200;
/// A sleeper that waited longer than this halves the slice, one that waited less than a quarter of it doubles it.
const GOOD_WAIT: u32 = 500;

/// How a thread of this process says that it is awake. A word that says so in another way says it of a thread that did
/// not come along when this process was forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Awake(u32);

impl Awake {
    /// How many there are; they are counted from 0.
    pub(super) const KINDS: u32 = 15;

    pub(super) fn new(kind: u32) -> Self {
        Awake((kind % Self::KINDS + 1) << AWAKE_SHIFT)
    }

    /// Whether somebody says so who may be believed.
    pub(super) fn is_in(self, word: u32) -> bool {
        word & AWAKE == self.0
    }

    /// The word as one says so.
    pub(super) fn put_in(self, word: u32) -> u32 {
        word & !AWAKE | self.0
    }
}

/// Nobody says any more that it is awake.
pub(super) fn nobody_awake(word: u32) -> u32 {
    word & !AWAKE
}

/// What an unlock makes of the word, and whether it then wakes a sleeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Freed {
    pub(super) word: u32,
    pub(super) wakes: bool,
}

/// The word as it is freed for whoever comes. `now` is asked only if somebody may sleep.
pub(super) fn freed(word: u32, awake: Awake, now: impl FnOnce() -> u32) -> Freed {
    let free = word & !(HELD | CPU);
    if word & (WAITERS | AWAKE) == 0 {
        return Freed { word: free, wakes: false };
    }
    if word & WAITERS != 0 {
        let now = now();
        let is_due = age(word, now) >= slice(word);
        let is_left_alone = !awake.is_in(word) && word & WAKING == 0;
        if is_due || is_left_alone {
            return Freed { word: stamped(waking(free), now) | CREDIT, wakes: true };
        }
    }
    Freed { word: fenced(free), wakes: false }
}

/// The word as somebody is woken. A wake that nobody has answered for a slice may have found nobody: each such one
/// doubles the slice, and after the longest the mark is used up. (Whoever was woken, and is late, will make it again.)
fn waking(word: u32) -> u32 {
    if word & WAKING == 0 {
        word | WAKING
    } else if word & SLICE != 0 {
        word - ONE_SLICE
    } else {
        word & !(WAITERS | WAKING)
    }
}

/// The word as it is freed for the one that has waited longest.
pub(super) fn handed_over(word: u32, awake: Awake, now: impl FnOnce() -> u32) -> Freed {
    let free = word & !(HELD | CPU);
    if word & WAITERS != 0 {
        return Freed { word: stamped(waking(free), now()) | RESERVED | CREDIT, wakes: true };
    }
    let reserved = if awake.is_in(word) { RESERVED | CREDIT } else { 0 };
    Freed { word: free | reserved, wakes: false }
}

/// The word as it is taken by one that did not wait, from a lock that is free and not reserved.
pub(super) fn taken_quietly(word: u32, cpu: impl FnOnce() -> u32) -> u32 {
    if word & (WAITERS | AWAKE) == 0 {
        return if word & CREDIT == 0 { HELD } else { (word - ONE_CREDIT) | HELD };
    }
    let taken = word | HELD | cpu() << CPU_SHIFT;
    match (word & CREDIT > ONE_CREDIT, word & WAITERS != 0) {
        (true, _) => taken - ONE_CREDIT,
        (false, true) => taken | CREDIT,
        // Nobody sleeps, and whoever said that it is awake has let the lock pass so often that it may be gone.
        (false, false) => HELD,
    }
}

/// The word as it is taken by one that spun; `ours` says that it was the one that said so. A quiet lock stays plain.
pub(super) fn taken_spinning(word: u32, ours: bool, cpu: u32) -> u32 {
    if is_quiet(word) { HELD } else { taken_contended(word, ours, cpu) }
}

fn taken_contended(word: u32, ours: bool, cpu: u32) -> u32 {
    let others = if ours { nobody_awake(word) } else { word };
    others & !(CPU | RESERVED) | HELD | CREDIT | cpu << CPU_SHIFT
}

/// The word as it is taken by one that slept, or was about to: others may sleep who were told that it would look after
/// them. `waited` is how long it took.
pub(super) fn taken_after_sleep(word: u32, ours: bool, cpu: u32, now: u32, waited: u32) -> u32 {
    let taken = taken_contended(word & !WAKING, ours, cpu) | WAITERS;
    stamped(another_slice(taken, waited), now)
}

/// The held word once one more is about to sleep: the holder will wake one, or whoever is awake will look.
pub(super) fn marked(word: u32, ours: bool, awake: Awake) -> u32 {
    let others = if ours || !awake.is_in(word) { nobody_awake(word) } else { word };
    others & !WAKING | WAITERS
}

/// Whether nobody sleeps for this lock, and nobody has waited for it lately: a holder frees it by a plain store,
/// whoever else spins.
pub(super) fn is_quiet(word: u32) -> bool {
    word & (CREDIT | WAITERS) == 0
}

/// Whether a holder of this word may free it by a plain store.
pub(super) fn may_be_stored_over(word: u32) -> bool {
    word & CREDIT == 0
}

#[cfg(not(loom))]
/// Whether the holder was last seen on this CPU.
pub(super) fn held_on(word: u32, cpu: u32) -> bool {
    word & CPU != 0 && (word & CPU) >> CPU_SHIFT == cpu
}

#[cfg(not(loom))]
/// Whether more wait than there are CPUs, as far as can be known.
pub(super) fn is_crowded(word: u32) -> bool {
    word & (WAITERS | SLICE) != 0
}

/// A word that a plain holder has freed after all by a read-modify-write begins a new count.
fn fenced(word: u32) -> u32 {
    if word & CREDIT == 0 { word | CREDIT } else { word }
}

fn stamped(word: u32, now: u32) -> u32 {
    word & !STAMP | now << STAMP_SHIFT
}

fn age(word: u32, now: u32) -> u32 {
    now.wrapping_sub(word >> STAMP_SHIFT) & (STAMP >> STAMP_SHIFT)
}

fn slice(word: u32) -> u32 {
    LONGEST_SLICE >> ((word & SLICE) / ONE_SLICE)
}

fn another_slice(word: u32, waited: u32) -> u32 {
    if waited > GOOD_WAIT && word & SLICE != SLICE {
        word + ONE_SLICE
    } else if waited < GOOD_WAIT / 4 && word & SLICE != 0 {
        word - ONE_SLICE
    } else {
        word
    }
}
