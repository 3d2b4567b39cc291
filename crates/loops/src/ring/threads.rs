//! Kernel threads in a ring: each hop blocks one and wakes another. Each mechanism is a [`Mailbox`].

use super::{RingResult, RingSpec};
use instruments::cpus::pin_current_thread;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::futex::{self, Flags};
use std::cell::UnsafeCell;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{Builder, Scope, Thread};
use std::time::{Duration, Instant};

/// A separate pipe.
pub struct Pipe {
    reads: OwnedFd,
    writes: OwnedFd,
}

impl Mailbox for Pipe {
    fn new() -> io::Result<Self> {
        let (reads, writes) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { reads, writes })
    }

    fn put(&self, token: u64) -> io::Result<()> {
        write(&self.writes, token)
    }

    fn take(&self) -> io::Result<u64> {
        read(&self.reads)
    }
}

/// Two connected sockets of the local kind.
pub struct Socketpair {
    reads: UnixStream,
    writes: UnixStream,
}

impl Mailbox for Socketpair {
    fn new() -> io::Result<Self> {
        let (reads, writes) = UnixStream::pair()?;
        Ok(Self { reads, writes })
    }

    fn put(&self, token: u64) -> io::Result<()> {
        write(&self.writes, token)
    }

    fn take(&self) -> io::Result<u64> {
        read(&self.reads)
    }
}

fn write(stream: impl AsFd, token: u64) -> io::Result<()> {
    // Eight bytes are written atomically: the buffer is empty.
    rustix::io::write(stream, &token.to_ne_bytes())?;
    Ok(())
}

fn read(stream: impl AsFd) -> io::Result<u64> {
    let mut token = [0; 8];
    let stream = stream.as_fd();
    match rustix::io::retry_on_intr(|| rustix::io::read(stream, &mut token))? {
        8 => Ok(u64::from_ne_bytes(token)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A separate counter.
pub struct Eventfd(OwnedFd);

impl Mailbox for Eventfd {
    fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC)?))
    }

    fn put(&self, token: u64) -> io::Result<()> {
        // One more, because adding 0 wakes no thread.
        rustix::io::write(&self.0, &(token + 1).to_ne_bytes())?;
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        rustix::io::retry_on_intr(|| rustix::io::read(&self.0, &mut count))?;
        Ok(u64::from_ne_bytes(count) - 1)
    }
}

/// A bare futex, the basis of every lock and channel of kernel threads: a word with the states, whether there is a
/// token, and whether a thread sleeps.
pub struct Futex {
    state: AtomicU32,
    token: AtomicU64,
}

impl Futex {
    const EMPTY: u32 = 0;
    const FULL: u32 = 1;
    /// The slot is empty, and a thread sleeps.
    const AWAITED: u32 = 2;
}

impl Mailbox for Futex {
    fn new() -> io::Result<Self> {
        Ok(Self { state: AtomicU32::new(Self::EMPTY), token: AtomicU64::new(0) })
    }

