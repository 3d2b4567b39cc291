//! The sockets that a thread waits for with `poll`. One that waits for the other end of a connection waits for a reply,
//! and not for its next request.

use super::Call;
use crate::memory::read;
use std::collections::HashMap;
use std::fs::{read_link, read_to_string};

/// Whether sockets are connected, by process and inode.
#[derive(Default)]
pub(super) struct Sockets(HashMap<(u32, u64), bool>);

/// Descriptors of a call that are looked at.
const MOST_DESCRIPTORS: usize = 8;
/// Sockets that are remembered.
const MOST_SOCKETS: usize = 4_096;

impl Sockets {
    /// Returns whether a thread is blocked in `poll` for connected sockets alone.
    pub(super) fn waits_for_reply(&mut self, process: u32, call: &Call) -> bool {
        #[cfg(target_arch = "x86_64")]
        let is_poll = [libc::SYS_poll, libc::SYS_ppoll].contains(&call.number);
        #[cfg(not(target_arch = "x86_64"))]
        let is_poll = call.number == libc::SYS_ppoll;
        let [address, count, ..] = call.arguments;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if !is_poll || !(1..=MOST_DESCRIPTORS).contains(&count) {
            return false;
        }
        let mut bytes = [0; MOST_DESCRIPTORS * size_of::<libc::pollfd>()];
        let bytes = &mut bytes[..count * size_of::<libc::pollfd>()];
        if read(process, address, bytes) != bytes.len() {
            return false;
        }
        let descriptors = bytes.chunks_exact(size_of::<libc::pollfd>());
        descriptors
            .filter_map(|entry| entry.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes)))
            .all(|descriptor| self.is_connected(process, descriptor))
    }

    fn is_connected(&mut self, process: u32, descriptor: i32) -> bool {
        let Some(inode) = socket(process, descriptor) else { return false };
        if let Some(known) = self.0.get(&(process, inode)) {
            return *known;
        }
        if self.0.len() >= MOST_SOCKETS {
            self.0.clear();
        }
        let tables = ["tcp", "udp", "unix", "tcp6", "udp6"];
        let connected = tables.iter().any(|table| {
            let text = read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
            is_connected_in(&text, inode)
        });
        self.0.insert((process, inode), connected);
        connected
    }
}

/// Returns the inode of the socket that a descriptor is of.
fn socket(process: u32, descriptor: i32) -> Option<u64> {
    let target = read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
    target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Returns whether a table of sockets has this one as connected, or as being connected.
fn is_connected_in(table: &str, inode: u64) -> bool {
    /// `TCP_ESTABLISHED`, `TCP_SYN_SENT`, `TCP_CLOSE_WAIT`; a connected UDP socket has the first.
    const INTERNET: [&str; 3] = ["01", "02", "08"];
    /// `SS_CONNECTED`.
    const LOCAL: &str = "03";
    let mut lines = table.lines();
    let is_local = lines.next().is_some_and(|head| head.starts_with("Num"));
    let (state, number) = if is_local { (5, 6) } else { (3, 9) };
    lines.any(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = fields.get(number).is_some_and(|field| field.parse() == Ok(inode));
        let state = fields.get(state).copied().unwrap_or_default();
        is_it && if is_local { state == LOCAL } else { INTERNET.contains(&state) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn connected_sockets_are_distinguished_from_those_that_listen() {
        let process = std::process::id();
        let mut sockets = Sockets::default();
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(sockets.is_connected(process, one.as_raw_fd()));
        let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return println!("skipped: needs a network") };
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(sockets.is_connected(process, stream.as_raw_fd()));
        assert!(!sockets.is_connected(process, listener.as_raw_fd()));
        let udp = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        udp[0].connect(udp[1].local_addr().unwrap()).unwrap();
        assert!(
            sockets.is_connected(process, udp[0].as_raw_fd()) && !sockets.is_connected(process, udp[1].as_raw_fd())
        );
        let entries = [libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        let arguments = [entries.as_ptr().addr() as u64, 1, 0, 0];
        let call = Call { number: libc::SYS_ppoll, arguments, pointer: 0, instruction: 0 };
        assert!(sockets.waits_for_reply(process, &call));
        assert!(!sockets.waits_for_reply(process, &Call { number: libc::SYS_read, ..call }));
    }
}
