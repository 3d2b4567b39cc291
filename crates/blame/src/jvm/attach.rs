//! The attach interface of HotSpot: a socket in `/tmp` of the process, which answers commands.
//!
//! The socket is there once the first client has requested it: the client creates a file, and sends SIGQUIT. A virtual
//! machine that finds the file opens the socket. One that does not find it, or has attaching disabled, prints a thread dump
//! to its output, and a program without a handler is killed. So the signal is sent only to a process whose own memory
//! shows that it is a HotSpot virtual machine which has begun to handle the signal and permits attaching.
//!
//! The process controls all of this: what is in its memory, its directories and its sockets. Therefore:
//!
//! - the thread that attaches has the user, the groups and the rights of the process, and of contend's own only the
//!   capability to look at processes: what the process can make it do, the process can do itself;
//! - directories are opened once, below the root directory of the process, and held;
//! - signals go through a descriptor of the process, so that none goes to a later process with its number;
//! - the peer of the connection is the process itself, by the kernel's word;
//! - each step has a time limit, and the end of the trace ends it.
//!
//! The client of the JDK tries the current directory of the process before `/tmp`. contend uses `/tmp` alone, since the
//! virtual machine looks there too, and must be able to create the socket there.

use super::end::{End, Woken};
use super::options::Options;
use crate::names::{Mapping, map_of, message, parse};
use crate::sampling::{name_of, threads};
use rustix::event::PollFlags;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Gid, Pid, PidfdFlags, Signal, Uid, dumpable_behavior, getegid, geteuid, getgroups, pidfd_open,
    pidfd_send_signal, set_dumpable_behavior,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};
use std::fs::read_to_string;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// A reason why there is no dump.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It may be possible later: the virtual machine has only just started, for example.
    NotYet(String),
    Never(String),
    /// The trace has ended.
    Over,
}

impl Refusal {
    fn never(action: &str, error: impl Into<io::Error>) -> Self {
        Self::Never(format!("{action}: {}", message(&error.into())))
    }
}

/// A process that contend found to be a virtual machine, and no other one that gets its number later.
pub struct Machine {
    process: u32,
    handle: OwnedFd,
    /// The pieces of the library that is the virtual machine.
    library: Vec<Mapping>,
}

const LIBRARY: &str = "libjvm.so";

/// Returns the pieces of the virtual machine's library in a memory map.
fn library_in(map: &[u8]) -> Vec<Mapping> {
    let is_library = |piece: &Mapping| piece.path.file_name().is_some_and(|name| name == LIBRARY);
    let mut pieces: Vec<Mapping> = parse(map).into_iter().filter(is_library).collect();
    let first = pieces.first().map(|piece| piece.file);
    pieces.retain(|piece| Some(piece.file) == first);
    pieces
}

impl Machine {
    /// Holds the process that had this map a moment ago; `None` if it has no such library, or has ended.
    pub fn hold(process: u32, map: &[u8]) -> Option<Self> {
        let library = library_in(map);
        let pid = Pid::from_raw(process.try_into().ok()?)?;
        let handle = (!library.is_empty()).then(|| pidfd_open(pid, PidfdFlags::empty()).ok())??;
        Some(Self { process, handle, library })
    }

    /// Returns whether the process lives, and runs the program that it ran: a library is at another address after each
    /// start of a program.
    fn is_same(&self) -> bool {
        let place = |pieces: &[Mapping]| pieces.first().map(|piece| (piece.file, piece.start));
        let is_in_place = |map: Vec<u8>| place(&library_in(&map)) == place(&self.library);
        // In this order: a process that still lives had this map.
        map_of(self.process).is_some_and(is_in_place) && !self.has_ended()
    }

    fn has_ended(&self) -> bool {
        use rustix::event::{PollFd, Timespec, poll};
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&at_once)) != Ok(0)
    }
}

/// The identity of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

/// The state of a process, from `/proc/PID/status`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Status {
    user: User,
    is_stopped: bool,
    /// Whether it handles SIGQUIT, and whether SIGSEGV, as each virtual machine does that has read its options.
    handles: [bool; 2],
    /// Its number in its own PID namespace.
    own_number: u32,
}

