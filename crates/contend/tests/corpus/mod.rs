//! The corpus: programs of `tests/trace` whose answer is known, and the evidence of a trace of each.
//!
//! `launched/NAME.gz` is what `contend trace --save` saw of `patients NAME`, and `attached/NAME.gz` what `--pid` saw. The measured
//! tests run the programs, and record the files again with `CONTEND_RENEW=1`; the computed tests diagnose the files, which
//! needs no quiet machine.

// Each test program uses its own part of this.
#![allow(dead_code)]

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A program's answer: the code of the first finding, and words of its object, place, cause and remedy.
pub struct Answer {
    pub patient: &'static str,
    pub rule: &'static str,
    pub object: &'static str,
    pub place: &'static str,
    pub cause: &'static str,
    pub remedy: &'static str,
}

/// Programs whose threads mostly sleep.
pub const SLEEPING: [Answer; 13] = [
    Answer {
        patient: "sleeps",
        rule: "holder_blocked",
        object: "cache_lock",
        place: "write_back (patients.c:",
        cause: "slept (nanosleep) in write_back",
        remedy: "called by write_back in handle, out of the critical section of cache_lock: it sleeps",
    },
    Answer {
        patient: "chain",
        rule: "holder_blocked",
        object: "outer_lock",
        place: "sync_log (patients.c:",
        cause: "the holder waited for inner_lock, whose holder slept (nanosleep) in sync_log",
        remedy: "called by sync_log in flush, out of the critical section of inner_lock: it sleeps",
    },
    Answer {
        patient: "futex",
        rule: "holder_blocked",
        object: "row_word",
        place: "called by store_row",
        cause: "slept (nanosleep) in sleep_us",
        remedy: "called by store_row, out of the critical section of row_word: it sleeps",
    },
    Answer {
        patient: "semaphore",
        rule: "holder_blocked",
        object: "gate",
        place: "pass",
        cause: "slept (nanosleep)",
        remedy: "critical section of gate",
    },
    Answer {
        patient: "buckets",
        rule: "holder_blocked",
        object: "mutex of count_in (patients.c:",
        place: "count_in",
        cause: "such locks has",
        remedy: "critical section of mutex of count_in",
    },
    Answer {
        patient: "connections",
        rule: "pool_too_small",
        object: "connections",
        place: "fetch_row (patients.c:",
        cause: "slept (nanosleep) in sleep_us",
        remedy: "raise the limit of connections (a larger pool)",
    },
    Answer {
        patient: "wrapped",
        rule: "holder_blocked",
        object: "mutex of reload_table (patients.c:",
        place: "called by reload_table",
        cause: "slept (nanosleep) in sleep_us",
        remedy: "called by reload_table, out of the critical section of mutex of reload_table",
    },
    Answer {
        patient: "file",
        rule: "holder_blocked",
        object: "(flock)",
        place: "export_rows (patients.c:",
        cause: "slept (nanosleep) in export_rows",
        remedy: "called by export_rows in with_file, out of the critical section of the lock of ",
    },
    Answer {
        patient: "readers",
        rule: "holder_blocked",
        object: "rows_lock",
        place: "load_page (patients.c:",
        cause: "slept (nanosleep) in",
        remedy: "out of the critical section of rows_lock: it sleeps",
    },
    Answer {
        patient: "recursive",
        rule: "holder_blocked",
        object: "tree_lock",
        place: "save_node (patients.c:",
        cause: "slept (nanosleep) in",
        remedy: "out of the critical section of tree_lock: it sleeps",
    },
    Answer {
        patient: "polls",
        rule: "holder_blocked",
        object: "job_lock",
        place: "run_job (patients.c:",
        cause: "slept (nanosleep) in run_job",
        remedy: "called by run_job in start_job, out of the critical section of job_lock: it sleeps",
    },
    Answer {
        patient: "reply",
        rule: "holder_blocked",
        object: "peer_lock",
        place: "ask_peer (patients.c:",
        cause: "waited for I/O (poll) in ask_peer",
        remedy: "called by update_peer, out of the critical section of peer_lock: it waits for I/O",
    },
    Answer {
        patient: "pool",
        rule: "pool_too_small",
        object: "pool",
        place: "ask() (pool.cpp:",
        cause: "slept (nanosleep) in ask",
        remedy: "a larger pool",
    },
];

