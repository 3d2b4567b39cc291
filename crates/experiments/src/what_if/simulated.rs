//! A simulator of threads, CPUs and locks: programs whose gain is known, to test predictions.
//!
//! It shares no code with the library: a program runs with sections that are really shorter, and with the pauses and
//! lags of the method. CPUs are given out in the order in which threads become ready, for time slices; a lock can be
//! taken by a running thread before the woken waiter runs. Times are in us.

use super::correction::{Limits, TwoLimits, own_error};
use std::collections::VecDeque;

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
enum Step {
    Work(f64),
    Sleep(f64),
    Lock(usize),
    Unlock(usize),
    Put,
    Get,
    Meet,
}

/// The sections of this lock are shorter.
const CHOSEN: usize = 0;
const SLICE: f64 = 3_000.0;
/// Less than this is not paused for.
const LEAST: f64 = 20.0;

struct Program {
    threads: Vec<Vec<Step>>,
    cpus: usize,
    /// Time from a release to the moment when the waiter could run.
    wake: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Ready,
    Running,
    /// Ready again at this time.
    Until(f64),
    /// The thread waits for the object of this number.
    Waits(usize),
    Ended,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    at: f64,
    lag: f64,
    handoffs: f64,
    taken: f64,
    free_since: f64,
    is_set: bool,
}

#[derive(Default)]
struct Object {
    is_held: bool,
    count: usize,
    waiters: VecDeque<usize>,
    /// Threads that wait for it, or were woken and do not have it yet.
    waiting: usize,
    mark: Mark,
}

struct Thread {
    steps: Vec<Step>,
    at: usize,
    /// The rest of the step.
    left: f64,
    slice: f64,
    state: State,
    lag: f64,
    handoffs: f64,
    /// Time when it began to wait; below 0 without a wait.
    waited_since: f64,
    ready_since: f64,
    /// Waits for a CPU that are not in the lag yet.
    for_cpu: f64,
    in_section: bool,
    has_passed: bool,
}

/// The result of a run.
#[derive(Clone, Copy, Debug)]
struct Ran {
    wall: f64,
    cpu: f64,
    sections: f64,
    end_lag: f64,
    handoffs: f64,
}

struct Simulation<'a> {
    program: &'a Program,
    now: f64,
    threads: Vec<Thread>,
    ready: VecDeque<usize>,
    objects: Vec<Object>,
    /// The share by which sections are virtually shorter, if threads have lags.
    share: Option<f64>,
    most: f64,
    ran: Ran,
}

/// Objects: two locks, the queue, the barrier.
const QUEUE: usize = 2;
const BARRIER: usize = 3;

impl<'a> Simulation<'a> {
    fn of(program: &'a Program, share: Option<f64>) -> Self {
        let thread = |steps: &Vec<Step>| Thread {
            steps: steps.clone(),
            at: 0,
            left: f64::NAN,
            slice: SLICE,
            state: State::Ready,
            lag: 0.0,
            handoffs: 0.0,
            waited_since: -1.0,
            ready_since: 0.0,
            for_cpu: 0.0,
            in_section: false,
            has_passed: false,
        };
        let threads: Vec<Thread> = program.threads.iter().map(thread).collect();
        let ready = (0..threads.len()).collect();
        let objects = (0..=BARRIER).map(|_| Object::default()).collect();
        let ran = Ran { wall: 0.0, cpu: 0.0, sections: 0.0, end_lag: 0.0, handoffs: 0.0 };
        Self { program, now: 0.0, threads, ready, objects, share, most: 0.0, ran }
    }

