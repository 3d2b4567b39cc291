//! Causes by the kind of lock: conditions that wake threads for nothing, locks of libraries, of the kernel and of
//! interpreters, loops that spin, and locks that are tried again and again.

use super::super::LEAST_READY;
use super::super::inner::function_in;
use super::super::objects::{INTERPRETER, MAP, Object};
use super::super::rows::Rows;
use super::super::{Cause, Evidence, Measure};
use super::Limits;
use crate::trace::evidence::{Library, NotedPair};
use crate::trace::rules::Rule;
use blame::frames::Kind as FrameKind;
use blame::sampling::budget::Part;
use blame::sampling::waited::{Holder, Path, Wait};
use interpose::Kind;

/// Pauses between two tries that are longer than holds by this factor are the reason of the wait.
const LATE: f64 = 4.0;

impl Evidence {
    /// Returns the cause if broadcasts of a condition wake threads for nothing, which then meet again at its mutex.
    pub(super) fn herd(&self, slot: u32, object: &Object) -> Option<Cause> {
        const MOST: f64 = 0.5;
        let (library, waited) = (self.library.as_ref()?, &object.waited);
        let (condition, seconds) = waited.after_condition.iter().max_by(|one, other| one.1.total_cmp(other.1))?;
        let share = seconds / waited.seconds;
        let pairs = |kind: Kind| {
            let is_its = move |pair: &&NotedPair| pair.lock == *condition && Kind::of(pair.kind) == Some(kind);
            library.pairs.values().filter(is_its)
        };
        let broadcast = pairs(Kind::Broadcast).max_by_key(|pair| pair.signals)?;
        let vain_share = vain_share(library, &[*condition]);
        if share < MOST || vain_share < MOST {
            return None;
        }
        let waiting = pairs(Kind::Cond).max_by_key(|pair| pair.acquisitions);
        let (condition, broadcast) = (self.lock_name(*condition)?, broadcast.site.clone());
        let function = broadcast.split(" (").next().unwrap_or(&broadcast).to_owned();
        let waits_in = waiting.map(|pair| &pair.site);
        let waits_in =
            waits_in.map_or_else(String::new, |site| format!(" in {}", site.split(" (").next().unwrap_or(site)));
        let mutex = self.lock_name(slot)?;
        let percent = |share: f64| terminal::percent(share);
        Some(Cause {
            rule: Rule::ThunderingHerd,
            object: format!("{mutex} / {condition}"),
            place: broadcast,
            text: format!(
                "{function} wakes all waiters of {condition}{waits_in}; {} of the wakes found nothing to do, and the woken \
                 threads queue for {mutex} ({} of its wait)",
                percent(vain_share),
                percent(share)
            ),
            // A signal wakes any waiter. If that waits for something else, the event wakes no thread that can use it.
            remedy: Some(format!(
                "call pthread_cond_signal instead of pthread_cond_broadcast in {function} if any waiter can use the event; \
                 where each waits for its own, use a condition for each"
            )),
            share,
            measure: Measure::None,
        })
    }

    pub(super) fn of_allocator(&self, object: &Object) -> Cause {
        if self.is_heap_of_musl(object) {
            let most = object.waited.most_waiters;
            return Cause {
                rule: Rule::AllocatorLock,
                object: object.name.clone(),
                place: object.place(),
                text: format!("up to {most} threads waited at the same time for the one lock of musl's heap"),
                remedy: Some("link another allocator (mimalloc, jemalloc), or allocate less often".into()),
                // Such a wait has no other cause.
                share: 1.0,
                measure: Measure::None,
            };
        }
        let arenas = terminal::counted(object.members.len(), "arena");
        let most = object.waited.most_waiters;
        Cause {
            rule: Rule::AllocatorLock,
            object: object.name.clone(),
            place: object.place(),
            text: format!("up to {most} threads waited for {arenas} of malloc at the same time"),
            remedy: Some("allow more arenas (M_ARENA_MAX), use another allocator, or allocate less often".into()),
            share: object.share_of(self, FrameKind::Allocator),
            measure: Measure::Command("LD_PRELOAD=libjemalloc.so.2"),
        }
    }

