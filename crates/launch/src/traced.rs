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
    pub lost: Lost,
    pub wall_s: f64,
    /// The time of all threads together, as far as they were sampled.
    pub thread_time_s: Option<f64>,
}

/// A lock of a traced run. A column of its row that an older `contend` lacks is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TracedLock {
    #[serde(rename = "lock")]
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
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
        // Locks that were seen by sampling alone cannot be substituted.
        let rows = rows.filter(|row| row["kind"] == "lock" && row["seen_by"] != "sampling");
        let locks =
            rows.map(TracedLock::deserialize).collect::<Result<_, _>>().context("the record of the traced run")?;
        let is_whole = |row: &&Value| row["kind"] == "budget" && row["thread"].is_null() && row["group"].is_null();
        let whole = record["results"].as_array().into_iter().flatten().find(is_whole);
        Ok(Self { locks, lost, wall_s, thread_time_s: whole.and_then(|row| row["lived_s"].as_f64()) })
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