    fn run(mut self) -> Ran {
        loop {
            self.give_cpus();
            let running: Vec<usize> =
                (0..self.threads.len()).filter(|&one| self.threads[one].state == State::Running).collect();
            let work = running.iter().map(|&one| self.threads[one].left.min(self.threads[one].slice));
            let wakes = self.threads.iter().filter_map(|thread| match thread.state {
                State::Until(at) => Some(at - self.now),
                _ => None,
            });
            let next = work.chain(wakes).fold(f64::INFINITY, f64::min);
            if next == f64::INFINITY {
                assert!(self.threads.iter().all(|thread| thread.state == State::Ended), "a deadlock");
                return self.ran;
            }
            self.now += next.max(0.0);
            for one in running {
                let thread = &mut self.threads[one];
                (thread.left, thread.slice) = (thread.left - next, thread.slice - next);
                self.ran.cpu += next;
                if thread.in_section {
                    self.ran.sections += next;
                    self.gain(one, next);
                }
                self.went_on(one);
            }
            for one in 0..self.threads.len() {
                if matches!(self.threads[one].state, State::Until(at) if at <= self.now + 1e-9) {
                    // As the kernel has it: a thread that wakes is the next.
                    self.is_ready(one);
                    self.ready.rotate_right(1);
                }
            }
        }
    }

    fn is_ready(&mut self, one: usize) {
        self.threads[one].state = State::Ready;
        self.threads[one].ready_since = self.now;
        self.ready.push_back(one);
    }

    fn give_cpus(&mut self) {
        loop {
            let busy = self.threads.iter().filter(|thread| thread.state == State::Running).count();
            if busy >= self.program.cpus {
                return;
            }
            let Some(one) = self.ready.pop_front() else { return };
            let thread = &mut self.threads[one];
            thread.for_cpu += self.now - thread.ready_since;
            (thread.state, thread.slice) = (State::Running, SLICE);
            if thread.left.is_nan() {
                self.begin(one);
            }
        }
    }

    /// Continues a running thread that has worked for a while.
    fn went_on(&mut self, one: usize) {
        if self.threads[one].left <= 1e-9 {
            self.threads[one].at += 1;
            self.begin(one);
        } else if self.threads[one].slice <= 1e-9 {
            if self.ready.is_empty() {
                self.threads[one].slice = SLICE;
            } else {
                self.is_ready(one);
            }
        }
    }

    /// Takes steps until one lasts.
    fn begin(&mut self, one: usize) {
        loop {
            let thread = &mut self.threads[one];
            thread.left = f64::NAN;
            let Some(&step) = thread.steps.get(thread.at) else {
                thread.state = State::Ended;
                self.settle_cpu(one);
                let thread = &self.threads[one];
                self.ran = Ran { wall: self.now, end_lag: thread.lag, handoffs: thread.handoffs, ..self.ran };
                return;
            };
            if !matches!(step, Step::Work(_) | Step::Sleep(_)) && !thread.has_passed && self.pauses(one) {
                return;
            }
            let is_done = match step {
                Step::Work(us) => {
                    self.threads[one].left = us;
                    return;
                }
                Step::Sleep(us) => {
                    let thread = &mut self.threads[one];
                    (thread.at, thread.state) = (thread.at + 1, State::Until(self.now + us));
                    if thread.in_section {
                        self.ran.sections += us;
                        self.gain(one, us);
                    }
                    return;
                }
                Step::Lock(lock) => self.lock(one, lock),
                Step::Unlock(lock) => self.unlock(one, lock),
                Step::Put => self.put(one),
                Step::Get => self.get(one),
                Step::Meet => self.meet(one),
            };
            let thread = &mut self.threads[one];
            if !is_done {
                return;
            }
            (thread.at, thread.has_passed, thread.waited_since) = (thread.at + 1, false, -1.0);
        }
    }

    fn waits_for(&mut self, one: usize, object: usize) -> bool {
        let thread = &mut self.threads[one];
        if thread.waited_since < 0.0 {
            thread.waited_since = self.now;
            self.objects[object].waiting += 1;
        }
        thread.state = State::Waits(object);
        self.objects[object].waiters.push_back(one);
        false
    }

    fn wakes(&mut self, object: usize) {
        if let Some(one) = self.objects[object].waiters.pop_front() {
            self.threads[one].state = State::Until(self.now + self.program.wake);
        }
    }

