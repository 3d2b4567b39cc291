//! The explicit-state model of the lock: its own transitions, and the steps between them.

extern crate std;

use super::*;
use crate::explore::{Model, Queue, explore};
use std::vec::Vec;

/// One call on the lock. The mode in which a thread holds it decides how it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Take(Mode),
    /// Its deadline may pass at any time.
    TakeBy(Mode),
    Try(Mode),
    /// Changes the mode: from writing to reading or to upgradable mode, or from that to reading.
    Change(Held),
    Leave,
}

/// The sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Read,
    Again,
    Upgradable,
    Upgrade,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Held {
    Not,
    Shared,
    Upgradably,
    Exclusively,
}

/// Calls a function or reads a constant of the side of a mode.
macro_rules! of_side {
    ($mode:expr, $item:ident $(($($argument:expr),*))?) => {
        match $mode {
            Mode::Read => Reading::$item $(($($argument),*))?,
            Mode::Again => Again::$item $(($($argument),*))?,
            Mode::Upgradable => Upgradable::$item $(($($argument),*))?,
            Mode::Upgrade => Upgrading::$item $(($($argument),*))?,
            Mode::Write => Writing::$item $(($($argument),*))?,
        }
    };
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Call,
    Spin,
    Mark,
    /// It blocks if the word is still this one.
    Block(u32),
    Blocked,
    GiveUp,
    /// It has seen no flag of a writer, and will subtract itself.
    Subtract,
    /// It has read this word of an unlocked lock that it could not acquire at once.
    Cancel(u32),
    /// It has cancelled the claims of this word, and wakes a writer.
    CancelWake(u32),
    CancelTake(u32),
    WakeWriter {
        or: u32,
    },
    /// It wakes the threads of these flags and, if there are none, a writer.
    WakeReaders {
        flags: u32,
        or_writer: bool,
    },
    WakeNext {
        or_writer: bool,
    },
    WakeUpgrader,
    /// Whatever it woke, it goes on.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Thread {
    at: At,
    call: u8,
    claim: Claim,
    held: Held,
    /// Whether the call that goes on fails.
    fails: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State<const N: usize> {
    word: u32,
    threads: [Thread; N],
    queue: Queue<N>,
}

struct Threads<const N: usize> {
    calls: [&'static [Call]; N],
    /// Whether a signal may end a wait, and a blocked thread may look by itself, as between processes.
    interrupted: bool,
    /// Whether the thread that leaves wakes no other, which the model must find.
    forgets: bool,
}

impl<const N: usize> Model for Threads<N> {
    type State = State<N>;

    fn start(&self) -> State<N> {
        let thread = Thread { at: At::Call, call: 0, claim: Claim::NONE, held: Held::Not, fails: false };
        State { word: 0, threads: [thread; N], queue: Queue::EMPTY }
    }

    fn is_end(&self, state: &State<N>) -> bool {
        (0..N).all(|thread| self.call_of(state, thread).is_none())
    }

    fn fault(&self, state: &State<N>) -> Option<&'static str> {
        let holding = |held| state.threads.iter().filter(|thread| thread.held == held).count();
        let (writers, upgradable) = (holding(Held::Exclusively), holding(Held::Upgradably));
        let readers = holding(Held::Shared) + upgradable;
        if writers > 1 || upgradable > 1 || (writers == 1 && readers > 0) {
            Some("two threads hold the lock that exclude each other")
        } else if (state.word & COUNT) as usize != readers || (state.word & WRITER != 0) != (writers == 1) {
            Some("the word does not show the holders")
        } else {
            None
        }
    }

    fn steps(&self, state: &State<N>, after: &mut Vec<State<N>>) {
        for index in 0..N {
            if let Some(call) = self.call_of(state, index) {
                Step { model: self, state, index, call, after }.add_all();
            }
        }
    }
}

impl<const N: usize> Threads<N> {
    fn call_of(&self, state: &State<N>, thread: usize) -> Option<Call> {
        self.calls[thread].get(usize::from(state.threads[thread].call)).copied()
    }
}

/// The steps of one thread in one state.
struct Step<'a, const N: usize> {
    model: &'a Threads<N>,
    state: &'a State<N>,
    index: usize,
    call: Call,
    after: &'a mut Vec<State<N>>,
}

