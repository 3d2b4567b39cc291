//! The guardian of a run: a process between contend and the program, which ends all that the program has started, at
//! contend's request or when contend has ended, however that came.
//!
//! It is the parent of all processes of the run that lose their parent (a subreaper), also of those with a session of
//! their own, such as a server in the background. It is forked from a process that may have had threads, and makes
//! system calls only.

use crate::usage::Usage;
use rustix::fs::RawDir;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A message of the guardian, or of the program just before it is executed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Message {
    pub kind: Kind,
    /// The PID of the program that begins; the status of one that has ended; the number of processes that it left.
    pub number: i32,
    /// The time, in ns of the monotonic clock.
    pub at_ns: u64,
    pub usage: Usage,
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Begun,
    Ended,
    /// The last message.
    Left,
}

/// A request to the guardian.
#[repr(u8)]
#[derive(Clone, Copy)]
pub enum Request {
    /// Send SIGTERM to the program itself.
    Terminate,
    /// Stop the program's group, and let it continue.
    Stop,
    Continue,
    /// Kill all processes of the run.
    End,
    /// Let the processes live that the program left.
    Release,
}

/// Contend's end of the connection to a guardian. The guardian ends the run when it is closed.
pub struct Connection(OwnedFd);

impl Connection {
    /// Makes the process that the command starts a guardian, and a child of it the program, in its own process group
    /// if that is wanted.
    ///
    /// The second descriptor is the guardian's: it is to be closed when the command has been started.
    pub fn guard(command: &mut Command, own_group: bool) -> io::Result<(Self, OwnedFd)> {
        let mut ends = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: the pointer is to two descriptors.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptors are new, and nothing else owns them.
        let [ours, theirs] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        let socket = theirs.as_raw_fd();
        // SAFETY: between fork and exec the closure makes system calls only, and allocates nothing; the socket stays
        // open until the command has been started.
        unsafe { command.pre_exec(move || begin(socket, own_group)) };
        Ok((Self(ours), theirs))
    }

    pub fn descriptor(&self) -> &OwnedFd {
        &self.0
    }

    /// Sends a request; a guardian that has ended needs none.
    pub fn request(&self, request: Request) {
        send(self.0.as_raw_fd(), &[request as u8]);
    }

    /// Returns the next message: if there is one, or the one that comes; `None` if there is none, or will be none.
    pub fn receive(&self, waits: bool) -> io::Result<Option<Message>> {
        let mut message = MaybeUninit::<Message>::uninit();
        let flags = if waits { 0 } else { libc::MSG_DONTWAIT };
        loop {
            // SAFETY: the buffer has the size that is given.
            let length =
                unsafe { libc::recv(self.0.as_raw_fd(), message.as_mut_ptr().cast(), size_of::<Message>(), flags) };
            if length == size_of::<Message>() as isize {
                // SAFETY: packets arrive whole, and every packet in this direction is one message of this program.
                return Ok(Some(unsafe { message.assume_init() }));
            }
            if length >= 0 {
                return Ok(None);
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Err(error),
                _ => return Ok(None),
            }
        }
    }
}

fn send(socket: libc::c_int, bytes: &[u8]) {
    // SAFETY: the buffer has the size that is given; a closed socket is an error instead of a signal.
    unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
}

fn tell(socket: libc::c_int, kind: Kind, number: i32, usage: Usage) {
    let message = Message { kind, number, at_ns: now_ns(), usage };
    // SAFETY: the message is plain memory without padding (checked below), which outlives the call.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const message).cast::<u8>(), size_of::<Message>()) };
    send(socket, bytes);
}

const _: () = assert!(size_of::<Message>() == 16 + size_of::<Usage>() && size_of::<Usage>() == 40);

/// Returns the time of the monotonic clock, which [`std::time::Instant`] reads too.
pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to room for what the call writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Forks the program off, which returns, while this process becomes its guardian.
fn begin(socket: libc::c_int, own_group: bool) -> io::Result<()> {
    // SAFETY: these calls take no pointers. The process has one thread, so the fork copies no lock that is held.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong, 0, 0, 0);
        let guardian = libc::getpid();
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                if own_group {
                    libc::setpgid(0, 0);
                }
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != guardian {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
                tell(socket, Kind::Begun, libc::getpid(), Usage::default());
                Ok(())
            }
            program => Guard { socket, program, group: if own_group { program } else { 0 } }.watch(),
        }
    }
}

