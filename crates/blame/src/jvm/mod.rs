//! The locks of Java programs: monitors, and those of `java.util.concurrent`.
//!
//! A Java thread that waits for a lock is parked on a condition that belongs to it alone, so neither the kernel nor the C
//! library's calls show which lock it waits for. The virtual machine itself does, in its thread dumps: for each thread
//! its state, its methods, and the monitors that they hold or wait for. contend requests them through the attach
//! interface, as `jcmd PID Thread.print` does, a few times a second, and adds them up: a dump stands for the
//! time since the one before it.
//!
//! Dumps were chosen over the alternatives because they need no flag at the start of the program and no agent in it. JFR
//! records waits one by one, but only those above 10 ms to 20 ms by default, and writes files; a perf map names compiled
//! methods, but no locks. The virtual machine stops its threads for each dump, so the pause between two dumps is many times
//! as long as a dump takes: ten times after the first few, then fifty, and 150 once there are dumps of some seconds. After
//! the first dump it keeps one thread more, the `Attach Listener`.
//!
//! A dump with the owners of the locks of `java.util.concurrent` takes a search of the heap: 10 ms where the process has 75 MB, 50 ms
//! where it has 330 MB, against less than 1 ms for a plain dump. It is requested where a thread waits for such a lock, if the process is
//! small, at a pace that follows the same rule.

mod attach;
mod dump;
mod end;
mod look;
mod options;

pub use dump::{Frame, JavaHolder, JavaPlace, LockKey, State};
pub use look::{JavaLook, JavaOwner, JavaThread, JavaWait, look};

use crate::namespace::OwnNumbers;
use crate::pairs;
use crate::sampling::profile::is_alive;
use attach::{Access, Machine, Refusal};
use dump::{Digest, Dump, MOST_THREADS, Workers};
use end::{End, Woken};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// A dump and when it was requested, or the reason why there is none.
type Report = Result<(Digest, Instant), String>;

/// Requests dumps of a virtual machine in a thread of contend.
struct Dumper {
    end: Option<Arc<End>>,
    reports: Receiver<Report>,
    /// Sums of all dumps.
    waits: JavaWaits,
}

/// The shortest pause between two dumps, and the pause as a multiple of a dump's duration.
const PERIOD: Duration = Duration::from_millis(100);
const PAUSE: u32 = 50;
/// The first dumps follow each other sooner: a short program ends before there are enough of them otherwise.
const FIRST: usize = 5;
const FIRST_PAUSE: u32 = 10;
/// Time after which dumps follow each other later: a service that is watched for long is not to become slower.
const SETTLED: Duration = Duration::from_secs(4);
const SETTLED_PAUSE: u32 = 150;
/// The largest process whose heap is searched for owners.
const LARGEST_SEARCHED: u64 = 256 << 20;
/// Dumps whose shortest one counts.
const RECENT: usize = 20;
/// The longest pause: a machine that takes so long for a dump has many threads, and is not to be stopped often.
const LONGEST: Duration = Duration::from_secs(30);
/// Reports that wait to be read.
const MOST_REPORTS: usize = 2;
/// Time in which the threads end and remove what they have created, at the end of the trace.
const END: Duration = Duration::from_secs(1);

/// Returns whether a process may be a Java virtual machine, by a file that it has mapped.
fn may_be_jvm(map: &[u8]) -> bool {
    const LIBRARY: &[u8] = b"/libjvm.so";
    map.windows(LIBRARY.len()).any(|window| window == LIBRARY)
}

impl Dumper {
    /// Begins to request dumps of a process.
    fn begin(process: u32, machine: Machine) -> Self {
        let (sender, reports) = sync_channel(MOST_REPORTS);
        let begin = || {
            let end = Arc::new(End::new()?);
            let flag = end.clone();
            let worker = std::thread::Builder::new().name("java-dumps".into());
            worker.spawn(move || request(process, &machine, &flag, &sender))?;
            Ok(end)
        };
        let end: std::io::Result<Arc<End>> = begin();
        let refusal = end.as_ref().err().map(crate::names::message);
        Self { end: end.ok(), reports, waits: JavaWaits { refusal, ..JavaWaits::default() } }
    }

