//! The files that threads wait for: what they are, and the processes at their other ends.

use crate::snapshot::{Channel, Wait};
use blame::sampling::file_locks::{self, owner_of_file_lock};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::{read_dir, read_link, read_to_string};

/// Processes, descriptors of each, and processes at the other end of a channel that are looked at.
const MOST_PROCESSES: usize = 4_096;
const MOST_DESCRIPTORS: usize = 1_024;
const MOST_PEERS: usize = 8;

/// All open files of all processes, read when they are first needed.
#[derive(Default)]
pub struct Channels {
    open: OnceCell<HashMap<String, Vec<(u32, u32)>>>,
}

/// An open file.
#[derive(Debug)]
enum File {
    Terminal,
    Listening(String),
    Pipe(String),
    /// A connection between processes of this machine.
    Connected(Vec<u32>),
    /// A counter that a thread of the same process adds to.
    Counter,
    Storage(String),
    Elsewhere,
}

impl Channels {
    /// Returns what a thread waits for that reads one of these descriptors, or writes.
    pub fn wait(&self, pid: u32, descriptors: &[u32], writes: bool, is_timed: bool, call: &str) -> Wait {
        let files: Vec<File> = descriptors.iter().take(MOST_DESCRIPTORS).map(|one| self.file(pid, *one)).collect();
        let addresses: Vec<String> = files
            .iter()
            .filter_map(|file| if let File::Listening(at) = file { Some(at.clone()) } else { None })
            .collect();
        if !addresses.is_empty() {
            return Wait::Requests { addresses };
        }
        if files.iter().any(|file| matches!(file, File::Terminal)) {
            return Wait::Terminal;
        }
        if let [File::Storage(path)] = &files[..] {
            return Wait::Disk { path: Some(path.clone()) };
        }
        if files.is_empty() || files.iter().any(|file| matches!(file, File::Elsewhere | File::Storage(_))) {
            return Wait::Outside { call: call.to_owned(), is_timed };
        }
        let mut peers: Vec<u32> = Vec::new();
        let mut channel = None;
        for file in &files {
            match file {
                File::Pipe(link) => {
                    channel = channel.or(Some(Channel::Pipe));
                    peers.extend(self.at(link, !writes));
                }
                File::Connected(others) => {
                    channel = Some(Channel::Socket);
                    peers.extend(others);
                }
                _ => {}
            }
        }
        peers.sort_unstable();
        peers.dedup();
        // Any of them may go on, and there are too many to look at.
        if peers.len() > MOST_PEERS {
            return Wait::Outside { call: call.to_owned(), is_timed };
        }
        let has_counter = files.iter().any(|file| matches!(file, File::Counter));
        match channel {
            // A signal handler writes into a pipe of the process's own, which its thread polls.
            Some(_) if peers == [pid] && !matches!(call, "read" | "write" | "recv" | "send") => {
                return Wait::Outside { call: call.to_owned(), is_timed };
            }
            Some(channel) if !has_counter => return Wait::Peer { channel, writes, is_timed, peers },
            Some(_) => return Wait::Outside { call: call.to_owned(), is_timed },
            None => {}
        }
        Wait::Event { object: "eventfd".into(), name: None, address: 0, is_timed, is_shared: false }
    }

    fn file(&self, pid: u32, descriptor: u32) -> File {
        let Some(link) = link(pid, descriptor) else { return File::Elsewhere };
        match &*link {
            "anon_inode:[eventfd]" => File::Counter,
            terminal if terminal.starts_with("/dev/pts/") || terminal.starts_with("/dev/tty") => File::Terminal,
            pipe if pipe.starts_with("pipe:[") => File::Pipe(link),
            socket if socket.starts_with("socket:[") => self.socket(pid, inode(socket)),
            path if path.starts_with('/') && !path.starts_with("/dev/") => match std::fs::metadata(path) {
                // A named pipe has no other name by which both ends are found.
                Ok(data) if data.file_type().is_file() => File::Storage(link),
                Ok(data) if std::os::unix::fs::FileTypeExt::is_fifo(&data.file_type()) => File::Pipe(link),
                _ => File::Elsewhere,
            },
            _ => File::Elsewhere,
        }
    }

