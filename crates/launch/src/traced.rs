//! A run of the program under `contend trace`, and the parts of its record that a comparison reads.

use crate::client::Client;
use crate::process::{Failed, FinishedRun};
use crate::program::Program;
use crate::scene::Scene;
use anyhow::Context;
use blame::Lost;
use harness::Interruption;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

/// The time that `contend trace` may take to write its record after the program has ended.
const RECORDING: Duration = Duration::from_secs(20);

/// The record of a traced run.
pub struct Traced {
    /// The locks, the one with the longest total wait first.
    pub locks: Vec<TracedLock>,
    /// Locks that were seen by sampling alone.
    sampled: Vec<TracedLock>,
    /// Whether the library noted the calls of [`Self::locks`], and not only the kernel.
    are_noted: bool,
    pub lost: Lost,
    pub wall_s: f64,
    /// The time of all threads together, as far as they were sampled.
    pub thread_time_s: Option<f64>,
    /// Whether a signal ended the program, other than the one by which a server is ended.
    was_killed: bool,
}

/// A lock of a traced run. A column of its row that an older `contend` lacks is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TracedLock {
    #[serde(rename = "lock")]
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub attributes: Vec<String>,
    pub file: Option<String>,
    /// Whether it is a group of locks that were too many to be kept apart.
    pub folded: bool,
    pub acquisitions: u64,
    pub contended: u64,
    pub wait_total_s: f64,
    pub wait_p50_ns: Option<f64>,
    pub wait_p99_ns: Option<f64>,
    pub hold_p50_ns: Option<f64>,
    pub hold_p99_ns: Option<f64>,
    pub holder_off_cpu_share: Option<f64>,
    pub holder_preempted_share: Option<f64>,
    pub blocked_by: Vec<Blocker>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Blocker {
    site: String,
}

impl Traced {
    /// Runs the program once under `contend trace`, for at most this long.
    ///
    /// # Errors
    /// It cannot be started; a signal asks to end; the record of the trace cannot be read.
    pub fn run(
        program: &Program,
        scene: &Scene<'_>,
        variables: &[(impl AsRef<OsStr>, impl AsRef<OsStr>)],
        at_most: Option<Duration>,
        interruption: &Interruption,
    ) -> anyhow::Result<Result<Self, Failed>> {
        // It has no name that a killed contend could leave.
        let record =
            File::from(memfd_create("contend-record", MemfdFlags::CLOEXEC).context("cannot create a file in memory")?);
        let path = format!("/proc/{}/fd/{}", std::process::id(), record.as_raw_fd());
        let mut contend = Command::new(std::env::current_exe()?);
        contend.args(["trace", "--quiet", "--no-keep", "--format", "json", "--output"]).arg(path);
        // SIGTERM goes to `contend trace` in the server's place, which passes it on with the same patience.
        let client = scene.client.map(|client| {
            contend.arg("--patience").arg(format!("{}ms", client.patience.as_millis()));
            Client { patience: client.patience + RECORDING, ..client.clone() }
        });
        contend.arg("--").arg(&program.path).args(&program.words[1..]);
        contend.envs(variables.iter().map(|(name, value)| (name, value)));
        scene.directory.into_iter().for_each(|directory| _ = contend.current_dir(directory));
        match (Scene { client: client.as_ref(), ..*scene }).run(contend, at_most, interruption)? {
            Err(failed) => Ok(Err(failed)),
            Ok(FinishedRun { wall_s, .. }) => {
                let mut content = Vec::new();
                (&record).rewind()?;
                (&record).read_to_end(&mut content)?;
                Ok(Ok(Self::read(&content, wall_s)?))
            }
        }
    }

    fn read(record: &[u8], wall_s: f64) -> anyhow::Result<Self> {
        let record: Value = serde_json::from_slice(record)?;
        let lost = Lost::deserialize(&record["parameters"]["lost"])?;
        let rows = record["results"].as_array().into_iter().flatten();
        let rows = rows.filter(|row| row["kind"] == "lock");
        let are_noted = record["parameters"]["level"] != "futex_calls";
        let (called, sampled): (Vec<&Value>, Vec<&Value>) = rows.partition(|row| row["seen_by"] != "sampling");
        let locks = |rows: Vec<&Value>| rows.into_iter().map(TracedLock::deserialize).collect::<Result<_, _>>();
        let locks = |rows| locks(rows).context("the record of the traced run");
        let (locks, sampled) = (locks(called)?, locks(sampled)?);
        let is_whole = |row: &&Value| row["kind"] == "budget" && row["thread"].is_null() && row["group"].is_null();
        let whole = record["results"].as_array().into_iter().flatten().find(is_whole);
        let thread_time_s = whole.and_then(|row| row["lived_s"].as_f64());
        let signal = record["parameters"]["exit_signal"].as_i64();
        let was_killed = signal.is_some_and(|signal| signal != i64::from(libc::SIGTERM));
        Ok(Self { locks, sampled, are_noted, lost, wall_s, thread_time_s, was_killed })
    }

    /// Returns the locks of the C library whose calls the library noted: no others can be substituted or delayed.
    pub fn noted(&self) -> &[TracedLock] {
        if self.are_noted { &self.locks } else { &[] }
    }

