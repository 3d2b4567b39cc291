//! One run of one contestant, in this process or as a program, and the check of its answer.

use super::program::{ProcessSpec, Ready, Stopped, Switches, run};
use crate::ring::record::{Failure, Fault};
use harness::Session;
use instruments::cpus::pin_current_thread;
use instruments::neighbour::{Probe, Probed};
use instruments::statistics::order::median;
use loops::ring::{BuiltIn, RingResult, RingSpec};
use std::io;
use std::mem::MaybeUninit;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

/// The result of a successful run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub answer: usize,
    /// The time from start to end.
    pub total_ns: f64,
    /// The time of the hops alone, where that is known.
    pub hops_ns: Option<f64>,
    pub wasted_polls: Option<u64>,
    pub switches: Switches,
    /// The time of a hop in each part, in ns: the median of the part's pieces; and the use of the core by an SMT
    /// sibling.
    ///
    /// Empty without probes.
    pub parts: Vec<(f64, Probed)>,
}

/// The reason why there is no such run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    Interrupted,
    Failed(Failure),
}

fn failed(fault: Fault, message: impl Into<String>) -> RunError {
    RunError::Failed(Failure { fault, message: message.into() })
}

/// Checks that the answer is the number of the thread that must get the last token.
fn judged(answer: usize, threads: usize, hops: u64) -> Result<usize, RunError> {
    let right = (hops % threads as u64) as usize + 1;
    if answer == right {
        return Ok(answer);
    }
    Err(failed(
        Fault::WrongThread,
        format!("{threads} threads, {hops} hops: the answer is {answer}; expected: {right}"),
    ))
}

/// Runs a contestant of this process, on the given CPU or wherever the session's threads may run, in parts and pieces.
///
/// Its hops check no flag: after a signal, or when the time is up, it is abandoned.
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
        session.interruption.unless_requested(place.until, caught).map_err(refused)?.ok_or(RunError::Interrupted)?;
    match outcome {
        Ok(Ok((sums, switches))) => sums.judged(spec, switches),
        Ok(Err(error)) => Err(failed(Fault::Crashed, refusal(&error, spec))),
        Err(_) => Err(failed(Fault::Crashed, "it panicked")),
    }
}

fn timed(
    run: fn(&RingSpec) -> io::Result<RingResult>,
    spec: &RingSpec,
    place: Place,
    cut: Cut,
) -> io::Result<(RunSums, Switches)> {
    if let Some(cpu) = place.cpu {
        pin_current_thread(cpu)?;
    }
    // A contestant that may move between CPUs, or uses several, has no single core to probe.
    let probe = place.probe.filter(|_| place.cpu.is_some());
    let before = switches_so_far();
    let mut sums = RunSums::default();
    let mut pieces = Vec::with_capacity(cut.pieces as usize);
    let mut last = probe.map(|probe| probe.take());
    for _ in 0..cut.parts {
        for _ in 0..cut.pieces {
            let began = Instant::now();
            let piece = run(spec)?;
            sums.add(&piece, began.elapsed());
            pieces.push(piece.hops_ns / spec.hops.max(1) as f64);
        }
        let next = probe.map(|probe| probe.take());
        let probed = last.zip(next).map(|(before, after)| Probed::between(before, after));
        sums.parts.extend(median(&pieces).zip(probed));
        pieces.clear();
        last = next;
    }
    Ok((sums, switches_so_far().since(before)))
}

/// The CPU of a contestant, the probe of the SMT sibling there, and the time at which the contestant is abandoned.
#[derive(Clone, Copy)]
pub struct Place {
    pub until: Option<Instant>,
    pub cpu: Option<usize>,
    pub probe: Option<Probe>,
}

/// The sums of the parts of a run.
#[derive(Default)]
struct RunSums {
    answers: Vec<usize>,
    total_ns: f64,
    hops_ns: f64,
    wasted_polls: Option<u64>,
    parts: Vec<(f64, Probed)>,
}

impl RunSums {
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

/// Switches of all threads of this process, ended ones included.
fn switches_so_far() -> Switches {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the right size; all zeros is a valid value if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    Switches::of(&usage)
}

/// The parameters of a program's run.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub threads: usize,
    pub hops: u64,
    pub cpu: Option<usize>,
    pub timeout: Duration,
    /// The time at which it is ended.
    pub until: Option<Instant>,
}

/// Runs a program; `watch` receives its process ID regularly.
pub fn program(
    ready: &Ready,
    order: &Order,
    session: &Session,
    every: Option<Duration>,
    watch: impl FnMut(u32) + Send,
) -> Result<Run, RunError> {
    let &Order { threads, hops, cpu, timeout, until } = order;
    let left = until.map_or(timeout, |until| until.saturating_duration_since(Instant::now()));
    let is_last = left < timeout;
    let mut words = ready.words.clone();
    words.extend([threads.to_string(), hops.to_string()]);
    let (environment, folder) = (ready.environment.as_slice(), ready.folder.as_path());
    let spec = ProcessSpec { words: &words, environment, folder, cpu, timeout: left.min(timeout), is_guard: false };
    let ended = run(&spec, &session.interruption, every, watch).map_err(|stopped| match stopped {
        Stopped::Interrupted => RunError::Interrupted,
        Stopped::TimedOut if is_last => RunError::Interrupted,
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
        switches: ended.switches,
        parts: Vec::new(),
    })
}

/// The time between two probes: an SMT sibling comes and goes within it.
const PART_NS: f64 = 1.5e6;
const MOST_START_SHARE: f64 = 0.3;
const MOST_PARTS: f64 = 100.0;
/// The minimum number of laps: with fewer, the time of a piece would depend on the place in the ring where it began.
pub const LEAST_LAPS: f64 = 10.0;
/// The length of a piece.
///
/// Interruptions come some thousand times per second and take microseconds: fewer than half of such short pieces have
/// one, whatever the present rate, and so their median has none.
const PIECE_NS: f64 = 50e3;

/// The division of a repetition of a built-in contestant: parts between probes, pieces that are timed separately, and
/// the hops of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub parts: u32,
    /// Pieces of each part.
    pub pieces: u32,
    /// Hops of each piece.
    pub hops: u64,
}

impl Cut {
    /// Creates a repetition in one piece.
    pub fn in_one_piece(hops: u64) -> Self {
        Self { parts: 1, pieces: 1, hops }
    }

    /// Divides `hops`, one of which takes about `hop_ns`, in a ring that takes `start_ns` to make: parts and pieces are
    /// so long that `start_ns` is a small share of them.
    pub fn of(hops: u64, hop_ns: f64, threads: usize, start_ns: f64) -> Self {
        if start_ns >= PART_NS * MOST_START_SHARE {
            return Self::in_one_piece(hops);
        }
        let parts = (hops as f64 * hop_ns / PART_NS).clamp(1.0, MOST_PARTS) as u32;
        let in_part = hops as f64 / f64::from(parts);
        let in_laps = in_part / (LEAST_LAPS * threads as f64);
        let is_cut = start_ns < PIECE_NS * MOST_START_SHARE;
        let pieces = if is_cut { (in_part * hop_ns / PIECE_NS).min(in_laps).max(1.0) as u32 } else { 1 };
        Self { parts, pieces, hops: hops / u64::from(parts * pieces) }
    }

    /// Returns how often the ring is made.
    pub fn runs(self) -> u32 {
        self.parts * self.pieces
    }

    pub fn all_hops(self) -> u64 {
        self.hops * u64::from(self.runs())
    }
}
