//! Another process's memory, and the numbers in bytes of it.

use std::io;

/// Reads from an address of a process, which one of its threads may stand for; returns how many bytes could be read.
pub fn read(process: u32, address: u64, bytes: &mut [u8]) -> usize {
    const PAGE: usize = 4_096;
    let start = address as usize;
    let Some(end) = start.checked_add(bytes.len()) else { return 0 };
    // A page each, since the kernel reads an element whole or not at all, and the memory may end before the last.
    let mut remote = Vec::new();
    let mut at = start;
    while at < end {
        let length = (PAGE - at % PAGE).min(end - at);
        remote.push(libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: length });
        at += length;
    }
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let read_by = |thread: u32| {
        let (thread, count) = (thread as libc::pid_t, remote.len() as libc::c_ulong);
        // SAFETY: the kernel writes into `bytes` alone, no more than its length, and checks the other process's addresses.
        let read = unsafe { libc::process_vm_readv(thread, &raw const local, 1, remote.as_ptr(), count, 0) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    };
    match read_by(process) {
        Ok(read) => read,
        // The first thread has ended, and perhaps not the others.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
            let others = crate::sampling::threads(process).filter(|thread| *thread != process);
            let is_gone =
                |read: &io::Result<usize>| matches!(read, Err(error) if error.raw_os_error() == Some(libc::ESRCH));
            others.map(read_by).find(|read| !is_gone(read)).and_then(Result::ok).unwrap_or(0)
        }
        Err(_) => 0,
    }
}

/// Bytes of a stack that are read.
const STACK: usize = 8_192;

/// Returns the top of a thread's stack, as far as it can be read.
pub fn top_of_stack(process: u32, pointer: u64) -> Vec<u8> {
    let mut bytes = vec![0; STACK];
    let length = read(process, pointer, &mut bytes);
    bytes.truncate(length);
    bytes
}

/// Returns the number at this offset of the bytes; `None` beyond their end.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the number at this offset of the bytes; `None` beyond their end.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the number at this offset of the bytes; `None` beyond their end.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn memory_is_read_as_far_as_it_goes() {
        let own: Vec<u8> = (0..20_000).map(|number| number as u8).collect();
        let mut read = vec![0; own.len()];
        assert_eq!(super::read(std::process::id(), own.as_ptr().addr() as u64, &mut read), own.len());
        assert_eq!(read, own);
        assert_eq!(super::read(std::process::id(), 8, &mut read), 0);
        assert_eq!(super::read(std::process::id(), u64::MAX - 1, &mut read), 0);
    }
}
