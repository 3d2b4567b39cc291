//! Causes of long waits for a lock, and remedies.

mod holders;
mod kinds;
mod limits;
mod peers;
mod priorities;
mod shares;

pub(super) use kinds::vain_share;
pub(super) use limits::{Limits, limited_cpus};
pub(super) use shares::Shares;

use super::objects::{FILE_LOCK, MAP, Object};
use super::rows::Rows;
use super::{Cause, Evidence, Measure, Worker, stack};
use crate::trace::record::{Row, RowKind, SeenBy};
use crate::trace::rules::Rule;
use blame::frames::Kind as FrameKind;
use blame::sampling::waited::{Holder, Wait};
use kinds::of_map;

impl Evidence {
    /// Returns the cause of the long waits for a lock, and the remedy.
    pub(super) fn finding(&self, object: &Object, rows: &Rows<'_>, limits: &Limits, workers: &[Worker<'_>]) -> Row {
        let row = rows.of(object.wait);
        let cause = match object.wait {
            _ if object.kind == FrameKind::Allocator.name() => Some(self.of_allocator(object)),
            _ if object.kind == FrameKind::Interpreter.name() => Some(self.of_interpreter(object, limits)),
            _ if object.kind == FrameKind::Stream.name() => Some(self.of_stream(object, rows, limits)),
            _ if object.kind == FrameKind::Library.name() => Some(self.of_library(object)),
            _ if object.kind == FrameKind::Once.name() => Some(self.of_once(object, rows, limits)),
            Wait::Hidden if object.java.is_some() => object.java.as_ref().map(|lock| self.java_cause(object, lock)),
            Wait::Call { .. } if object.name == MAP => Some(of_map(object)),
            Wait::Call { .. } if !object.has_known_holders() && self.owner(object).is_some() => None,
            Wait::Hidden if object.spins => Some(self.of_spin(object, limits)),
            Wait::Lock(_) if object.is_polled() => self.polled(object, rows, limits),
            Wait::Lock(slot) => self.herd(slot, object).or_else(|| self.holders(object, rows, limits)),
            // Several threads have it at a time, so none of them is what the record takes for the holder.
            Wait::Word { .. } if self.is_pool(object) => {
                self.peers(object, rows, row.and_then(Shares::by_record).is_some(), limits)
            }
            // The record knows the threads that had the word in turn, and samples what these did. A semaphore's threads do not
            // have it in turn.
            _ if object.has_known_holders() && object.kind != FrameKind::Semaphore.name() => {
                self.holders(object, rows, limits)
            }
            _ if row.and_then(Shares::by_record).is_some_and(|shares| !shares.is_mostly_blocked()) => {
                self.holders(object, rows, limits)
            }
            _ => {
                let is_blocked = row.and_then(Shares::by_record).is_some();
                match self.peers(object, rows, is_blocked, limits) {
                    Some(cause) if cause.remedy.is_some() => Some(cause),
                    cause => self.holders(object, rows, limits).or(cause),
                }
            }
        };
        let unexplained = || Cause {
            rule: Rule::UnknownHolder,
            object: object.name.clone(),
            place: object.place(),
            text: self.owner(object).unwrap_or_else(|| "unknown holder: no sample shows which thread held it".into()),
            remedy: None,
            share: 0.0,
            measure: Measure::None,
        };
        let mut cause = cause.unwrap_or_else(unexplained);
        // The calls in which threads wait for the lock of the address space are not several locks.
        let is_one = object.kind == FrameKind::Allocator.name() || matches!(object.wait, Wait::Call { .. });
        let is_class = row.is_some() || !is_one;
        let instances = row.map_or(object.members.len() as u32, |row| row.instances);
        if let Some(hottest) = object.hottest(instances).filter(|_| is_class) {
            cause.text.push_str(&hottest);
        }
        // The thread can also be the holder of the lock that the holders wait for.
        let chained = object.waited.holders.keys().filter_map(|holder| match holder {
            Holder::Blocked { held, .. } | Holder::Chained { held, .. } => Some(*held),
            _ => None,
        });
        let waits: Vec<Wait> = object.members.iter().map(|(wait, _)| *wait).chain(chained).collect();
        let waits = || waits.iter().copied();
        // A loop that spins takes CPUs from the other threads.
        let independent = workers.iter().find(|worker| !object.spins && worker.is_independent(waits(), self.elapsed_s));
        // The holders of words are not known, so the thread can be one.
        if let Some(worker) = independent.filter(|_| matches!(object.wait, Wait::Lock(_))) {
            cause.text.push_str(&format!(
                "; {} worked for {} of the run without this lock, so the run may take as long without these waits",
                worker.name,
                terminal::percent((worker.own_s / self.elapsed_s).min(1.0))
            ));
        }
        let program = self.program.join(" ");
        let command = match cause.measure {
            Measure::WhatIf => Some(format!("contend trace --what-if {} -- {program}", quoted(&object.name))),
            Measure::Swap => Some(format!("contend trace --swap adaptive,calock -- {program}")),
            Measure::Command(command) => Some(format!("{command} {program}")),
            Measure::None => None,
        };
        let (wait_total_s, seen_by) = waited(object.waited.seconds, row);
        Row {
            lock_type: object.kind.to_owned(),
            wait_total_s,
            rule: Some(cause.rule),
            object: Some(cause.object),
            place: Some(cause.place),
            cause: Some(cause.text),
            known_share: Some(cause.share),
            remedy: cause.remedy,
            command,
            seen_by: if object.is_polled() { SeenBy::Sampling } else { seen_by },
            stack: stack(&object.frames),
            ..Row::new(RowKind::Finding, 0, object.name.clone())
        }
    }
}

impl Evidence {
    /// Returns the processes that had the lock of a file for most of the wait, which are known where their threads are not.
    fn owner(&self, object: &Object) -> Option<String> {
        let others = &object.waited.other_processes;
        let share = others.values().sum::<f64>() / object.waited.seconds.max(1e-9);
        let (process, most_s) = others.iter().max_by(|one, other| one.1.total_cmp(other.1).then(other.0.cmp(one.0)))?;
        (object.kind == FILE_LOCK && share > 0.5).then(|| {
            let name = self.samples.owner_name(*process).map_or_else(String::new, |name| format!("{name}, "));
            let share = terminal::percent(share.min(1.0));
            match *most_s > 0.5 * object.waited.seconds {
                true => format!(
                    "{name}process {process} has it for {share} of the wait; `contend hang {process}` says what that does"
                ),
                false => format!(
                    "{} other processes have it in turn for {share} of the wait, {name}process {process} the longest",
                    others.len()
                ),
            }
        })
    }
}

/// Returns how long a lock was waited for, and the source: its calls, which the tables have too, unless samples show far
/// more. Calls do not show waits that have not ended, and those to get a mutex back after a condition.
pub(super) fn waited(sampled_s: f64, row: Option<&Row>) -> (f64, SeenBy) {
    match row.filter(|row| has_most(row, sampled_s)) {
        Some(row) => (row.wait_total_s, row.seen_by),
        None => (sampled_s, SeenBy::Sampling),
    }
}

/// Returns whether a row has most of the waits that samples show.
fn has_most(row: &Row, sampled_s: f64) -> bool {
    const FAR_MORE: f64 = 1.5;
    sampled_s <= FAR_MORE * row.wait_total_s
}

/// Returns a word of a command for the shell.
fn quoted(word: &str) -> String {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+./:".contains(&byte));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
