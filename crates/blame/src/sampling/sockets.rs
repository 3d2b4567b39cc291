//! The purpose of a wait in `poll` or `epoll_wait`. A thread that polls the other end of a connection waits for a reply, one
//! that waits for new connections as well waits for its next request, and that of all others is unknown.

use super::Call;
use crate::memory::read;
use std::collections::HashMap;
use std::fs::{read_link, read_to_string};

/// The purpose of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    Reply,
    Request,
    Unknown,
}

/// The state of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketState {
    Connected,
    Listening,
    Other,
}

/// The states of sockets, by process and inode.
#[derive(Default)]
pub(super) struct Sockets(HashMap<(u32, u64), SocketState>);

/// Descriptors of a call that are looked at.
const MOST_DESCRIPTORS: usize = 8;
/// Sockets that are remembered.
const MOST_SOCKETS: usize = 4_096;

impl Sockets {
    /// Returns what a thread waits for that is blocked in `poll`, `select` or `epoll_wait`; `None` in other calls, and where
    /// it waits for no descriptor, which is to sleep.
    pub(super) fn awaited(&mut self, process: u32, call: &Call) -> Option<Awaited> {
        #[cfg(target_arch = "x86_64")]
        let [is_old_poll, is_old_epoll, is_select] =
            [libc::SYS_poll, libc::SYS_epoll_wait, libc::SYS_select].map(|number| call.number == number);
        #[cfg(not(target_arch = "x86_64"))]
        let [is_old_poll, is_old_epoll, is_select] = [false; 3];
        let is_poll = is_old_poll || call.number == libc::SYS_ppoll;
        let is_epoll = is_old_epoll || [libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2].contains(&call.number);
        let is_select = is_select || call.number == libc::SYS_pselect6;
        let sleeps = is_poll && call.arguments[1] == 0 || is_select && call.arguments[0] == 0;
        if sleeps || !is_poll && !is_epoll && !is_select {
            return None;
        }
        let descriptors = if is_poll { polled(process, call) } else { None };
        let descriptors = descriptors.or_else(|| is_epoll.then(|| registered(process, call.arguments[0])).flatten());
        let Some(descriptors) = descriptors.filter(|found| !found.is_empty()) else { return Some(Awaited::Unknown) };
        let states: Vec<SocketState> = descriptors.iter().map(|descriptor| self.state(process, *descriptor)).collect();
        Some(if states.contains(&SocketState::Listening) {
            Awaited::Request
        } else if is_poll && states.iter().all(|state| *state == SocketState::Connected) {
            Awaited::Reply
        } else {
            Awaited::Unknown
        })
    }

    fn state(&mut self, process: u32, descriptor: i32) -> SocketState {
        let Some(inode) = socket(process, descriptor) else { return SocketState::Other };
        if let Some(known) = self.0.get(&(process, inode)) {
            return *known;
        }
        if self.0.len() >= MOST_SOCKETS {
            self.0.clear();
        }
        let tables = ["tcp", "udp", "unix", "tcp6", "udp6"];
        let state = tables.iter().find_map(|table| {
            let text = read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
            state_in(&text, inode)
        });
        let state = state.unwrap_or(SocketState::Other);
        self.0.insert((process, inode), state);
        state
    }
}

/// Returns the descriptors of a call of `poll`, if they are few.
fn polled(process: u32, call: &Call) -> Option<Vec<i32>> {
    let [address, count, ..] = call.arguments;
    let count = usize::try_from(count).ok().filter(|count| (1..=MOST_DESCRIPTORS).contains(count))?;
    let mut bytes = [0; MOST_DESCRIPTORS * size_of::<libc::pollfd>()];
    let bytes = &mut bytes[..count * size_of::<libc::pollfd>()];
    if read(process, address, bytes) != bytes.len() {
        return None;
    }
    let descriptors = bytes.chunks_exact(size_of::<libc::pollfd>());
    Some(descriptors.filter_map(|entry| entry.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))).collect())
}

/// Returns the descriptors that are registered with one of `epoll`, if they are few.
fn registered(process: u32, descriptor: u64) -> Option<Vec<i32>> {
    let text = read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).ok()?;
    let of = |line: &str| line.strip_prefix("tfd:")?.split_ascii_whitespace().next()?.parse().ok();
    let descriptors: Vec<i32> = text.lines().filter_map(of).collect();
    (descriptors.len() <= MOST_DESCRIPTORS).then_some(descriptors)
}

