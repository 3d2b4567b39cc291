//! The explicit-state model of the lock: its own transitions, and the steps between them.

extern crate std;

use super::{
    waiting::{FIRST, OTHERS},
    word::{self, Awake, HELD, Past, RESERVED, WAITERS},
};
use crate::explore::{Model, Queue, explore};
use std::vec::Vec;

/// One way to use the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Lock,
    /// `lock`, and `unlock_fair`.
    Fair,
    /// An acquisition with a deadline, which may pass at any time.
    Timed,
    Try,
}
use Use::{Fair, Lock, Timed, Try};

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// The first compare-and-swap has failed.
    Again,
    Spin,
    Announce,
    Fence,
    /// It blocks if the word is still this one.
    Block(u32),
    /// On an unlocked lock, it blocks for a limited time.
    Blocked {
        for_a_turn: bool,
    },
    GiveUp,
    Inside,
    Unlock,
    /// Within the restartable sequence, after the comparison.
    Compared,
    Free,
    /// It wakes a thread of the first class, or any one.
    Wake,
    WakeAny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Thread {
    at: At,
    /// The number of uses that have ended.
    done: u8,
    past: Past,
    /// Whether it has left a turn to a woken thread that did not come.
    has_left_turn: bool,
    class: u32,
}

const ARRIVING: Thread = Thread { at: At::Start, done: 0, past: Past::NONE, has_left_turn: false, class: OTHERS };

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State<const N: usize> {
    word: u32,
    threads: [Thread; N],
    queue: Queue<N>,
}

struct Threads<const N: usize> {
    uses: [&'static [Use]; N],
    /// Whether the lock is released by a restartable sequence.
    stores: bool,
    /// Whether a signal may end a wait, and a blocked thread may look by itself, as between processes.
    interrupted: bool,
    /// Whether a thread that blocks on a plain-held lock forgets the fence, which the model must find.
    forgets_fence: bool,
}

const AWAKE: Awake = Awake::new(0);
/// Ages of the stamp: in a slice, after it, and with long sections. The model keeps 0 in the word.
const AGES: [u32; 3] = [0, word::SLICE, word::LONG];

impl<const N: usize> Model for Threads<N> {
    type State = State<N>;

    fn start(&self) -> State<N> {
        State { word: 0, threads: [ARRIVING; N], queue: Queue::EMPTY }
    }

    fn is_end(&self, state: &State<N>) -> bool {
        (0..N).all(|thread| self.use_of(state, thread).is_none())
    }

    fn fault(&self, state: &State<N>) -> Option<&'static str> {
        let holds = |thread: &&Thread| matches!(thread.at, At::Inside | At::Unlock | At::Compared | At::Free);
        let holders = state.threads.iter().filter(holds).count();
        if holders > 1 {
            Some("two threads hold the lock")
        } else if (holders == 1) != (state.word & HELD != 0) {
            Some("the word does not show whether the lock is held")
        } else {
            None
        }
    }

    fn steps(&self, state: &State<N>, after: &mut Vec<State<N>>) {
        for index in 0..N {
            if let Some(now) = self.use_of(state, index) {
                Step { model: self, state, index, now, after }.add_all();
            }
        }
    }
}

impl<const N: usize> Threads<N> {
    fn use_of(&self, state: &State<N>, thread: usize) -> Option<Use> {
        self.uses[thread].get(usize::from(state.threads[thread].done)).copied()
    }
}

/// The steps of one thread in one state.
struct Step<'a, const N: usize> {
    model: &'a Threads<N>,
    state: &'a State<N>,
    index: usize,
    now: Use,
    after: &'a mut Vec<State<N>>,
}