/// The state of a guardian.
struct Guard {
    socket: libc::c_int,
    /// The program; 0 once it has been waited for, since another process may then have its number.
    program: libc::pid_t,
    /// The process group of the program, if it has a separate one.
    group: libc::pid_t,
}

/// The time that killed processes may take to end.
const ENDS_NS: u64 = 1_000_000_000;
static BETWEEN_LOOKS: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };

impl Guard {
    fn watch(mut self) -> ! {
        let signals = self.prepare();
        loop {
            while self.reap().is_some() {}
            if self.program == 0 && !has_children() {
                exit();
            }
            let of = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut news = [of(self.socket), of(signals)];
            // SAFETY: the pointer is to as many records as is said.
            unsafe { libc::poll(news.as_mut_ptr(), 2, -1) };
            if news[1].revents != 0 {
                let mut read = [0_u8; 1024];
                // SAFETY: the buffer has the size that is given.
                unsafe { libc::read(signals, read.as_mut_ptr().cast(), read.len()) };
            }
            if news[0].revents != 0 {
                self.obey();
            }
        }
    }

    /// Leaves contend's group and files, and returns a descriptor that becomes readable at the end of a child.
    fn prepare(&self) -> libc::c_int {
        // SAFETY: pointers are to variables on this stack, which outlive the calls.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
            // A signal to contend's group, such as SIGKILL or the terminal's SIGTSTP, is not for the guardian.
            libc::setpgid(0, 0);
            close_all_but(self.socket);
            let mut child = std::mem::zeroed();
            libc::sigemptyset(&raw mut child);
            libc::sigaddset(&raw mut child, libc::SIGCHLD);
            libc::signalfd(-1, &raw const child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        }
    }

    /// Waits for one child that has ended; returns its number and status.
    fn reap(&mut self) -> Option<(libc::pid_t, i32)> {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointers are to a number and to room for what the call writes; all zeros are a value too.
        let (pid, usage) =
            unsafe { (libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()), usage.assume_init()) };
        if pid <= 0 {
            return None;
        }
        if pid == self.program {
            self.program = 0;
            tell(self.socket, Kind::Ended, status, Usage::of(&usage));
        }
        Some((pid, status))
    }

    fn obey(&mut self) {
        let mut request = 0_u8;
        // SAFETY: the buffer has the size that is given.
        let length = unsafe { libc::recv(self.socket, (&raw mut request).cast(), 1, libc::MSG_DONTWAIT) };
        if length < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock {
            return;
        }
        match request {
            _ if length <= 0 => self.end(),
            request if request == Request::Terminate as u8 => self.signal(self.program, libc::SIGTERM),
            request if request == Request::Stop as u8 => self.signal(-self.group, libc::SIGSTOP),
            request if request == Request::Continue as u8 => self.signal(-self.group, libc::SIGCONT),
            request if request == Request::Release as u8 => exit(),
            _ => self.end(),
        }
    }

    /// Sends a signal to the program or its group, while their number is theirs.
    fn signal(&self, to: libc::pid_t, signal: libc::c_int) {
        if self.program != 0 && to != 0 {
            // SAFETY: the call takes no pointers.
            unsafe { libc::kill(to, signal) };
        }
    }

    /// Kills all processes of the run, and tells how many were left.
    ///
    /// Those of the group of a program that still ran end with it, and do not count as left.
    fn end(&mut self) -> ! {
        if self.program != 0 {
            self.signal(if self.group == 0 { self.program } else { -self.group }, libc::SIGKILL);
            let until = now_ns() + ENDS_NS;
            while now_ns() < until && (self.program != 0 || self.has_members()) {
                if self.reap().is_none() {
                    pause();
                }
            }
        }
        let (mut left, mut until) = (0, now_ns() + ENDS_NS);
        while has_children() && now_ns() < until {
            kill_children();
            match self.reap() {
                Some((_, status)) => {
                    left += i32::from(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL);
                    until = now_ns() + ENDS_NS;
                }
                // Another user's process cannot be killed, and stays.
                None => pause(),
            }
        }
        tell(self.socket, Kind::Left, left, Usage::default());
        exit()
    }

    /// Returns whether a child is in the program's group.
    fn has_members(&self) -> bool {
        self.group != 0 && has_child(libc::P_PGID, self.group)
    }
}

