//! Assembly of waits from events: a thread begins a futex call, sleeps, is woken by another, and runs again.

use super::events::{Event, What};
use super::runs::Runs;
use super::waits::{Held, LONGEST, Slices, StackNumber, Wait, Waits};
use crate::memory::top_of_stack;
use crate::preempted::Sums;
use crate::purpose::{Block, End, Purpose, Uses};
use crate::sampling::moments::Turn;
use crate::sampling::{Call as Blocked, name_of};
use crate::stacks::{Stack, Stacks};
use crate::switches::{Competitor, Preemption, Seen, State, Timeline};
use std::collections::{HashMap, HashSet, VecDeque};

/// A futex word of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    At {
        process: u32,
        address: u64,
    },
    /// Words without separate sums: those that a stack waited for, most of them in the past.
    Folded {
        process: u32,
        stack: StackNumber,
    },
}

/// Times in ns that words were waited for, each with a stack that waited.
pub type Waited = HashMap<Word, (u64, StackNumber)>;

impl Word {
    pub fn process(self) -> u32 {
        match self {
            Self::At { process, .. } | Self::Folded { process, .. } => process,
        }
    }
}

/// The path of a futex call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path {
    pub process: u32,
    /// Addresses, the innermost first.
    pub frames: Vec<u64>,
    /// Whether the call shows by itself that it waits for the end of a thread.
    pub is_join: bool,
}

/// All events seen so far. Times are on the kernel's clock.
#[derive(Default)]
pub struct Follower {
    targets: HashSet<u32>,
    began: u64,
    window_began: u64,
    slice_began: u64,
    /// Slices of the record that ended in this part.
    slices: Slices,
    threads: HashMap<u32, Thread>,
    /// The threads that have ended a sleep, and made no other call since: the wait goes on if they sleep at the same word again.
    slept: HashMap<u32, Slept>,
    uses: Uses,
    /// Who had the words during the waits that have ended since this was read last.
    turns: Vec<Turn>,
    /// The threads that were found waiting when the window began, and the stacks that they wait at.
    standing: HashMap<u32, (Blocked, StackNumber)>,
    timelines: HashMap<u32, Timeline>,
    runs: Runs,
    /// Names of the threads that ran on any CPU.
    runners: HashMap<u32, String>,
    pub stacks: Vec<Path>,
    numbers: HashMap<Path, StackNumber>,
    /// Waits, by the word and the stack that waited.
    pub waits: HashMap<(Word, StackNumber), Waits>,
    /// The longest by word.
    pub longest: HashMap<Word, Vec<Wait>>,
    /// The first of all waits, for exports, as many as there is room for; and how many there were.
    pub kept: Vec<(Word, Wait)>,
    pub count: u64,
    room: usize,
    /// The last wait of each thread that ended with a wake: it may have had the lock since then.
    got: HashMap<u32, Got>,
    /// The last waits of each thread: it may have had another lock in them.
    past: HashMap<u32, VecDeque<Past>>,
    /// When each thread woke another last by a futex call, and for which word.
    woke: HashMap<u32, (u64, Word)>,
    /// The last releases of each word.
    releases: HashMap<Word, VecDeque<Release>>,
    /// Number of all these releases.
    released: usize,
    /// The thread that waited for each word; `None` for several.
    waiters: HashMap<Word, Option<u32>>,
    /// Words without separate sums.
    pub folded_words: u64,
    /// The threads that left their CPU last, by CPU, and when.
    left: HashMap<usize, (u32, f64)>,
    /// Preemptions of threads that had a word for which another waited, each once, by the word and the stack that woke
    /// the waiter in the end; and the start of the last of each thread.
    pub preempted: HashMap<(Word, StackNumber), Sums>,
    last_preempted: HashMap<u32, f64>,
}

/// Limits of the pairs of a word and a stack, of the stacks, and of the threads with remembered switches: a program can
/// have any number of them, for example if its semaphores are on the heap.
const MOST_PLACES: usize = 16_384;
/// Words that keep their sums when others are folded.
const MOST_KEPT: usize = 2_048;
const MOST_STACKS: usize = 32_768;
const MOST_THREADS: usize = 16_384;
/// The name of what runs on a CPU without a thread.
pub const IDLE: &str = "idle";
/// Threads whose names are kept: those of the whole machine.
const MOST_NAMES: usize = 65_536;

/// Work of the caller before the events after one are noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The memory maps of the processes have to be read: a call came from code that no unwinder knows.
    Maps,
    /// A process was started by one that is followed.
    Adoption { child: u32 },
}

/// The state of one thread.
#[derive(Default)]
struct Thread {
    call: Option<Call>,
    /// The wake after which it has not run yet.
    woken: Option<Woken>,
    /// Whether its wait began with an earlier sleep.
    goes_on: bool,
}

/// A sleep that has ended, and what is known of the wait up to here.
struct Slept {
    call: Call,
    is_timeout: bool,
    wait: Wait,
    held: Held,
    instead: Vec<(u32, f64)>,
}

#[derive(Clone, Copy)]
struct Call {
    word: Word,
    block: Block,
    /// The place in which it waits, or the last waiter of the word did that it wakes.
    place: Option<Block>,
    command: u32,
    stack: StackNumber,
    waits: bool,
    may_time_out: bool,
    /// The begin of the wait: with a thread that was woken and did not get what it waits for, that of its first sleep.
    began: u64,
    /// Time up to which the wait is counted in slices of the record.
    sliced_to: u64,
}

impl Call {
    /// Returns the objects of which it is a use: the word, and the place in which that is waited for.
    fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        [Some(self.block), self.place].into_iter().flatten()
    }

    /// Returns whether the time that has passed counts, whatever ends the call: a wait with a timeout, such as that for the
    /// next request, does not count if it ends with it.
    fn counts(&self) -> bool {
        self.waits && !self.may_time_out
    }
}

/// The end of a wait.
#[derive(Clone, Copy)]
struct Got {
    word: Word,
    stack: StackNumber,
    at: u64,
    /// The release that ended it.
    woken: Option<Release>,
}

/// The wake of a waiter, by the thread that had the lock.
#[derive(Clone, Copy)]
struct Release {
    by: u32,
    at: u64,
    /// The stack of its futex call.
    stack: Option<StackNumber>,
}

/// A wait that has ended.
#[derive(Clone, Copy)]
struct Past {
    word: Word,
    stack: StackNumber,
    began: u64,
    ended: u64,
    /// When the thread had woken another before, and the word that it woke it from.
    woke: Option<(u64, Word)>,
}

/// Waits of each thread that are remembered: more than a critical section has, mostly.
const MOST_PAST: usize = 16;

