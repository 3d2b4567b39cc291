//! A process that ends what the program started, should contend be killed: the kernel ends the program itself then, but
//! knows nothing of its children.
//!
//! It is forked off, and waits at a pipe that only contend has the other end of. If a byte comes, all is well; if the
//! pipe ends, contend has been killed. Between fork and end it calls the system only, since contend may have threads.

use interpose::{Memory, Region};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::Ordering::Acquire;

/// The other end.
pub struct Guardian {
    pipe: File,
    process: libc::pid_t,
}

/// How often it looks for what lives still: a child may have had children meanwhile.
const ROUNDS: usize = 100;
static PAUSE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// As the library is called in a process's map.
const LIBRARY: &[u8] = b"memfd:contend-interpose";

impl Guardian {
    /// Forks it off.
    ///
    /// # Errors
    /// The system has no process or pipe for it.
    pub fn begin(memory: &Memory) -> std::io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: the pointer is to two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the descriptors are new and nobody else's.
        let [reader, pipe] = ends.map(|end| unsafe { File::from_raw_fd(end) });
        // SAFETY: the child only calls the system, and ends without returning.
        match unsafe { libc::fork() } {
            -1 => Err(std::io::Error::last_os_error()),
            // SAFETY: this is the child, which has only this thread.
            0 => unsafe { watch(reader.as_raw_fd(), memory.region()) },
            process => Ok(Self { pipe, process }),
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _ = self.pipe.write_all(b".");
        // SAFETY: it is our child, and the status is not asked for.
        unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
    }
}

/// # Safety
/// The process has one thread, and is nobody's but this function's.
unsafe fn watch(pipe: libc::c_int, region: &Region) -> ! {
    // SAFETY: all calls are the system's; pointers are to what lies on this stack, for as long as the calls take.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        libc::setsid();
        // Also the pipe's other end: contend is to be the only one.
        libc::syscall(libc::SYS_close_range, 0, pipe - 1, 0);
        libc::syscall(libc::SYS_close_range, pipe + 1, u32::MAX, 0);
        let mut byte = 0_u8;
        if libc::read(pipe, (&raw mut byte).cast(), 1) == 0 {
            for _ in 0..ROUNDS {
                if !end_all(region) {
                    break;
                }
                libc::nanosleep(&raw const PAUSE, std::ptr::null_mut());
            }
        }
        libc::_exit(0)
    }
}

/// Ends all watched processes; whether there were any.
fn end_all(region: &Region) -> bool {
    let mut any = false;
    for process in region.processes() {
        let pid = process.pid.load(Acquire);
        // Its number is not another's meanwhile if the library lies in it.
        if has_library(pid) {
            // SAFETY: the call takes no pointers.
            unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
            any = true;
        }
    }
    any
}

fn has_library(pid: u32) -> bool {
    let path = map_path(pid);
    // SAFETY: the path ends with a NUL.
    let file = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return false;
    }
    let (mut bytes, mut kept, mut found) = ([0_u8; 4096], 0, false);
    loop {
        let rest = &mut bytes[kept..];
        // SAFETY: the buffer is as long as is said.
        let read = unsafe { libc::read(file, rest.as_mut_ptr().cast(), rest.len()) };
        let Some(read) = usize::try_from(read).ok().filter(|read| *read > 0) else { break };
        let filled = kept + read;
        found |= bytes[..filled].windows(LIBRARY.len()).any(|window| window == LIBRARY);
        // The name may lie across two readings.
        kept = filled.min(LIBRARY.len() - 1);
        bytes.copy_within(filled - kept..filled, 0);
    }
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(file) };
    found
}

/// `/proc/PID/maps`, with a NUL, without memory of the heap.
fn map_path(pid: u32) -> [u8; 32] {
    let mut path = [0; 32];
    let mut digits = [0; 10];
    let (mut left, mut count) = (pid, 0);
    while left > 0 || count == 0 {
        digits[count] = b'0' + (left % 10) as u8;
        (left, count) = (left / 10, count + 1);
    }
    digits[..count].reverse();
    let mut at = 0;
    for part in [b"/proc/".as_slice(), &digits[..count], b"/maps"] {
        path[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    path
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_has_its_path() {
        assert!(super::map_path(4_194_304).starts_with(b"/proc/4194304/maps\0"));
        assert!(super::map_path(0).starts_with(b"/proc/0/maps\0"));
    }
}