fn has_children() -> bool {
    has_child(libc::P_ALL, 0)
}

/// Returns whether there is such a child, whether it has ended or not.
fn has_child(kind: libc::idtype_t, of: libc::pid_t) -> bool {
    let mut ended = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is to room for what the call writes.
    unsafe { libc::waitid(kind, of as libc::id_t, ended.as_mut_ptr(), flags) == 0 }
}

fn pause() {
    // SAFETY: the pointer is to a constant.
    unsafe { libc::nanosleep(&raw const BETWEEN_LOOKS, std::ptr::null_mut()) };
}

fn exit() -> ! {
    // SAFETY: the call takes no pointers, and runs nothing of this process.
    unsafe { libc::_exit(0) }
}

/// Closes all files but one.
fn close_all_but(kept: libc::c_int) {
    // SAFETY: the calls take no pointers; no code of this process uses the other files.
    unsafe {
        let below = libc::syscall(libc::SYS_close_range, 0, kept - 1, 0);
        let above = libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0);
        if below != 0 || above != 0 {
            // Kernels before 5.9 do not have the call.
            (0..1 << 16).filter(|file| *file != kept).for_each(|file| _ = libc::close(file));
        }
    }
}

/// Kills the children, which the kernel lists by the parents of all processes.
fn kill_children() {
    // SAFETY: the path ends with a NUL.
    let folder = unsafe { libc::open(c"/proc".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) };
    if folder < 0 {
        return;
    }
    // SAFETY: the descriptor is open, and closed after the last use of this.
    let borrowed = unsafe { BorrowedFd::borrow_raw(folder) };
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(borrowed, &mut buffer);
    // SAFETY: the call takes no pointers.
    let own = unsafe { libc::getpid() };
    while let Some(Ok(entry)) = entries.next() {
        if let Some(pid) = number(entry.file_name().to_bytes())
            && parent(folder, entry.file_name()) == Some(own)
        {
            // SAFETY: the call takes no pointers; a child that was not waited for keeps its number.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
    // SAFETY: the descriptor is ours, and not used afterwards.
    unsafe { libc::close(folder) };
}

/// Returns the parent of a process with this directory in `/proc`.
fn parent(proc: libc::c_int, name: &std::ffi::CStr) -> Option<libc::pid_t> {
    // Names in `/proc/PID/stat` have at most 64 bytes.
    let (mut path, mut stat) = ([0_u8; 32], [0_u8; 256]);
    let words = [name.to_bytes(), b"/stat\0"];
    let mut length = 0;
    for word in words {
        path.get_mut(length..length + word.len())?.copy_from_slice(word);
        length += word.len();
    }
    // SAFETY: the path ends with a NUL, and the buffer has the size that is given.
    let read = unsafe {
        let file = libc::openat(proc, path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        let read = libc::read(file, stat.as_mut_ptr().cast(), stat.len());
        libc::close(file);
        read
    };
    parent_in(stat.get(..usize::try_from(read).ok()?)?)
}

/// Returns the parent in the text of `/proc/PID/stat`: `1 (any (name)) S 0 …`.
fn parent_in(stat: &[u8]) -> Option<libc::pid_t> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    number(stat.get(end + 1..)?.split(|byte| *byte == b' ').nth(2)?)
}

fn number(digits: &[u8]) -> Option<libc::pid_t> {
    let add = |sum: libc::pid_t, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| libc::pid_t::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_process_with_any_name_is_found() {
        assert_eq!(parent_in(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in(b"12 (a) S 9 (b) S) R 4194303 1 1"), Some(4_194_303));
        for broken in [&b""[..], b"12", b"12 (sh)", b"12 (sh) S", b"12 (sh) S x 1", b"12 (sh) S 99999999999 1"] {
            assert_eq!(parent_in(broken), None, "{broken:?}");
        }
    }
}