impl<const N: usize> Step<'_, N> {
    fn add(&mut self, change: impl FnOnce(&mut State<N>, usize)) {
        let mut next = self.state.clone();
        change(&mut next, self.index);
        self.after.push(next);
    }

    fn go(&mut self, word: u32, thread: Thread) {
        self.add(|next, index| {
            next.word = word;
            next.threads[index] = thread;
        });
    }

    fn mode(&self) -> Mode {
        match self.call {
            Call::Take(mode) | Call::TakeBy(mode) | Call::Try(mode) => mode,
            Call::Change(_) | Call::Leave => unreachable!("only an acquisition waits"),
        }
    }

    fn is_timed(&self) -> bool {
        matches!(self.call, Call::TakeBy(_))
    }

    /// Acquires the lock if this claim permits it; returns whether it does.
    fn take(&mut self, claim: Claim) -> bool {
        let thread = self.state.threads[self.index];
        let held = match self.mode() {
            Mode::Read | Mode::Again => Held::Shared,
            Mode::Upgradable => Held::Upgradably,
            Mode::Upgrade | Mode::Write => Held::Exclusively,
        };
        let taken = of_side!(self.mode(), taken(self.state.word, claim));
        if let Some(word) = taken {
            self.go(word, Thread { at: At::Done, held, ..thread });
        }
        taken.is_some()
    }

    fn add_all(&mut self) {
        let (word, thread) = (self.state.word, self.state.threads[self.index]);
        match thread.at {
            At::Call => self.call(thread),
            At::Spin => self.spin(thread),
            At::Mark => self.mark(thread),
            At::Block(expected) if word == expected => self.add(|next, index| {
                next.queue.push(index);
                next.threads[index].at = At::Blocked;
            }),
            At::Block(_) => {
                self.go(word, Thread { at: At::Spin, ..thread });
                if self.is_timed() {
                    self.go(word, Thread { at: At::GiveUp, ..thread });
                }
            }
            At::Blocked => self.unblock(thread),
            At::GiveUp => {
                let word = if thread.claim.reserved { word & !RESERVED } else { word };
                let changed = of_side!(self.mode(), given_up(word));
                self.changed(changed, Thread { fails: true, ..thread });
            }
            At::Subtract => {
                let wakes = if word & (WRITERS | UPGRADER) != 0 { left_by_reader(word).1 } else { Wake::None };
                self.changed((word - 1, wakes), Thread { held: Held::Not, ..thread });
            }
            At::Cancel(seen) => {
                let bare = seen & !(RESERVED | WRITERS);
                if word == seen {
                    let next = if seen & WRITERS != 0 { At::CancelWake(seen) } else { At::CancelTake(seen) };
                    self.go(bare, Thread { at: next, ..thread });
                } else {
                    self.go(word, Thread { at: At::Done, fails: true, ..thread });
                }
            }
            At::CancelWake(seen) => self.wake(WRITING, 1, |woken| match woken {
                0 if seen & ARRIVALS != 0 => At::WakeReaders { flags: seen & ARRIVALS, or_writer: false },
                0 => At::CancelTake(seen),
                _ => At::Done,
            }),
            At::CancelTake(seen) => {
                if seen & RESERVED != 0 || word != seen & !WRITERS || !self.take(Claim::NONE) {
                    self.go(word, Thread { at: At::Done, fails: true, ..thread });
                }
            }
            At::WakeWriter { or } => self.wake(WRITING, 1, |woken| match woken {
                0 if or != 0 => At::WakeReaders { flags: or, or_writer: false },
                _ => At::Done,
            }),
            At::WakeReaders { flags, or_writer } => {
                let most = if flags & READERS != 0 { N } else { 0 };
                self.wake(READING, most, |woken| {
                    let or_writer = or_writer && woken == 0;
                    match () {
                        () if flags & NEXT != 0 => At::WakeNext { or_writer },
                        () if or_writer => At::WakeWriter { or: 0 },
                        () => At::Done,
                    }
                });
            }
            At::WakeNext { or_writer } => self.wake(WANTING, 1, |woken| match woken {
                0 if or_writer => At::WakeWriter { or: 0 },
                _ => At::Done,
            }),
            At::WakeUpgrader => self.wake(UPGRADING, 1, |_| At::Done),
            At::Done => {
                // A call that has failed skips those up to the release, but for a reader that could not upgrade.
                let calls = self.model.calls[self.index];
                let rest = calls[usize::from(thread.call)..].iter().position(|&call| call == Call::Leave);
                let skips = thread.fails && thread.held == Held::Not && self.call != Call::Leave;
                let passed = if skips { rest.map_or(1, |rest| rest + 1) } else { 1 };
                let call = thread.call + passed as u8;
                self.go(word, Thread { at: At::Call, call, claim: Claim::NONE, fails: false, ..thread });
            }
        }
    }

    fn call(&mut self, thread: Thread) {
        let word = self.state.word;
        match (self.call, thread.held) {
            (Call::Take(_) | Call::TakeBy(_), _) => {
                if !self.take(Claim::NONE) {
                    self.go(word, Thread { at: At::Spin, ..thread });
                }
            }
            (Call::Try(mode), _) => {
                if !self.take(Claim::NONE) {
                    let cancels = is_free(word) && mode != Mode::Upgrade;
                    let at = if cancels { At::Cancel(word) } else { At::Done };
                    self.go(word, Thread { at, fails: true, ..thread });
                }
            }
            (Call::Change(held), from) => {
                let changed = match (from, held) {
                    (Held::Exclusively, Held::Shared) => changed_by_writer(word, 1),
                    (Held::Exclusively, Held::Upgradably) => changed_by_writer(word, UPGRADABLE | 1),
                    (Held::Upgradably, Held::Shared) => let_in(word & !UPGRADABLE, NEXT),
                    _ => unreachable!("there is no such change"),
                };
                self.changed(changed, Thread { held, ..thread });
            }
            (Call::Leave, Held::Shared) if word & WRITERS == 0 => self.go(word, Thread { at: At::Subtract, ..thread }),
            (Call::Leave, Held::Shared) => self.changed(left_by_reader(word), Thread { held: Held::Not, ..thread }),
            (Call::Leave, Held::Upgradably) => {
                self.changed(left_by_upgradable(word), Thread { held: Held::Not, ..thread });
            }
            (Call::Leave, Held::Exclusively) => {
                let at = match word & (ARRIVALS | WRITERS) {
                    0 => At::Done,
                    WRITERS => At::WakeWriter { or: 0 },
                    flags => At::WakeReaders { flags: flags & ARRIVALS, or_writer: flags & WRITERS != 0 },
                };
                let at = if self.model.forgets { At::Done } else { at };
                self.go(left_by_writer(word), Thread { at, held: Held::Not, ..thread });
            }
            (Call::Leave, Held::Not) => unreachable!("a call that fails passes over its release"),
        }
    }

    fn changed(&mut self, (word, wakes): (u32, Wake), thread: Thread) {
        let at = match wakes {
            Wake::None => At::Done,
            Wake::Writer { or } => At::WakeWriter { or },
            Wake::Arrivals(flags) => At::WakeReaders { flags, or_writer: false },
            Wake::Upgrader => At::WakeUpgrader,
        };
        self.go(word, Thread { at, ..thread });
    }

    fn spin(&mut self, mut thread: Thread) {
        let word = self.state.word;
        thread.claim.reserved &= word & RESERVED != 0;
        for void in [false, true] {
            self.take(Claim { void, ..thread.claim });
        }
        let must_wait = of_side!(self.mode(), must_wait(word));
        if thread.claim.slept && word & RESERVED == 0 && (!is_free(word) || must_wait) {
            let claim = Claim { reserved: true, ..thread.claim };
            self.go(word | RESERVED, Thread { claim, ..thread });
        }
        if must_wait || self.is_timed() {
            self.go(word, Thread { at: At::Mark, ..thread });
        }
    }

    fn mark(&mut self, mut thread: Thread) {
        let word = self.state.word;
        if !of_side!(self.mode(), must_wait(word)) {
            self.take(Claim { void: true, ..thread.claim });
            return;
        }
        let flag = of_side!(self.mode(), MARK);
        let keeps = flag == WRITERS || flag == NEXT;
        let marked = if keeps || !thread.claim.reserved { word } else { word & !RESERVED } | flag;
        thread.claim.reserved &= keeps;
        self.go(marked, Thread { at: At::Block(marked), ..thread });
    }

    /// Ends a wait without a wake-up.
    fn unblock(&mut self, thread: Thread) {
        let slept = thread.claim.slept || of_side!(self.mode(), MARK) != READERS;
        let woken = Thread { claim: Claim { slept, ..thread.claim }, ..thread };
        let timed = self.is_timed().then_some(At::GiveUp);
        let interrupted = self.model.interrupted.then_some([At::Spin, At::Mark]);
        for at in timed.into_iter().chain(interrupted.into_iter().flatten()) {
            self.add(|next, index| {
                next.queue.take(|thread| thread == index);
                next.threads[index] = Thread { at, ..woken };
            });
        }
    }

    /// Wakes up to `most` threads of a queue, and goes on.
    fn wake(&mut self, queue: u32, most: usize, then: impl FnOnce(usize) -> At) {
        let calls = self.model.calls;
        self.add(|next, index| {
            let mut woken = 0;
            while woken < most {
                let threads = next.threads;
                let is_in = |thread: usize| match calls[thread][usize::from(threads[thread].call)] {
                    Call::Take(mode) | Call::TakeBy(mode) => of_side!(mode, QUEUE) == queue,
                    _ => false,
                };
                let Some(thread) = next.queue.take(is_in) else { break };
                next.threads[thread].claim.slept = true;
                next.threads[thread].at = At::Spin;
                woken += 1;
            }
            next.threads[index].at = then(woken);
        });
    }
}

