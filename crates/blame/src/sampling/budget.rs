//! The division of a thread's life: on a CPU, ready without one, and blocked for a reason.

use super::FileType;
use serde::{Deserialize, Serialize};

/// A reason to be blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Part {
    /// Another thread has the lock.
    Lock,
    /// Nothing to do: a condition, a message, a request, the end of another thread or process.
    Work,
    Sleep,
    /// A disk, a file system, a page fault.
    Io,
    Unknown,
}

/// The parts of some time that threads lived, in seconds. They add up to `lived_s`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    pub lived_s: f64,
    pub on_cpu_s: f64,
    pub ready_s: f64,
    pub lock_s: f64,
    pub work_s: f64,
    pub sleep_s: f64,
    pub io_s: f64,
    pub unknown_s: f64,
}

impl Budget {
    /// Divides a life. The kernel's sums say how long the thread ran and was ready; the rest is divided as the samples
    /// `blocked` are, in seconds that they stand for. Without any sample the rest is unknown.
    pub fn of(lived_s: f64, on_cpu_s: f64, ready_s: f64, blocked: impl Iterator<Item = (Part, f64)>) -> Self {
        // The account of a thread that runs lags by up to a tick, so the sums may exceed the time between two readings.
        let lived_s = lived_s.max(on_cpu_s + ready_s);
        let rest = lived_s - on_cpu_s - ready_s;
        let mut budget = Self { lived_s, on_cpu_s, ready_s, ..Self::default() };
        let mut sampled = 0.0;
        for (part, seconds) in blocked {
            *budget.part(part) += seconds;
            sampled += seconds;
        }
        let factor = if sampled > 0.0 { rest / sampled } else { 0.0 };
        for part in [Part::Lock, Part::Work, Part::Sleep, Part::Io, Part::Unknown] {
            *budget.part(part) *= factor;
        }
        if sampled <= 0.0 {
            budget.unknown_s = rest;
        }
        budget
    }

