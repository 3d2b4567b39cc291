//! The word of an adaptive lock: the meaning of its bits, and the transitions between its values as pure functions.

pub(super) const HELD: u32 = 1;
pub(super) const WAITERS: u32 = 1 << 1;
pub(super) const RESERVED: u32 = 1 << 2;
const ONE_CREDIT: u32 = 1 << 3;
pub(super) const CREDIT: u32 = 15 << 3;
/// The lowest bit of `CREDIT`, while `WAITERS` is set: the last thread to acquire the lock had waited for it, and its wait counts: see [`promptly`]. Until the first
/// acquisition after `WAITERS` was set, it is arbitrary.
const WAITED: u32 = ONE_CREDIT;
/// The credit after a release while `WAITERS` is set, which keeps `WAITED`.
const CREDIT_OF_WAITERS: u32 = CREDIT - WAITED;
/// The credit that a waiter gives a plain-held lock, so that the holder measures its next iterations: a *probe*.
const PROBE: u32 = 3 * ONE_CREDIT;
const ONE_SLICE: u32 = 1 << 7;
const SLICE: u32 = 3 << 7;
const WAKING: u32 = 1 << 9;
const AWAKE_SHIFT: u32 = 10;
const AWAKE: u32 = 15 << AWAKE_SHIFT;
const CPU_SHIFT: u32 = 14;
pub(super) const CPU: u32 = 0xff << CPU_SHIFT;
const STAMP_SHIFT: u32 = 22;
const STAMP: u32 = u32::MAX << STAMP_SHIFT;

/// Longest time for which blocked waiters wait while other threads circulate, in units of about 10 µs; each step of
/// `SLICE` halves it.
const LONGEST_SLICE: u32 = 200;
/// Waiting time in units of about 10 µs above which a waiter that was blocked sets the shortest slice; one below a
/// quarter of it doubles the slice.
const GOOD_WAIT: u32 = 500;
/// Time between two wake-ups on a promptly acquired lock, while the woken thread has not run, in units of about 10 µs.
///
/// Half of these wake-ups find no thread, so a longer time costs the holder less. Where iterations are short, the lock is
/// to be one without blocked threads soon. In the model, all times are the same.
const PROMPT_PAUSE: u32 = if cfg!(loom) { 0 } else { 8 };
const PROMPT_PAUSE_OF_SHORT: u32 = if cfg!(loom) { 0 } else { 2 };

/// Value of the field `AWAKE` that a spinning thread of this process generation sets.
///
/// Any other value in a word was set by a thread of the parent that does not exist in this forked process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Awake(u32);

impl Awake {
    /// Number of distinct generations, counted from 0.
    pub(super) const KINDS: u32 = 15;

    pub(super) fn new(kind: u32) -> Self {
        Awake((kind % Self::KINDS + 1) << AWAKE_SHIFT)
    }

    /// Returns whether a spinning thread of this generation has set the field in `word`.
    pub(super) fn is_in(self, word: u32) -> bool {
        word & AWAKE == self.0
    }

    /// Returns `word` with the field set.
    pub(super) fn put_in(self, word: u32) -> u32 {
        word & !AWAKE | self.0
    }
}

/// Returns `word` with the field `AWAKE` cleared.
pub(super) fn without_awake(word: u32) -> u32 {
    word & !AWAKE
}

/// Word that a release writes, and whether the releasing thread then wakes a blocked waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Freed {
    pub(super) word: u32,
    pub(super) wakes: bool,
}

/// The time, in units of about 10 µs, of one release.
pub(super) trait Time {
    fn now(&self) -> u32;

    /// Returns whether this release reads the time although a thread spins or has been woken: one of about 16 does, at
    /// random, and each call is another draw.
    fn is_looked_at(&self) -> bool;

    /// Returns whether the iterations of the lock are short.
    fn has_short_iterations(&self) -> bool;
}