/// Returns the inode of the socket that a descriptor is of.
fn socket(process: u32, descriptor: i32) -> Option<u64> {
    let target = read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
    target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Returns the state of a socket by a table of sockets; `None` if the table does not have it.
fn state_in(table: &str, inode: u64) -> Option<SocketState> {
    /// `TCP_ESTABLISHED`, `TCP_SYN_SENT`, `TCP_CLOSE_WAIT`; a connected UDP socket has the first.
    const INTERNET: [&str; 3] = ["01", "02", "08"];
    /// `TCP_LISTEN`.
    const INTERNET_LISTEN: &str = "0A";
    /// `SS_CONNECTED`.
    const LOCAL: &str = "03";
    /// The flag of a local socket that accepts connections, `__SO_ACCEPTCON`.
    const LOCAL_LISTEN: u32 = 1 << 16;
    let mut lines = table.lines();
    let is_local = lines.next().is_some_and(|head| head.starts_with("Num"));
    let (state, number) = if is_local { (5, 6) } else { (3, 9) };
    lines.find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let field = |place: usize| fields.get(place).copied().unwrap_or_default();
        if field(number).parse() != Ok(inode) {
            return None;
        }
        let flags = u32::from_str_radix(field(3), 16).unwrap_or(0);
        let listens = if is_local { flags & LOCAL_LISTEN != 0 } else { field(state) == INTERNET_LISTEN };
        let is_connected = if is_local { field(state) == LOCAL } else { INTERNET.contains(&field(state)) };
        Some(match (listens, is_connected) {
            (true, _) => SocketState::Listening,
            (_, true) => SocketState::Connected,
            _ => SocketState::Other,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::net::{UnixListener, UnixStream};

    fn poll(descriptors: &[&dyn AsRawFd]) -> Option<Awaited> {
        let entry = |of: &&dyn AsRawFd| libc::pollfd { fd: of.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let entries: Vec<libc::pollfd> = descriptors.iter().map(entry).collect();
        let arguments = [entries.as_ptr().addr() as u64, entries.len() as u64, 0, 0];
        let call = Call { number: libc::SYS_ppoll, arguments, pointer: 0, instruction: 0 };
        Sockets::default().awaited(std::process::id(), &call)
    }

    #[test]
    fn connected_sockets_are_distinguished_from_those_that_listen() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(poll(&[&one]), Some(Awaited::Reply));
        let directory = tempfile::tempdir().unwrap();
        let local = UnixListener::bind(directory.path().join("socket")).unwrap();
        assert_eq!((poll(&[&local]), poll(&[&one, &local])), (Some(Awaited::Request), Some(Awaited::Request)));
        let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { return println!("skipped: needs a network") };
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!((poll(&[&stream]), poll(&[&listener])), (Some(Awaited::Reply), Some(Awaited::Request)));
        let udp = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        udp[0].connect(udp[1].local_addr().unwrap()).unwrap();
        assert_eq!((poll(&[&udp[0]]), poll(&[&udp[1]])), (Some(Awaited::Reply), Some(Awaited::Unknown)));
        let call = Call { number: libc::SYS_read, arguments: [0; 4], pointer: 0, instruction: 0 };
        assert_eq!(Sockets::default().awaited(std::process::id(), &call), None);
        assert_eq!(poll(&[]), None, "it sleeps");
    }

    /// The answer of a command, or the next job: only the program knows.
    #[test]
    fn pipe_may_bring_a_reply_or_a_request() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(poll(&[&reader]), Some(Awaited::Unknown));
    }

    #[test]
    fn descriptors_of_epoll_are_known() {
        // SAFETY: the call has no pointer, and the result is a new descriptor or -1, which is excluded.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        assert!(epoll >= 0);
        // SAFETY: the descriptor is new, and nothing else owns it.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let awaited = || {
            let arguments = [epoll.as_raw_fd() as u64, 0, 0, 0];
            let call = Call { number: libc::SYS_epoll_pwait, arguments, pointer: 0, instruction: 0 };
            Sockets::default().awaited(std::process::id(), &call)
        };
        let add = |of: &dyn AsRawFd| {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: both descriptors are open, and the event is initialised.
            let added = unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, of.as_raw_fd(), &mut event) };
            assert_eq!(added, 0);
        };
        assert_eq!(awaited(), Some(Awaited::Unknown));
        let (one, _other) = UnixStream::pair().unwrap();
        add(&one);
        assert_eq!(awaited(), Some(Awaited::Unknown), "of a client, or of a server");
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        add(&listener);
        assert_eq!(awaited(), Some(Awaited::Request));
    }
}