    fn socket(&self, pid: u32, inode: &str) -> File {
        let table = |name: &str| read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default();
        for name in ["tcp", "tcp6"] {
            let text = table(name);
            let lines = || text.lines().skip(1).map(|line| line.split_ascii_whitespace().collect::<Vec<&str>>());
            let Some(own) = lines().find(|fields| fields.get(9) == Some(&inode)) else { continue };
            let (local, remote, state) = (own[1], own[2], own[3]);
            if state == "0A" {
                let port = local.rsplit(':').next().and_then(|port| u16::from_str_radix(port, 16).ok());
                return File::Listening(format!("port {}", port.unwrap_or(0)));
            }
            let other = lines().find(|fields| fields.get(1) == Some(&remote) && fields.get(2) == Some(&local));
            return other.map_or(File::Elsewhere, |other| {
                File::Connected(self.at(&format!("socket:[{}]", other[9]), true).collect())
            });
        }
        let text = table("unix");
        let own = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<&str>>());
        match own.into_iter().find(|fields| fields.get(6) == Some(&inode)) {
            Some(fields) if fields[3] == "00010000" => {
                File::Listening((*fields.get(7).unwrap_or(&"a Unix socket")).to_owned())
            }
            Some(_) => match super::unix_peers::peer_of(inode.parse().unwrap_or(0)) {
                Some(peer) => File::Connected(self.at(&format!("socket:[{peer}]"), true).collect()),
                None => File::Elsewhere,
            },
            None => File::Elsewhere,
        }
    }

    /// Returns the processes that have a file open, for writing if `writes`, else for reading.
    fn at(&self, link: &str, writes: bool) -> impl Iterator<Item = u32> {
        let open = self.open.get_or_init(all_open);
        let unwanted = if writes { libc::O_RDONLY } else { libc::O_WRONLY } as u32;
        let is_socket = link.starts_with("socket:");
        let fits = move |(pid, descriptor): &&(u32, u32)| {
            is_socket || mode(*pid, *descriptor).is_none_or(|mode| mode != unwanted)
        };
        let found: Vec<u32> = open.get(link).into_iter().flatten().filter(fits).map(|(pid, _)| *pid).collect();
        found.into_iter()
    }
}

/// Returns the descriptors that are registered at an epoll descriptor.
pub fn registered(pid: u32, descriptor: u64) -> Vec<u32> {
    let text = read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
    let registered = text.lines().filter_map(|line| line.strip_prefix("tfd:"));
    registered.filter_map(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).collect()
}

/// Returns the path of a descriptor.
pub fn link(pid: u32, descriptor: u32) -> Option<String> {
    Some(read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?.to_string_lossy().into_owned())
}

fn inode(socket: &str) -> &str {
    socket.trim_start_matches("socket:[").trim_end_matches(']')
}

fn mode(pid: u32, descriptor: u32) -> Option<u32> {
    let text = read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    Some(u32::from_str_radix(flags.trim(), 8).ok()? & libc::O_ACCMODE as u32)
}

fn numbers(folder: &str) -> impl Iterator<Item = u32> {
    let entries = read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn all_open() -> HashMap<String, Vec<(u32, u32)>> {
    let mut open: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
    for pid in numbers("/proc").take(MOST_PROCESSES) {
        for descriptor in numbers(&format!("/proc/{pid}/fd")).take(MOST_DESCRIPTORS) {
            if let Some(link) = link(pid, descriptor).filter(|link| !link.starts_with("/dev/")) {
                open.entry(link).or_default().push((pid, descriptor));
            }
        }
    }
    open
}

/// Returns the file whose lock a process waits for, and the process that has the lock, by `/proc/locks`.
pub fn file_lock(pid: u32, tid: u32, descriptor: u64) -> Wait {
    let path = link(pid, descriptor as u32).unwrap_or_else(|| "a file".into());
    let locks = file_locks::all();
    let owner = owner_of_file_lock(&locks, pid).or_else(|| owner_of_file_lock(&locks, tid));
    Wait::FileLock { path, owner }
}
