//! The rows of a trace: one for each lock, each call site, each order of locks that can end badly, each hang.

use super::plan::Parameters;
use super::rules::Rule;
use super::watched_word::WatchedWord;
use instruments::statistics::Interval;
use record::{Bin, RecordRef};
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type TraceRecord<'a> = RecordRef<'a, Parameters, Row>;

/// The subject of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// A lock, over all its call sites.
    #[default]
    Lock,
    /// A lock at one call site.
    Site,
    /// Locks that were acquired in contradictory orders, of older records.
    Inversion,
    /// A cycle of locks: each was acquired while the one before it was held, and the first while the last was.
    Order,
    /// Threads that wait for each other.
    Deadlock,
    /// A thread that waited longer than --deadline, or still when the watching ended, and is in no deadlock.
    Hang,
    /// Where the time of the program, of a group of its threads, or of one thread went.
    Budget,
    /// A cause of waiting, with its remedy.
    Finding,
    /// A place of the program where its threads were when they did not wait for locks. `lock` is the place, `lock_type` what
    /// they did there (`on_cpu`, `sleep`, `io`, `work`, `unknown`), and `wait_total_s` for how long.
    Place,
    /// The requests that the program gave one name.
    Label,
    /// A word that was watched by hardware watchpoints.
    Word,
}

/// The reason of a cycle that the joins of this run exclude; another run of the same code may have other joins.
pub const JOIN_ORDER: &str =
    "one thread had ended and was joined, or was not created yet, when the other acquired them";

/// Whether a cycle of locks can become a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CycleVerdict {
    /// Different threads can come to all of its steps at the same time, as far as the run shows.
    Possible,
    /// They cannot: `reason` says why.
    Excluded,
    /// They did, and waited for each other.
    Reached,
    /// It is possible, and no run of `--confirm` reached it.
    NotReached,
}

/// How the figures of a lock were obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// Each call was seen, and counts are exact.
    #[default]
    Call,
    /// The states of the threads were sampled: times are estimates, and counts are not known.
    Sampling,
}