    pub(super) fn of_stream(&self, object: &Object, rows: &Rows<'_>, limits: &Limits) -> Cause {
        let most = object.waited.most_waiters;
        let blocked = self.blocked_in_stream(object);
        let peers = self.peers(object, rows, false, limits).filter(|cause| cause.remedy.is_some() && blocked <= 0.5);
        let activity = match peers {
            Some(cause) => format!("; {}", cause.text),
            None if blocked > 0.5 => format!(
                "; for {} of the wait a thread was in the stream and could not write, since a pipe, a socket or a terminal \
                 was full",
                terminal::percent(blocked)
            ),
            None => String::new(),
        };
        let remedy = match blocked > 0.5 {
            true => {
                "make what reads that output faster, or write less; one thread that writes from a queue keeps the others from \
                     waiting for it"
            }
            false => "collect the output of each thread in a separate buffer, and write it in few calls",
        };
        Cause {
            rule: Rule::StreamLock,
            object: object.name.clone(),
            place: object.place(),
            text: format!("up to {most} threads waited for the lock of one stream at the same time{activity}"),
            remedy: Some(remedy.into()),
            share: object.share_of(self, FrameKind::Stream),
            measure: Measure::None,
        }
    }

    /// Returns the part of the wait in which another thread could not write the output of a stream: the C library made the call, not
    /// the program.
    fn blocked_in_stream(&self, object: &Object) -> f64 {
        let is_of_stream =
            |path: Path| self.frames(path).frames.iter().take_while(|frame| frame.is_in_c_library).count() > 1;
        let cannot_write = |(wait, path): &(Wait, Path)| {
            matches!(wait, Wait::Call { number: libc::SYS_write | libc::SYS_writev, part: Part::Work, .. })
                && is_of_stream(*path)
        };
        let blocked = object.waited.peers.iter().filter(|(peers, _)| peers.iter().any(cannot_write));
        blocked.map(|(_, peers)| peers.seconds).sum::<f64>() / object.waited.seconds.max(1e-9)
    }

    /// Returns the cause for a lock of the C library, which is held in a function of the library.
    pub(super) fn of_library(&self, object: &Object) -> Cause {
        let most = terminal::counted(object.waited.most_waiters, "thread");
        let known = object.frames.library_call();
        let call = known.unwrap_or("a function of the C library").to_owned();
        let another = match &*call {
            "rand" | "random" | "srand" | "srandom" => ", or use a generator for each thread (rand_r, random_r)",
            "drand48" | "lrand48" | "mrand48" => ", or use a generator for each thread (drand48_r)",
            "dl_iterate_phdr" => " (exceptions and backtraces call it)",
            _ => ", for example by keeping its last result",
        };
        Cause {
            rule: Rule::LibraryLock,
            object: object.name.clone(),
            place: object.place(),
            text: format!("up to {most} waited at the same time in {call}, which one thread at a time executes"),
            remedy: known.map(|call| format!("call {call} less often{another}")),
            share: object.share_of(self, FrameKind::Library),
            measure: Measure::None,
        }
    }

    pub(super) fn of_once(&self, object: &Object, rows: &Rows<'_>, limits: &Limits) -> Cause {
        let most = terminal::counted(object.waited.most_waiters, "thread");
        let peers = self.peers(object, rows, false, limits).filter(|cause| cause.share > 0.5);
        let activity = peers.map_or_else(String::new, |cause| format!(": {}", cause.text));
        Cause {
            rule: Rule::Initialisation,
            object: object.name.clone(),
            place: object.place(),
            text: format!("up to {most} waited until another one had initialised it{activity}"),
            remedy: Some("initialise it before these threads start, or in less time".into()),
            // Such a wait has no other cause.
            share: 1.0,
            measure: Measure::None,
        }
    }

