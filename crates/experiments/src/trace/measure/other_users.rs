//! Processes of the program that run as another user: they cannot load contend's library.
//!
//! The library and the memory have no names in the file system, and are reached through contend's own `/proc` directory,
//! which the kernel opens to contend's user only. A process that changes its user keeps the library that it has
//! loaded. But a program that it then starts by `exec` has to load the library itself, and may not.

use std::collections::BTreeMap;
use std::fs::{File, read_dir, read_link, read_to_string};
use std::io::Read;
use std::time::Instant;

/// Processes that were seen to run without the library, by their numbers.
#[derive(Default)]
pub struct OtherUsers {
    found: BTreeMap<u32, OtherUser>,
    next: Option<Instant>,
}

/// A process that runs as another user, or in another user namespace.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherUser {
    pub program: String,
    /// `None` for the same user in another user namespace.
    pub user: Option<u32>,
}

/// Processes, and threads of each, that are looked at: the program can have as many as it likes.
const MOST_PROCESSES: usize = 128;
const MOST_THREADS: usize = 32;
/// The pause after a look, as a multiple of its duration: the program shares its CPUs with contend.
const PAUSE: u32 = 200;

impl OtherUsers {
    /// Looks at the program and the processes that it has started, unless it is too early for the next look.
    pub fn look(&mut self, program: u32) {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return;
        }
        self.look_at(program);
        self.next = Some(began + began.elapsed() * PAUSE);
    }

    fn look_at(&mut self, program: u32) {
        let own_user = rustix::process::geteuid().as_raw();
        let own_namespace = read_link("/proc/self/ns/user").ok();
        let mut open = vec![program];
        let mut place = 0;
        while let Some(&pid) = open.get(place) {
            place += 1;
            open.extend(children(pid));
            open.truncate(MOST_PROCESSES);
            let Some((name, user)) = name_and_user(pid) else { continue };
            let namespace = read_link(format!("/proc/{pid}/ns/user")).ok();
            let is_elsewhere = namespace.is_some_and(|namespace| Some(namespace) != own_namespace);
            if (user != own_user || is_elsewhere) && !has_library(pid) {
                let user = Some(user).filter(|user| *user != own_user);
                self.found.insert(pid, OtherUser { program: name, user });
            }
        }
    }

    pub fn found(&self) -> impl Iterator<Item = (u32, &OtherUser)> {
        self.found.iter().map(|(pid, other)| (*pid, other))
    }
}

impl OtherUser {
    /// The process and its user, in words.
    pub fn words(&self, pid: u32) -> String {
        let program = &self.program;
        match self.user {
            Some(user) => format!("{program} (process {pid}) runs as user {user}"),
            None => format!("{program} (process {pid}) runs in another user namespace"),
        }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().take(MOST_THREADS);
    let of = |task: std::fs::DirEntry| read_to_string(task.path().join("children")).unwrap_or_default();
    tasks.flat_map(|task| of(task).split_ascii_whitespace().flat_map(str::parse).collect::<Vec<u32>>()).collect()
}

fn name_and_user(pid: u32) -> Option<(String, u32)> {
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
    // Real, effective, saved, and that of the file system.
    let user = field("Uid")?.split('\t').nth(1)?.parse().ok()?;
    Some((field("Name")?.to_owned(), user))
}

/// Whether the library is in a process. It is not in one whose map may not be read: that has changed its user since.
pub fn has_library(pid: u32) -> bool {
    let mut map = String::new();
    let file = File::open(format!("/proc/{pid}/maps")).map(|file| file.take(blame::names::MOST_BYTES));
    file.and_then(|mut file| file.read_to_string(&mut map)).is_ok() && map.contains("/memfd:contend-interpose")
}
