//! Which threads can go on: those that run, those that something outside wakes, and those that such a thread can wake.
//!
//! All others hang, as far as the snapshot shows. A thread that waits for one of several is able if any of
//! them is. Where it is not known who would wake it, each thread of its process is taken for able to.

use crate::explanation::Member;
use crate::snapshot::{Lock, Owner, Process, Snapshot, Thread, Wait};
use std::collections::HashMap;

/// A snapshot with the relation between its threads.
pub struct Case<'a> {
    pub snapshot: &'a Snapshot,
    pub nodes: Vec<(&'a Process, &'a Thread)>,
    /// Whether each thread can go on.
    pub is_able: Vec<bool>,
    numbers: HashMap<(u32, u32), usize>,
}

/// The end of a wait.
#[derive(Debug, PartialEq)]
pub enum Waker {
    /// It runs, or something outside of the threads does.
    Outside,
    /// One of these threads.
    Any(Vec<usize>),
    /// Exactly these: the owner of a lock, a thread that is joined, a process that is waited for.
    Known(Vec<usize>),
}

impl<'a> Case<'a> {
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let of = |process: &'a Process| process.threads.iter().map(move |thread| (process, thread));
        let nodes: Vec<(&Process, &Thread)> = snapshot.processes.iter().flat_map(of).collect();
        let numbers = nodes.iter().enumerate().map(|(node, (process, thread))| ((process.pid, thread.tid), node));
        let mut case = Self { snapshot, is_able: vec![false; nodes.len()], numbers: numbers.collect(), nodes };
        case.spread();
        case
    }

    /// Marks the threads that are able, and from them on those that they can wake.
    fn spread(&mut self) {
        let mut wakes: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut open = Vec::new();
        // A lock without a known owner is the same as any event: all threads of the process stand for each other.
        let mut of_process: HashMap<u32, Vec<usize>> = HashMap::new();
        for node in 0..self.nodes.len() {
            match self.waker(node) {
                Waker::Outside => open.push(node),
                Waker::Any(_) => of_process.entry(self.nodes[node].0.pid).or_default().push(node),
                Waker::Known(nodes) => nodes.into_iter().for_each(|waker| wakes[waker].push(node)),
            }
        }
        // It ends: each thread passes its wakes on once.
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut self.is_able[node], true) {
                continue;
            }
            open.append(&mut wakes[node]);
            open.extend(of_process.remove(&self.nodes[node].0.pid).into_iter().flatten());
        }
    }

    /// Returns what ends the wait of a thread.
    pub fn waker(&self, node: usize) -> Waker {
        let (process, thread) = self.nodes[node];
        let others = || Waker::Any((0..self.nodes.len()).filter(|other| self.is_other(node, *other)).collect());
        let threads_of = |pids: &[u32]| -> Option<Vec<usize>> {
            let looked = |pid: &u32| self.snapshot.process(*pid).is_some_and(|process| !process.threads.is_empty());
            let all = (0..self.nodes.len()).filter(|one| pids.contains(&self.nodes[*one].0.pid)).collect();
            (!pids.is_empty() && pids.iter().all(looked)).then_some(all)
        };
        if thread.has_moved {
            return Waker::Outside;
        }
        let is_followed = !process.hides_waits() && process.left_out == 0;
        match &thread.wait {
            Wait::Lock(lock) if lock.is_timed => Waker::Outside,
            Wait::Lock(lock) => match lock.owner {
                Owner::Thread { process, thread } | Owner::Likely { process, thread, .. } => {
                    self.node(process, thread).map_or(Waker::Outside, |owner| Waker::Known(vec![owner]))
                }
                Owner::Gone { .. } => Waker::Known(Vec::new()),
                Owner::Readers | Owner::Unknown if lock.is_shared || !is_followed => Waker::Outside,
                Owner::Readers | Owner::Unknown => others(),
            },
            Wait::Event { is_timed, is_shared, .. } if *is_timed || *is_shared || !is_followed => Waker::Outside,
            Wait::Event { .. } => others(),
            Wait::Join { thread } => {
                self.node(process.pid, *thread).map_or(Waker::Outside, |joined| Waker::Known(vec![joined]))
            }
            Wait::Child { pids } => threads_of(pids).map_or(Waker::Outside, Waker::Known),
            Wait::FileLock { owner, .. } => threads_of(owner.as_slice()).map_or(Waker::Outside, Waker::Known),
            Wait::Peer { is_timed: true, .. } => Waker::Outside,
            Wait::Peer { peers, .. } if *peers == [process.pid] => {
                Waker::Known((0..self.nodes.len()).filter(|other| self.is_other(node, *other)).collect())
            }
            Wait::Peer { peers, .. } => threads_of(peers).map_or(Waker::Outside, Waker::Known),
            _ => Waker::Outside,
        }
    }

    fn is_other(&self, node: usize, other: usize) -> bool {
        other != node && self.nodes[other].0.pid == self.nodes[node].0.pid
    }

    /// Returns the number of a thread.
    pub fn node(&self, process: u32, thread: u32) -> Option<usize> {
        self.numbers.get(&(process, thread)).copied()
    }

    /// Returns a thread as a member of a finding.
    pub fn member(&self, node: usize) -> Member {
        let (process, thread) = self.nodes[node];
        Member::of(process.pid, &process.command, thread)
    }

    /// Returns the threads that hang.
    pub fn hung(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|node| !self.is_able[*node])
    }

    /// Returns the threads that wait for this lock of a process.
    pub fn waiters(&self, pid: u32, lock: &Lock) -> Vec<usize> {
        let is_it = |other: &Lock| (other.address, &other.name) == (lock.address, &lock.name) && !other.is_timed;
        let waits = |node: &usize| {
            let (process, thread) = self.nodes[*node];
            !thread.has_moved && process.pid == pid && matches!(&thread.wait, Wait::Lock(lock) if is_it(lock))
        };
        (0..self.nodes.len()).filter(waits).collect()
    }
}