    /// Adds the dumps that have come.
    fn read(&mut self) {
        for report in self.reports.try_iter() {
            match report {
                Ok((digest, at)) => self.waits.add(digest, at),
                Err(why) => self.waits.refusal = Some(why),
            }
        }
    }

    fn request_end(&self) {
        self.end.iter().for_each(|end| end.request());
    }
}

impl Drop for Dumper {
    fn drop(&mut self) {
        self.request_end();
    }
}

fn request(process: u32, machine: &Machine, end: &End, reports: &SyncSender<Report>) {
    let send = |why| reports.send(Err(why)).is_ok();
    let refusal = match Access::find(machine, end) {
        Ok(access) => request_from(access, process, end, reports),
        Err(refusal) => Some(refusal),
    };
    if let Some(Refusal::NotYet(why) | Refusal::Never(why)) = refusal {
        let _ = send(why);
    }
}

/// Requests dumps until the end; returns the reason if it is another one.
fn request_from(mut access: Access, process: u32, end: &End, reports: &SyncSender<Report>) -> Option<Refusal> {
    let mut numbers = OwnNumbers::of(process);
    let (began, mut taken, mut reason) = (Instant::now(), Vec::new(), String::new());
    // Searches for owners begin once a thread has waited for a lock that has one.
    let (mut is_owner_wanted, mut searches_taken, mut next_search) = (false, Vec::new(), began);
    loop {
        let searches = is_owner_wanted && Instant::now() >= next_search && resident(process) <= LARGEST_SEARCHED;
        let pause = match access.threads(searches) {
            Ok((text, at)) => {
                let took = at.elapsed();
                let text = String::from_utf8_lossy(&text);
                let is_over = || end.is_requested();
                let digest = Dump::parse(&text, is_over).and_then(|mut dump| {
                    dump.renumber(&mut numbers);
                    dump.digest(is_over)
                });
                let Some(digest) = digest else {
                    let why = format!("its thread dump has more than {MOST_THREADS} threads");
                    return Some(if is_over() { Refusal::Over } else { Refusal::Never(why) });
                };
                is_owner_wanted |= digest.locks.keys().any(LockKey::has_owner);
                let of_kind = if searches { &mut searches_taken } else { &mut taken };
                if of_kind.len() >= RECENT {
                    of_kind.remove(0);
                }
                of_kind.push(took);
                next_search = match searches {
                    true => Instant::now() + pause_after(&searches_taken, began.elapsed()),
                    false => next_search,
                };
                if reports.send(Ok((digest, at))).is_err() {
                    return None;
                }
                pause_after(&taken, began.elapsed())
            }
            Err(Refusal::NotYet(why)) => {
                if why != reason && reports.send(Err(why.clone())).is_err() {
                    return None;
                }
                reason = why;
                PERIOD
            }
            Err(refusal) => return Some(refusal),
        };
        if end.wait(None, Instant::now() + pause) == Woken::ByEnd {
            return None;
        }
    }
}