/// Returns the word that releases the lock to any thread, or hands it off if a thread spins and the slice of a blocked one is
/// over. A thread that did not respond to the last wake-up may not exist. Then the lock stays free for all, unless the slice is
/// the shortest: threads have waited long, and are likely to be late.
///
/// While the lock is acquired promptly and no thread spins, another thread is woken [a while](PROMPT_PAUSE) after the last
/// one, though that one has not run. One of 16 such wake-ups counts as one without a response.
///
/// If no thread is blocked, one credit is consumed, and with the last one all flags but a reservation: the spinner of
/// `AWAKE` has let the lock pass so often that it may not exist any more. While threads are blocked, the word without
/// `HELD` stays as it is.
pub(super) fn freed(word: u32, awake: Awake, time: &impl Time) -> Freed {
    let timeless = freed_without_time(word, awake);
    if let Some(word) = timeless
        && (word & WAITERS == 0 || !time.is_looked_at())
    {
        return Freed { word, wakes: false };
    }
    let (free, now) = (word & !HELD, time.now());
    let age = age(word, now);
    let is_due = age >= slice(word);
    if is_due && awake.is_in(word) && (word & WAKING == 0 || word & SLICE == SLICE) {
        handed_to_blocked(free, now)
    } else if is_due || timeless.is_none() {
        woken(waking(free), now)
    } else if is_prompt(word) && !awake.is_in(word) && age >= prompt_pause(time) {
        woken(if time.is_looked_at() { waking(free) } else { free }, now)
    } else {
        Freed { word: free | CREDIT_OF_WAITERS, wakes: false }
    }
}

fn prompt_pause(time: &impl Time) -> u32 {
    if time.has_short_iterations() { PROMPT_PAUSE_OF_SHORT } else { PROMPT_PAUSE }
}

/// Returns the word after a release that wakes no thread, or `None` if threads are blocked of which none spins or has been
/// woken. With `WAITERS`, a release may do that if it does not read the time.
#[inline]
pub(super) fn freed_without_time(word: u32, awake: Awake) -> Option<u32> {
    let free = word & !HELD;
    if word & WAITERS == 0 {
        Some(if word & CREDIT > ONE_CREDIT { free - ONE_CREDIT } else { free & RESERVED })
    } else {
        (awake.is_in(word) || word & WAKING != 0).then_some(free | CREDIT_OF_WAITERS)
    }
}

/// Returns the word of an unlocked lock after a release that wakes a thread.
fn woken(free: u32, now: u32) -> Freed {
    Freed { word: stamped(free, now) | CREDIT_OF_WAITERS, wakes: true }
}

/// Returns `word` with a wake-up noted.
///
/// A wake-up without a response for a whole slice may have found no thread. Each further one doubles the slice; after
/// the longest slice the mark is removed. (A woken thread that is merely late sets it again.)
fn waking(word: u32) -> u32 {
    if word & WAKING == 0 {
        word | WAKING
    } else if word & SLICE != 0 {
        word - ONE_SLICE
    } else {
        word & !(WAITERS | WAKING)
    }
}

/// Returns the word that hands the lock off to the blocked thread that is woken next.
pub(super) fn handed_off(word: u32, awake: Awake, time: &impl Time) -> Freed {
    let free = word & !HELD;
    if word & WAITERS != 0 {
        handed_to_blocked(free, time.now())
    } else if awake.is_in(word) {
        Freed { word: free | RESERVED | CREDIT, wakes: false }
    } else {
        freed(word, awake, time)
    }
}

/// Returns the word that wakes a blocked thread, and lets no other thread acquire the lock first.
fn handed_to_blocked(free: u32, now: u32) -> Freed {
    woken(waking(free) | RESERVED, now)
}

/// Returns the bits that change when a thread on this CPU has acquired the lock without waiting.
pub(super) fn moved(word: u32, cpu: u32) -> u32 {
    let waited = if word & WAITERS != 0 { word & WAITED } else { 0 };
    (word ^ cpu << CPU_SHIFT) & CPU | waited
}

/// Returns the word of an unlocked, unreserved lock as acquired by a thread that did not wait.
pub(super) fn taken_quietly(word: u32, cpu: impl FnOnce() -> u32) -> u32 {
    if word == 0 { HELD } else { (word ^ moved(word, cpu())) | HELD }
}

/// Returns a word as acquired by a thread whose wait does not count.
pub(super) fn promptly(taken: u32) -> u32 {
    taken & !WAITED
}

/// Returns whether threads may be blocked, and the last thread to acquire the lock had not waited for it.
pub(super) fn is_prompt(word: u32) -> bool {
    word & (WAITERS | WAITED) == WAITERS
}

/// Returns the word as acquired by a thread that spun; `is_spinner` tells whether that thread set `AWAKE`.
///
/// A lock without recent waiters stays plain-held.
pub(super) fn taken_spinning(word: u32, is_spinner: bool, cpu: u32) -> u32 {
    if is_quiet(word) { HELD } else { taken_contended(word, is_spinner, cpu) }
}

