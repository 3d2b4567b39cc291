//! Options of the user.

use clap::Args;
use harness::{UsageError, parse_count};
use launch::ProgramFlags;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Count preempted lock holders, and those that a longer time slice would cover
///
/// Runs PROGRAM with a preloaded library that times every hold, and finds the context switches within the holds. The
/// record has their number and length, the threads that ran instead, the share of all waiting, and the CPU time that
/// the holds still needed. PROGRAM ends, and the report is printed, as under `contend trace`.
#[derive(Args, Clone, Debug)]
#[command(override_usage = USAGE)]
pub struct Flags {
    #[command(flatten)]
    pub launched: ProgramFlags,

    /// Attach to a running process. Only waits that block are seen, and holds from the moment that a thread waits; needs
    /// root, or CAP_PERFMON and a readable tracefs
    #[arg(long, value_name = "PID", conflicts_with_all = ["program", "patience", "remedies", "threads"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pub pid: Option<u32>,

    /// Run PROGRAM six times plainly and six times with each remedy, in rounds of random order: a longer time slice, a higher priority,
    /// and with --threads as many threads as CPUs. Each run has an equal part of --seconds
    #[arg(long)]
    pub remedies: bool,

    /// Number of threads that replaces `{threads}` in PROGRAM's arguments [range: 1 to 100000]
    #[arg(long, value_name = "N", requires = "program", value_parser = parse_count::within::<u32>(1..=100_000))]
    pub threads: Option<u32>,
}

const USAGE: &str = "contend preempted [OPTIONS] -- <PROGRAM> [ARGS]...
       contend preempted [OPTIONS] --pid <PID>";

/// Stands for the number of threads.
const THREADS: &[u8] = b"{threads}";

impl Flags {
    /// Returns the program and its arguments, with this number of threads.
    pub fn words(&self, threads: Option<u32>) -> Result<Vec<OsString>, UsageError> {
        let words = &self.launched.program;
        let Some(threads) = threads else { return Ok(words.clone()) };
        let replaced: Vec<OsString> = words.iter().map(|word| replaced(word.as_bytes(), threads)).collect();
        if replaced == *words {
            return Err(UsageError(format!("--threads {threads}: no argument of the program contains {{threads}}")));
        }
        Ok(replaced)
    }
}

fn replaced(word: &[u8], threads: u32) -> OsString {
    let Some(at) = word.windows(THREADS.len()).position(|part| part == THREADS) else {
        return OsString::from_vec(word.to_vec());
    };
    let number = threads.to_string();
    OsString::from_vec([&word[..at], number.as_bytes(), &word[at + THREADS.len()..]].concat())
}