    fn part(&mut self, part: Part) -> &mut f64 {
        match part {
            Part::Lock => &mut self.lock_s,
            Part::Work => &mut self.work_s,
            Part::Sleep => &mut self.sleep_s,
            Part::Io => &mut self.io_s,
            Part::Unknown => &mut self.unknown_s,
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.lived_s += other.lived_s;
        self.on_cpu_s += other.on_cpu_s;
        self.ready_s += other.ready_s;
        self.lock_s += other.lock_s;
        self.work_s += other.work_s;
        self.sleep_s += other.sleep_s;
        self.io_s += other.io_s;
        self.unknown_s += other.unknown_s;
    }

    /// Returns the time in which the threads had something to do: all but sleep and the wait for work.
    pub fn busy_s(&self) -> f64 {
        self.on_cpu_s + self.ready_s + self.lock_s + self.io_s + self.unknown_s
    }
}

/// Returns the reason to be blocked in a system call other than futex. `file` is the type of the first argument's
/// file, for calls that read or write.
pub fn part_of_call(number: i64, arguments: &[u64], file: FileType) -> Part {
    let is = |calls: &[libc::c_long]| calls.contains(&number);
    // To wait for no descriptor at all is to sleep.
    let waits_for_none = is(&[libc::SYS_ppoll]) && arguments[1] == 0 || is(&[libc::SYS_pselect6]) && arguments[0] == 0;
    #[cfg(target_arch = "x86_64")]
    let waits_for_none =
        waits_for_none || is(&[libc::SYS_poll]) && arguments[1] == 0 || is(&[libc::SYS_select]) && arguments[0] == 0;
    if waits_for_none || is(&[libc::SYS_nanosleep, libc::SYS_clock_nanosleep]) {
        return Part::Sleep;
    }
    if number == libc::SYS_flock || number == libc::SYS_fcntl && [F_SETLKW, F_OFD_SETLKW].contains(&arguments[1]) {
        return Part::Lock;
    }
    if moves_bytes(number) {
        return match file {
            FileType::Storage => Part::Io,
            FileType::Channel => Part::Work,
            FileType::Unknown => Part::Unknown,
        };
    }
    // Outside of a call a thread is blocked by a page fault.
    if number == -1 || is(&STORAGE) {
        return Part::Io;
    }
    #[cfg(target_arch = "x86_64")]
    if is(&[libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait, libc::SYS_pause]) {
        return Part::Work;
    }
    if is(&WORK) { Part::Work } else { Part::Unknown }
}

/// Commands of `fcntl` that wait for a lock of a file.
const F_SETLKW: u64 = libc::F_SETLKW as u64;
const F_OFD_SETLKW: u64 = libc::F_OFD_SETLKW as u64;

/// Returns whether a blocked thread may wait for the kernel's lock of the address space: in a page fault, or in a call
/// that changes the map.
pub fn may_wait_for_map(number: i64) -> bool {
    const CALLS: [libc::c_long; 6] =
        [libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_brk, libc::SYS_madvise];
    number == -1 || CALLS.contains(&number)
}

/// Returns whether a call reads from or writes to the descriptor that is its first argument.
pub fn moves_bytes(number: i64) -> bool {
    [libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_close].contains(&number)
}

/// Returns whether a call waits for bytes of another thread or process, such as a request.
pub fn moves_messages(number: i64) -> bool {
    const CALLS: [libc::c_long; 5] =
        [libc::SYS_read, libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_ppoll, libc::SYS_epoll_pwait];
    #[cfg(target_arch = "x86_64")]
    if [libc::SYS_poll, libc::SYS_epoll_wait].contains(&number) {
        return true;
    }
    CALLS.contains(&number)
}

const STORAGE: [libc::c_long; 20] = [
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_sync_file_range,
    libc::SYS_msync,
    libc::SYS_openat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_getdents64,
    libc::SYS_statx,
    libc::SYS_newfstatat,
    libc::SYS_io_getevents,
    libc::SYS_copy_file_range,
];

const WORK: [libc::c_long; 20] = [
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_mq_timedreceive,
    libc::SYS_msgrcv,
    libc::SYS_io_uring_enter,
    libc::SYS_splice,
];

/// Returns whether a thread that is blocked in a call waits for requests: it has nothing to do.
pub fn is_for_requests(number: i64) -> bool {
    const CALLS: [libc::c_long; 7] = [
        libc::SYS_ppoll,
        libc::SYS_pselect6,
        libc::SYS_epoll_pwait,
        libc::SYS_epoll_pwait2,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_rt_sigtimedwait,
    ];
    #[cfg(target_arch = "x86_64")]
    let is_old = [libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait].contains(&number);
    #[cfg(not(target_arch = "x86_64"))]
    let is_old = false;
    is_old || CALLS.contains(&number)
}

/// Returns whether a thread in such a call may wait for the answer to its request.
pub fn may_be_for_answer(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if [libc::SYS_poll, libc::SYS_select].contains(&number) {
        return true;
    }
    [libc::SYS_ppoll, libc::SYS_pselect6].contains(&number)
}

/// Returns a call's name for messages, or its number.
pub fn call_name(number: i64) -> String {
    #[cfg(target_arch = "x86_64")]
    const OLD: [(libc::c_long, &str); 4] = [
        (libc::SYS_poll, "poll"),
        (libc::SYS_select, "select"),
        (libc::SYS_epoll_wait, "epoll_wait"),
        (libc::SYS_open, "open"),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const OLD: [(libc::c_long, &str); 0] = [];
    let named = NAMES.iter().chain(&OLD).find(|(known, _)| *known == number);
    match named {
        Some((_, name)) => (*name).to_owned(),
        None if number == -1 => "a page fault".to_owned(),
        None => format!("system call {number}"),
    }
}

const NAMES: [(libc::c_long, &str); 32] = [
    (libc::SYS_flock, "flock"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_pread64, "pread"),
    (libc::SYS_pwrite64, "pwrite"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_openat, "open"),
    (libc::SYS_close, "close"),
    (libc::SYS_newfstatat, "stat"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "nanosleep"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_pselect6, "pselect"),
    (libc::SYS_epoll_pwait, "epoll_wait"),
    (libc::SYS_accept4, "accept"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_recvfrom, "recv"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendto, "send"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_wait4, "wait"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_mmap, "mmap"),
    (libc::SYS_munmap, "munmap"),
    (libc::SYS_mprotect, "mprotect"),
    (libc::SYS_madvise, "madvise"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(budget: &Budget) -> f64 {
        let Budget { lived_s: _, on_cpu_s, ready_s, lock_s, work_s, sleep_s, io_s, unknown_s } = *budget;
        on_cpu_s + ready_s + lock_s + work_s + sleep_s + io_s + unknown_s
    }

    #[test]
    fn parts_sum_to_the_life_and_follow_the_samples() {
        // 2 s on a CPU, 1 s ready, 7 s blocked; the samples saw 3 s of a lock and 0.5 s of sleep.
        let budget = Budget::of(10.0, 2.0, 1.0, [(Part::Lock, 3.0), (Part::Sleep, 0.5)].into_iter());
        assert_eq!((budget.lock_s, budget.sleep_s, budget.unknown_s), (6.0, 1.0, 0.0));
        assert_eq!((sum(&budget), budget.busy_s()), (10.0, 9.0));
    }

    #[test]
    fn blocked_time_without_a_sample_is_unknown() {
        let budget = Budget::of(1.0, 0.25, 0.25, std::iter::empty());
        assert_eq!((budget.unknown_s, sum(&budget)), (0.5, 1.0));
        // Sums that exceed the life: the account lags by a tick.
        let budget = Budget::of(1.0, 0.75, 0.5, std::iter::empty());
        assert_eq!((budget.lived_s, sum(&budget)), (1.25, 1.25));
    }

    #[test]
    fn parts_sum_to_the_lives_for_random_samples() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..1_000 {
            let parts = [Part::Lock, Part::Work, Part::Sleep, Part::Io, Part::Unknown];
            let blocked: Vec<(Part, f64)> =
                (0..random.usize(0..9)).map(|_| (parts[random.usize(..5)], random.f64())).collect();
            let mut all = Budget::default();
            let one = Budget::of(random.f64(), random.f64(), random.f64(), blocked.into_iter());
            all.add(&one);
            all.add(&Budget::of(random.f64(), random.f64(), 0.0, [(Part::Io, 1e-9)].into_iter()));
            assert!((sum(&all) - all.lived_s).abs() < 1e-9 && sum(&one) >= 0.0, "{all:?}");
        }
    }

    #[test]
    fn calls_have_their_reasons() {
        let part = |number, arguments: [u64; 3]| part_of_call(number, &arguments, FileType::Unknown);
        assert_eq!(part(libc::SYS_ppoll, [1, 0, 0]), Part::Sleep);
        assert_eq!(part(libc::SYS_ppoll, [1, 1, 0]), Part::Work);
        assert_eq!(part(libc::SYS_nanosleep, [1, 0, 0]), Part::Sleep);
        assert_eq!(part(libc::SYS_fsync, [3, 0, 0]), Part::Io);
        assert_eq!(part(-1, [0; 3]), Part::Io);
        assert_eq!(part(libc::SYS_mprotect, [0; 3]), Part::Unknown);
        assert_eq!(part_of_call(libc::SYS_read, &[3, 0, 0], FileType::Channel), Part::Work);
        assert_eq!(part_of_call(libc::SYS_read, &[3, 0, 0], FileType::Storage), Part::Io);
        assert!(is_for_requests(libc::SYS_epoll_pwait) && !is_for_requests(libc::SYS_recvfrom));
        assert_eq!((call_name(libc::SYS_clock_nanosleep), call_name(-1)), ("nanosleep".into(), "a page fault".into()));
    }
}