impl<const N: usize> Step<'_, N> {
    fn add(&mut self, change: impl FnOnce(&mut State<N>, usize)) {
        let mut next = self.state.clone();
        change(&mut next, self.index);
        next.word = word::without_stamp(next.word);
        self.after.push(next);
    }

    fn go(&mut self, at: At) {
        self.add(|next, index| next.threads[index].at = at);
    }

    fn change(&mut self, word: u32, at: At) {
        self.add(|next, index| {
            next.word = word;
            next.threads[index].at = at;
        });
    }

    fn acquire(&mut self, past: Past) {
        let word = past.taken(self.state.word, AWAKE, self.index as u32 + 1, || 0);
        self.add(|next, index| {
            next.word = word;
            next.threads[index] = Thread { at: At::Inside, done: next.threads[index].done, ..ARRIVING };
        });
    }

    fn end(&mut self, word: u32) {
        self.add(|next, index| {
            next.word = word;
            end(&mut next.threads[index]);
        });
    }

    fn add_all(&mut self) {
        let (word, thread) = (self.state.word, self.state.threads[self.index]);
        match thread.at {
            At::Start if word == 0 => self.acquire(Past::NONE),
            At::Start => self.go(At::Again),
            At::Again => self.again(),
            At::Spin => self.spin(thread),
            At::Announce if !thread.past.woken && !thread.has_left_turn && word::is_left_to_woken(word) => {
                self.add(|next, index| {
                    next.threads[index] = Thread { at: At::Block(word), ..thread };
                });
            }
            At::Announce if word & HELD == 0 => self.acquire(thread.past),
            At::Announce => {
                let mark = thread.past.marked(word, AWAKE, || 0);
                let is_plain = self.model.stores && !word::may_have_blocked(word) && !self.model.forgets_fence;
                let at = if is_plain && mark != word { At::Fence } else { At::Block(mark) };
                self.add(|next, index| {
                    next.word = mark;
                    next.threads[index] = Thread { at, ..thread };
                });
            }
            At::Fence => self.add(|next, index| {
                let compared = next.threads.iter_mut().filter(|thread| thread.at == At::Compared);
                compared.for_each(|thread| thread.at = At::Free);
                next.threads[index].at = At::Announce;
            }),
            At::Block(expected) if word == expected => {
                self.add(|next, index| {
                    next.queue.push(index);
                    next.threads[index].at = At::Blocked { for_a_turn: word & HELD == 0 };
                });
            }
            At::Block(_) => {
                self.add(|next, index| begin(&mut next.threads[index]));
                if self.now == Timed {
                    self.go(At::GiveUp);
                }
            }
            At::Blocked { for_a_turn } => self.unblock(for_a_turn),
            At::GiveUp if word & (HELD | WAITERS) == HELD | WAITERS => {
                self.end(thread.past.leaving().marked(word, AWAKE, || 0));
            }
            At::GiveUp => self.change(if word & HELD == 0 { word & !RESERVED } else { word }, At::Wake),
            At::Inside => self.go(if self.now == Fair { At::Free } else { At::Unlock }),
            At::Unlock if word == HELD && self.model.stores => {
                self.go(At::Compared);
                self.go(At::Free);
            }
            At::Unlock if word == HELD => self.end(0),
            At::Unlock => self.go(At::Free),
            At::Compared => {
                self.end(0);
                self.go(At::Free);
            }
            At::Free => {
                for age in AGES {
                    let freed = if self.now == Fair { word::handed_off } else { word::freed };
                    let freed = freed(word, AWAKE, || age);
                    if freed.wakes { self.change(freed.word, At::Wake) } else { self.end(freed.word) }
                }
            }
            At::Wake => self.wake(FIRST, At::WakeAny),
            At::WakeAny => self.wake(crate::futex::ALL, At::Start),
        }
    }

    /// `take_quietly` or, without success, what follows it.
    fn again(&mut self) {
        let word = self.state.word;
        if Past::NONE.may_take(word, false) {
            self.acquire(Past::NONE);
        }
        if self.now != Try {
            self.go(At::Spin);
        } else {
            self.end(if word & (HELD | RESERVED) == RESERVED { word & !RESERVED } else { word });
            self.end(word);
        }
    }

    fn spin(&mut self, mut thread: Thread) {
        let word = self.state.word;
        thread.past.reserved &= word & RESERVED != 0;
        if word & HELD == 0 {
            if thread.past.may_take(word, true) {
                self.acquire(thread.past);
            }
            if self.now == Timed {
                self.announce(thread);
            }
            return;
        }
        let with = |past: Past| Thread { past, ..thread };
        if word::may_have_blocked(word) && !AWAKE.is_any_in(word) {
            self.add(|next, index| {
                next.word = AWAKE.put_in(word);
                next.threads[index] = with(Past { spins: true, ..thread.past });
            });
            self.add(|next, index| next.threads[index] = with(Past { spins: false, ..thread.past }));
        }
        if word & RESERVED == 0 {
            self.add(|next, index| {
                next.word |= RESERVED;
                next.threads[index] = with(Past { reserved: true, ..thread.past });
            });
        }
        self.announce(thread);
    }

    fn announce(&mut self, thread: Thread) {
        let past = Past { slept: true, ..thread.past };
        self.add(|next, index| next.threads[index] = Thread { at: At::Announce, past, ..thread });
    }

    /// Ends a wait without a wake-up.
    fn unblock(&mut self, for_a_turn: bool) {
        let mut to = Vec::new();
        if self.now == Timed {
            to.push(At::GiveUp);
        }
        if for_a_turn || self.model.interrupted {
            to.push(At::Announce);
        }
        if self.model.interrupted {
            to.push(At::Spin);
        }
        for at in to {
            self.add(|next, index| {
                next.queue.take(|thread| thread == index);
                next.threads[index].has_left_turn |= for_a_turn && at != At::Spin;
                if at == At::Spin { begin(&mut next.threads[index]) } else { next.threads[index].at = at }
            });
        }
    }

    fn wake(&mut self, class: u32, without: At) {
        self.add(|next, index| {
            let threads = next.threads;
            match next.queue.take(|thread| threads[thread].class & class != 0) {
                Some(woken) => {
                    begin(&mut next.threads[woken]);
                    next.threads[woken].past.woken = true;
                    next.threads[woken].class = FIRST;
                    end(&mut next.threads[index]);
                }
                None if without == At::Start => end(&mut next.threads[index]),
                None => next.threads[index].at = without,
            }
        });
    }
}

