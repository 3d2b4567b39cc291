//! The system call that a thread is blocked in, as the thing that it waits for.

use super::channels::{self, Channels};
use super::process::children;
use crate::snapshot::Wait;
use blame::memory::{read, u64_at};
use std::fs::{File, read_to_string};
use std::io::Read;

/// The state of a thread, as far as the kernel shows it.
#[derive(Clone, Copy, Debug)]
pub enum State {
    Running,
    /// The kernel does not show the call.
    Hidden,
    Blocked(Call),
}

/// A call with all of its arguments; the number is -1 for a thread that is blocked outside of a call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub number: i64,
    pub arguments: [u64; 6],
    pub pointer: u64,
    pub instruction: u64,
}

impl State {
    /// Reads the state of a thread; `None` if it has ended.
    pub fn of(pid: u32, tid: u32) -> Option<Self> {
        let mut text = String::new();
        match File::open(format!("/proc/{pid}/task/{tid}/syscall")).and_then(|mut file| file.read_to_string(&mut text))
        {
            Ok(_) => Self::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Some(Self::Hidden),
            Err(_) => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace();
        let first = fields.next()?;
        if first == "running" {
            return Some(Self::Running);
        }
        let mut numbers = fields.map(|field| u64::from_str_radix(field.trim_start_matches("0x"), 16).ok());
        let number: i64 = first.parse().ok()?;
        let mut arguments = [0; 6];
        if number != -1 {
            for argument in &mut arguments {
                *argument = numbers.next()??;
            }
        }
        Some(Self::Blocked(Call { number, arguments, pointer: numbers.next()??, instruction: numbers.next()?? }))
    }
}

impl Call {
    /// Returns it as the readers of locks know it.
    pub fn short(&self) -> blame::sampling::Call {
        let [a, b, c, d, ..] = self.arguments;
        blame::sampling::Call {
            number: self.number,
            arguments: [a, b, c, d],
            pointer: self.pointer,
            instruction: self.instruction,
        }
    }