    fn lock(&mut self, one: usize, lock: usize) -> bool {
        if self.objects[lock].is_held {
            return self.waits_for(one, lock);
        }
        self.objects[lock].is_held = true;
        self.objects[lock].waiting -= usize::from(self.threads[one].waited_since >= 0.0);
        self.take(one, lock);
        self.threads[one].in_section |= lock == CHOSEN;
        true
    }

    fn unlock(&mut self, one: usize, lock: usize) -> bool {
        self.threads[one].in_section &= lock != CHOSEN;
        self.free(one, lock);
        self.objects[lock].is_held = false;
        self.wakes(lock);
        true
    }

    fn put(&mut self, one: usize) -> bool {
        self.objects[QUEUE].count += 1;
        self.mark(one, QUEUE);
        self.wakes(QUEUE);
        true
    }

    fn get(&mut self, one: usize) -> bool {
        if self.objects[QUEUE].count == 0 {
            return self.waits_for(one, QUEUE);
        }
        self.objects[QUEUE].count -= 1;
        if self.threads[one].waited_since >= 0.0 {
            self.follow(one, QUEUE);
        }
        true
    }

    fn meet(&mut self, one: usize) -> bool {
        if self.threads[one].waited_since >= 0.0 {
            self.follow(one, BARRIER);
            return true;
        }
        self.objects[BARRIER].count += 1;
        self.mark(one, BARRIER);
        if self.objects[BARRIER].count < self.threads.len() {
            return self.waits_for(one, BARRIER);
        }
        self.objects[BARRIER].count = 0;
        while !self.objects[BARRIER].waiters.is_empty() {
            self.wakes(BARRIER);
        }
        true
    }

    // The method, as the library's documentation has it.

    fn settle_cpu(&mut self, one: usize) {
        let thread = &mut self.threads[one];
        thread.lag += std::mem::take(&mut thread.for_cpu);
    }

    fn gain(&mut self, one: usize, took: f64) {
        let Some(share) = self.share else { return };
        let thread = &mut self.threads[one];
        let before = thread.lag.min(self.most);
        thread.lag += took * share;
        self.most = self.most.max(before + took * share);
    }

    /// Returns whether the thread pauses first for what it lags less than others.
    fn pauses(&mut self, one: usize) -> bool {
        self.settle_cpu(one);
        let thread = &mut self.threads[one];
        // A thread that waits does not pause.
        let owed = if thread.waited_since < 0.0 { self.most - thread.lag } else { 0.0 };
        thread.has_passed = true;
        if self.share.is_none() || owed < LEAST {
            return false;
        }
        thread.lag += owed;
        thread.state = State::Until(self.now + owed);
        true
    }

    fn comes_from(&mut self, one: usize, mark: Mark, handoff: f64) {
        self.threads[one].handoffs = mark.handoffs + handoff;
    }

    fn follow(&mut self, one: usize, object: usize) {
        let (mark, now) = (self.objects[object].mark, self.now);
        let thread = &mut self.threads[one];
        let for_cpu = std::mem::take(&mut thread.for_cpu).min(now - mark.at);
        let without_wait = thread.lag + now - thread.waited_since;
        if mark.lag + for_cpu < without_wait {
            thread.lag = mark.lag + for_cpu;
            self.comes_from(one, mark, now - mark.at - for_cpu);
        } else {
            thread.lag = without_wait;
        }
    }