use Call::{Change, Leave, Take, TakeBy, Try};

/// The use of the lock by a thread.
const USES: [&[Call]; 14] = [
    &[Take(Mode::Read), Leave],
    &[TakeBy(Mode::Read), Leave],
    &[Take(Mode::Again), Leave],
    &[Take(Mode::Write), Leave],
    &[TakeBy(Mode::Write), Leave],
    &[Take(Mode::Upgradable), Leave],
    &[TakeBy(Mode::Upgradable), Leave],
    &[Take(Mode::Upgradable), Take(Mode::Upgrade), Leave],
    &[Take(Mode::Upgradable), TakeBy(Mode::Upgrade), Leave],
    &[Take(Mode::Upgradable), Try(Mode::Upgrade), Change(Held::Shared), Leave],
    &[Take(Mode::Write), Change(Held::Shared), Leave],
    &[Take(Mode::Write), Change(Held::Upgradably), Leave],
    &[Try(Mode::Write), Leave],
    &[Try(Mode::Upgradable), Leave],
];

fn states<const N: usize>(calls: [&'static [Call]; N], interrupted: bool) -> usize {
    explore(&Threads { calls, interrupted, forgets: false }).unwrap_or_else(|path| panic!("{path:#x?}"))
}

#[test]
fn two_threads_exclude_each_other_and_none_waits_forever() {
    for (nth, first) in USES.iter().enumerate() {
        for second in &USES[nth..] {
            states([first, second], true);
        }
    }
}

#[test]
fn three_threads_exclude_each_other_and_none_waits_forever() {
    for (nth, first) in USES.iter().enumerate() {
        for (next, second) in USES.iter().enumerate().skip(nth) {
            for third in &USES[next..] {
                states([first, second, third], false);
            }
        }
    }
}

/// A thread that was woken gives up after one that left the lock has acquired it again.
#[test]
fn thread_that_gives_up_loses_no_wake_up_of_others() {
    for [once, twice] in [
        [&[TakeBy(Mode::Upgradable), Leave][..], &[Take(Mode::Upgradable), Leave, Take(Mode::Upgradable), Leave][..]],
        [&[TakeBy(Mode::Write), Leave], &[Take(Mode::Write), Leave, Take(Mode::Write), Leave]],
        [&[TakeBy(Mode::Read), Leave], &[Take(Mode::Write), Leave, Take(Mode::Write), Leave]],
        [&[TakeBy(Mode::Write), Leave], &[Take(Mode::Read), Leave, Take(Mode::Read), Leave]],
    ] {
        for third in USES {
            states([once, twice, third], false);
        }
    }
}

#[test]
fn model_finds_a_missing_wake_up() {
    let calls: [&[Call]; 2] = [USES[0], USES[3]];
    assert!(explore(&Threads { calls, interrupted: false, forgets: true }).is_err());
}