/// Returns the bytes of memory that a process has, of which the heap is a part; the largest number if they are not known.
fn resident(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.map_or(u64::MAX, |pages| pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Returns the pause after dumps that took so long, at this time after the first. The shortest one says for how long the machine stops its threads:
/// the others waited for a CPU as well.
fn pause_after(taken: &[Duration], elapsed: Duration) -> Duration {
    let shortest = taken.iter().min().copied().unwrap_or_default();
    let pause = match taken.len() {
        ..FIRST => FIRST_PAUSE,
        _ if elapsed < SETTLED => PAUSE,
        _ => SETTLED_PAUSE,
    };
    PERIOD.max((shortest * pause).min(LONGEST))
}

/// The virtual machines among the processes of a program.
#[derive(Default)]
pub struct Machines(HashMap<u32, Dumper>);

impl Machines {
    /// Begins to request dumps of a process, if its map shows that it is a virtual machine.
    pub fn learn(&mut self, process: u32, map: &[u8]) {
        const MOST: usize = 8;
        if self.0.contains_key(&process) || !may_be_jvm(map) {
            return;
        }
        if self.0.len() >= MOST {
            self.0.retain(|process, _| is_alive(*process));
        }
        if self.0.len() < MOST
            && let Some(machine) = Machine::hold(process, map)
        {
            self.0.insert(process, Dumper::begin(process, machine));
        }
    }

    /// Adds the dumps that have come.
    pub fn read(&mut self) {
        self.0.values_mut().for_each(Dumper::read);
    }

    /// Begins the next part of the trace: the sums are those of its dumps alone.
    pub fn begin_part(&mut self) {
        for dumper in self.0.values_mut() {
            let JavaWaits { refusal, last, .. } = std::mem::take(&mut dumper.waits);
            dumper.waits = JavaWaits { refusal, last, ..JavaWaits::default() };
        }
    }

    /// Returns the sums of each process.
    pub fn waits(&self) -> impl Iterator<Item = (u32, &JavaWaits)> {
        self.0.iter().map(|(process, dumper)| (*process, &dumper.waits))
    }

    /// Returns the sums of a process; `None` if it is not a virtual machine.
    pub fn of(&self, process: u32) -> Option<&JavaWaits> {
        self.0.get(&process).map(|dumper| &dumper.waits)
    }
}

impl Drop for Machines {
    /// Waits for a moment until the threads have removed what they have created.
    fn drop(&mut self) {
        self.0.values().for_each(Dumper::request_end);
        let until = Instant::now() + END;
        for dumper in self.0.values() {
            let next = || dumper.reports.recv_timeout(until.saturating_duration_since(Instant::now()));
            // It ends: a moment is waited for at most.
            while !matches!(next(), Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout)) {}
        }
    }
}

/// Sums of the dumps of a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JavaWaits {
    pub dumps: u64,
    /// Locks, by class and by the method that waited for it.
    #[serde(with = "pairs")]
    pub locks: BTreeMap<LockKey, JavaLock>,
    /// Thread time at the places where threads wait for something else than a lock, or sleep.
    #[serde(default, with = "pairs")]
    pub places: BTreeMap<JavaPlace, f64>,
    /// Pools of threads, by the names of their threads without the numbers.
    #[serde(default)]
    pub pools: BTreeMap<String, JavaPool>,
    /// Shares of each thread, by the kernel's number of the thread.
    pub threads: BTreeMap<u32, Shares>,
    /// The reason why there are no dumps.
    pub refusal: Option<String>,
    /// Whether virtual threads were seen, which no dump lists.
    pub has_virtual_threads: bool,
    #[serde(skip)]
    last: Option<Instant>,
    /// Bytes of the names that are kept.
    #[serde(skip)]
    size: usize,
}

/// The waits for a lock, in seconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JavaLock {
    pub seconds: f64,
    /// Times, by the holder's activity; the rest is unknown.
    #[serde(with = "pairs")]
    pub holders: BTreeMap<JavaHolder, f64>,
    /// The part of `seconds` of dumps that name the owner, if one thread has the lock.
    #[serde(default)]
    pub searched_s: f64,
    pub most_waiters: usize,
    /// The part of `seconds` in which several threads were inside.
    #[serde(default)]
    pub several_s: f64,
    /// Times in which a thread held it and was in native code, by the kernel's number of the thread.
    #[serde(default)]
    pub in_native_code: BTreeMap<u32, f64>,
    /// The call path of a thread that waited.
    pub path: Vec<Frame>,
}

/// A pool of threads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JavaPool {
    pub workers: usize,
    /// Times in which it had a worker, and in which each of them had a task.
    pub seconds: f64,
    pub full_s: f64,
    /// Thread time of the tasks, by what they did and the method of the program.
    #[serde(with = "pairs")]
    pub tasks: BTreeMap<(State, Frame), f64>,
}

/// Parts of the dumps of a thread.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Shares {
    pub all: f64,
    pub lock: f64,
    pub sleep: f64,
    pub work: f64,
}