    /// Returns the reason why there is nothing to substitute in a program that is written in this language: it used no lock
    /// of the C library, or none itself. `None` if there is a lock.
    pub fn refusal(&self, language: Option<&str>) -> Option<String> {
        const MOST: usize = 2;
        /// Its waiters wait for work, or for the end of a thread.
        const NO_LOCKS: [&str; 7] = ["cond", "sem", "barrier", "join", "channel", "park", "machine"];
        let noted = self.noted();
        // A program that was killed may have had no time to use its locks.
        if self.was_killed || noted.iter().any(|lock| lock.is_substitutable() && !lock.is_of_runtime()) {
            return None;
        }
        let unnoted = self.locks.iter().filter(|_| !self.are_noted).chain(&self.sampled);
        let mut others: Vec<&TracedLock> = unnoted.filter(|lock| lock.wait_total_s > 0.0).collect();
        others.retain(|lock| !NO_LOCKS.contains(&&*lock.kind));
        others.sort_by(|one, other| other.wait_total_s.total_cmp(&one.wait_total_s));
        let is_of = |kinds: &[&str]| others.iter().any(|lock| kinds.contains(&&*lock.kind));
        let language = if is_of(&["monitor", "java lock"]) {
            Some("Java")
        } else if is_of(&["python lock", "interpreter"]) {
            Some("Python")
        } else {
            language
        };
        let names: Vec<&str> = others.iter().take(MOST).map(|lock| lock.name.as_str()).collect();
        let runtime = noted.iter().filter(|lock| lock.is_of_runtime()).find_map(|lock| lock.file.as_deref());
        let own = noted.iter().find(|lock| lock.excludes() && !lock.is_of_runtime());
        let whose = language.map_or_else(|| "of a language's runtime".to_owned(), |language| format!("of {language}"));
        Some(match (own, runtime) {
            (Some(lock), _) => format!("the program's mutexes are robust, shared or have a priority: {}", lock.name),
            _ if !names.is_empty() => format!("the program's locks are those {whose}: {}", names.join(", ")),
            (_, Some(file)) => format!("the only locks of the C library are those of the runtime itself ({file})"),
            _ if language.is_some() => format!("the program used no lock but those {whose}"),
            _ => match noted.first() {
                Some(other) => format!("the program used none of the C library's locks, only {}", other.name),
                None => "the program used none of the C library's locks".into(),
            },
        })
    }
}

impl TracedLock {
    /// Returns whether threads waited for it.
    pub fn is_waited_for(&self) -> bool {
        self.contended > 0
    }

    /// Returns whether it excludes other threads from a critical section. A semaphore may, and does not count.
    pub fn excludes(&self) -> bool {
        matches!(self.kind.as_str(), "mutex" | "rwlock" | "spin")
    }

    /// Returns whether another lock can be in its place.
    fn is_substitutable(&self) -> bool {
        const KEPT: [&str; 4] = ["robust", "priority_inheritance", "priority_ceiling", "shared"];
        self.excludes() && !self.attributes.iter().any(|attribute| KEPT.contains(&&**attribute))
    }

    /// Returns whether it is a lock of a language's runtime, which is none of the program's own.
    pub fn is_of_runtime(&self) -> bool {
        self.file.as_deref().is_some_and(blame::frames::is_language_runtime)
    }

    pub fn is_semaphore(&self) -> bool {
        self.kind == "sem"
    }

    /// Returns the part of the time waited in which the holder slept, or waited itself: it did not run, and no other
    /// thread ran in its place.
    pub fn holder_slept_share(&self) -> Option<f64> {
        Some((self.holder_off_cpu_share? - self.holder_preempted_share.unwrap_or(0.0)).max(0.0))
    }

    /// Returns the call site whose holds were waited for most.
    pub fn held_at(&self) -> Option<&str> {
        self.blocked_by.first().map(|blocker| blocker.site.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(level: &str, rows: Value, language: Option<&str>) -> Option<String> {
        let record = json!({ "parameters": { "level": level, "lost": Lost::default() }, "results": rows });
        Traced::read(record.to_string().as_bytes(), 1.0).unwrap().refusal(language)
    }

    fn row(lock: &str, kind: &str, more: Value) -> Value {
        let mut row = json!({ "kind": "lock", "lock": lock, "type": kind, "wait_total_s": 1.0 });
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row
    }

    #[test]
    fn program_with_a_mutex_of_its_own_is_not_refused() {
        let own = row("table.lock", "mutex", json!({ "file": "server" }));
        let runtime = row("monitor", "mutex", json!({ "file": "libjvm.so" }));
        assert_eq!(refusal("default", json!([runtime, own]), Some("Rust")), None);
    }

    #[test]
    fn refusal_names_the_locks_that_the_program_has() {
        let sampled = |lock, kind| row(lock, kind, json!({ "seen_by": "sampling" }));
        let runtime = || row("monitor", "mutex", json!({ "file": "libjvm.so" }));
        let robust = row("shared", "mutex", json!({ "file": "server", "attributes": ["robust"] }));
        let cases = [
            (json!([sampled("EvilLock", "monitor"), runtime()]), "those of Java: EvilLock"),
            (json!([sampled("threading.Lock of f (a.py:3)", "python lock")]), "those of Python: threading.Lock of f"),
            (json!([runtime()]), "those of the runtime itself (libjvm.so)"),
            (json!([robust]), "robust, shared or have a priority: shared"),
            (json!([sampled("done", "cond")]), "used none of the C library's locks"),
        ];
        for (rows, words) in cases {
            let refusal = refusal("default", rows, None).unwrap();
            assert!(refusal.contains(words), "{refusal}");
        }
        let futex = json!([row("mutex of work (a.rs:3)", "mutex", json!({}))]);
        let refusal = refusal("futex_calls", futex, Some("Rust")).unwrap();
        assert!(refusal.contains("those of Rust: mutex of work"), "{refusal}");
    }
}