    /// Returns the cause for a spin loop of the program itself, whose holder is not known.
    pub(super) fn of_spin(&self, object: &Object, limits: &Limits) -> Cause {
        let share = object.waited.seconds / (limits.on_cpu_s + limits.ready_s).max(1e-9);
        let is_short_of_cpus = limits.ready_s >= LEAST_READY * self.elapsed_s;
        let cpus = terminal::counted(self.cpus, "CPU");
        let short = if is_short_of_cpus { format!(", with more threads than {cpus}") } else { String::new() };
        let remedy = if object.frames.is_in_library_lock() {
            "do less while it is held, or use several locks: it spins before it blocks"
        } else if is_short_of_cpus {
            "use a lock that sleeps, for example a mutex (for an event, a condition variable), and at most as many threads as \
             CPUs"
        } else {
            "use a lock that sleeps, for example a mutex (for an event, a condition variable), or keep the others waiting for \
             less time"
        };
        Cause {
            rule: Rule::SpinningWaiters,
            object: object.name.clone(),
            place: object.place(),
            text: format!("threads spun in it for {} of their time on a CPU{short}", terminal::percent(share)),
            remedy: Some(remedy.into()),
            // All of this wait is the spinning.
            share: 1.0,
            measure: Measure::None,
        }
    }

    /// Returns the cause for a lock that its waiters try to acquire again and again: the activity of its holders, or the
    /// pauses between two tries.
    pub(super) fn polled(&self, object: &Object, rows: &Rows<'_>, limits: &Limits) -> Option<Cause> {
        let lock = &object.name;
        // A thread that tries without a pause has no call path.
        let site = rows.most_tried(object.wait).filter(|_| object.frames.own().next().is_none());
        let place = site.clone().unwrap_or_else(|| object.place());
        let waits_in = site.map_or_else(|| object.function(), |site| function_in(&site).to_owned());
        let waits =
            format!("wait for {lock} in {waits_in} with a call that blocks (pthread_mutex_lock), not by trying again");
        let cause = |text: String, share: f64| Cause {
            rule: Rule::RetriedLock,
            object: lock.clone(),
            place: place.clone(),
            text,
            remedy: Some(waits.clone()),
            share,
            measure: Measure::None,
        };
        let free_s: f64 = object.waited.holders.get(&Holder::Free).copied().unwrap_or(0.0);
        let free = free_s / object.waited.seconds.max(1e-9);
        if free > 0.5 {
            let percent = terminal::percent(free);
            let text = format!(
                "{lock} was free for {percent} of the wait, and {waits_in} slept or yielded until its next try"
            );
            return Some(cause(text, free));
        }
        // A thread that blocks has the lock once it is released; one that sleeps misses many releases.
        let row = rows.of(object.wait);
        let pause_ns = row.map_or(0.0, |row| object.waited.polled_s * 1e9 / row.timeouts.max(1) as f64);
        let hold_ns = row.and_then(|row| row.hold_p50_ns).filter(|hold| pause_ns > LATE * hold);
        if let Some(hold_ns) = hold_ns {
            let [pause, hold] = [pause_ns, hold_ns].map(terminal::nanoseconds);
            let text = format!(
                "{lock} was released many times in a wait, and {waits_in} slept or yielded until its next try: {pause} on \
                 average; median hold {hold}"
            );
            return Some(cause(text, 1.0 - hold_ns / pause_ns));
        }
        let mut cause = self.holders(object, rows, limits)?;
        cause.text.push_str(&format!("; {waits_in} waits by trying again and again"));
        // Threads that try without a pause keep the holder from the CPUs.
        let is_spinning = object.waited.runnable_s > 0.5 * object.waited.seconds;
        // Samples do not show what a thread does between two tries that are microseconds apart.
        let waits = format!("if {waits_in} does nothing else between two tries, {waits}");
        cause.remedy = if is_spinning { Some(waits) } else { cause.remedy };
        if is_spinning {
            cause.place = place;
        }
        cause.measure = Measure::None;
        Some(cause)
    }
}