    fn take(&mut self, one: usize, lock: usize) {
        let (mark, now) = (self.objects[lock].mark, self.now);
        let released = mark.at - mark.lag;
        let (lag, waited_since) = (self.threads[one].lag, self.threads[one].waited_since);
        if mark.is_set && waited_since < 0.0 && self.objects[lock].waiting > 0 {
            self.threads[one].handoffs += now - mark.at;
        }
        if mark.is_set && waited_since >= 0.0 && mark.at >= waited_since {
            self.follow(one, lock);
        } else if mark.is_set && now - lag < released {
            let begins = (now - lag).max(mark.free_since);
            let ends = begins + released - mark.taken;
            if ends <= mark.taken {
                self.objects[lock].mark.free_since = ends;
                self.threads[one].lag = now - begins;
                return;
            }
            self.threads[one].lag = now - released;
            self.comes_from(one, mark, 0.0);
        }
        let mark = &mut self.objects[lock].mark;
        (mark.free_since, mark.taken) = (released, now - self.threads[one].lag);
    }

    fn free(&mut self, one: usize, lock: usize) {
        let (thread, mark) = (&self.threads[one], &mut self.objects[lock].mark);
        let since_last = self.now - (mark.at - mark.lag);
        if thread.lag <= since_last {
            mark.handoffs = thread.handoffs;
        }
        (mark.lag, mark.at, mark.is_set) = (thread.lag.min(since_last), self.now, true);
    }

    fn mark(&mut self, one: usize, object: usize) {
        let thread = &self.threads[one];
        let mark = &mut self.objects[object].mark;
        (mark.lag, mark.handoffs, mark.at, mark.is_set) = (thread.lag, thread.handoffs, self.now, true);
    }
}

impl Program {
    /// Returns a program of one of many shapes.
    fn any(random: &mut fastrand::Rng) -> Self {
        let between = |random: &mut fastrand::Rng, low: f64, high: f64| low * (high / low).powf(random.f64());
        let (cpus, count) = (random.usize(2..=4), random.usize(2..=6));
        let (hold, outside) = (between(random, 20.0, 500.0), between(random, 20.0, 800.0));
        let (sleeps_in, sleeps_out) = (random.u8(..4) == 0, random.u8(..3) == 0);
        let other = (random.u8(..3) == 0).then(|| between(random, 20.0, 400.0));
        let queue = random.u8(..4) == 0;
        let meets = !queue && random.u8(..4) == 0;
        let rounds = 100;
        let thread = |number: usize, random: &mut fastrand::Rng| {
            let outside = outside * if random.bool() { 1.0 } else { between(random, 0.5, 2.0) };
            let mut steps = Vec::new();
            for _ in 0..rounds {
                if queue && number % 2 == 1 {
                    steps.push(Step::Get);
                }
                let uneven = |random: &mut fastrand::Rng, us: f64| us * (0.7 + 0.6 * random.f64());
                let time = uneven(random, hold);
                steps.extend([Step::Lock(CHOSEN), if sleeps_in { Step::Sleep(time) } else { Step::Work(time) }]);
                steps.push(Step::Unlock(CHOSEN));
                if queue && number.is_multiple_of(2) && number + 1 < count {
                    steps.push(Step::Put);
                }
                if let Some(other) = other {
                    steps.extend([Step::Lock(1), Step::Work(uneven(random, other)), Step::Unlock(1)]);
                }
                let time = uneven(random, outside);
                steps.push(if sleeps_out { Step::Sleep(time) } else { Step::Work(time) });
                if meets {
                    steps.push(Step::Meet);
                }
            }
            steps
        };
        let threads = (0..count).map(|number| thread(number, random)).collect();
        Self { threads, cpus, wake: between(random, 3.0, 60.0) }
    }

    fn with_shorter_sections(&self, share: f64) -> Self {
        let shorter = |steps: &Vec<Step>| {
            let mut is_in = false;
            let step = |step: &Step| match *step {
                Step::Lock(CHOSEN) => {
                    is_in = true;
                    *step
                }
                Step::Unlock(CHOSEN) => {
                    is_in = false;
                    *step
                }
                Step::Work(us) if is_in => Step::Work(us * (1.0 - share)),
                Step::Sleep(us) if is_in => Step::Sleep(us * (1.0 - share)),
                other => other,
            };
            steps.iter().map(step).collect()
        };
        Self { threads: self.threads.iter().map(shorter).collect(), ..*self }
    }