/// One row. What a kind has no figure for is 0, null or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub kind: RowKind,
    /// The process, by the kernel's number.
    pub process: u32,
    /// The lock's name: its symbol if it is a global variable, else the first of its call sites in the code.
    pub lock: String,
    pub address: String,
    /// The path of the file with the code that names it by its first call site: a runtime's, such as `libjvm.so`, where the
    /// lock is none of the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// `mutex`, `rwlock`, `spin`, `cond`, `sem`, `barrier`; `join` of a thread, `park`, the C library's `allocator`,
    /// `stream` and `libc`, CPython's `interpreter`, and `futex`, where only the kernel's call was seen.
    #[serde(rename = "type")]
    pub lock_type: String,
    /// Further attributes of its type: `recursive`, `robust`, `priority_inheritance`.
    #[serde(default)]
    pub attributes: Vec<String>,
    /// The function; of a lock, that of its first call site in the code.
    pub symbol: Option<String>,
    /// `file:line` there.
    pub source: Option<String>,
    pub acquisitions: u64,
    pub contended: u64,
    /// Tries, and waits with an end, that did not get it.
    pub timeouts: u64,
    pub wait_total_s: f64,
    /// 95 %, where futex calls were recorded in windows, from which the sum was scaled to the whole time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_total_ci_s: Option<Interval>,
    /// The share of all time that the threads lived in which they waited for it.
    #[serde(default)]
    pub wait_share: Option<f64>,
    /// The same as a share of the time in which the threads had something to do: all but sleep and the wait for work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_busy_share: Option<f64>,
    pub wait_p50_ns: Option<f64>,
    pub wait_p99_ns: Option<f64>,
    pub wait_max_ns: Option<f64>,
    /// The sum of all holds; `null` where too few of them were timed to tell.
    pub hold_total_s: Option<f64>,
    /// 95 %; older records have a sum without it.
    #[serde(default)]
    pub hold_total_ci_s: Option<Interval>,
    pub hold_p50_ns: Option<f64>,
    pub hold_p99_ns: Option<f64>,
    /// The longest that was timed.
    pub hold_max_ns: Option<f64>,
    /// How many were timed.
    #[serde(default)]
    pub holds_timed: u64,
    /// The part of the wait with a known holder in which that holder did not run. `null` where the
    /// kernel's record is missing.
    pub holder_off_cpu_share: Option<f64>,
    /// The part of the same time in which that holder was ready and another thread ran in its place.
    #[serde(default)]
    pub holder_preempted_share: Option<f64>,
    /// The holders during the waits, by the call site that acquired the lock, the most blamed first: shares of the time
    /// with a known holder.
    pub blocked_by: Vec<Blocker>,
    /// The futex calls in which holders waited for something else themselves: shares of the whole wait. Only of programs
    /// that are traced from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holder_waits: Vec<HolderWait>,
    /// Whose hold it was in the end: where a holder waited for another lock itself, the blame is that lock's holder's.
    #[serde(default)]
    pub caused_by: Vec<Cause>,
    /// How long others waited, for this or other locks, because of what was held from here: passed on in the same way.
    #[serde(default)]
    pub caused_total_s: f64,
    /// The part of the longest path through the run in the lock's holds while other threads waited, and in handing
    /// it over.
    #[serde(default)]
    pub critical_share: Option<f64>,
    /// The waits.
    #[serde(default)]
    pub waits: Vec<Bin>,
    /// All holds, by those that were timed.
    #[serde(default)]
    pub holds: Vec<Bin>,
    /// From being woken to running: of a process that was watched as it ran.
    #[serde(default)]
    pub wake_p50_ns: Option<f64>,
    #[serde(default)]
    pub wake_p99_ns: Option<f64>,
    #[serde(default)]
    pub wake_max_ns: Option<f64>,
    /// The tasks that ran in the meantime on the CPU that it then had.
    #[serde(default)]
    pub ran_instead: Vec<Runner>,
    /// Clusters of the waits, and of the holds that were timed, lettered by their share.
    #[serde(default)]
    pub wait_spikes: Vec<TimeSpike>,
    #[serde(default)]
    pub hold_spikes: Vec<TimeSpike>,
    /// The longest waits, the longest first.
    #[serde(default)]
    pub longest: Vec<LongWait>,
    /// The steps of a cycle or a deadlock, lock by lock.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// For an inversion, `false` if in this run the thread of one order had ended before the other order was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub could_meet: Option<bool>,
    /// Whether a cycle can become a deadlock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<CycleVerdict>,
    /// The reason why a cycle is excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of runs that tried to reach a cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// The seeds of these runs, the last of which reached it if one did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u64>,
    /// The names of the locks of a cycle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// The call paths of the waiting threads: in a cycle that was reached, and in a deadlock that was seen from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<ThreadStack>,
    /// How many locks of one type and one first call site the row is of.
    #[serde(default = "one")]
    pub instances: u32,
    /// Whether the row is of the locks of a call site that have no separate rows, since there were too many: a group of
    /// unknown size where the library counted, and not one lock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folded: bool,
    #[serde(default)]
    pub seen_by: SeenBy,
    /// The parts of the wait: a holder ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_running_s: Option<f64>,
    /// A holder was ready and had no CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_preempted_s: Option<f64>,
    /// A holder was blocked itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_blocked_s: Option<f64>,
    /// The lock was free again, and the waiter did not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_s: Option<f64>,
    /// The part of the wait, or of a budget, that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_s: Option<f64>,
    /// The call path that waited most, the innermost function first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
    /// For a condition at a call site, the number of wakes after which the thread waited again without having released the mutex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vain_wakes: Option<u64>,
    /// The name of the group, for a budget of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The kernel's number of the thread, for a budget of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// The name that the thread gave itself, or the program's, for a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of threads of a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The time that the threads were sampled for, which the following parts and `unknown_s` add up to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lived_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cpu_s: Option<f64>,
    /// Ready to run, without a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_s: Option<f64>,
    /// Blocked until another thread released a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_s: Option<f64>,
    /// Blocked until there was something to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_s: Option<f64>,
    /// On a CPU while it waited for a lock: a part of `on_cpu_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spun_s: Option<f64>,
    /// The number of requests of a label that ended, and of those that waited for a lock. Of these rows `name` is the
    /// label, `lock_s` and `work_s` are the requests' waits by calls, and `wait_p50_ns` to `wait_max_ns` are the wait for
    /// locks in each request, 0 in those that did not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_waited: Option<u64>,
    /// The time of the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_s: Option<f64>,
    /// The part of it in which they waited for locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_p50_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_p99_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_max_ns: Option<f64>,
    /// The 99th percentile of the part of each request outside of its waits for locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_p99_ns: Option<f64>,
    /// The locks that the requests waited for, the longest wait first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label_locks: Vec<LabelLock>,
    /// The part of the program's CPU time that a finding about cache lines explains, and the interval of 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share_ci: Option<Interval>,
    /// The lock of a finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The kind of problem, by its code (`contend explain`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Where to look in the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// `null` where no part of the wait that is known is more than half of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The part of the whole wait that the cause explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_share: Option<f64>,
    /// The command that measures the gain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The use of a watched word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<WatchedWord>,
}

