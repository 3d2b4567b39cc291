//! One run of one contestant: wherever it runs, its answer is looked at.

use super::build_dir::Ready;
use super::cut::Cut;
use super::program::{self, ProcessSpec, Stopped};
use crate::ring::record::{Failure, Fault};
use harness::Session;
use instruments::cpus::pin_current_thread;
use instruments::neighbour::{Probe, Probed};
use instruments::statistics::order::median;
use loops::ring::RingResult;
use loops::ring::{BuiltIn, RingSpec};
use std::io;
use std::mem::MaybeUninit;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

/// What a run that ended well took.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub answer: usize,
    /// From start to end.
    pub total_ns: f64,
    /// Of the hops alone, where that is known.
    pub hops_ns: Option<f64>,
    pub wasted_polls: Option<u64>,
    pub switches: Switches,
    /// What a hop took in each part of it, in ns: the median of the part's pieces; and who was on the core meanwhile.
    /// Empty where nobody looked.
    pub parts: Vec<(f64, Probed)>,
}

/// Switches of the kernel, of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Switches {
    pub voluntary: u64,
    pub involuntary: u64,
}

/// Why there is no such run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    Interrupted,
    Failed(Failure),
}

fn failed(fault: Fault, message: impl Into<String>) -> RunError {
    RunError::Failed(Failure { fault, message: message.into() })
}

/// The number of the thread that must get the last token.
pub fn expected(threads: usize, hops: u64) -> usize {
    (hops % threads as u64) as usize + 1
}

fn judged(answer: usize, threads: usize, hops: u64) -> Result<usize, RunError> {
    let right = expected(threads, hops);
    if answer == right {
        return Ok(answer);
    }
    Err(failed(
        Fault::WrongThread,
        format!("{threads} threads, {hops} hops: the answer is {answer}; expected: {right}"),
    ))
}

/// Runs a contestant of this process, on the CPU given or wherever the session's threads may run, in parts and
/// pieces. Its hops look at no flag: a signal leaves it behind.
pub fn built_in(
    built_in: &BuiltIn,
    spec: &RingSpec,
    place: Place,
    cut: Cut,
    session: &Session,
) -> Result<Run, RunError> {
    let (run, own_spec) = (built_in.run, spec.clone());
    let timed = move || timed(run, &own_spec, place, cut);
    let caught = move || catch_unwind(timed);
    let refused = |error: io::Error| failed(Fault::Crashed, refusal(&error, spec));
    let outcome: std::thread::Result<io::Result<_>> =
        session.interruption.unless_requested(caught).map_err(refused)?.ok_or(RunError::Interrupted)?;
    match outcome {
        Ok(Ok((whole, switches))) => whole.judged(spec, switches),
        Ok(Err(error)) => Err(failed(Fault::Crashed, refusal(&error, spec))),
        Err(_) => Err(failed(Fault::Crashed, "it panicked")),
    }
}

fn timed(
    run: fn(&RingSpec) -> io::Result<RingResult>,
    spec: &RingSpec,
    place: Place,
    cut: Cut,
) -> io::Result<(Whole, Switches)> {
    if let Some(cpu) = place.cpu {
        pin_current_thread(cpu)?;
    }
    // Who may move between CPUs, or uses several, has no core of its own to be looked at.
    let probe = place.probe.filter(|_| place.cpu.is_some());
    let before = switches_so_far();
    let mut whole = Whole::default();
    let mut pieces = Vec::with_capacity(cut.pieces as usize);
    let mut last = probe.map(|probe| probe.take());
    for _ in 0..cut.parts {
        for _ in 0..cut.pieces {
            let began = Instant::now();
            let piece = run(spec)?;
            whole.add(&piece, began.elapsed());
            pieces.push(piece.hops_ns / spec.hops.max(1) as f64);
        }
        let next = probe.map(|probe| probe.take());
        let probed = last.zip(next).map(|(before, after)| Probed::between(before, after));
        whole.parts.extend(median(&pieces).zip(probed));
        pieces.clear();
        last = next;
    }
    Ok((whole, switches_so_far().since(before)))
}