fn taken_contended(word: u32, is_spinner: bool, cpu: u32) -> u32 {
    let base = if is_spinner { without_awake(word) } else { word };
    base & !(CPU | RESERVED) | HELD | CREDIT | cpu << CPU_SHIFT
}

/// Returns the word as acquired by a thread during whose wait other threads ran, after a yield; `waited` is its waiting time.
///
/// Threads outnumber the CPUs, so the lock stays one with `WAITERS`, and arriving threads yield.
pub(super) fn taken_after_yields(word: u32, awake: Awake, is_spinner: bool, cpu: u32, now: u32, waited: u32) -> u32 {
    let taken = taken_contended(word, is_spinner, cpu) | WAITERS | if waited > GOOD_WAIT { SLICE } else { 0 };
    if awake.is_in(word) { taken } else { stamped(taken, now) }
}

/// Returns the word as acquired by a thread that blocked, or announced that it would; `waited` is its waiting time.
///
/// It keeps `WAITERS`: other threads may have blocked because they relied on this thread.
pub(super) fn taken_after_sleep(word: u32, is_spinner: bool, cpu: u32, now: u32, waited: u32) -> u32 {
    let taken = taken_contended(word & !WAKING, is_spinner, cpu) | WAITERS;
    stamped(another_slice(taken, waited), now)
}

/// Returns the held word with one more thread about to block: the holder will wake a thread, or the spinner of
/// `AWAKE` will take over that duty.
pub(super) fn marked(word: u32, is_spinner: bool, awake: Awake) -> u32 {
    let base = if is_spinner || !awake.is_in(word) { without_awake(word) } else { word };
    base & !WAKING | WAITERS
}

/// Returns whether no thread is blocked on this lock or has waited for it recently, so that a holder releases it by a
/// plain store even while other threads spin, but for the few releases of a probe or the last ones of another credit.
pub(super) fn is_quiet(word: u32) -> bool {
    word & WAITERS == 0 && word & CREDIT <= PROBE
}

/// Returns a plain-held word with a probe.
pub(super) fn probed(word: u32) -> Option<u32> {
    (word == HELD).then_some(HELD | PROBE)
}

#[cfg(not(loom))]
/// Returns whether the holder has not yet ended the iterations of a probe.
pub(super) fn is_probed(word: u32) -> bool {
    word & (HELD | WAITERS) == HELD && (1..=PROBE).contains(&(word & CREDIT))
}

/// The last two iterations of a credit, which is that of a probe or another one; each ends with a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Iterations {
    Begin,
    End,
}

/// Returns whether a release that finds this word begins or ends the last two iterations of a credit.
#[inline]
pub(super) fn iterations(word: u32) -> Option<Iterations> {
    match word & (WAITERS | CREDIT) {
        PROBE => Some(Iterations::Begin),
        ONE_CREDIT => Some(Iterations::End),
        _ => None,
    }
}

/// Returns whether a holder of this word may release it by a plain store.
///
/// It may have read the word before a waiter set the credit of a probe.
pub(super) fn may_be_stored_over(word: u32) -> bool {
    word & CREDIT <= PROBE
}

#[cfg(not(loom))]
/// Returns whether the holder was last seen on this CPU.
pub(super) fn held_on(word: u32, cpu: u32) -> bool {
    word & CPU != 0 && (word & CPU) >> CPU_SHIFT == cpu
}

#[cfg(not(loom))]
/// Returns whether more threads wait than there are CPUs, as far as the word shows.
pub(super) fn is_overloaded(word: u32) -> bool {
    word & (WAITERS | SLICE) != 0
}

/// Returns whether threads may be blocked.
pub(super) fn may_have_blocked(word: u32) -> bool {
    word & WAITERS != 0
}