impl LockKey {
    /// Returns whether a dump with owners names the thread that has it.
    pub fn has_owner(&self) -> bool {
        !self.is_monitor && dump::is_owned(&self.class)
    }
}

/// Locks and threads that are kept apart, and bytes of the names in them.
const MOST_LOCKS: usize = 2_000;
const MOST_KEPT_THREADS: usize = 65_536;
const MOST_BYTES: usize = 16 << 20;
/// Pools, and the tasks of each, that are kept apart.
const MOST_POOLS: usize = 64;
const MOST_TASKS: usize = 256;

impl JavaWaits {
    fn add(&mut self, digest: Digest, at: Instant) {
        let span = self.last.map_or(PERIOD, |last| at.saturating_duration_since(last)).as_secs_f64();
        self.last = Some(at);
        self.dumps += 1;
        self.has_virtual_threads |= digest.has_virtual_threads;
        for (thread, state) in digest.threads {
            if self.threads.len() >= MOST_KEPT_THREADS && !self.threads.contains_key(&thread) {
                continue;
            }
            let shares = self.threads.entry(thread).or_default();
            shares.all += span;
            match state {
                State::Blocked { .. } => shares.lock += span,
                State::Sleeping => shares.sleep += span,
                State::Waiting => shares.work += span,
                State::Runnable | State::Native => {}
            }
        }
        self.add_places(digest.places, span);
        self.add_pools(digest.pools, span);
        for (key, waiters) in digest.locks {
            if !self.locks.contains_key(&key) {
                let size = key.class.len() + size_of_frames([&key.waits_in]) + size_of_frames(&waiters.path);
                if self.locks.len() >= MOST_LOCKS || self.size + size > MOST_BYTES {
                    continue;
                }
                self.size += size;
                self.locks.insert(key.clone(), JavaLock { path: waiters.path, ..JavaLock::default() });
            }
            let Some(lock) = self.locks.get_mut(&key) else { continue };
            lock.seconds += span * waiters.count as f64;
            lock.searched_s += if digest.has_owners && key.has_owner() { span * waiters.count as f64 } else { 0.0 };
            lock.most_waiters = lock.most_waiters.max(waiters.count);
            lock.several_s += span * waiters.of_several as f64;
            for thread in waiters.in_native_code {
                *lock.in_native_code.entry(thread).or_default() += span;
            }
            for (holder, count) in waiters.holders {
                if !lock.holders.contains_key(&holder) {
                    let frames = [&holder.inner].into_iter().chain(&holder.caller).chain(&holder.path);
                    let size = size_of_frames(frames);
                    if self.size + size > MOST_BYTES {
                        continue;
                    }
                    self.size += size;
                }
                *lock.holders.entry(holder).or_default() += span * count;
            }
        }
    }

    fn add_places(&mut self, places: HashMap<JavaPlace, usize>, span: f64) {
        for (place, count) in places {
            if !self.places.contains_key(&place) {
                let size = size_of_frames([&place.own]) + place.called.as_ref().map_or(0, String::len);
                if self.places.len() >= MOST_LOCKS || self.size + size > MOST_BYTES {
                    continue;
                }
                self.size += size;
            }
            *self.places.entry(place).or_default() += span * count as f64;
        }
    }

    fn add_pools(&mut self, pools: HashMap<String, Workers>, span: f64) {
        for (name, Workers { count, idle, tasks }) in pools {
            if self.pools.len() >= MOST_POOLS && !self.pools.contains_key(&name) {
                continue;
            }
            let pool = self.pools.entry(name).or_default();
            pool.workers = pool.workers.max(count);
            pool.seconds += span;
            pool.full_s += if idle == 0 { span } else { 0.0 };
            for (task, count) in tasks {
                if pool.tasks.len() < MOST_TASKS || pool.tasks.contains_key(&task) {
                    *pool.tasks.entry(task).or_default() += span * count as f64;
                }
            }
        }
    }

    /// Returns whether the dumps stand for too little time to say what threads wait for.
    pub fn are_few(&self) -> bool {
        const FEWEST_S: f64 = 0.3;
        self.threads.values().all(|shares| shares.all < FEWEST_S)
    }
}