impl Status {
    fn of(process: u32) -> Result<Self, Refusal> {
        let text = read_to_string(format!("/proc/{process}/status"));
        Self::parse(&text.map_err(|error| Refusal::never("cannot read its state", error))?).map_err(Refusal::Never)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or("");
        let numbers = |name: &str| field(name).split_ascii_whitespace().map(str::parse::<u32>);
        // A program that changes between users is trusted by none of them.
        let single = |name: &str| match numbers(name).collect::<Result<Vec<u32>, _>>().as_deref() {
            Ok([first, rest @ ..]) if rest.len() == 3 && rest.iter().all(|other| other == first) => Ok(*first),
            _ => Err("it runs as several users or groups at once".to_owned()),
        };
        let caught = u64::from_str_radix(field("SigCgt").trim(), 16).unwrap_or(0);
        Ok(Self {
            user: User { uid: single("Uid")?, gid: single("Gid")?, groups: numbers("Groups").flatten().collect() },
            is_stopped: field("State").trim_start().starts_with(['T', 't']),
            handles: [libc::SIGQUIT, libc::SIGSEGV].map(|signal| caught & 1 << (signal - 1) != 0),
            own_number: numbers("NSpid")
                .next_back()
                .or_else(|| numbers("Tgid").next_back())
                .and_then(Result::ok)
                .unwrap_or(0),
        })
    }
}

/// Gives the calling thread the identity of a process for good, and takes all capabilities from it but that to look at
/// processes.
fn become_user(user: &User) -> Result<(), Refusal> {
    let refused = |error: Errno| {
        Refusal::never(
            &format!("cannot act as user {} of the process; run contend as that user or as root", user.uid),
            error,
        )
    };
    let dumpable = dumpable_behavior();
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    let is_own = (geteuid().as_raw(), getegid().as_raw()) == (user.uid, user.gid);
    if getgroups().ok().as_ref() != Some(&groups)
        && let Err(error) = set_thread_groups(&groups)
        && !is_own
    {
        return Err(refused(error));
    }
    if !is_own {
        set_thread_res_gid(None, Gid::from_raw(user.gid), None).map_err(refused)?;
        set_thread_res_uid(None, Uid::from_raw(user.uid), None).map_err(refused)?;
    }
    let sets = capabilities(None).map_err(refused)?;
    let effective = sets.permitted & CapabilitySet::SYS_PTRACE;
    set_capabilities(None, CapabilitySets { effective, ..sets }).map_err(refused)?;
    // The kernel closes contend's files in `/proc` to others when a thread changes its user. Programs that contend starts
    // load its library from there. The user of the process gets no access: contend's other users stay what they are.
    if let Ok(DumpableBehavior::Dumpable) = dumpable {
        let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    }
    Ok(())
}

/// The way to a virtual machine, for one thread of contend.
pub struct Access<'a> {
    machine: &'a Machine,
    end: &'a End,
    user: User,
    /// Its number in its own PID namespace.
    own_number: u32,
    /// Its directory for temporary files.
    directory: OwnedFd,
    /// Whether its options permit the signal, which they do for good.
    is_permitted: bool,
    has_asked: bool,
}

/// Time limit for the socket to appear, and for an answer to come.
const PATIENCE: Duration = Duration::from_secs(5);
/// Period at which the socket is looked for.
const LOOK: Duration = Duration::from_millis(10);
/// Bytes of an answer.
pub const LARGEST: usize = 32 << 20;

impl<'a> Access<'a> {
    /// Finds the way. From then on, the calling thread has the identity of the process.
    pub fn find(machine: &'a Machine, end: &'a End) -> Result<Self, Refusal> {
        let process = machine.process;
        let Status { user, own_number, .. } = Status::of(process)?;
        let root = rustix::fs::open(format!("/proc/{process}/root"), DIRECTORY, Mode::empty());
        let root = root.map_err(|error| Refusal::never("cannot open its root directory", error))?;
        if !machine.is_same() {
            return Err(Refusal::Never("the process has ended or runs another program".into()));
        }
        become_user(&user)?;
        let directory = directory_below(&root, "tmp");
        let directory = directory.map_err(|error| Refusal::never("cannot open its directory /tmp", error))?;
        Ok(Self { machine, end, user, own_number, directory, is_permitted: false, has_asked: false })
    }