/// The type of a condition at which two threads wake each other in turn: a lock that both want, or a request and its answer.
pub const IN_TURN: &str = "turns";

/// The type of an object that is waited for, and whose purpose is not known.
pub const UNKNOWN: &str = "unknown";

fn one() -> u32 {
    1
}

/// A class of locks that the requests of a label waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelLock {
    pub lock: String,
    pub wait_s: f64,
    /// The part of the time of the requests.
    pub share: f64,
    /// The holders, by the call site that acquired the lock, the longest first: shares of the wait with a known holder.
    pub held_by: Vec<Blocker>,
}

/// A function of a call path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frame {
    pub function: Option<String>,
    pub source: Option<String>,
}

/// The call path of a thread, the innermost function first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadStack {
    pub thread: u32,
    pub frames: Vec<Frame>,
}

/// Where a holder took the lock, and its part of the blame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blocker {
    pub site: String,
    pub share: f64,
}

/// Where a holder waited in a futex call, and its part of the wait for the lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HolderWait {
    /// The kind of the object that it waited for, as in `type`.
    #[serde(rename = "type")]
    pub lock_type: String,
    pub site: String,
    /// Whether it had woken a thread since it had the lock: then it may wait for an answer.
    #[serde(default)]
    pub after_wake: bool,
    pub share: f64,
}

/// Who ran, and in which part of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Runner {
    pub name: String,
    pub share: f64,
}

/// Where a lock was taken that others waited for in the end, and its part of the blame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    pub lock: String,
    pub site: String,
    pub share: f64,
}

/// A cluster of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSpike {
    /// `A` has most of all times.
    pub label: String,
    pub share: f64,
    pub count: u64,
    pub median_ns: f64,
    pub from_ns: f64,
    pub to_ns: f64,
    /// The cluster that this one is, after a constant delay.
    pub echo_of: Option<String>,
    pub delay_ns: Option<f64>,
}

/// Returns the letter of the cluster that a bin belongs to: of those that overlap it, the one with most.
pub fn letter_of(spikes: &[TimeSpike], bin: &Bin) -> Option<char> {
    let overlaps = |spike: &&TimeSpike| spike.from_ns < bin.to_ns && bin.from_ns <= spike.to_ns;
    spikes.iter().filter(overlaps).max_by_key(|spike| spike.count).and_then(|spike| spike.label.chars().next())
}

/// One wait, and its story.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongWait {
    /// When it began, since the program did.
    pub began_s: f64,
    pub wait_ns: f64,
    pub thread: u32,
    pub site: String,
    /// Where who released it had taken it, if that is known.
    pub holder: Option<String>,
    pub holder_thread: Option<u32>,
    /// The part in which the holder did not run.
    pub holder_off_cpu_share: Option<f64>,
    /// From the release to having it, if the release was seen.
    pub handoff_ns: Option<f64>,
    /// Whether it ended by its time limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_vain: bool,
}

/// One lock of a circle: held, while the next one was taken or waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    pub thread: u32,
    /// The lock that is held, and the call site that acquired it.
    pub holds: String,
    pub held_site: String,
    /// The lock that is then acquired or waited for, and the call site.
    pub takes: String,
    pub taken_site: String,
}

impl Row {
    /// Returns a row without values.
    pub fn new(kind: RowKind, process: u32, lock: String) -> Self {
        Self { kind, process, lock, instances: 1, ..Self::default() }
    }

    /// Returns whether its waiters wait for a thread that has it, and not for a word.
    pub fn excludes(&self) -> bool {
        match self.lock_type.as_str() {
            "mutex" | "lock" | "rwlock" | "spin" | "futex" | "allocator" | "stream" | "libc" | "interpreter" => true,
            "once" | "pool" => true,
            "monitor" | "java lock" | "python lock" | "file lock" | "kernel lock" => true,
            // A thread that posts what it waited for, time and again, holds it in between.
            "sem" => {
                self.holds_timed > 0 && self.acquisitions >= 8 * u64::from(self.instances)
                    || self.seen_by == SeenBy::Sampling
            }
            _ => false,
        }
    }
}