/// Programs whose threads compute.
pub const COMPUTING: [Answer; 8] = [
    Answer {
        patient: "chain-computes",
        rule: "holder_blocked",
        object: "shelf_lock",
        place: "recount (patients.c:",
        // It ran, or had no CPU.
        cause: "the holder waited for book_lock, whose holder ",
        remedy: "",
    },
    Answer {
        patient: "spins",
        rule: "spinning_waiters",
        object: "index_spin",
        place: "insert (patients.c:",
        cause: "spun",
        remedy: "a lock that sleeps",
    },
    Answer {
        patient: "own-spins",
        rule: "spinning_waiters",
        object: "spin loop in list_acquire (patients.c:",
        place: "append (patients.c:",
        cause: "threads spun in it for",
        remedy: "a lock that sleeps",
    },
    Answer {
        patient: "herd",
        rule: "thundering_herd",
        object: "queue_lock / queue_filled",
        place: "submit (patients.c:",
        cause: "submit wakes all waiters of queue_filled in fetch",
        remedy: "call pthread_cond_signal instead of pthread_cond_broadcast in submit",
    },
    Answer {
        patient: "malloc",
        rule: "allocator_lock",
        object: "the allocator's lock",
        place: "assemble (patients.c:",
        cause: "1 arena of malloc",
        remedy: "allow more arenas",
    },
    Answer {
        patient: "stream",
        rule: "stream_lock",
        object: "stream",
        place: "record (patients.c:",
        cause: "one stream",
        remedy: "a separate buffer",
    },
    Answer {
        patient: "late",
        rule: "retried_lock",
        object: "job_lock",
        place: "start_late (patients.c:",
        cause: "start_late slept or yielded until its next try",
        remedy: "wait for job_lock in start_late with a call that blocks (pthread_mutex_lock)",
    },
    Answer {
        patient: "inverted",
        rule: "priority_inversion",
        object: "settings_lock",
        place: "refresh (patients.c:",
        cause: "priority inversion: the holder (nice 19) was ready without a CPU",
        remedy: "hold settings_lock in refresh at the priority of the threads that wait for it",
    },
];

/// A program without such a problem: the verdict, and words of its reason.
pub struct Free {
    pub patient: &'static str,
    pub verdict: &'static str,
    pub reason: &'static str,
}

/// Programs whose locks are free.
pub const FREE: [Free; 5] = [
    Free { patient: "idle", verdict: "not_locks", reason: "waited for work or answers" },
    Free { patient: "healthy", verdict: "not_locks", reason: "CPU" },
    Free { patient: "goes-on", verdict: "not_locks", reason: "CPU" },
    Free { patient: "oversubscribed", verdict: "not_locks", reason: "ready without a CPU" },
    Free { patient: "pinned", verdict: "not_locks", reason: "the 1 CPU that its busy threads may use" },
];

/// Programs whose samples do not show the purpose of a wait: the reason says what it may be.
pub const UNCLEAR: [Free; 3] = [
    Free {
        patient: "pipe",
        verdict: "undecided",
        reason: "may have held state_lock: for work, or for the answer to a request.",
    },
    Free { patient: "naps", verdict: "undecided", reason: " threads slept for " },
    Free { patient: "places", verdict: "not_locks", reason: "wait for it too: if it is a pool, that may be too small" },
];

/// The ways to trace a program, and the directories of their evidence.
pub const LAUNCHED: &str = "launched";
pub const ATTACHED: &str = "attached";

/// Returns the file with the evidence of a program.
pub fn file(how: &str, patient: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/corpus/{how}/{patient}.gz"))
}