    /// Requests a dump of all threads. Returns it, and when it was requested: the first connection takes much longer than
    /// a dump, and the machine does not stop its threads for it. With the owners of all locks, the machine is stopped for
    /// longer, since it searches its heap for them.
    pub fn threads(&mut self, has_owners: bool) -> Result<(Vec<u8>, Instant), Refusal> {
        let stream = self.connect()?;
        let at = Instant::now();
        // The version of the protocol, the command, and three arguments.
        let request: &[u8] = if has_owners { b"1\0threaddump\0-l\0\0\0" } else { b"1\0threaddump\0\0\0\0" };
        match rustix::io::write(&stream, request) {
            Ok(written) if written == request.len() => {}
            Ok(_) => return Err(Refusal::Never("the socket does not take the request for a dump".into())),
            Err(error) => return Err(Refusal::never("cannot request a dump", error)),
        }
        let answer = answer(&stream, self.end, at + PATIENCE)?;
        match answer.strip_prefix(b"0\n") {
            Some(text) => Ok((text.to_vec(), at)),
            None => Err(Refusal::Never("the virtual machine refused the thread dump".into())),
        }
    }

    fn connect(&mut self) -> Result<OwnedFd, Refusal> {
        let until = Instant::now() + PATIENCE;
        if let Some(stream) = self.connect_to_socket(until)? {
            return Ok(stream);
        }
        if self.has_asked {
            return Err(Refusal::Never("the virtual machine closed its attach interface".into()));
        }
        self.check()?;
        let request = Request::create(&self.directory, format!(".attach_pid{}", self.own_number))?;
        // The process may have executed another program in the meantime, which the signal would kill.
        if !self.machine.is_same() || Status::of(self.machine.process)?.handles != [true; 2] {
            return Err(Refusal::Never("the process has ended or runs another program".into()));
        }
        self.has_asked = true;
        pidfd_send_signal(&self.machine.handle, Signal::QUIT)
            .map_err(|error| Refusal::never("cannot send it the signal to attach", error))?;
        loop {
            match self.end.wait(Some((self.machine.handle.as_fd(), PollFlags::IN)), Instant::now() + LOOK) {
                Woken::ByEnd => return Err(Refusal::Over),
                Woken::ByDescriptor => return Err(Refusal::Never("the process has ended".into())),
                Woken::Late => {}
            }
            if let Some(stream) = self.connect_to_socket(until)? {
                drop(request);
                return Ok(stream);
            }
            if Instant::now() >= until {
                let seconds = PATIENCE.as_secs();
                return Err(Refusal::Never(format!("it opened no socket to attach within {seconds} s")));
            }
        }
    }

    /// Checks that the signal opens the socket, and does no harm.
    fn check(&mut self) -> Result<(), Refusal> {
        let process = self.machine.process;
        let status = Status::of(process)?;
        if status.user != self.user {
            return Err(Refusal::Never("the process has changed its user".into()));
        }
        if status.is_stopped {
            return Err(Refusal::NotYet("the process is stopped".into()));
        }
        if status.handles != [true; 2] {
            return Err(Refusal::NotYet("it does not handle SIGQUIT, as just after its start".into()));
        }
        if !self.is_permitted {
            let options = Options::read(process, &self.machine.library);
            let mut names = threads(process).filter_map(|thread| name_of(process, thread));
            permission(options, || names.any(|name| name == DISPATCHER))?;
            self.is_permitted = true;
        }
        Ok(())
    }