    fn sleeps_in_sections(&self) -> bool {
        matches!(
            self.threads[0].iter().find(|step| matches!(step, Step::Sleep(_) | Step::Work(_))),
            Some(Step::Sleep(_))
        )
    }

    fn limits(&self, share: f64) -> Limits {
        let ran = Simulation::of(self, Some(share)).run();
        let cpus = self.cpus as f64;
        let least = |sections: f64| (ran.cpu - share * sections).max(0.0) / cpus / ran.wall;
        Limits {
            along: (ran.wall - ran.end_lag) / ran.wall,
            handoffs: ran.handoffs / ran.wall,
            least: least(ran.sections),
            least_asleep: least(if self.sleeps_in_sections() { 0.0 } else { ran.sections }),
            cpus,
        }
        .times(ran.wall)
    }
}

impl Limits {
    fn times(self, by: f64) -> Self {
        let Self { along, handoffs, least, least_asleep, cpus } = self;
        let [along, handoffs, least, least_asleep] = [along, handoffs, least, least_asleep].map(|limit| limit * by);
        Self { along, handoffs, least, least_asleep, cpus }
    }
}

/// Returns the program's time with nothing shorter, and its limits then.
fn unchanged(program: &Program) -> (f64, TwoLimits) {
    let base = Simulation::of(program, None).run().wall;
    let limits = program.limits(0.0).times(1.0 / base);
    (base, TwoLimits::of(&[limits], program.threads.len() > program.cpus, false))
}

/// Returns the program's real time and the prediction with its ends, as parts of its time with nothing shorter.
fn held_against(program: &Program, (base, two_limits): (f64, TwoLimits), share: f64) -> (f64, f64, (f64, f64)) {
    let really = Simulation::of(&program.with_shorter_sections(share), None).run().wall / base;
    let limits = program.limits(share).times(1.0 / base);
    let (predicted, best, worst) = (two_limits.both(limits), limits.fastest(), two_limits.slowest(limits));
    (really, predicted, (best - own_error(1.0 - best), worst + own_error(1.0 - worst)))
}

#[test]
fn what_the_simulator_says_of_known_programs_is_right() {
    let section =
        |us: f64, outside: f64| [Step::Lock(0), Step::Work(us), Step::Unlock(0), Step::Work(outside)].repeat(100);
    let wall = |threads: Vec<Vec<Step>>, cpus: usize, wake: f64| {
        Simulation::of(&Program { threads, cpus, wake }, None).run().wall
    };
    // One lock that limits; two CPUs that limit; a thread that is alone.
    let limited = wall(vec![section(100.0, 10.0); 3], 4, 0.0);
    assert!((limited - 30_000.0).abs() < 300.0, "{limited}");
    let busy = wall(vec![section(10.0, 100.0); 4], 2, 0.0);
    assert!((busy - 22_000.0).abs() < 3_500.0, "{busy}");
    assert!((wall(vec![section(10.0, 100.0)], 2, 9.0) - 11_000.0).abs() < 1e-6);
}

#[test]
fn the_real_gain_lies_in_the_interval_whatever_the_program() {
    const PROGRAMS: usize = 200;
    let mut random = fastrand::Rng::with_seed(11);
    let programs: Vec<Program> = (0..PROGRAMS).map(|_| Program::any(&mut random)).collect();
    let unchanged: Vec<(f64, TwoLimits)> = programs.iter().map(unchanged).collect();
    for share in [0.25, 0.5, 0.75, 1.0] {
        let mut inside = 0;
        let mut outside = Vec::new();
        for (number, program) in programs.iter().enumerate() {
            let (really, predicted, (best, worst)) = held_against(program, unchanged[number], share);
            if best <= really && really <= worst {
                inside += 1;
            } else {
                outside.push((number, really, predicted, best, worst));
            }
        }
        assert!(inside * 100 >= PROGRAMS * 95, "{share}: {inside} of {PROGRAMS}; {outside:.3?}");
    }
}
