//! The values of each contestant, and how they are shown.

use super::{contestants, number, quick, row, shell_contestant, with_recipe};
use crate::command::{contend, read, record, results};
use std::process::Command;

const FIELDS: &[&str] = &[
    "contestant",
    "class",
    "scheduler",
    "threads",
    "hops",
    "answer",
    "correct",
    "failure",
    "ns_per_hop",
    "ns_per_hop_ci",
    "times_limit",
    "limit",
    "limit_ns",
    "rss_kib",
    "bytes_per_thread",
    "kernel_bytes_per_thread",
    "wasted_polls_per_hop",
    "voluntary_switches_per_hop",
    "involuntary_switches_per_hop",
    "steal_share",
    "pinned",
    "start_ms",
    "then",
];

#[test]
fn the_record_has_every_field_and_the_limits() {
    let record = record(&quick(&["--contestant", "rust-fifo,rust-futex", "--large", "2000"]));
    assert_eq!(record["experiment"], "ring");
    for row in results(&record) {
        FIELDS.iter().for_each(|field| assert!(row.get(field).is_some(), "{field} is missing in {row}"));
        assert!(row["correct"] == true && number(row, "ns_per_hop") > 0.0, "{row}");
    }
    for row in contestants(&record) {
        assert!(number(row, "limit_ns") > 0.0 && number(row, "times_limit") > 0.0, "{row}");
        assert!(number(row, "threads") == if row["large"] == true { 2000.0 } else { 503.0 }, "{row}");
    }
    // Pinned and free; and the large ring in order and shuffled.
    assert_eq!(contestants(&record).len(), 2 * 2 + 2);
    let limits = ["chase", "system-call", "sched-yield-one-cpu", "futex-one-cpu", "eventfd-one-cpu", "pipe-one-cpu"];
    limits.iter().for_each(|limit| assert_eq!(row(&record, limit)["class"], "limit"));
    let (stackless, kernel) = (row(&record, "rust-fifo"), row(&record, "rust-futex"));
    assert!(stackless["limit"] == "chase" && stackless["kernel_bytes_per_thread"].is_null(), "{stackless}");
    assert!(kernel["limit"].as_str().unwrap().starts_with("futex-"), "{kernel}");
    // The amount is the whole machine's, so other tests affect it.
    for part in ["kernel_bytes_per_thread", "kernel_stack_bytes_per_thread", "slab_bytes_per_thread"] {
        assert!(number(kernel, part) >= 0.0, "{kernel}");
    }
    assert!(number(stackless, "bytes_per_thread") < 200.0, "{stackless}");
}

#[test]
fn every_answer_is_hops_mod_threads_plus_1() {
    for hops in ["0", "1", "5033"] {
        let record = record(&quick(&[
            "--no-memory",
            "--large",
            "0",
            "--threads",
            "1,2,503,1000",
            "--hops",
            hops,
            "--contestant",
            "rust-optimum,rust-fifo-backward,rust-async-run-next,rust-waker-fifo,rust-corosensei,tokio-notify,tokio-channel-workers,rust-park,rust-pipe",
        ]));
        let rows = contestants(&record);
        assert_eq!(rows.len(), 9 * 4 * 2);
        for row in rows {
            let (hops, threads) = (row["hops"].as_u64().unwrap(), row["threads"].as_u64().unwrap());
            assert_eq!(row["answer"].as_u64(), Some(hops % threads + 1), "{row}");
            assert!(row["correct"] == true && (hops > 0 || row["ns_per_hop"].is_null()), "{row}");
        }
    }
}

/// In reverse order a hop costs a pass over 503 threads, of which only the token's thread and its successor can run.
#[test]
fn polling_order_matters_and_queue_order_does_not() {
    let record = record(&quick(&[
        "--no-memory",
        "--large",
        "0",
        "--class",
        "mailbox",
        "--placement",
        "pinned",
        "--contestant",
        "rust-optimum,rust-pessimum,rust-fifo,rust-fifo-backward,rust-async-pessimum",
    ]));
    let time = |contestant| number(row(&record, contestant), "ns_per_hop");
    assert!(time("rust-pessimum") > 20.0 * time("rust-optimum"), "{record}");
    for (contestant, wasted) in
        [("rust-pessimum", 501.0), ("rust-async-pessimum", 501.0), ("rust-fifo", 0.0), ("rust-fifo-backward", 0.0)]
    {
        let seen = number(row(&record, contestant), "wasted_polls_per_hop");
        assert!((seen - wasted).abs() < 5.0, "{contestant}: {seen}");
    }
}

#[test]
fn contestants_in_c_are_built_and_correct() {
    if Command::new("cc").arg("--version").output().is_err() {
        return eprintln!("skipped: needs cc");
    }
    let record = record(&quick(&[
        "--contestant",
        "c-protothreads-queue,c-pthread-mutex",
        "--hops",
        "5031",
        "--large",
        "0",
        "--no-memory",
    ]));
    for row in contestants(&record) {
        assert_eq!(row["answer"], 2, "{row}");
    }
    // The value of 2008 is in the same row.
    assert_eq!(row(&record, "c-pthread-mutex")["then"][0]["time_s"], 28.7);
}

/// It sleeps for as many microseconds as hops, so its time is known.
#[test]
fn start_of_a_program_is_excluded_from_its_hops() {
    let script = "sleep 0.3; sleep $(($2 / 1000000)).$(printf %06d $(($2 % 1000000))); echo $(($2 % $1 + 1))";
    let folder = shell_contestant("sh-sleeper", script, "");
    let output = with_recipe(folder.path(), &["--contestant", "sh-sleeper", "--hops", "700000"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = read(&output.stdout);
    let row = row(&record, "sh-sleeper");
    // Never less: a sleep is not shorter than requested. The excess depends on the machine.
    assert!(number(row, "start_ms") >= 300.0, "{row}");
    assert!((500.0..3_000.0).contains(&number(row, "ns_per_hop")), "{row}");
    assert!(number(row, "rss_kib") > 100.0, "{row}");
}

#[test]
fn classes_have_separate_tables_unless_requested() {
    let arguments =
        ["--contestant", "rust-fifo,rust-async-pessimum,tokio-channel,rust-futex", "--large", "1000", "--quiet"];
    let show = |more: &[&str]| {
        let output = contend(&quick(&[&arguments, more].concat()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (apart, together) = (show(&[]), show(&["--across-classes"]));
    for text in [&apart, &together] {
        assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{text}");
        assert!(text.contains("Limits") && text.contains("1,000 threads, in order and shuffled"), "{text}");
    }
    assert_eq!(apart.matches("503 threads:").count(), 3, "{apart}");
    assert_eq!(together.matches("503 threads:").count(), 1, "{together}");
}