    /// Connects to the socket, if there is one that something listens at.
    fn connect_to_socket(&self, until: Instant) -> Result<Option<OwnedFd>, Refusal> {
        let name = format!(".java_pid{}", self.own_number);
        let socket = openat(&self.directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        let socket = match socket {
            Ok(socket) => socket,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(Refusal::never("cannot open its socket to attach", error)),
        };
        let stat = fstat(&socket).map_err(|error| Refusal::never("cannot look at its socket to attach", error))?;
        if !is_private(&stat, &self.user) {
            return Err(Refusal::Never("its socket to attach belongs to another user, or is open to others".into()));
        }
        let stream = loop {
            match connected(&socket) {
                Ok(stream) => break stream,
                // A process that has ended left it.
                Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => {
                    if self.end.wait(None, Instant::now() + LOOK) == Woken::ByEnd {
                        return Err(Refusal::Over);
                    }
                }
                Err(error) => return Err(Refusal::never("cannot connect to its socket to attach", error)),
            }
        };
        let peer = peer_of(&stream).map_err(|error| Refusal::never("cannot see who answers at its socket", error))?;
        if !is_machine(peer, self.machine.process, self.user.uid) {
            return Err(Refusal::Never("another process answers at its socket to attach".into()));
        }
        Ok(Some(stream))
    }
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a directory of a process: its links lead to no other root directory.
fn directory_below(root: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    openat2(root, name, DIRECTORY, Mode::empty(), ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
}

/// The thread of the virtual machine that handles SIGQUIT, as the kernel cuts its name.
const DISPATCHER: &str = "Signal Dispatch";

/// Returns whether the options of a virtual machine permit the signal, and whether it has begun to handle it.
fn permission(options: Option<Options>, has_dispatcher: impl FnOnce() -> bool) -> Result<(), Refusal> {
    match options {
        None => {
            Err(Refusal::Never("its options cannot be read, as those of a virtual machine other than HotSpot".into()))
        }
        Some(Options { disables_attaching: true, .. }) => {
            Err(Refusal::Never("it runs with -XX:+DisableAttachMechanism".into()))
        }
        // It opens the socket by itself when it starts.
        Some(Options { leaves_signals: true, .. }) => {
            Err(Refusal::NotYet("it runs with -Xrs and has not opened its socket to attach".into()))
        }
        Some(Options { names_threads: true, .. }) if !has_dispatcher() => {
            Err(Refusal::NotYet("its thread for signals has not started".into()))
        }
        Some(_) => Ok(()),
    }
}

/// Returns whether a file is a socket of this user that no other user can use: the condition of the JDK's own client.
fn is_private(stat: &Stat, user: &User) -> bool {
    let is_socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
    is_socket && (stat.st_uid, stat.st_gid) == (user.uid, user.gid) && stat.st_mode & 0o077 == 0
}

/// Returns whether the process that listens at a socket, and its user, are those of a virtual machine.
fn is_machine(peer: libc::ucred, process: u32, uid: u32) -> bool {
    (u32::try_from(peer.pid), peer.uid) == (Ok(process), uid)
}

/// Connects to the socket that a descriptor refers to, without waiting.
fn connected(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes no pointers.
    let stream = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if stream < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else has it.
    let stream = unsafe { OwnedFd::from_raw_fd(stream) };
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    let path = format!("/proc/self/fd/{}", socket.as_raw_fd());
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from as libc::c_char;
    }
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is as long as is said; the path in it is shorter than its room, so that a NUL follows.
    match unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), length) } {
        0 => Ok(stream),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the process that listens at the other end, as the kernel noted it.
fn peer_of(stream: &OwnedFd) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: both pointers are to live values, and the length is that of the first.
    match unsafe { libc::getsockopt(stream.as_raw_fd(), level, option, (&raw mut peer).cast(), &raw mut length) } {
        0 => Ok(peer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads an answer to its end, which has to come by then.
fn answer(stream: &OwnedFd, end: &End, until: Instant) -> Result<Vec<u8>, Refusal> {
    const PIECE: usize = 64 << 10;
    let (mut answer, mut piece) = (Vec::new(), vec![0; PIECE]);
    loop {
        // A peer that always has another byte is late as well.
        match end.wait(Some((stream.as_fd(), PollFlags::IN)), until) {
            Woken::ByEnd => return Err(Refusal::Over),
            Woken::ByDescriptor if Instant::now() < until => {}
            _ => return Err(Refusal::Never("its thread dump did not end in time".into())),
        }
        match rustix::io::read(stream, &mut piece) {
            Ok(0) => return Ok(answer),
            Ok(length) => answer.extend_from_slice(&piece[..length]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(Refusal::never("cannot read its thread dump", error)),
        }
        if answer.len() > LARGEST {
            return Err(Refusal::Never(format!("its thread dump is larger than {} MiB", LARGEST >> 20)));
        }
    }
}

/// The file that requests the socket, as long as it is needed.
struct Request<'a> {
    directory: &'a OwnedFd,
    name: String,
    file: OwnedFd,
}

impl<'a> Request<'a> {
    fn create(directory: &'a OwnedFd, name: String) -> Result<Self, Refusal> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(directory, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Self { directory, name, file }),
            // Another client's, whose request opens the socket as well.
            Err(Errno::EXIST) => {
                Err(Refusal::NotYet(format!("/tmp/{name} exists; remove it, unless another program attaches")))
            }
            Err(error) => Err(Refusal::never(&format!("cannot create /tmp/{name}"), error)),
        }
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        let place = |stat: Stat| (stat.st_dev, stat.st_ino);
        let own = fstat(&self.file).map(place);
        let there = statat(self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW).map(place);
        if own.is_ok() && own == there {
            let _ = unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::os::unix::net::{UnixListener, UnixStream};

    const STATUS: &str = "Name:\tjava\nState:\tS (sleeping)\nTgid:\t41\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nGroups:\t8 9 \n\
        NSpid:\t41\t3\nSigCgt:\t0000000000000404\n";

    #[test]
    fn states_have_one_user_or_are_refused() {
        let user = User { uid: 7, gid: 8, groups: vec![8, 9] };
        let status = Status { user, is_stopped: false, handles: [true; 2], own_number: 3 };
        assert_eq!(Status::parse(STATUS), Ok(status.clone()));
        assert_eq!(Status::parse(&STATUS.replace("0404", "0004")), Ok(Status { handles: [true, false], ..status }));
        let stopped = STATUS.replace("S (sleeping)", "T (stopped)");
        assert!(Status::parse(&stopped).unwrap().is_stopped);
        for other in ["Uid:\t7\t0\t7\t7", "Uid:\t7\t7\t7\t0", "Uid:\t7\t7\t7", "Uid:\tx\tx\tx\tx", ""] {
            assert!(Status::parse(&STATUS.replace("Uid:\t7\t7\t7\t7", other)).is_err(), "{other}");
        }
        assert!(Status::parse(&STATUS.replace("Gid:\t8\t8", "Gid:\t8\t0")).is_err());
    }

    #[test]
    fn signal_needs_options_that_permit_it() {
        let options = Options { disables_attaching: false, leaves_signals: false, names_threads: true };
        assert_eq!(permission(Some(options), || true), Ok(()));
        assert_eq!(permission(Some(Options { names_threads: false, ..options }), || false), Ok(()));
        let is_never = |options| matches!(permission(options, || true), Err(Refusal::Never(_)));
        assert!(is_never(None));
        assert!(is_never(Some(Options { disables_attaching: true, ..options })));
        let is_not_yet =
            |options, has_dispatcher| matches!(permission(Some(options), || has_dispatcher), Err(Refusal::NotYet(_)));
        assert!(is_not_yet(options, false) && is_not_yet(Options { leaves_signals: true, ..options }, true));
    }

    #[test]
    fn sockets_of_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let metadata = std::fs::metadata(&path).unwrap();
        let user = User { uid: metadata.uid(), gid: metadata.gid(), groups: Vec::new() };
        let socket = || openat(rustix::fs::CWD, &path, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty()).unwrap();
        let with_mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            is_private(&fstat(socket()).unwrap(), &user)
        };
        assert_eq!([0o600, 0o700, 0o620, 0o602, 0o640, 0o604].map(with_mode), [true, true, false, false, false, false]);
        assert!(with_mode(0o600));
        let stat = fstat(socket()).unwrap();
        assert!(!is_private(&stat, &User { uid: user.uid + 1, ..user.clone() }));
        assert!(!is_private(&stat, &User { gid: user.gid + 1, ..user.clone() }));
        let mut file = stat;
        file.st_mode = 0o100_600;
        assert!(!is_private(&file, &user));
        let stream = connected(&socket()).unwrap();
        let peer = peer_of(&stream).unwrap();
        assert!(is_machine(peer, std::process::id(), user.uid));
        assert!(
            !is_machine(peer, std::process::id() + 1, user.uid) && !is_machine(peer, std::process::id(), user.uid + 1)
        );
        assert!(!is_machine(libc::ucred { pid: 0, ..peer }, 0x8000_0000, user.uid));
        drop(listener);
        assert_eq!(connected(&socket()).unwrap_err().raw_os_error(), Some(libc::ECONNREFUSED));
    }

    #[test]
    fn connecting_does_not_wait_for_a_full_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let socket = openat(rustix::fs::CWD, &path, OFlags::PATH, Mode::empty()).unwrap();
        let streams: Vec<io::Result<OwnedFd>> =
            (0..8_192).map(|_| connected(&socket)).take_while(Result::is_ok).collect();
        let last =
            if streams.len() < 8_192 { connected(&socket).map(drop) } else { Err(io::ErrorKind::WouldBlock.into()) };
        assert_eq!(last.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn answers_are_limited_in_time_and_size() {
        let pair = || UnixStream::pair().unwrap();
        let hour = || Instant::now() + Duration::from_secs(3_600);
        let end = End::new().unwrap();
        let (mut one, other) = pair();
        other.set_nonblocking(true).unwrap();
        let other = OwnedFd::from(other);
        one.write_all(b"0\nx").unwrap();
        assert!(matches!(answer(&other, &end, Instant::now()), Err(Refusal::Never(_))), "it has not ended");
        one.write_all(b"y").unwrap();
        drop(one);
        assert_eq!(answer(&other, &end, hour()).as_deref(), Ok(&b"0\nxy"[..]));
        let (mut one, other) = pair();
        let flood = std::thread::spawn(move || while one.write_all(&[b'x'; 1 << 16]).is_ok() {});
        assert!(matches!(answer(&OwnedFd::from(other), &end, hour()), Err(Refusal::Never(_))), "it has no end");
        flood.join().unwrap();
        end.request();
        let (_one, other) = pair();
        assert_eq!(answer(&OwnedFd::from(other), &end, hour()), Err(Refusal::Over));
    }

    #[test]
    fn request_is_a_new_file_that_is_removed_while_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let directory: OwnedFd = std::fs::File::open(folder.path()).unwrap().into();
        let path = folder.path().join(".attach_pid1");
        let create = || Request::create(&directory, ".attach_pid1".into());
        let request = create().ok().unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(matches!(create(), Err(Refusal::NotYet(_))), "another client's file is not used");
        drop(request);
        assert!(!path.exists());
        // A file that was put in its place stays, and so does one that a link leads to.
        let request = create().ok().unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "").unwrap();
        std::fs::rename(&other, &path).unwrap();
        drop(request);
        assert!(path.exists());
        std::fs::remove_file(&path).unwrap();
        symlink(&other, &path).unwrap();
        assert!(matches!(create(), Err(Refusal::NotYet(_))) && !other.exists());
    }

    #[test]
    fn links_lead_to_no_other_root_directory() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let held = OwnedFd::from(std::fs::File::open(root.path()).unwrap());
        let link = root.path().join("link");
        let opened = |target: &std::path::Path| {
            let _ = std::fs::remove_file(&link);
            symlink(target, &link).unwrap();
            directory_below(&held, "link").map(|directory| fstat(directory).unwrap().st_ino)
        };
        assert_eq!(opened(outside.path()), Err(Errno::NOENT));
        let (up, magic) = (outside.path().file_name().unwrap(), format!("/proc/self/fd/{}", held.as_raw_fd()));
        assert_eq!(opened(&std::path::Path::new("..").join(up)), Err(Errno::NOENT));
        assert_eq!(opened(magic.as_ref()), Err(Errno::NOENT));
        let inside = root.path().join("var");
        std::fs::create_dir(&inside).unwrap();
        assert_eq!(opened("/var".as_ref()), Ok(inside.metadata().unwrap().ino()));
        let fd = OwnedFd::from(std::fs::File::open("/").unwrap());
        let magic = format!("proc/self/fd/{}", held.as_raw_fd());
        assert_eq!(directory_below(&fd, &magic).err(), Some(Errno::LOOP));
    }

    #[test]
    fn machine_is_not_held_without_its_library() {
        let process = std::process::id();
        let map = map_of(process).unwrap();
        assert!(Machine::hold(process, &map).is_none());
        let line = b"7000-8000 r-xp 00000000 00:1 5 /usr/lib/libjvm.so\n";
        let machine = Machine::hold(process, &[line, &*map].concat()).unwrap();
        assert!(!machine.has_ended() && !machine.is_same(), "the library is not there any more");
    }
}