/// Returns the bytes of memory that frames take.
fn size_of_frames<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> usize {
    let size = |frame: &Frame| size_of::<Frame>() + frame.method.len() + frame.source.as_ref().map_or(0, String::len);
    frames.into_iter().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::dump::Waiters;
    use super::dump::tests::{MONITOR, digest};

    #[test]
    fn locks_have_their_waiters_and_holders() {
        let mut waits = JavaWaits::default();
        for _ in 0..4 {
            waits.add(digest(MONITOR), Instant::now());
        }
        let [(key, lock)] = waits.locks.iter().collect::<Vec<_>>()[..] else { panic!("one lock") };
        assert_eq!(
            (key.class.as_str(), key.waits_in.label().as_str()),
            ("java.lang.Object", "Store.put (Store.java:3)")
        );
        assert_eq!(lock.most_waiters, 1);
        let [(holder, seconds)] = lock.holders.iter().collect::<Vec<_>>()[..] else { panic!("one holder") };
        assert_eq!((holder.inner.label().as_str(), &holder.state), ("Store.writeLog (Store.java:2)", &State::Sleeping));
        assert_eq!(*seconds, lock.seconds);
        assert!(waits.threads[&16].lock > 0.0 && waits.threads[&17].sleep > 0.0 && waits.threads[&18].work > 0.0);
    }

    #[test]
    fn threads_are_stopped_for_a_small_part_of_the_time() {
        let pause_after_s = |taken: &[u64], elapsed_s| {
            let taken: Vec<Duration> = taken.iter().copied().map(Duration::from_millis).collect();
            pause_after(&taken, Duration::from_secs(elapsed_s)).as_millis()
        };
        let pause_ms = |taken: &[u64]| pause_after_s(taken, 1);
        assert_eq!([pause_ms(&[1]), pause_ms(&[40]), pause_ms(&[40, 12])], [100, 400, 120]);
        assert_eq!([pause_ms(&[40; 5]), pause_ms(&[40, 40, 5, 40, 40, 40])], [2_000, 250]);
        assert_eq!(pause_ms(&[5_000; 9]), 30_000);
        assert_eq!([pause_after_s(&[40; 5], 60), pause_after_s(&[40; 2], 60)], [6_000, 400]);
    }

    #[test]
    fn few_dumps_say_nothing() {
        let mut waits = JavaWaits::default();
        waits.add(digest(MONITOR), Instant::now());
        assert!(waits.are_few());
        waits.add(digest(MONITOR), Instant::now() + Duration::from_millis(250));
        assert!(!waits.are_few());
    }

    #[test]
    fn names_and_threads_that_are_kept_have_a_limit() {
        let frame = |name: usize| Frame { method: format!("{name:0900}"), source: None };
        let key = |name| LockKey { class: "A".into(), waits_in: frame(name), is_monitor: true };
        let holder = |name| JavaHolder {
            state: State::Sleeping,
            is_supposed: false,
            inner: frame(name),
            caller: None,
            path: vec![frame(name)],
        };
        let mut waits = JavaWaits::default();
        for part in 0..7 {
            let locks = (0..500).map(|name| (key(part * 500 + name), Waiters { count: 1, ..Waiters::default() }));
            let threads = (0..10_000).map(|number| ((part * 10_000 + number) as u32, State::Runnable));
            let digest = Digest { threads: threads.collect(), locks: locks.collect(), ..Digest::default() };
            waits.add(digest, Instant::now());
        }
        assert_eq!((waits.locks.len(), waits.threads.len()), (MOST_LOCKS, MOST_KEPT_THREADS));
        let all = MOST_BYTES / size_of_frames(&[frame(0), frame(0)]);
        let holders = (0..all + 100).map(|name| (holder(name), 1.0)).collect();
        let waiters = Waiters { count: 1, holders, ..Waiters::default() };
        waits.add(Digest { locks: [(key(0), waiters)].into(), ..Digest::default() }, Instant::now());
        let kept = waits.locks[&key(0)].holders.len();
        assert!(kept > all / 2 && kept < all, "{kept} of {all}");
    }
}