#[cfg(not(loom))]
/// Returns whether threads have lately waited for long, as far as the word shows.
pub(super) fn has_long_waits(word: u32) -> bool {
    word & SLICE != 0
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
    if waited > GOOD_WAIT {
        word | SLICE
    } else if waited < GOOD_WAIT / 4 && word & SLICE != 0 {
        word - ONE_SLICE
    } else {
        word
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const AWAKE: Awake = Awake(1 << AWAKE_SHIFT);

    /// A time, and whether a release looks at it.
    struct At(u32, bool);

    impl Time for At {
        fn now(&self) -> u32 {
            self.0
        }

        fn is_looked_at(&self) -> bool {
            self.1
        }

        fn has_short_iterations(&self) -> bool {
            false
        }
    }

    /// A time at which a release looks, of a lock whose iterations are short.
    struct OfShort(u32);

    impl Time for OfShort {
        fn now(&self) -> u32 {
            self.0
        }

        fn is_looked_at(&self) -> bool {
            true
        }

        fn has_short_iterations(&self) -> bool {
            true
        }
    }

    /// Returns the word as `lock` acquires it on this CPU.
    fn entered(word: u32, cpu: u32) -> u32 {
        word ^ moved(word, cpu) | HELD
    }

    /// The word of a lock with a blocked thread and a spinning one, held on CPU 1 since time 0.
    fn contended() -> u32 {
        AWAKE.put_in(stamped(taken_spinning(CREDIT | WAITERS, true, 1), 0))
    }

    #[test]
    fn word_stays_the_same_while_one_thread_acquires_it_repeatedly() {
        let free_after = |held| freed(held, AWAKE, &At(0, false)).word;
        let held = entered(free_after(contended()), 1);
        let free = free_after(held);
        assert_eq!(free, held & !HELD);
        assert_eq!(entered(free, 1), held);
        assert_eq!(taken_quietly(free, || 1), held);
        assert_eq!(entered(free, 2) ^ held, (1 ^ 2) << CPU_SHIFT);
    }

    #[test]
    fn blocked_thread_is_woken_however_others_take_turns() {
        let woken_at = |is_looked_at, cpu: fn(u32) -> u32| {
            let mut word = contended();
            (1..10_000).find(|&now| {
                let freed = freed(word, AWAKE, &At(now, is_looked_at));
                word = AWAKE.put_in(entered(freed.word, cpu(now)));
                assert_eq!(freed.wakes, freed.word & RESERVED != 0, "it is handed off");
                freed.wakes
            })
        };
        assert_eq!(woken_at(true, |_| 1), Some(LONGEST_SLICE));
        assert_eq!(woken_at(true, |now| 1 + now % 2), Some(LONGEST_SLICE));
        assert_eq!(woken_at(false, |_| 1), None, "the clock is not read");
    }

    #[test]
    fn no_lock_is_reserved_for_a_thread_that_does_not_respond() {
        let after = |mut word: u32| {
            let mut reserved = 0;
            for now in 0..20 * LONGEST_SLICE {
                word = freed(word, AWAKE, &At(now, true)).word;
                reserved += u32::from(word & RESERVED != 0);
                word = AWAKE.put_in(entered(word & !RESERVED, 1));
            }
            (reserved, word & (WAITERS | WAKING))
        };
        assert_eq!(after(contended()), (1, 0), "nothing is left of it");
        assert_eq!(after(contended() | SLICE), (2, 0));
    }

    /// The word of a lock that one thread acquires repeatedly, while others are blocked and one was woken.
    fn prompt() -> u32 {
        entered(waking(stamped(WAITERS | CREDIT | SLICE, 0)), 1)
    }

    /// Asserts that a promptly acquired lock wakes a thread after each such time, and returns its word.
    fn wakes_of<T: Time>(time: impl Fn(u32, bool) -> T, pause: u32) -> u32 {
        let mut word = prompt();
        let mut wakes = Vec::new();
        for now in 0..4 * pause {
            let freed = freed(word, AWAKE, &time(now, true));
            assert_eq!(freed.word & RESERVED, 0);
            wakes.extend(freed.wakes.then_some(now));
            word = entered(freed.word, 1);
        }
        assert_eq!(wakes, [1, 2, 3].map(|nth| nth * pause));
        word
    }

    #[test]
    fn promptly_acquired_lock_wakes_blocked_threads_at_a_pace() {
        let word = wakes_of(At, PROMPT_PAUSE);
        wakes_of(|now, _| OfShort(now), PROMPT_PAUSE_OF_SHORT);
        let waited = taken_after_yields(word & !HELD, AWAKE, false, 1, 0, 0);
        assert!(!is_prompt(waited) && !freed(waited, AWAKE, &At(PROMPT_PAUSE, true)).wakes, "the holder had waited");
        let spun_for = AWAKE.put_in(prompt());
        assert!(!freed(spun_for, AWAKE, &At(PROMPT_PAUSE, true)).wakes, "a thread spins");
    }

    #[test]
    fn lock_of_one_thread_becomes_plain_however_it_was_contended() {
        let waited = taken_after_yields(prompt() & !HELD, AWAKE, false, 1, 0, GOOD_WAIT + 1);
        for mut word in [prompt(), waited] {
            let plain = (0..20 * LONGEST_SLICE).find(|&now| {
                word = entered(freed(word, AWAKE, &At(now, true)).word, 1) & !HELD;
                word & (WAITERS | CREDIT) == 0 || {
                    word |= HELD;
                    false
                }
            });
            assert!(plain.is_some());
        }
    }

    #[test]
    fn release_without_the_time_is_the_one_that_reads_none() {
        for word in [HELD | CREDIT, HELD | RESERVED | ONE_CREDIT, contended(), prompt()] {
            let freed = freed(word, AWAKE, &At(0, false));
            assert_eq!((freed_without_time(word, AWAKE), freed.wakes), (Some(freed.word), false));
        }
        let without_credit = AWAKE.put_in(WAITERS);
        assert_eq!(freed_without_time(HELD | without_credit, AWAKE), Some(without_credit | CREDIT_OF_WAITERS));
        assert_eq!(freed_without_time(HELD | WAITERS, AWAKE), None, "a thread must be woken");
    }

    #[test]
    fn promptly_acquired_lock_can_stay_one() {
        let taken = taken_spinning(prompt() & !HELD, false, 1);
        assert!(!is_prompt(taken) && is_prompt(promptly(taken)));
        assert_eq!(
            entered(freed(promptly(taken), AWAKE, &At(0, false)).word, 1),
            promptly(taken),
            "the word does not change"
        );
    }

    #[test]
    fn probe_ends_after_two_iterations_and_leaves_the_lock_plain() {
        let mut word = probed(HELD).unwrap();
        let mut seen = Vec::new();
        while word != HELD {
            assert!(is_quiet(word) && is_probed(word));
            assert!(may_be_stored_over(word), "the holder may have read the word before");
            for free in [word & !HELD, AWAKE.put_in(word & !HELD)] {
                assert_eq!(taken_spinning(free, false, 1), HELD, "a spinner leaves the lock plain");
            }
            seen.push(iterations(word));
            let free = freed(word, AWAKE, &At(0, true)).word;
            word = if free == 0 { HELD } else { entered(free, 1) };
        }
        assert_eq!(seen, [Some(Iterations::Begin), None, Some(Iterations::End)]);
        assert_eq!(iterations(HELD), None);
        assert!([HELD | RESERVED, HELD | CREDIT, contended()].into_iter().all(|word| probed(word).is_none()));
        let contended = [HELD | CREDIT, prompt()];
        assert!(contended.into_iter().all(|word| !is_quiet(word) && !is_probed(word) && iterations(word).is_none()));
    }

    #[test]
    fn slices_follow_the_waits_of_blocked_threads() {
        let after = |waited: &[u32]| {
            let wait = |word, waited: &u32| taken_after_sleep(word & !HELD, false, 1, 0, *waited);
            slice(waited.iter().fold(contended(), wait))
        };
        let (long, short) = (GOOD_WAIT + 1, GOOD_WAIT / 4 - 1);
        assert_eq!(after(&[]), LONGEST_SLICE);
        assert_eq!(after(&[long]), LONGEST_SLICE / 8);
        assert_eq!(after(&[long, GOOD_WAIT, short, short]), LONGEST_SLICE / 2);
        assert_eq!(after(&[long, short, short, short, short]), LONGEST_SLICE);
    }

    #[test]
    fn lock_without_waiters_becomes_plain_again() {
        let releases = |word, release: fn(u32) -> u32| {
            let next = |&word: &u32| Some(release(entered(word, 1))).filter(|&next| next != word);
            std::iter::successors(Some(word), next).count() - 1
        };
        let to_any = |word| freed(word, AWAKE, &At(0, true)).word;
        let to_waiter = |word| handed_off(word, AWAKE, &At(0, true)).word;
        let most = (CREDIT / ONE_CREDIT) as usize;
        assert_eq!((releases(CREDIT, to_any), releases(CREDIT, to_waiter), releases(0, to_any)), (most, most, 0));
        assert_eq!(releases(AWAKE.put_in(CREDIT), to_any), most);
        assert_eq!(to_any(HELD | RESERVED), RESERVED);
    }
}