/// Puts evidence into the corpus. The directory of the sources on this machine is replaced.
pub fn keep(evidence: &Path, how: &str, patient: &str) {
    let mut text = String::new();
    GzDecoder::new(File::open(evidence).unwrap()).read_to_string(&mut text).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().display().to_string();
    let mut encoder = GzEncoder::new(File::create(file(how, patient)).unwrap(), Compression::best());
    encoder.write_all(text.replace(&sources, "/src").as_bytes()).unwrap();
    encoder.finish().unwrap();
}

/// Returns the rows of a kind in a record.
pub fn rows<'a>(record: &'a Value, kind: &str) -> Vec<&'a Value> {
    record["results"].as_array().unwrap().iter().filter(|row| row["kind"] == kind).collect()
}

/// Returns a text of a row; empty if it has none.
pub fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

/// Returns the error in the diagnosis of a program, if there is one.
pub fn wrong_in(record: &Value, answer: &Answer) -> Option<String> {
    let Answer { patient, rule, object, place, cause, remedy } = answer;
    let verdict = &record["parameters"]["verdict"];
    if verdict != "locks" {
        return Some(format!("{patient}: {verdict} {}", record["parameters"]["verdict_reason"]));
    }
    let findings = rows(record, "finding");
    let Some(first) = findings.iter().find(|row| text(row, "object").contains(object)) else {
        return Some(format!("{patient}: no {object} in {findings:#?}"));
    };
    // A spinlock of the C library is known by its calls, and not once more by its loop.
    assert!(findings.iter().all(|row| !text(row, "object").contains("pthread_spin")), "{patient}: {findings:#?}");
    let known = first["known_share"].as_f64().unwrap();
    assert!((0.0..=1.0 + 1e-9).contains(&known), "{patient}: {first:#}");
    if known <= 0.5 {
        return Some(format!("{patient}: the cause is no larger part of the wait: {first:#}"));
    }
    let fields = [("rule", rule), ("place", place), ("cause", cause), ("remedy", remedy)];
    let wrong = fields.iter().find(|(field, words)| !text(first, field).contains(**words));
    wrong.map(|(field, words)| format!("{patient}: {field} without {words:?}: {first:#}"))
}

/// The programs that are traced attached, too.
pub fn attached() -> impl Iterator<Item = &'static Answer> {
    // The pool is another program, which ends by itself. In the chain, either lock can come first. The rest needs the calls of the
    // C library that the library notes.
    let is_apart = |patient: &str| matches!(patient, "pool" | "chain-computes" | "late" | "herd" | "polls");
    SLEEPING.iter().chain(&COMPUTING).filter(move |answer| !is_apart(answer.patient))
}

/// Returns the error in a diagnosis that may be weaker than the answer: another problem, or none.
pub fn contrary_to(record: &Value, answer: &Answer) -> Option<String> {
    /// Codes that say that the cause is not known.
    const WEAKER: [&str; 2] = ["unknown_holder", "several_causes"];
    let (parameters, findings) = (&record["parameters"], rows(record, "finding"));
    let verdict = text(parameters, "verdict");
    let is_it = |row: &&Value| text(row, "rule") == answer.rule || WEAKER.contains(&text(row, "rule"));
    let is_right = verdict == "undecided" || verdict == "locks" && findings.first().is_some_and(is_it);
    (!is_right).then(|| format!("{}: {parameters} {findings:#?}", answer.patient))
}

/// Returns the error in the verdict on a program without a problem, if there is one.
pub fn wrong_verdict(record: &Value, free: &Free) -> Option<String> {
    let (parameters, findings) = (&record["parameters"], rows(record, "finding"));
    let is_right = parameters["verdict"] == free.verdict
        && text(parameters, "verdict_reason").contains(free.reason)
        && (free.verdict != "not_locks" || findings.is_empty());
    (!is_right).then(|| format!("{}: {parameters} {findings:#?}", free.patient))
}