/// Releases of each word, and of all, that are remembered: those during a long wait, in which others had the lock in turn.
const MOST_RELEASES: usize = 256;
const MOST_RELEASES_OF_ALL: usize = 1 << 18;

/// Parts of waits that are not read yet.
const MOST_TURNS: usize = 1 << 16;

/// A thread that did something for less than this, in ns, between two sleeps at one word, and woke no other there, did not
/// get what it waits for: it is one wait. It tries the word and calls the kernel again, which takes a microsecond; a thread
/// that got something uses it.
const TRIED_NS: f64 = 50e3;

impl Got {
    /// Returns whether it was a wait for the same lock as a call. A readers-writer lock has several words. Each thread that
    /// waits for a lock of parking_lot has its own (`has_own_words`): then the call path is the same.
    fn is_of_lock(&self, call: &Call, has_own_words: bool) -> bool {
        const LARGEST_LOCK: u64 = 16;
        let is_near = match (self.word, call.word) {
            (Word::At { process, address }, Word::At { process: other, address: there }) => {
                process == other && address.abs_diff(there) < LARGEST_LOCK
            }
            _ => false,
        };
        is_near || has_own_words && self.stack == call.stack
    }
}

#[derive(Clone, Copy)]
struct Woken {
    release: Release,
    /// Time when the woken thread came to a CPU, and that CPU.
    ran: Option<(u64, usize)>,
}

/// The part of a futex call's operation that is the command.
const COMMAND: u32 = 0x7f;
const PRIVATE: u32 = 0x80;
const WAITING: [u32; 5] = [0, 6, 9, 11, 13];
const WAKING: [u32; 7] = [1, 3, 4, 5, UNLOCK_PI, 10, 12];
const UNLOCK_PI: u32 = 7;

fn is_wait(operation: u32) -> bool {
    WAITING.contains(&(operation & COMMAND))
}

fn is_wake(command: u32) -> bool {
    WAKING.contains(&command)
}

/// A thread when a window of the record begins, and the call that it is blocked in.
#[derive(Clone, Debug)]
pub struct Found {
    pub process: u32,
    pub thread: u32,
    pub blocked: Option<Blocked>,
}

impl Follower {
    /// Creates sums without waits, which keep as many waits as this.
    pub fn new(began: u64, room: usize) -> Self {
        Self { began, window_began: began, slice_began: began, room, ..Self::default() }
    }

    /// Sets the processes that are traced.
    pub fn follow(&mut self, targets: impl Iterator<Item = u32>) {
        self.targets = targets.collect();
    }

    /// Begins the next part of the trace: the sums are those of the waits that end in it. Waits that have begun go on.
    pub fn begin_part(&mut self) {
        self.waits.clear();
        self.longest.clear();
        self.folded_words = 0;
        self.slices = Slices::default();
    }

    /// Returns the slices of the record that ended in this part.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// Ends a slice of the record; the scatter of the slices is that of the sums.
    pub fn end_slice(&mut self, at: u64) {
        self.settle();
        let length = at.saturating_sub(self.slice_began) as f64;
        for call in self.threads.values_mut().filter_map(|thread| thread.call.as_mut()).filter(|call| call.counts()) {
            // A call that has just begun may find that it has nothing to wait for.
            if call.began < self.slice_began {
                let sum = self.waits.entry((call.word, call.stack)).or_default();
                sum.note_in_slice(at.saturating_sub(call.sliced_to));
                call.sliced_to = at;
            }
        }
        self.waits.values_mut().for_each(|sum| sum.end_slice(length));
        self.slices.add(length);
        self.slice_began = at;
    }

    /// Ends the window of the record: waits that go on are counted up to now. Who has a lock is not known after it.
    pub fn end_window(&mut self, at: u64) {
        self.settle();
        self.uses.interrupt();
        for (_, thread) in self.threads.drain() {
            if let Some(call) = thread.call.filter(Call::counts) {
                let sum = self.waits.entry((call.word, call.stack)).or_default();
                sum.times.ticks += at.saturating_sub(call.began);
                sum.note_in_slice(at.saturating_sub(call.sliced_to));
            }
        }
        self.end_slice(at);
        let since = at.saturating_sub(self.began) as f64;
        self.timelines.values_mut().for_each(|timeline| timeline.close(since, || None));
        self.got.clear();
        self.past.clear();
        self.woke.clear();
        self.releases.clear();
        self.released = 0;
        self.left.clear();
        self.runs = Runs::default();
    }

    /// Begins a window of the record at this time, with what the threads did then: of waits since before, the part in the
    /// window counts.
    pub fn begin_window(&mut self, at: u64, found: Vec<Found>, unwinders: &mut HashMap<u32, Stacks>) {
        (self.window_began, self.slice_began) = (at, at);
        let since = at.saturating_sub(self.began) as f64;
        let before = std::mem::take(&mut self.standing);
        for Found { process, thread, blocked } in found {
            let state = if blocked.is_some() { State::Asleep } else { State::Ready(None) };
            self.timelines.entry(thread).or_default().begin(since, state);
            let Some(call) = blocked.filter(|call| call.number == libc::SYS_futex) else { continue };
            let [address, operation, value, time] = call.arguments;
            let operation = operation as u32;
            let Some(unwinder) = unwinders.get_mut(&process).filter(|_| is_wait(operation)) else { continue };
            let stack = match before.get(&thread) {
                Some((earlier, stack)) if *earlier == call => *stack,
                _ => {
                    let (pointer, instruction) = (call.pointer, call.instruction);
                    let bytes = top_of_stack(process, pointer);
                    let stack = Stack { pointer, instruction, bytes, ..Stack::default() };
                    let is_join = self.is_join(operation, value as u32);
                    self.number(Path { process, frames: unwinder.frames(&stack), is_join })
                }
            };
            self.standing.insert(thread, (call, stack));
            let word = Word::At { process, address };
            let block = Block::of(process, address, operation & PRIVATE != 0);
            let call = Call {
                word,
                block,
                place: self.place_of_wait(block, process, stack),
                command: operation & COMMAND,
                stack,
                waits: true,
                may_time_out: time != 0,
                began: at,
                sliced_to: at,
            };
            self.threads.insert(thread, Thread { call: Some(call), ..Thread::default() });
        }
    }