/// Begins another spin.
fn begin(thread: &mut Thread) {
    thread.past = Past { spins: false, reserved: false, ..thread.past };
    thread.at = At::Spin;
}

fn end(thread: &mut Thread) {
    *thread = Thread { done: thread.done + 1, ..ARRIVING };
}

fn states<const N: usize>(uses: [&'static [Use]; N], stores: bool, interrupted: bool) -> usize {
    let found = explore(&Threads { uses, stores, interrupted, forgets_fence: false });
    found.unwrap_or_else(|path| panic!("{path:#x?}"))
}

#[test]
fn two_threads_exclude_each_other_and_none_waits_forever() {
    for stores in [true, false] {
        for interrupted in [true, false] {
            states([&[Lock, Lock], &[Lock, Lock]], stores, interrupted);
            states([&[Timed, Fair], &[Lock, Try, Timed]], stores, interrupted);
        }
    }
}

#[test]
fn three_threads_exclude_each_other_and_none_waits_forever() {
    for stores in [true, false] {
        for third in [&[Lock] as &[Use], &[Fair], &[Timed], &[Try]] {
            states([&[Lock, Lock], &[Timed], third], stores, false);
        }
        states([&[Lock], &[Timed], &[Lock]], stores, true);
    }
}

#[test]
fn model_finds_a_missing_fence() {
    let uses: [&[Use]; 2] = [&[Lock], &[Lock]];
    assert!(explore(&Threads { uses, stores: true, interrupted: false, forgets_fence: true }).is_err());
}