    fn put(&self, token: u64) -> io::Result<()> {
        self.token.store(token, Ordering::Relaxed);
        // Release: a thread that reads FULL sees the token.
        if self.state.swap(Self::FULL, Ordering::Release) == Self::AWAITED {
            futex::wake(&self.state, Flags::PRIVATE, 1)?;
        }
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        loop {
            match self.state.compare_exchange(Self::FULL, Self::EMPTY, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(self.token.load(Ordering::Relaxed)),
                Err(Self::EMPTY) => {
                    // If it fails, the mailbox is full by now.
                    let _ =
                        self.state.compare_exchange(Self::EMPTY, Self::AWAITED, Ordering::Relaxed, Ordering::Relaxed);
                }
                Err(_) => match futex::wait(&self.state, Flags::PRIVATE, Self::AWAITED, None) {
                    // It was filled before the kernel read it, or a signal arrived.
                    Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }
}

/// `std::thread::park` and `unpark`: a token, and the thread that waits for it.
pub struct Park {
    token: AtomicU64,
    waiter: OnceLock<Thread>,
}

impl Mailbox for Park {
    fn new() -> io::Result<Self> {
        Ok(Self { token: AtomicU64::new(EMPTY), waiter: OnceLock::new() })
    }

    fn settle(&self) {
        let _ = self.waiter.set(std::thread::current());
    }

    fn put(&self, token: u64) -> io::Result<()> {
        // Parking orders this before the waiter's next check.
        self.token.store(token, Ordering::Relaxed);
        if let Some(waiter) = self.waiter.get() {
            waiter.unpark();
        }
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        loop {
            match self.token.swap(EMPTY, Ordering::Relaxed) {
                EMPTY => std::thread::park(),
                token => return Ok(token),
            }
        }
    }
}

/// A locked pthread mutex for each thread; the thread that puts the token unlocks it, as in 2008.
///
/// The mutex is locked while the mailbox is empty.
pub struct PthreadMutex {
    // Boxed, because a mutex in use must not move.
    empty: Box<UnsafeCell<libc::pthread_mutex_t>>,
    token: AtomicU64,
}

// SAFETY: the mutex is used only through pthread calls, which any thread may make at the same time.
unsafe impl Sync for PthreadMutex {}
// SAFETY: the mutex is used only through pthread calls, and a plain mutex is not bound to the thread that made it.
unsafe impl Send for PthreadMutex {}

impl PthreadMutex {
    fn lock(&self) {
        // SAFETY: the mutex was initialised and stays in its box.
        unsafe { libc::pthread_mutex_lock(self.empty.get()) };
    }
}

impl Mailbox for PthreadMutex {
    fn new() -> io::Result<Self> {
        let empty = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        Ok(Self { empty, token: AtomicU64::new(0) })
    }

    fn settle(&self) {
        self.lock();
    }

    fn put(&self, token: u64) -> io::Result<()> {
        self.token.store(token, Ordering::Relaxed);
        // SAFETY: the mutex was initialised, stays in its box, and is locked since `settle` or `take`. POSIX leaves the
        // effect undefined when another thread unlocks it; Linux's plain mutex has no owner that would matter.
        unsafe { libc::pthread_mutex_unlock(self.empty.get()) };
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        self.lock();
        Ok(self.token.load(Ordering::Relaxed))
    }
}

/// The token, guarded by the mutex.
struct Guarded {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    filled: UnsafeCell<libc::pthread_cond_t>,
    token: UnsafeCell<Option<u64>>,
}

/// A pthread mutex and condition variable for each thread: a handoff with defined behaviour.
///
/// Boxed, because a mutex and a condition variable in use must not move.
pub struct PthreadCondvar(Box<Guarded>);

// SAFETY: the mutex and the condition variable are used only through pthread calls, which any thread may make at the
// same time. The token is used only while the mutex is held.
unsafe impl Sync for PthreadCondvar {}
// SAFETY: both are used only through pthread calls, and neither is bound to the thread that made it.
unsafe impl Send for PthreadCondvar {}

impl Mailbox for PthreadCondvar {
    fn new() -> io::Result<Self> {
        Ok(Self(Box::new(Guarded {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            filled: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            token: UnsafeCell::new(None),
        })))
    }

    fn put(&self, token: u64) -> io::Result<()> {
        let Guarded { mutex, filled, token: place } = &*self.0;
        // SAFETY: both were initialised and stay in their box; the token is written while the mutex is held.
        unsafe {
            libc::pthread_mutex_lock(mutex.get());
            *place.get() = Some(token);
            libc::pthread_cond_signal(filled.get());
            libc::pthread_mutex_unlock(mutex.get());
        }
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        let Guarded { mutex, filled, token } = &*self.0;
        // SAFETY: both were initialised and stay in their box; the token is read and cleared while the mutex is held,
        // and the wait returns with the mutex held.
        unsafe {
            libc::pthread_mutex_lock(mutex.get());
            let taken = loop {
                if let Some(token) = (*token.get()).take() {
                    break token;
                }
                libc::pthread_cond_wait(filled.get(), mutex.get());
            };
            libc::pthread_mutex_unlock(mutex.get());
            Ok(taken)
        }
    }
}

/// The value that is passed around at the end.
///
/// It is below the greatest number, so that a mailbox may add one.
const STOP: u64 = u64::MAX >> 1;
/// The size of a stack: deep enough for `take`, and small enough for ten thousand.
const STACK: usize = 64 * 1024;

struct Shared<'a, M> {
    spec: &'a RingSpec,
    mailboxes: Vec<M>,
    settled: AtomicUsize,
    last: OnceLock<(usize, Instant)>,
}

/// Passes the token around through mailboxes of one kind.
pub fn ring<M: Mailbox>(spec: &RingSpec) -> io::Result<RingResult> {
    let mailboxes = (0..spec.threads).map(|_| M::new()).collect::<io::Result<_>>()?;
    let shared = Shared { spec, mailboxes, settled: AtomicUsize::new(0), last: OnceLock::new() };
    let began = std::thread::scope(|scope| {
        let started = start(scope, &shared);
        let count = *started.as_ref().unwrap_or_else(|(count, _)| count);
        while shared.settled.load(Ordering::Acquire) < count {
            std::thread::sleep(Duration::from_micros(50));
        }
        let began = Instant::now();
        if count > 0 {
            shared.mailboxes[0].put(if started.is_ok() { spec.hops } else { STOP })?;
        }
        started.map(|_| began).map_err(|(_, error)| error)
    })?;
    let (place, ended) = shared.last.get().ok_or_else(|| io::Error::other("the token was lost"))?;
    Ok(RingResult { answer: place + 1, hops_ns: ended.duration_since(began).as_nanos() as f64, wasted_polls: None })
}

/// Starts the threads; if fewer could be started, returns their number and the error.
fn start<'s, M: Mailbox>(scope: &'s Scope<'s, '_>, shared: &'s Shared<'_, M>) -> Result<usize, (usize, io::Error)> {
    for place in 0..shared.spec.threads {
        let builder = Builder::new().stack_size(STACK);
        builder.spawn_scoped(scope, move || member(shared, place)).map_err(|error| (place, error))?;
    }
    Ok(shared.spec.threads)
}

/// Runs a thread to its end.
///
/// An error ends the ring: without a last token there is no answer.
fn member<M: Mailbox>(shared: &Shared<M>, place: usize) {
    let (own, next) = (&shared.mailboxes[place], &shared.mailboxes[(place + 1) % shared.mailboxes.len()]);
    let cpus = &shared.spec.cpus;
    let pinned = cpus.get(place % cpus.len().max(1)).map_or(Ok(()), |&cpu| pin_current_thread(cpu));
    own.settle();
    shared.settled.fetch_add(1, Ordering::Release);
    let _ = pinned.and_then(|()| pass_on(shared, place, own, next)).or_else(|_| next.put(STOP));
}

fn pass_on<M: Mailbox>(shared: &Shared<M>, place: usize, own: &M, next: &M) -> io::Result<()> {
    loop {
        match own.take()? {
            STOP => return next.put(STOP),
            0 => {
                let _ = shared.last.set((place, Instant::now()));
                return next.put(STOP);
            }
            token => next.put(token - 1)?,
        }
    }
}

/// A slot for one token, at which one thread waits.
///
/// It is empty whenever a token is put.
pub trait Mailbox: Sync + Sized {
    /// Creates an empty one; descriptors can run out.
    fn new() -> io::Result<Self>;

    /// Prepares the mailbox on the thread that will take from it, before any thread puts.
    fn settle(&self) {}

    fn put(&self, token: u64) -> io::Result<()>;

    /// Waits for a token.
    fn take(&self) -> io::Result<u64>;
}

const EMPTY: u64 = u64::MAX;

/// A mailbox without blocking: a thread that has no token yields the CPU and checks again.
pub struct Yield(AtomicU64);

impl Mailbox for Yield {
    fn new() -> io::Result<Self> {
        Ok(Self(AtomicU64::new(EMPTY)))
    }

    fn put(&self, token: u64) -> io::Result<()> {
        self.0.store(token, Ordering::Release);
        Ok(())
    }

    fn take(&self) -> io::Result<u64> {
        while self.0.load(Ordering::Relaxed) == EMPTY {
            rustix::thread::sched_yield();
        }
        Ok(self.0.swap(EMPTY, Ordering::Acquire))
    }
}