    /// Adds the words that were waited for least to one for each stack: a program can use a new word for each request.
    fn fold(&mut self) {
        let mut words: HashMap<Word, u64> = HashMap::new();
        for ((word, _), waits) in &self.waits {
            *words.entry(*word).or_default() += waits.times.ticks;
        }
        let mut times: Vec<u64> = words.values().copied().collect();
        let last = times.len().saturating_sub(MOST_KEPT);
        let least = if last == 0 { 0 } else { *times.select_nth_unstable(last).1 };
        let is_kept = |word: Word| matches!(word, Word::Folded { .. }) || words[&word] > least;
        let (kept, folded): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waits).into_iter().partition(|((word, _), _)| is_kept(*word));
        self.waits = kept.into_iter().collect();
        for ((word, stack), waits) in folded {
            let into = self.waits.entry((Word::Folded { process: word.process(), stack }, stack)).or_default();
            into.merge(&waits);
            into.instances += 1;
        }
        self.folded_words += words.keys().filter(|word| !is_kept(**word)).count() as u64;
        self.longest.retain(|word, _| is_kept(*word));
    }

    /// Notes events until one needs its caller; `None` after the last one.
    ///
    /// With `learns`, a call from code that no unwinder knows remains the next event.
    pub fn note_until(
        &mut self,
        events: &mut std::vec::IntoIter<Event>,
        unwinders: &mut HashMap<u32, Stacks>,
        learns: bool,
    ) -> Option<Need> {
        // A thread of another process makes no call that counts, so its unwinder stays empty.
        let mut stranger = Stacks::default();
        while let Some(event) = events.as_slice().first() {
            let unwinder = unwinders.get_mut(&event.process);
            match &event.what {
                What::Call { stack, .. }
                    if learns && unwinder.as_ref().is_none_or(|unwinder| !unwinder.knows(stack.instruction)) =>
                {
                    return Some(Need::Maps);
                }
                &What::Fork { child } => {
                    events.next();
                    return Some(Need::Adoption { child });
                }
                What::In if event.thread != 0 && self.runners.len() < MOST_NAMES => {
                    let name = || name_of(event.process, event.thread).filter(|name| !name.is_empty());
                    let named = || name().unwrap_or_else(|| format!("thread {}", event.thread));
                    self.runners.entry(event.thread).or_insert_with(named);
                }
                _ => {}
            }
            let event = events.next()?;
            self.note(event, unwinder.unwrap_or(&mut stranger));
        }
        None
    }

    fn competitor(&self, thread: Option<u32>) -> Competitor {
        let Some(thread) = thread else { return Competitor::Unknown };
        match self.runner(thread) {
            // A limit of a control group stops a thread for none.
            None if thread == 0 => Competitor::Named(IDLE.into()),
            _ if self.is_of_target(thread) => Competitor::Own,
            Some(name) => Competitor::Named(name.to_owned()),
            None => Competitor::Unknown,
        }
    }

    /// Returns the name of a thread that ran; `None` if it never ran while the trace was open.
    pub fn runner(&self, thread: u32) -> Option<&str> {
        self.runners.get(&thread).map(String::as_str)
    }

    /// Notes the next event.
    pub fn note(&mut self, event: Event, unwinder: &mut Stacks) {
        let Event { raw_ns, process, thread, cpu, what } = event;
        let is_ours = self.targets.contains(&process);
        match what {
            What::In => self.runs(raw_ns, is_ours, thread, cpu),
            What::Out { is_preempted } if is_ours => {
                self.left.insert(cpu, (thread, raw_ns.saturating_sub(self.began) as f64));
                self.switched(raw_ns, thread, true, is_preempted);
            }
            What::Wakes { thread: woken } => self.wakes(raw_ns, (thread, is_ours), woken),
            What::Call { word, operation, value, may_time_out, stack } => {
                let is_join = self.is_join(operation, value);
                let stack = self.number(Path { process, frames: unwinder.frames(&stack), is_join });
                let block = Block::of(process, word, operation & PRIVATE != 0);
                let word = Word::At { process, address: word };
                let (waits, command) = (is_wait(operation), operation & COMMAND);
                let place = if waits { self.place_of_wait(block, process, stack) } else { self.uses.place_of(block) };
                let (began, sliced_to) = (raw_ns, raw_ns);
                self.calls(thread, Call { word, block, place, command, stack, waits, may_time_out, began, sliced_to });
            }
            What::Return { result } => self.returned(raw_ns, thread, result),
            What::Out { .. } | What::Lost { .. } | What::Fork { .. } => {}
        }
    }

    /// Returns the place in which a thread waits for a word, which is remembered; `None` without a call path.
    fn place_of_wait(&mut self, block: Block, process: u32, stack: StackNumber) -> Option<Block> {
        let frames = &self.stacks.get(stack).filter(|path| !path.frames.is_empty())?.frames;
        let place = Block::place(process, frames);
        self.uses.waits_in(place, block);
        Some(place)
    }

    /// Returns whether a call waits until the kernel clears the number of an ended thread. The kernel wakes its waiters as those
    /// of a word that processes share, so that the C library cannot call the word private, as it calls most of its locks.
    fn is_join(&self, operation: u32, value: u32) -> bool {
        is_wait(operation) && operation & PRIVATE == 0 && self.is_of_target(value)
    }

    fn calls(&mut self, thread: u32, call: Call) {
        if self.threads.len() >= MOST_THREADS {
            // Most of them ended within a call.
            self.threads.clear();
        }
        let slept = self.slept.remove(&thread);
        let is_again = |slept: &Slept| {
            slept.call.word == call.word && call.waits && self.used_ns(thread, slept.wait.ended, call.began) < TRIED_NS
        };
        let (call, goes_on) = match slept {
            Some(slept) if is_again(&slept) => {
                // It did not get it.
                let past = self
                    .past
                    .get_mut(&thread)
                    .filter(|past| past.back().map(|last| last.ended) == Some(slept.wait.ended));
                past.and_then(VecDeque::pop_back);
                self.got.remove(&thread);
                let Call { stack, began, sliced_to, .. } = slept.call;
                if slept.is_timeout {
                    self.waits.entry((call.word, stack)).or_default().timeouts += 1;
                }
                (Call { stack, began, sliced_to, ..call }, true)
            }
            slept => {
                slept.into_iter().for_each(|slept| self.add(slept));
                for block in call.blocks() {
                    match call.waits {
                        true => self.uses.asks(thread, block),
                        false if is_wake(call.command) => _ = self.uses.passes(thread, block, call.began),
                        false => {}
                    }
                }
                (call, false)
            }
        };
        self.threads.insert(thread, Thread { call: Some(call), woken: None, goes_on });
    }

    /// Returns the part of this time in which a thread was not kept from a CPU, as far as its switches are known.
    fn used_ns(&self, thread: u32, from: u64, to: u64) -> f64 {
        let since = |raw: u64| raw.saturating_sub(self.began) as f64;
        let seen = self.timelines.get(&thread).map(|timeline| timeline.seen(since(from), since(to)));
        to.saturating_sub(from) as f64 - seen.map_or(0.0, |seen| seen.preempted)
    }

    /// Adds the waits to the sums that would go on if their threads slept at the same word again: the sums are to be read.
    pub fn settle(&mut self) {
        let mut slept: Vec<Slept> = self.slept.drain().map(|(_, slept)| slept).collect();
        slept.sort_by_key(|slept| (slept.wait.ended, slept.wait.thread));
        slept.into_iter().for_each(|slept| self.add(slept));
    }

    /// Returns what a word is for, as far as its use shows that.
    pub fn purpose(&self, word: Word) -> Option<Purpose> {
        match word {
            Word::At { process, address } => self.uses.purpose(process, address),
            Word::Folded { .. } => None,
        }
    }

    /// Returns who had the words during the waits that have ended since the last call of this.
    pub fn take_turns(&mut self) -> Vec<Turn> {
        std::mem::take(&mut self.turns)
    }

    /// Returns what was seen of the use of all words.
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    fn number(&mut self, mut path: Path) -> StackNumber {
        if self.stacks.len() >= MOST_STACKS && !self.numbers.contains_key(&path) {
            path.frames.clear();
        }
        let (stacks, next) = (&mut self.stacks, self.numbers.len());
        *self.numbers.entry(path).or_insert_with_key(|path| {
            stacks.push(path.clone());
            next
        })
    }

    fn switched(&mut self, at: u64, thread: u32, is_out: bool, is_preempted: bool) {
        let at = at.saturating_sub(self.began) as f64;
        if self.timelines.len() >= MOST_THREADS && !self.timelines.contains_key(&thread) {
            // Most of them have ended. A thread that still runs is known again from its next switch on.
            self.timelines.clear();
        }
        let timeline = self.timelines.entry(thread).or_default();
        if !timeline.is_open() {
            // Its first switch shows its state before that.
            timeline.begin(self.window_began.saturating_sub(self.began) as f64, State::Asleep);
        }
        timeline.note(at, is_out, is_preempted);
    }

    fn runs(&mut self, at: u64, is_ours: bool, thread: u32, cpu: usize) {
        self.runs.note(at, thread, cpu);
        if let Some((left, since)) = self.left.remove(&cpu)
            && let Some(timeline) = self.timelines.get_mut(&left)
        {
            timeline.followed_by(since, thread);
        }
        if is_ours {
            self.switched(at, thread, false, false);
            if let Some(woken) = self.threads.get_mut(&thread).and_then(|thread| thread.woken.as_mut()) {
                woken.ran.get_or_insert((at, cpu));
            }
        }
    }

    fn wakes(&mut self, at: u64, (by, is_ours): (u32, bool), woken: u32) {
        let waker = self.threads.get(&by).filter(|_| is_ours).and_then(|waker| waker.call);
        // In an interrupt, the kernel calls the thread that it interrupts the waker.
        if let Some(call) = waker.filter(|call| !call.waits) {
            if self.woke.len() >= MOST_THREADS {
                self.woke.clear();
            }
            self.woke.insert(by, (at, call.word));
        }
        let stack = waker.map(|call| call.stack);
        let Some(thread) = self.threads.get_mut(&woken) else { return };
        let Some(call) = thread.call.filter(|call| call.waits && thread.woken.is_none()) else { return };
        let release = Release { by, at, stack };
        thread.woken = Some(Woken { release, ran: None });
        if self.released >= MOST_RELEASES_OF_ALL {
            self.releases.clear();
            self.released = 0;
        }
        let releases = self.releases.entry(call.word).or_default();
        if releases.len() >= MOST_RELEASES {
            releases.pop_front();
        } else {
            self.released += 1;
        }
        releases.push_back(release);
    }

    fn returned(&mut self, at: u64, thread: u32, result: i64) {
        const ETIMEDOUT: i64 = 110;
        const EAGAIN: i64 = 11;
        let Some(Thread { call: Some(call), woken, goes_on }) = self.threads.remove(&thread) else { return };
        if !call.waits {
            if is_wake(call.command) {
                let woken = if call.command == UNLOCK_PI { i64::from(result == 0) } else { result };
                call.blocks().for_each(|block| self.uses.woke(thread, block, woken.try_into().unwrap_or(0)));
            }
            return;
        }
        // If the word had changed already, there was no wait, unless the thread has slept for it before.
        if result == -EAGAIN && !goes_on {
            return;
        }
        if self.waiters.len() >= MOST_PLACES && !self.waiters.contains_key(&call.word) {
            self.waiters.clear();
        }
        let waiter = self.waiters.entry(call.word).or_insert(Some(thread));
        *waiter = waiter.filter(|waiter| *waiter == thread);
        let is_timeout = result == -ETIMEDOUT;
        let woken = woken.filter(|_| !is_timeout);
        let release = woken.map(|woken| woken.release);
        let mut wait = Wait {
            began: call.began,
            ended: at,
            thread,
            stack: call.stack,
            waker: release.map(|release| (release.by, release.stack)),
            seen: Seen::default(),
            wake_ns: woken.and_then(|woken| Some(woken.ran?.0.saturating_sub(woken.release.at))),
        };
        let mut held = Held::default();
        let since = |raw: u64| raw.saturating_sub(self.began) as f64;
        if let Some(release) = release.filter(|release| release.stack.is_some())
            && let Some(timeline) = self.timelines.get(&release.by)
        {
            let (got, _) = self.had_since(&call, thread, release.by, release.at);
            let (from, to) = (since(call.began.max(got)), since(release.at));
            (wait.seen, held) = self.held(&call, thread, release);
            // Those of earlier holders were at other places.
            let waited_ns = timeline.seen(from, to).preempted;
            if let Some(stack) = release.stack
                && waited_ns > 0.0
                && (self.preempted.len() < MOST_KEPT || self.preempted.contains_key(&(call.word, stack)))
            {
                if self.last_preempted.len() >= MOST_THREADS {
                    self.last_preempted.clear();
                }
                let last = self.last_preempted.entry(release.by).or_insert(f64::NEG_INFINITY);
                // It may have begun before the wait.
                let overlap = timeline.preemptions(since(got), to).filter(|preemption| preemption.to > from);
                let new: Vec<Preemption> = overlap.filter(|preemption| preemption.from > *last).collect();
                if let Some(newest) = new.last() {
                    *last = newest.from;
                }
                let left_ns = |from: f64| to - from - timeline.seen(from, to).off;
                let noted =
                    new.iter().map(|preemption| (preemption, left_ns(preemption.to), self.competitor(preemption.next)));
                let noted: Vec<_> = noted.collect();
                let sums = self.preempted.entry((call.word, stack)).or_default();
                sums.waited_ns += waited_ns;
                noted.into_iter().for_each(|(preemption, left_ns, by)| sums.note(preemption, left_ns, by));
            }
        }
        self.note_past(thread, &call, at);
        if !is_timeout {
            if self.got.len() >= MOST_THREADS && !self.got.contains_key(&thread) {
                self.got.clear();
            }
            self.got.insert(thread, Got { word: call.word, stack: call.stack, at, woken: release });
        }
        if is_timeout {
            call.blocks().for_each(|block| self.uses.waited(thread, block, End::TimedOut, at));
        }
        let turn = woken.and_then(|woken| Some((woken.release.at, woken.ran?)));
        let instead = turn.map_or_else(Vec::new, |(woken, (ran, cpu))| self.runs.between(woken, ran, cpu));
        if self.slept.len() >= MOST_THREADS {
            self.settle();
        }
        self.slept.insert(thread, Slept { call, is_timeout, wait, held, instead });
    }

    /// Adds a wait to the sums.
    fn add(&mut self, Slept { call, is_timeout, wait, held, instead }: Slept) {
        let place = (call.word, call.stack);
        if self.waits.len() >= MOST_PLACES && !self.waits.contains_key(&place) {
            self.fold();
        }
        let sum = self.waits.entry(place).or_default();
        if is_timeout {
            sum.timeouts += 1;
            return;
        }
        call.blocks().for_each(|block| self.uses.waited(wait.thread, block, End::Woken, wait.ended));
        if let Word::At { process, address } = call.word
            && self.turns.len() < MOST_TURNS
        {
            let waiter = wait.thread;
            let turn = |&(by, from, to): &(Option<u32>, u64, u64)| {
                let to = to.min(wait.ended);
                Turn { process, address, waiter, by, from, to }
            };
            self.turns.extend(held.turns.iter().map(turn));
        }
        sum.add(&wait, held, instead);
        sum.note_in_slice(wait.ended.saturating_sub(call.sliced_to));
        self.count += 1;
        if self.kept.len() < self.room {
            self.kept.push((call.word, wait.clone()));
        }
        let longest = self.longest.entry(call.word).or_default();
        let after = longest.partition_point(|other| other.ended - other.began >= wait.ended - wait.began);
        longest.insert(after, wait);
        longest.truncate(LONGEST);
    }

    fn note_past(&mut self, thread: u32, call: &Call, ended: u64) {
        let woke = self.woke.get(&thread).copied();
        let wait = Past { word: call.word, stack: call.stack, began: call.began, ended, woke };
        if self.past.len() >= MOST_THREADS && !self.past.contains_key(&thread) {
            self.past.clear();
        }
        let past = self.past.entry(thread).or_default();
        if past.len() >= MOST_PAST {
            past.pop_front();
        }
        past.push_back(wait);
    }

    /// Returns since when a thread had the lock that it released at `to`, and the release before that.
    ///
    /// Before it got the lock, it waited in the same queue, or for nothing: then it took a lock that was free, after the last
    /// release by another thread. How much later is unknown, unless one of its last waits ended then, or it did not run: it
    /// acquires a lock as it runs.
    fn had_since(&self, call: &Call, thread: u32, by: u32, to: u64) -> (u64, Option<Release>) {
        let has_own = |got: &Got| self.have_own_words([(got.word, by), (call.word, thread)]);
        let got = self.got.get(&by).filter(|got| got.at <= to && got.is_of_lock(call, has_own(got)));
        let mut releases = self.releases.get(&call.word).into_iter().flatten().rev();
        let last = releases.find(|release| release.by != by && release.at < to).copied();
        match got.filter(|got| last.is_none_or(|last| last.at <= got.at)) {
            Some(got) => (got.at, got.woken),
            None => {
                let mut past = self.past.get(&by).into_iter().flatten().rev();
                let got = past.find(|past| past.word == call.word && past.ended <= to).map_or(0, |past| past.ended);
                let from = last.map_or(0, |release| release.at).max(got);
                let timeline = self.timelines.get(&by).filter(|_| from > self.began);
                let back = timeline.and_then(|timeline| timeline.back_after((from - self.began) as f64));
                (back.map_or(from, |back| self.began + back as u64).min(to), last)
            }
        }
    }

    /// Returns the states of the threads that had the lock during a wait: the waker since it got the lock, before that the
    /// thread that had released it to the waker, and so on.
    fn held(&self, call: &Call, thread: u32, last: Release) -> (Seen, Held) {
        let since = |raw: u64| raw.saturating_sub(self.began) as f64;
        let (mut seen, mut held) = (Seen::default(), Held::default());
        let (mut by, mut to, mut released_at) = (last.by, last.at, last.stack);
        held.turns.push((None, to, u64::MAX));
        for _ in 0..MOST_RELEASES {
            let (from, before) = self.had_since(call, thread, by, to);
            let (had_from, from) = (from, from.max(call.began));
            if let Some(timeline) = self.timelines.get(&by) {
                seen.add(timeline.seen(since(from), since(to)));
            }
            held.holders.extend(released_at.map(|stack| (stack, since(to) - since(from))));
            held.turns.push((Some(by), from, to));
            for past in self.past.get(&by).into_iter().flatten().filter(|past| past.word != call.word) {
                let overlap_ns = past.ended.min(to).saturating_sub(past.began.max(from));
                // A wake of the lock's own waiters was its last release of it.
                let after_wake = past.woke.is_some_and(|(at, word)| at > had_from && word != call.word);
                held.waits.extend((overlap_ns > 0).then_some(((past.stack, after_wake), overlap_ns as f64)));
            }
            let Some(before) = before.filter(|release| release.at > call.began) else { break };
            if before.at < from {
                held.turns.push((None, before.at, from));
            }
            (by, to, released_at) = (before.by, before.at, before.stack);
        }
        (seen, held)
    }

    /// Returns whether each of these words was waited for by this thread alone.
    fn have_own_words(&self, words: [(Word, u32); 2]) -> bool {
        words[0].1 != words[1].1 && words.iter().all(|(word, thread)| self.waiters.get(word) == Some(&Some(*thread)))
    }

    /// Returns whether a thread is one of the processes.
    pub fn is_of_target(&self, thread: u32) -> bool {
        self.timelines.contains_key(&thread)
    }

    /// Returns how long each word was waited for by now.
    pub fn waited(&self) -> Waited {
        let mut waited = Waited::new();
        for ((word, stack), waits) in self.waits.iter().filter(|(_, waits)| !waits.is_empty()) {
            let sum = waited.entry(*word).or_insert((0, *stack));
            sum.0 += waits.times.ticks;
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(raw_ns: u64, thread: u32, what: What) -> Event {
        Event { raw_ns, process: if thread < 100 { 1 } else { 9 }, thread, cpu: 0, what }
    }

    fn call(operation: u32) -> What {
        What::Call {
            word: 0xf00,
            operation,
            value: 0,
            may_time_out: false,
            stack: Stack { instruction: u64::from(operation) + 1, ..Stack::default() },
        }
    }

    /// Thread 2 waits from 100 to 600; 3, which did not run from 200 to 300, wakes it at 500; thread 100 runs until
    /// 580.
    #[test]
    fn a_wait_has_its_waker_its_way_back_and_who_ran_instead() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        let events = [
            event(100, 2, call(128)),
            event(110, 3, What::In),
            event(200, 3, What::Out { is_preempted: true }),
            event(300, 3, What::In),
            event(490, 3, call(129)),
            event(500, 3, What::Wakes { thread: 2 }),
            event(510, 3, What::Return { result: 1 }),
            event(520, 100, What::In),
            event(580, 2, What::In),
            event(600, 2, What::Return { result: 0 }),
        ];
        events.into_iter().for_each(|event| follower.note(event, &mut unwinder));
        follower.settle();
        let [((word, _), waits)] = follower.waits.iter().collect::<Vec<_>>()[..] else { panic!("one wait") };
        let at = Word::At { process: 1, address: 0xf00 };
        assert_eq!((*word, waits.times.ticks, waits.times.count, waits.wakes.ticks), (at, 500, 1, 80));
        let mut sums = Sums { waited_ns: 100.0, ..Sums::default() };
        sums.note(&Preemption { from: 200.0, to: 300.0, next: Some(3) }, 200.0, Competitor::Own);
        assert_eq!(follower.preempted, HashMap::from([((at, 1), sums)]));
        // Thread 3 came first at 110: it did not run before.
        assert_eq!((waits.seen.known, waits.seen.off, waits.seen.preempted), (400.0, 110.0, 100.0));
        assert_eq!(waits.wakers.values().copied().collect::<Vec<f64>>(), [500.0]);
        assert_eq!((waits.ran_instead[&3], waits.ran_instead[&100]), (20.0, 60.0));
    }

    /// Thread 4 waits from 150 on, gets the word at 300 and wakes 2 at 500, which waits from 100 on: only what 4 did since
    /// 300 counts.
    #[test]
    fn waker_that_waited_is_judged_from_its_return() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        let events = [
            event(90, 4, What::In),
            event(100, 2, call(128)),
            event(150, 4, call(128)),
            event(160, 4, What::Out { is_preempted: false }),
            event(290, 3, call(129)),
            event(295, 3, What::Wakes { thread: 4 }),
            event(298, 4, What::In),
            event(300, 4, What::Return { result: 0 }),
            event(490, 4, call(129)),
            event(500, 4, What::Wakes { thread: 2 }),
            event(510, 2, What::In),
            event(520, 2, What::Return { result: 0 }),
        ];
        events.into_iter().for_each(|event| follower.note(event, &mut unwinder));
        follower.settle();
        let [waits] = follower.waits.values().collect::<Vec<_>>()[..] else { panic!("one place") };
        assert_eq!(waits.times.ticks, 420 + 150);
        // Of thread 3, which woke 4, no switch was seen.
        assert_eq!((waits.seen.known, waits.seen.off), (200.0, 0.0));
    }

    /// Thread 3 sleeps with the lock until 290, and wakes 4, which computes with it until 500.
    #[test]
    fn holders_before_the_waker_are_judged_as_well() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        let other = Stack { instruction: 77, ..Stack::default() };
        let events = [
            event(80, 3, What::In),
            event(90, 4, What::In),
            event(100, 2, call(128)),
            event(110, 3, What::Out { is_preempted: false }),
            event(120, 4, call(128)),
            event(130, 4, What::Out { is_preempted: false }),
            event(280, 3, What::In),
            event(285, 3, What::Call { word: 0xf00, operation: 129, value: 0, may_time_out: false, stack: other }),
            event(290, 3, What::Wakes { thread: 4 }),
            event(298, 4, What::In),
            event(300, 4, What::Return { result: 0 }),
            event(490, 4, call(129)),
            event(500, 4, What::Wakes { thread: 2 }),
            event(520, 2, What::Return { result: 0 }),
        ];
        events.into_iter().for_each(|event| follower.note(event, &mut unwinder));
        follower.settle();
        let seen = follower.longest.values().flatten().find(|wait| wait.thread == 2).map(|wait| wait.seen);
        assert_eq!(seen, Some(Seen { known: 190.0 + 200.0, off: 170.0, preempted: 0.0 }));
        // Thread 3 released it after 170 ns of the wait of 4 and 190 ns of that of 2, and 4 after another 200 ns.
        let [waits] = follower.waits.values().collect::<Vec<_>>()[..] else { panic!("one place") };
        let of = |instruction: u64| {
            follower.stacks.iter().position(|path| path.frames.first() == Some(&instruction)).unwrap()
        };
        assert_eq!(waits.holders[&of(77)], 170.0 + 190.0);
        assert_eq!(waits.holders.values().sum::<f64>(), 170.0 + 190.0 + 200.0);
    }

    /// Thread 3 has the lock, and waits for another word from 120 to 280; the second time it has woken a thread before.
    #[test]
    fn waits_of_the_holder_for_other_words_are_known() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        let stack = |instruction| Stack { instruction, ..Stack::default() };
        let other = What::Call { word: 0xbb0, operation: 128, value: 0, may_time_out: false, stack: stack(77) };
        let events = [
            event(90, 3, What::In),
            event(100, 2, call(128)),
            // In an interrupt.
            event(110, 3, What::Wakes { thread: 6 }),
            event(120, 3, other.clone()),
            event(130, 3, What::Out { is_preempted: false }),
            event(270, 5, What::Wakes { thread: 3 }),
            event(275, 3, What::In),
            event(280, 3, What::Return { result: 0 }),
            event(285, 3, call(129)),
            event(290, 3, What::Wakes { thread: 2 }),
            event(310, 2, What::Return { result: 0 }),
        ];
        events.into_iter().for_each(|event| follower.note(event, &mut unwinder));
        follower.settle();
        let place = follower.stacks.iter().position(|path| path.frames.first() == Some(&77)).unwrap();
        let of = |address| {
            let is_it = |((word, _), _): &(&(Word, StackNumber), &Waits)| *word == Word::At { process: 1, address };
            follower.waits.iter().find(is_it).map(|(_, waits)| waits.holder_waits.clone())
        };
        assert_eq!(of(0xf00), Some(HashMap::from([((place, false), 160.0)])));
        assert_eq!(of(0xbb0), Some(HashMap::new()));
        let again = [
            event(400, 2, call(128)),
            event(405, 3, What::Call { word: 0xbb0, operation: 129, value: 0, may_time_out: false, stack: stack(78) }),
            event(410, 3, What::Wakes { thread: 5 }),
            event(415, 3, What::Return { result: 1 }),
            event(420, 3, other),
            event(480, 3, What::Return { result: 0 }),
            event(485, 3, call(129)),
            event(490, 3, What::Wakes { thread: 2 }),
            event(510, 2, What::Return { result: 0 }),
        ];
        again.into_iter().for_each(|event| follower.note(event, &mut unwinder));
        follower.settle();
        let of_lock = follower.waits.iter().find(|((word, _), _)| *word == Word::At { process: 1, address: 0xf00 });
        assert_eq!(of_lock.unwrap().1.holder_waits, HashMap::from([((place, false), 160.0), ((place, true), 60.0)]));
    }

    /// Threads 2 and 3 wait for 4, which wakes 3 at 200. Thread 5 slept until then, and takes the lock before 3 does.
    #[test]
    fn waker_that_took_a_free_lock_had_it_since_the_last_release() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        let events = [
            event(80, 4, What::In),
            event(85, 5, What::In),
            event(90, 5, What::Out { is_preempted: false }),
            event(100, 3, call(128)),
            event(110, 2, call(128)),
            event(195, 4, call(129)),
            event(200, 4, What::Wakes { thread: 3 }),
            event(200, 5, What::In),
            event(210, 3, What::Return { result: 0 }),
            event(215, 3, call(128)),
            event(295, 5, call(129)),
            event(300, 5, What::Wakes { thread: 2 }),
            event(310, 2, What::Return { result: 0 }),
        ];
        events.into_iter().for_each(|event| follower.note(event, &mut unwinder));
        follower.settle();
        let seen = follower.longest.values().flatten().find(|wait| wait.thread == 2).map(|wait| wait.seen);
        assert_eq!(seen, Some(Seen { known: 90.0 + 100.0, off: 0.0, preempted: 0.0 }));
    }

    /// The same with a word for each thread, as parking_lot has them, and with the words of a readers-writer lock.
    #[test]
    fn waker_of_another_word_of_the_lock_is_judged_from_its_return() {
        let wait_for = |word: u64, place: u64| What::Call {
            word,
            operation: 128,
            value: 0,
            may_time_out: false,
            stack: Stack { instruction: place, ..Stack::default() },
        };
        for (first, then, known) in [
            // The same place, another word of the same lock, and another lock.
            (wait_for(0x8000, 7), wait_for(0x9000, 7), 200.0),
            (wait_for(0xf00, 7), wait_for(0xf04, 8), 200.0),
            (wait_for(0xf00, 7), wait_for(0xe00, 8), 400.0),
        ] {
            let mut follower = Follower::new(0, 0);
            follower.follow([1].into_iter());
            let mut unwinder = Stacks::default();
            let events = [
                event(90, 4, What::In),
                event(100, 2, first),
                event(150, 4, then),
                event(160, 4, What::Out { is_preempted: false }),
                event(298, 4, What::In),
                event(300, 4, What::Return { result: 0 }),
                event(490, 4, call(129)),
                event(500, 4, What::Wakes { thread: 2 }),
                event(520, 2, What::Return { result: 0 }),
            ];
            events.into_iter().for_each(|event| follower.note(event, &mut unwinder));
            follower.settle();
            assert_eq!(follower.waits.values().map(|waits| waits.seen.known).sum::<f64>(), known);
        }
    }

    /// Thread 2 asks at 100. It is woken at 200 and at 400, finds the lock taken both times, and has it at 600; thread 3 has it
    /// up to 200, 4 up to 400, and 5 up to 600. At 700, thread 2 wakes the next one.
    #[test]
    fn a_wait_ends_when_the_thread_has_the_lock() {
        let events = |others: [u32; 3]| {
            let round = |(number, by): (u64, u32)| {
                let at = 200 * number;
                let mut events = vec![
                    event(at + 195, by, call(129)),
                    event(at + 200, by, What::Wakes { thread: 2 }),
                    event(at + 201, by, What::Return { result: 1 }),
                    event(at + 205, 2, What::Return { result: 0 }),
                ];
                // The word has changed again by one of the calls.
                let changed = [event(at + 207, 2, call(128)), event(at + 208, 2, What::Return { result: -11 })];
                events.extend(changed.into_iter().filter(|_| number == 0));
                events.extend((number < 2).then(|| event(at + 209, 2, call(128))));
                events
            };
            let mut all: Vec<Event> = [2, 3, 4, 5].map(|thread| event(90, thread, What::In)).into();
            all.push(event(100, 2, call(128)));
            all.extend((0..).zip(others).flat_map(round));
            all.extend([event(700, 2, call(129)), event(705, 2, What::Return { result: 1 })]);
            all
        };
        let mut follower = Follower::new(0, 9);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        events([3, 4, 5]).into_iter().for_each(|event| follower.note(event, &mut unwinder));
        let [waits] = follower.waits.values().collect::<Vec<_>>()[..] else { panic!("one place") };
        assert_eq!((waits.times.count, waits.times.ticks), (1, 605 - 100));
        let [(_, wait)] = &follower.kept[..] else { panic!("one wait") };
        assert_eq!((wait.began, wait.ended, wait.waker.map(|(thread, _)| thread)), (100, 605, Some(5)));
        // All of it is of those who had the lock in turn, up to the last release.
        assert_eq!(waits.holders.values().sum::<f64>(), 500.0);
    }

    /// The same sleeps, and work in between: on a CPU, or for another thread.
    #[test]
    fn who_did_something_in_between_waits_again() {
        let wakes = |at| [event(at, 3, What::Wakes { thread: 2 }), event(at + 10, 2, What::Return { result: 0 })];
        let runs: u64 = 60_000;
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        let mut events = vec![event(90, 2, What::In), event(100, 2, call(128))];
        events.extend(wakes(190));
        // It ran, or slept, for long.
        events.push(event(200 + runs, 2, call(128)));
        events.extend(wakes(300 + runs));
        // It woke another at the word.
        events.extend([event(320 + runs, 2, call(129)), event(325 + runs, 2, What::Return { result: 1 })]);
        events.push(event(330 + runs, 2, call(128)));
        events.extend(wakes(400 + runs));
        // It was preempted in the meantime, and had done nothing.
        events.extend([
            event(420 + runs, 2, What::Out { is_preempted: true }),
            event(500 + 2 * runs, 2, What::In),
            event(510 + 2 * runs, 2, call(128)),
        ]);
        events.extend(wakes(600 + 2 * runs));
        events.into_iter().for_each(|event| follower.note(event, &mut unwinder));
        follower.settle();
        let [waits] = follower.waits.values().collect::<Vec<_>>()[..] else { panic!("one place") };
        assert_eq!(waits.times.count, 3);
        assert_eq!(waits.times.ticks, 100 + 110 + (610 + 2 * runs - 330 - runs));
    }

    /// A new word for each of many requests, and one word that is waited for each time.
    #[test]
    fn words_beyond_the_room_are_folded_and_no_wait_is_lost() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let (mut unwinder, requests) = (Stacks::default(), 3 * MOST_PLACES as u64);
        for request in 0..requests {
            let words = if request % 8 == 0 { vec![0x8000_0000 + request, 0xf00] } else { vec![0x8000_0000 + request] };
            for word in words {
                let stack = Stack { instruction: 1, ..Stack::default() };
                let call = What::Call { word, operation: 128, value: 0, may_time_out: false, stack };
                follower.note(event(10 * request, 2, call), &mut unwinder);
                follower.note(event(10 * request + 5, 2, What::Return { result: 0 }), &mut unwinder);
            }
        }
        follower.settle();
        let of = |is_it: &dyn Fn(&Word) -> bool| {
            follower.waits.iter().filter(|((word, _), _)| is_it(word)).map(|(_, waits)| waits.times.count).sum::<u64>()
        };
        assert!(follower.waits.len() <= MOST_PLACES && follower.longest.len() <= MOST_PLACES);
        assert_eq!(of(&|_| true), requests + requests / 8);
        assert_eq!(of(&|word| *word == Word::At { process: 1, address: 0xf00 }), requests / 8);
        let folded = follower.waits.values().map(|waits| u64::from(waits.instances)).sum::<u64>();
        assert!(folded > 0 && folded == follower.folded_words, "{folded} of {}", follower.folded_words);
    }

    /// Thread 2 waits from 100 to 900, of which 300 to 700 is a pause; 3 waits with a timeout, and 4 runs.
    #[test]
    fn waits_over_a_pause_have_their_parts_in_the_windows() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinders = HashMap::from([(1, Stacks::default())]);
        let blocked = |operation: u32, time: u64| Blocked {
            number: libc::SYS_futex,
            arguments: [0xf00, u64::from(operation), 0, time],
            pointer: 0,
            instruction: 129,
        };
        let may_time_out = What::Call {
            word: 0xe00,
            operation: 128,
            value: 0,
            may_time_out: true,
            stack: Stack { instruction: 1, ..Stack::default() },
        };
        let note = |follower: &mut Follower, events: Vec<Event>| {
            let mut stacks = Stacks::default();
            events.into_iter().for_each(|event| follower.note(event, &mut stacks));
        };
        note(&mut follower, vec![event(100, 2, call(128)), event(150, 3, may_time_out)]);
        follower.end_window(300);
        let found = [(2, Some(blocked(128, 0))), (3, Some(blocked(128, 7))), (4, None), (5, Some(blocked(129, 0)))];
        let found = found.map(|(thread, blocked)| Found { process: 1, thread, blocked }).to_vec();
        follower.begin_window(700, found, &mut unwinders);
        note(
            &mut follower,
            vec![
                event(790, 4, call(129)),
                event(800, 4, What::Wakes { thread: 2 }),
                event(820, 2, What::In),
                event(900, 2, What::Return { result: 0 }),
            ],
        );
        follower.end_window(1_000);
        let [((_, stack), waits)] = follower.waits.iter().collect::<Vec<_>>()[..] else {
            panic!("{:?}", follower.waited())
        };
        assert_eq!((waits.times.ticks, waits.times.count), (200 + 200, 1));
        assert_eq!(follower.stacks[*stack].frames, [129], "found where it was, as its call said");
        // Thread 4 ran from the begin of the window on, as far as is known.
        assert_eq!((waits.seen.known, waits.seen.off), (100.0, 0.0));
        // Slices of 300 ns and 300 ns, with 200 ns of waits each.
        assert_eq!((follower.slices().count, waits.deviation_ns(follower.slices())), (2, Some(0.0)));
    }

    /// Thread 2 waits all the time, in waits of 10 slices: each slice has the same.
    #[test]
    fn long_wait_is_counted_in_each_slice_that_it_lasts() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        for slice in 0..40 {
            if slice % 10 == 0 {
                follower.note(event(100 * slice, 2, call(128)), &mut unwinder);
            }
            if slice % 10 == 9 {
                follower.note(event(100 * slice + 100, 2, What::Return { result: 0 }), &mut unwinder);
            }
            follower.end_slice(100 * slice + 100);
            assert_eq!(follower.waited().is_empty(), slice < 9, "a wait that goes on has no sum yet");
        }
        let waits = follower.waits.values().next().unwrap();
        assert_eq!((waits.times.ticks, waits.times.count), (4_000, 4));
        let deviation = waits.deviation_ns(follower.slices()).unwrap();
        // The first slice of each wait is counted in the second: 0, 200 and eight times 100 of 100 ns.
        assert!((deviation - f64::sqrt(4.0 * 2.0 * 100.0 * 100.0 / 39.0)).abs() < 1e-9, "{deviation}");
    }

    /// The C library waits until a realtime clock, with this flag, for a word that the kernel clears.
    #[test]
    fn call_shows_that_it_waits_for_the_end_of_a_thread() {
        const UNTIL_REALTIME: u32 = 9 | 256;
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        follower.note(event(90, 3, What::In), &mut Stacks::default());
        let is_join = |operation, value| follower.is_join(operation, value);
        assert!(is_join(UNTIL_REALTIME, 3) && is_join(0, 3));
        assert!(!is_join(UNTIL_REALTIME | PRIVATE, 3), "the word of a lock");
        assert!(!is_join(UNTIL_REALTIME, 4) && !is_join(UNTIL_REALTIME, 0), "no thread of the program");
        assert!(!is_join(1, 3), "a call that wakes");
        let stack = || Stack { instruction: 7, ..Stack::default() };
        for value in [3, 0] {
            let call =
                What::Call { word: 0xf00, operation: UNTIL_REALTIME, value, may_time_out: false, stack: stack() };
            follower.note(event(100, 2, call), &mut Stacks::default());
        }
        assert_eq!(follower.stacks.iter().map(|path| path.is_join).collect::<Vec<bool>>(), [true, false]);
    }

    #[test]
    fn changed_word_is_not_a_wait_and_timeout_is_counted() {
        let mut follower = Follower::new(0, 0);
        follower.follow([1].into_iter());
        let mut unwinder = Stacks::default();
        for (at, result) in [(10, -11), (20, -110)] {
            follower.note(event(at, 2, call(0)), &mut unwinder);
            follower.note(event(at + 5, 2, What::Return { result }), &mut unwinder);
        }
        follower.settle();
        let waits = follower.waits.values().next().unwrap();
        assert_eq!((follower.waits.len(), waits.times.count, waits.timeouts), (1, 0, 1));
    }
}