/// Returns the part of the wakes of some conditions that found nothing to do. One without broadcasts has none: a signal
/// wakes one thread, and if another took what that was woken for, it waited no longer because of the signal.
pub(in crate::trace::diagnosis) fn vain_share(library: &Library, conditions: &[u32]) -> f64 {
    let pairs = |kind: Kind| library.pairs.values().filter(move |pair| Kind::of(pair.kind) == Some(kind));
    let broadcasts = pairs(Kind::Broadcast).filter(|pair| pair.signals > 0);
    let woken_all_at_once: Vec<u32> = broadcasts.map(|pair| pair.lock).collect();
    let (mut vain, mut wakes) = (0_u64, 0_u64);
    for pair in pairs(Kind::Cond) {
        if !conditions.contains(&pair.lock) || !woken_all_at_once.contains(&pair.lock) {
            continue;
        }
        vain = vain.saturating_add(pair.signals);
        wakes = wakes.saturating_add(pair.acquisitions);
    }
    vain as f64 / wakes.max(1) as f64
}

pub(super) fn of_map(object: &Object) -> Cause {
    let most = object.waited.most_waiters;
    Cause {
        rule: Rule::AddressSpace,
        object: MAP.into(),
        place: object.place(),
        text: format!(
            "up to {most} threads waited in page faults or calls such as munmap while another one changed the map of the \
             process"
        ),
        remedy: Some("map and unmap memory less often: keep it for reuse (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD)".into()),
        share: 1.0,
        measure: Measure::None,
    }
}

/// Returns whether the thread that has the interpreter's lock is blocked while others wait for it: threads that run Python code
/// use a CPU, and each second of theirs can be waited for by all waiters.
fn blocks_with_lock(waited_s: f64, most_waiters: usize, runnable_s: f64, elapsed_s: f64) -> bool {
    const LITTLE: f64 = 0.3;
    const FAR_MORE: f64 = 2.0;
    waited_s > 0.5 * elapsed_s
        && runnable_s < LITTLE * elapsed_s
        && waited_s > FAR_MORE * most_waiters as f64 * runnable_s
}

impl Evidence {
    pub(super) fn of_interpreter(&self, object: &Object, limits: &Limits) -> Cause {
        let (waited, runnable_s) = (&object.waited, limits.on_cpu_s + limits.ready_s);
        let is_blocked = blocks_with_lock(waited.seconds, waited.most_waiters, runnable_s, self.elapsed_s);
        let ran_in = self.python_on_cpu().filter(|_| !is_blocked);
        let (rule, text, remedy) = if is_blocked {
            (
                Rule::InterpreterBlocked,
                "the threads hardly ran: the one that has the interpreter's lock is blocked in a call that does not release \
                 it"
                .to_owned(),
                "release the interpreter's lock around that call (Py_BEGIN_ALLOW_THREADS; ctypes.CDLL, not PyDLL)",
            )
        } else {
            let most = ran_in.as_ref().map_or_else(String::new, |(place, share)| {
                format!("; {} of the time that threads ran was in {}", terminal::percent(*share), function_in(place))
            });
            (
                Rule::InterpreterLock,
                format!("one thread at a time runs Python code; the others wait for the interpreter's lock{most}"),
                "use processes instead of threads, or a free-threaded build of CPython",
            )
        };
        Cause {
            rule,
            object: INTERPRETER.into(),
            place: ran_in.map_or_else(|| object.place(), |(place, _)| place),
            text,
            remedy: Some(remedy.into()),
            // The lock has no other purpose.
            share: 1.0,
            measure: Measure::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_call_has_the_interpreter_lock_if_no_thread_runs() {
        assert!(blocks_with_lock(6.8, 4, 0.1, 2.1));
        assert!(!blocks_with_lock(6.8, 4, 2.0, 2.1), "a thread computes all the time");
        // Eight threads are woken together each 100 ms, and compute for 3 ms each.
        assert!(!blocks_with_lock(0.84, 7, 0.24, 1.0));
    }
}
