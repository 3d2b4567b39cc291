//! The other end of a Unix socket, which only the kernel's `sock_diag` says.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const BY_FAMILY: u16 = 20;
const SHOW_PEER: u32 = 4;
const PEER: u16 = 2;
/// Bytes of a request: the header of a message, and `struct unix_diag_req`.
const REQUEST: usize = 16 + 24;
/// Bytes before the attributes of an answer: the header, and `struct unix_diag_msg`.
const BEFORE_ATTRIBUTES: usize = 16 + 16;

/// Returns the inode of the socket that this one is connected with.
pub fn peer_of(inode: u32) -> Option<u32> {
    answer(inode).ok().and_then(|answer| peer_in(&answer, inode))
}

fn answer(inode: u32) -> io::Result<Vec<u8>> {
    const ANY_STATE: u32 = u32::MAX;
    let mut request = Vec::with_capacity(REQUEST);
    let words16 = [BY_FAMILY, libc::NLM_F_REQUEST as u16];
    request.extend((REQUEST as u32).to_ne_bytes());
    words16.iter().for_each(|word| request.extend(word.to_ne_bytes()));
    [1_u32, 0].iter().for_each(|word| request.extend(word.to_ne_bytes()));
    request.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    // The last two words are a cookie; all ones stand for any.
    [ANY_STATE, inode, SHOW_PEER, u32::MAX, u32::MAX].iter().for_each(|word| request.extend(word.to_ne_bytes()));
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: `socket` takes no pointer.
    let socket = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and owned by nothing else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: the kernel reads `request` within its length. A netlink socket without an address sends to the kernel,
    // which answers before `send` returns.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = vec![0; 4_096];
    // SAFETY: the kernel writes into `answer` within its length.
    let length = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    answer.truncate(usize::try_from(length).map_err(|_| io::Error::last_os_error())?);
    Ok(answer)
}

fn peer_in(answer: &[u8], inode: u32) -> Option<u32> {
    use blame::memory::{u16_at, u32_at};
    if u16_at(answer, 4)? != BY_FAMILY || u32_at(answer, 16 + 4)? != inode {
        return None;
    }
    let mut at = BEFORE_ATTRIBUTES;
    while let (Some(length), Some(kind)) = (u16_at(answer, at), u16_at(answer, at + 2)) {
        if kind == PEER {
            return u32_at(answer, at + 4);
        }
        // Attributes begin at multiples of four.
        at += usize::from(length.max(4)).next_multiple_of(4);
    }
    None
}
