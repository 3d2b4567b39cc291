//! A program without the standard library that uses the locks: threads of the C library add under each of them.
#![no_std]
#![no_main]

use core::{
    cell::UnsafeCell,
    ffi::{c_int, c_void},
    ptr,
    time::Duration,
};
use ulocks::{
    Adaptive, AdaptiveRw, Benaphore, Calock, CalockSpin, Condvar, FutexSem, Once, Private, RwLock, RwLockFair, Ticket,
    Usema, UsemaSpin,
    lock_api::{Mutex, RwLock as Readers},
};

const THREADS: usize = 4;
const ROUNDS: u64 = 10_000;

static ADAPTIVE: Mutex<Adaptive, u64> = Mutex::new(0);
static CALOCK: Mutex<Calock, u64> = Mutex::new(0);
static CALOCK_SPIN: Mutex<CalockSpin, u64> = Mutex::new(0);
static USEMA: Mutex<Usema, u64> = Mutex::new(0);
static USEMA_SPIN: Mutex<UsemaSpin, u64> = Mutex::new(0);
static TICKET: Mutex<Ticket, u64> = Mutex::new(0);
static ADAPTIVE_RW: Readers<AdaptiveRw, u64> = Readers::new(0);
static RW_LOCK: Readers<RwLock, u64> = Readers::new(0);
static RW_LOCK_FAIR: Readers<RwLockFair, u64> = Readers::new(0);
static COUNTER: Behind = Behind(Benaphore::new(FutexSem::new(0)), UnsafeCell::new(0));
static ONCE: Once = Once::new();
static CHANGED: Condvar = Condvar::new();

/// A number protected by the one lock that is not a `lock_api` lock.
struct Behind(Benaphore<FutexSem>, UnsafeCell<u64>);

// SAFETY: the number is accessed only while the lock is held.
unsafe impl Sync for Behind {}

impl Behind {
    fn add(&self, more: u64) -> u64 {
        self.0.lock();
        // SAFETY: this thread holds the lock.
        let sum = unsafe {
            *self.1.get() += more;
            *self.1.get()
        };
        self.0.unlock();
        sum
    }
}

extern "C" fn child(_: *mut c_void) -> *mut c_void {
    ONCE.call_once(|| *TICKET.lock() += 1);
    for _ in 0..ROUNDS {
        *ADAPTIVE.lock() += 1;
        *CALOCK.lock() += 1;
        *CALOCK_SPIN.lock() += 1;
        *USEMA.lock() += 1;
        *USEMA_SPIN.lock() += 1;
        *ADAPTIVE_RW.write() += 1;
        *RW_LOCK.write() += 1;
        *RW_LOCK_FAIR.write() += 1;
        COUNTER.add(1);
    }
    CHANGED.notify_all();
    ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn main(_: c_int, _: *const *const u8) -> c_int {
    let mut threads: [libc::pthread_t; THREADS] = [0; THREADS];
    for thread in &mut threads {
        // SAFETY: `thread` has room for the thread's number, and `child` ignores its argument.
        if unsafe { libc::pthread_create(thread, ptr::null(), child, ptr::null_mut()) } != 0 {
            return 10;
        }
    }
    let all = THREADS as u64 * ROUNDS;
    let mut sum = ADAPTIVE.lock();
    while *sum < all {
        CHANGED.wait_for(&mut sum, Duration::from_millis(10));
    }
    drop(sum);
    for thread in threads {
        // SAFETY: `pthread_create` returned each thread, and each is joined once.
        unsafe { libc::pthread_join(thread, ptr::null_mut()) };
    }
    let exclusive = [*CALOCK.lock(), *CALOCK_SPIN.lock(), *USEMA.lock(), *USEMA_SPIN.lock(), COUNTER.add(0)];
    let shared = [*ADAPTIVE_RW.read(), *RW_LOCK.read(), *RW_LOCK_FAIR.read()];
    let held = Calock::<Private>::new();
    held.lock();
    if exclusive != [all; 5] || shared != [all; 3] || *TICKET.lock() != 1 {
        return 11;
    }
    if held.try_lock_for(Duration::from_millis(1)) { 12 } else { 0 }
}

#[panic_handler]
fn end(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: `abort` takes no argument and does not return.
    unsafe { libc::abort() }
}

/// The compiled code of `core` names the unwinding function. This program never unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