    /// Returns what the thread waits for; `None` for a futex, which takes the call path to understand.
    pub fn wait(&self, pid: u32, tid: u32, state: char, channels: &Channels) -> Option<Wait> {
        let [first, second, third, fourth, fifth, _] = self.arguments;
        let of = |descriptor: u64, writes: bool, name: &str| {
            Some(channels.wait(pid, &[descriptor as u32], writes, false, name))
        };
        let signed = |argument: u64| argument as i32;
        // Only storage is waited for without an end at signals.
        let disk = |descriptor: Option<u64>| {
            let path = descriptor.and_then(|one| channels::link(pid, one as u32)).filter(|path| path.starts_with('/'));
            Some(Wait::Disk { path })
        };
        let timed = |pointer: u64| pointer != 0;
        let several = |descriptors: &[u32], is_timed: bool, name: &str| {
            let sleeps = descriptors.is_empty() && is_timed;
            if sleeps {
                Some(Wait::Time { span_s: None })
            } else {
                Some(channels.wait(pid, descriptors, false, is_timed, name))
            }
        };
        match self.number {
            libc::SYS_futex => None,
            -1 => Some(Wait::Disk { path: None }),
            libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 | libc::SYS_fsync | libc::SYS_fdatasync
                if state == 'D' =>
            {
                disk(Some(first))
            }
            libc::SYS_write | libc::SYS_writev | libc::SYS_pwrite64 if state == 'D' => disk(Some(first)),
            _ if state == 'D' => disk(None),
            libc::SYS_read | libc::SYS_readv => of(first, false, "read"),
            libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_recvmmsg => of(first, false, "recv"),
            libc::SYS_write | libc::SYS_writev => of(first, true, "write"),
            libc::SYS_sendto | libc::SYS_sendmsg => of(first, true, "send"),
            libc::SYS_accept | libc::SYS_accept4 => of(first, false, "accept"),
            libc::SYS_ppoll => several(&polled(pid, first, second), timed(third), "poll"),
            libc::SYS_pselect6 => several(&selected(pid, first, second), timed(fifth), "select"),
            libc::SYS_epoll_pwait => several(&channels::registered(pid, first), signed(fourth) >= 0, "epoll_wait"),
            libc::SYS_epoll_pwait2 => several(&channels::registered(pid, first), timed(fourth), "epoll_wait"),
            libc::SYS_nanosleep => Some(Wait::Time { span_s: span(pid, first) }),
            libc::SYS_clock_nanosleep => {
                Some(Wait::Time { span_s: span(pid, third).filter(|_| signed(second) & libc::TIMER_ABSTIME == 0) })
            }
            // The rest of a wait that ends at a time, after a stop.
            libc::SYS_restart_syscall => Some(Wait::Time { span_s: None }),
            libc::SYS_rt_sigsuspend | libc::SYS_rt_sigtimedwait => Some(Wait::Signal),
            libc::SYS_wait4 => Some(children_of(pid, signed(first))),
            libc::SYS_waitid => {
                Some(children_of(pid, if signed(first) == libc::P_PID as i32 { signed(second) } else { -1 }))
            }
            libc::SYS_flock => Some(channels::file_lock(pid, tid, first)),
            libc::SYS_fcntl => Some(channels::file_lock(pid, tid, first)),
            number => self.old_wait(pid, number, channels),
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn old_wait(&self, pid: u32, number: i64, channels: &Channels) -> Option<Wait> {
        let [first, second, third, fourth, fifth, _] = self.arguments;
        let several = |descriptors: &[u32], is_timed: bool, name: &str| {
            if descriptors.is_empty() && is_timed {
                Wait::Time { span_s: None }
            } else {
                channels.wait(pid, descriptors, false, is_timed, name)
            }
        };
        Some(match number {
            libc::SYS_poll => several(&polled(pid, first, second), third as i32 >= 0, "poll"),
            libc::SYS_select => several(&selected(pid, first, second), fifth != 0, "select"),
            libc::SYS_epoll_wait => several(&channels::registered(pid, first), fourth as i32 >= 0, "epoll_wait"),
            libc::SYS_pause => Wait::Signal,
            number => Wait::Outside { call: format!("system call {number}"), is_timed: false },
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn old_wait(&self, _: u32, number: i64, _: &Channels) -> Option<Wait> {
        Some(Wait::Outside { call: format!("system call {number}"), is_timed: false })
    }
}

impl Call {
    /// Returns the time until a wait for a futex ends that has a limit.
    pub fn left_s(&self, pid: u32) -> Option<f64> {
        let [_, operation, _, limit, ..] = self.arguments;
        (self.number == libc::SYS_futex && limit != 0).then_some(())?;
        let until = span(pid, limit)?;
        let clock = match operation as i32 & !libc::FUTEX_PRIVATE_FLAG {
            libc::FUTEX_WAIT => return Some(until),
            operation if operation & libc::FUTEX_CLOCK_REALTIME != 0 => libc::CLOCK_REALTIME,
            _ => libc::CLOCK_MONOTONIC,
        };
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel writes into `now` alone.
        let is_read = unsafe { libc::clock_gettime(clock, &raw mut now) } == 0;
        is_read.then_some(until - now.tv_sec as f64 - now.tv_nsec as f64 / 1e9)
    }
}

fn children_of(pid: u32, which: i32) -> Wait {
    Wait::Child { pids: if which > 0 { vec![which as u32] } else { children(pid) } }
}

/// Returns the length of a `timespec`.
fn span(pid: u32, address: u64) -> Option<f64> {
    let mut bytes = [0; 16];
    (read(pid, address, &mut bytes) == bytes.len()).then_some(())?;
    Some(u64_at(&bytes, 0)? as f64 + u64_at(&bytes, 8)? as f64 / 1e9)
}

const MOST_DESCRIPTORS: u64 = 1_024;

/// Returns the descriptors of an array of `pollfd`.
fn polled(pid: u32, address: u64, count: u64) -> Vec<u32> {
    let mut bytes = vec![0; 8 * count.min(MOST_DESCRIPTORS) as usize];
    let length = read(pid, address, &mut bytes);
    let descriptors = bytes[..length].chunks_exact(8).filter_map(|entry| entry.first_chunk().copied());
    descriptors.map(i32::from_ne_bytes).filter(|one| *one >= 0).map(|one| one as u32).collect()
}

/// Returns the descriptors of a set of `select`.
fn selected(pid: u32, count: u64, address: u64) -> Vec<u32> {
    let count = count.min(MOST_DESCRIPTORS);
    let mut bytes = vec![0; count.div_ceil(8) as usize];
    if address == 0 || read(pid, address, &mut bytes) < bytes.len() {
        return Vec::new();
    }
    (0..count as u32).filter(|one| bytes[*one as usize / 8] & 1 << (one % 8) != 0).collect()
}

/// Returns the kernel's letter for the state of a thread, and how long and how often it ran.
pub fn activity(pid: u32, tid: u32) -> Option<(char, [u64; 2])> {
    let stat = read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let sums = read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).unwrap_or_default();
    let sums: Vec<u64> = sums.split_ascii_whitespace().filter_map(|sum| sum.parse().ok()).collect();
    let ticks = || fields.get(11..13).into_iter().flatten().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let ran = if let [ran, _, turns] = sums[..] { [ran, turns] } else { [ticks(), 0] };
    Some((fields.first()?.chars().next()?, ran))
}
