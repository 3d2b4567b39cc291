//! The positions of threads in the code of objects: so that a function that crashes, or never returns, can be named.
//!
//! A thread notes which function it calls, in a separate byte; that is the whole cost for a lock and an unlock. No
//! other thread reads the byte: the thread itself answers, in a signal's handler. A thread that crashes in an object's
//! code stays in the handler forever, so that the process lives and the measured data is not lost; but the process's
//! first thread, without which nothing goes on, ends it as usual.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A function of an object that a thread is in, or was in last.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Within {
    Nothing,
    Init,
    Acquire,
    Release,
    Destroy,
}

const NAMES: [&str; 5] =
    ["", "contend_lock_init", "contend_lock_acquire", "contend_lock_release", "contend_lock_destroy"];

thread_local! {
    // An atomic, because a handler reads it: the compiler may omit a plain store before a call.
    static AT: AtomicU8 = const { AtomicU8::new(Within::Nothing as u8) };
}

/// Notes the function that the calling thread calls next.
#[inline(always)]
pub fn enter(function: Within) {
    AT.with(|at| at.store(function as u8, Ordering::Relaxed));
}

/// The signal that a thread crashed with in an object's code, and where; 0 if none has.
static CRASHED: AtomicI32 = AtomicI32::new(0);
static CRASHED_IN: AtomicU8 = AtomicU8::new(0);
static IS_LOST: AtomicBool = AtomicBool::new(false);
/// The number of threads that have answered that they are in each function.
static ANSWERS: [AtomicU32; NAMES.len()] = [const { AtomicU32::new(0) }; NAMES.len()];

const CRASHES: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
/// The signal that queries a thread, which a program that does not wait for it ignores.
const QUESTION: i32 = libc::SIGURG;
/// The time limit for the answers: each needs a CPU, which spinning threads have.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);

/// Keeps crashes in objects' code from ending the process.
pub fn catch_crashes() {
    CRASHES.iter().for_each(|&signal| handle(signal, crashed));
}

/// Returns whether a thread has crashed in an object's code.
pub fn has_crashed() -> bool {
    CRASHED.load(Ordering::Acquire) != 0
}

/// Returns whether threads did not come back from objects' code, so that it is called no more.
pub fn is_lost() -> bool {
    IS_LOST.load(Ordering::Acquire)
}

/// Returns the fate of threads that did not come back from objects' code, after the object's name.
pub fn what_became() -> String {
    IS_LOST.store(true, Ordering::Release);
    let signal = CRASHED.load(Ordering::Acquire);
    if signal != 0 {
        let place = NAMES[usize::from(CRASHED_IN.load(Ordering::Relaxed))];
        return format!("crashes: {place} ended with {}", signal_name(signal));
    }
    handle(QUESTION, answer);
    ANSWERS.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    let (asked, began) = (ask_all(), Instant::now());
    while ANSWERS.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u32>() < asked
        && began.elapsed() < ANSWERS_WITHIN
    {
        std::thread::sleep(LOOK);
    }
    let within = NAMES.iter().zip(&ANSWERS).skip(1).map(|(name, count)| (name, count.load(Ordering::Relaxed)));
    let words = |(name, count): (&&str, u32)| match count {
        1 => format!("a thread did not return from {name}"),
        _ => format!("{count} threads did not return from {name}"),
    };
    let found: Vec<String> = within.filter(|(_, count)| *count > 0).map(words).collect();
    match found.is_empty() {
        true => "blocks: a thread did not return from one of its functions".into(),
        false => format!("blocks: {}", found.join(", ")),
    }
}

fn handle(signal: i32, handler: extern "C" fn(i32)) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeros is a valid action, which `sigemptyset` and the stores complete; the handlers only touch atomics
    // and call what may be called in a handler. On the alternate stack, since a thread's own may be what overflowed.
    unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const *action, std::ptr::null_mut());
    }
}

extern "C" fn crashed(signal: i32) {
    let at = AT.with(|at| at.load(Ordering::Relaxed));
    // SAFETY: the calls take no pointers, and may be made in a handler.
    let is_first = unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) };
    if at == Within::Nothing as u8 || is_first {
        // Not a crash in an object, or the thread without which nothing goes on: it ends the process as it would have.
        // SAFETY: both functions may be called in a handler; the default action needs no function.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return;
    }
    CRASHED_IN.store(at, Ordering::Relaxed);
    CRASHED.store(signal, Ordering::Release);
    loop {
        // SAFETY: `pause` only waits, and may be called in a handler.
        unsafe { libc::pause() };
    }
}

extern "C" fn answer(_: i32) {
    AT.with(|at| ANSWERS[usize::from(at.load(Ordering::Relaxed))].fetch_add(1, Ordering::Relaxed));
}

/// Queries every thread of the process; returns their number.
fn ask_all() -> u32 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ids = tasks.filter_map(|task| task.file_name().to_str()?.parse::<i32>().ok());
    // SAFETY: the call sends a signal to a thread of this process, or fails if that has ended.
    let ask = |id: &i32| unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), *id, QUESTION) } == 0;
    ids.filter(ask).count() as u32
}

pub(super) fn signal_name(signal: i32) -> String {
    match signal {
        libc::SIGSEGV => "SIGSEGV".into(),
        libc::SIGBUS => "SIGBUS".into(),
        libc::SIGILL => "SIGILL".into(),
        libc::SIGFPE => "SIGFPE".into(),
        libc::SIGABRT => "SIGABRT".into(),
        libc::SIGTRAP => "SIGTRAP".into(),
        other => format!("signal {other}"),
    }
}