/// Where a contestant runs, and what looks for others there.
#[derive(Clone, Copy)]
pub struct Place {
    pub cpu: Option<usize>,
    pub probe: Option<Probe>,
}

/// The parts of a run together.
#[derive(Default)]
struct Whole {
    answers: Vec<usize>,
    total_ns: f64,
    hops_ns: f64,
    wasted_polls: Option<u64>,
    parts: Vec<(f64, Probed)>,
}

impl Whole {
    fn add(&mut self, part: &RingResult, took: Duration) {
        self.answers.push(part.answer);
        self.total_ns += took.as_nanos() as f64;
        self.hops_ns += part.hops_ns;
        if let Some(wasted) = part.wasted_polls {
            *self.wasted_polls.get_or_insert(0) += wasted;
        }
    }

    fn judged(self, spec: &RingSpec, switches: Switches) -> Result<Run, RunError> {
        let judged = self.answers.iter().map(|&answer| judged(answer, spec.threads, spec.hops));
        let answers: Vec<usize> = judged.collect::<Result<_, _>>()?;
        Ok(Run {
            answer: answers.last().copied().unwrap_or_default(),
            total_ns: self.total_ns,
            hops_ns: Some(self.hops_ns),
            wasted_polls: self.wasted_polls,
            switches,
            parts: self.parts,
        })
    }
}

fn refusal(error: &io::Error, spec: &RingSpec) -> String {
    let threads = spec.threads;
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            format!("cannot start {threads} threads: {error}; use fewer --threads or raise `ulimit -u`")
        }
        _ => format!("{threads} threads: {error}"),
    }
}

impl Switches {
    fn since(self, before: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

/// Of all threads of this process, ended ones included.
fn switches_so_far() -> Switches {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the right size; all zeros is a valid value, should the call fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

/// What is asked of a program.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub threads: usize,
    pub hops: u64,
    pub cpu: Option<usize>,
    pub timeout: Duration,
}

/// Runs a program; `watch` gets its process id every so often.
pub fn program(
    ready: &Ready,
    order: &Order,
    session: &Session,
    every: Option<Duration>,
    watch: impl FnMut(u32) + Send,
) -> Result<Run, RunError> {
    let &Order { threads, hops, cpu, timeout } = order;
    let mut words = ready.words.clone();
    words.extend([threads.to_string(), hops.to_string()]);
    let (environment, folder) = (ready.environment.as_slice(), ready.folder.as_path());
    let spec = ProcessSpec { words: &words, environment, folder, cpu, timeout, is_guard: false };
    let ended = program::run(&spec, &session.interruption, every, watch).map_err(|stopped| match stopped {
        Stopped::Interrupted => RunError::Interrupted,
        Stopped::TimedOut => failed(
            Fault::Hung,
            format!("{threads} threads, {hops} hops: not finished after {} s (--timeout)", timeout.as_secs_f64()),
        ),
        Stopped::Refused(error) => failed(Fault::Crashed, format!("{}: {error}", words[0])),
    })?;
    let ring = format!("{threads} threads, {hops} hops");
    if !ended.status.success() {
        return Err(failed(Fault::Crashed, format!("{ring}: {}", ended.last_words())));
    }
    let answer = ended.stdout.trim_end().parse().map_err(|_| {
        let printed: String = ended.stdout.chars().take(40).collect();
        failed(Fault::Garbage, format!("{ring}: the output {printed:?} is not a thread number"))
    })?;
    Ok(Run {
        answer: judged(answer, threads, hops)?,
        total_ns: ended.wall.as_nanos() as f64,
        hops_ns: None,
        wasted_polls: None,
        switches: Switches { voluntary: ended.voluntary_switches, involuntary: ended.involuntary_switches },
        parts: Vec::new(),
    })
}
