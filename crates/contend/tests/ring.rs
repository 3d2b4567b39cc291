//! `contend ring` through its binary.

mod command;

use command::{contend, read, record, results};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

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

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

/// The rows of contestants, without the limits.
fn contestants(record: &Value) -> Vec<&Value> {
    results(record).iter().filter(|row| row["class"] != "limit").collect()
}

fn row<'a>(record: &'a Value, contestant: &str) -> &'a Value {
    let found = results(record).iter().find(|row| row["contestant"] == contestant && row["large"] == false);
    found.unwrap_or_else(|| panic!("{contestant} has no row"))
}

/// As short as it gets: every cell has one turn.
fn quick<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["ring", "--seconds", "0.1"], arguments].concat()
}

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
    // How much is the machine's account, in which other tests show.
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

/// In reverse order a hop costs a round of 503, of which the token's thread and its next are not in vain.
#[test]
fn the_order_of_polling_matters_and_that_of_a_queue_does_not() {
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
fn contestants_in_c_are_built_and_right() {
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
    // 2008's line stands beside it.
    assert_eq!(row(&record, "c-pthread-mutex")["then"][0]["time_s"], 28.7);
}

/// A folder with a recipe and one script, run by `sh`.
fn shell_contestant(name: &str, script: &str, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let recipe = format!(
        "language = \"Shell\"\nclass = \"mailbox\"\nscheduler = \"runtime\"\ntools = \"sh\"\npackage = \"dash\"\n\
         run = \"{{tool}} {{out}}/ring.sh\"\nns_per_hop = 1000\nmax_threads = 2000\n{more}\n[[contestant]]\nname = \"{name}\"\n"
    );
    std::fs::write(folder.path().join("recipe.toml"), recipe).unwrap();
    std::fs::write(folder.path().join("ring.sh"), script).unwrap();
    folder
}

fn with_recipe(folder: &Path, arguments: &[&str]) -> Output {
    let folder = folder.to_str().unwrap();
    contend(&quick(
        &[&["--recipe", folder, "--large", "0", "--placement", "free", "--format", "json", "--quiet"], arguments]
            .concat(),
    ))
}

#[test]
fn a_contestant_that_fails_is_reported_and_fails_the_run() {
    let right = "echo $(($2 % $1 + 1))";
    let cases: [Failing; 9] = [
        ("sh-crash", "echo no more chairs >&2; exit 3", "", "crashed", "no more chairs"),
        ("sh-killed", "kill -9 $$", "", "crashed", "signal 9"),
        ("sh-garbage", "echo thread number one", "", "garbage", "thread number one"),
        ("sh-silent", "exit 0", "", "garbage", "not the number"),
        ("sh-wrong", "echo 77", "", "wrong_thread", "77 instead of"),
        (
            "sh-sometimes-wrong",
            "if [ $2 -gt 9 ]; then echo 5; else echo $(($2 % $1 + 1)); fi",
            "",
            "wrong_thread",
            "5 instead of",
        ),
        ("sh-hang", "sleep 600", "", "hung", "--timeout"),
        ("sh-closed-and-hangs", "exec >&- 2>&-; sleep 600", "", "hung", "--timeout"),
        ("sh-unbuilt", right, "build = \"{tool} no-such-file\"", "not_built", "no-such-file"),
    ];
    // Those that hang are waited for, which a CPU has time for.
    for some in cases.chunks(3) {
        std::thread::scope(|scope| some.iter().for_each(|case| drop(scope.spawn(|| assert_is_reported(case)))));
    }
}

/// A name, a script, more of the recipe, the fault, and a word of what is said.
type Failing = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn assert_is_reported(&(name, script, more, fault, word): &Failing) {
    let folder = shell_contestant(name, script, more);
    let contestants = format!("{name},rust-fifo");
    let output = with_recipe(folder.path(), &["--contestant", &contestants, "--timeout", "2s", "--no-memory"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{name}: {stderr}");
    assert!(stderr.contains(name) && stderr.contains(word), "{name}: {stderr}");
    let record = read(&output.stdout);
    let failed = row(&record, name);
    assert!(
        failed["failure"]["fault"] == fault && failed["correct"] == false && failed["ns_per_hop"].is_null(),
        "{failed}"
    );
    assert!(row(&record, "rust-fifo")["correct"] == true, "the others are measured");
}

/// Sleeping for as many microseconds as hops, it has a time that is known.
#[test]
fn the_start_of_a_program_is_no_part_of_its_hops() {
    let script = "sleep 0.3; sleep $(($2 / 1000000)).$(printf %06d $(($2 % 1000000))); echo $(($2 % $1 + 1))";
    let folder = shell_contestant("sh-sleeper", script, "");
    let output = with_recipe(folder.path(), &["--contestant", "sh-sleeper", "--hops", "700000"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = read(&output.stdout);
    let row = row(&record, "sh-sleeper");
    // Never less: a sleep is not shorter than asked for. How much more is up to the machine.
    assert!(number(row, "start_ms") >= 300.0, "{row}");
    assert!((500.0..3_000.0).contains(&number(row, "ns_per_hop")), "{row}");
    assert!(number(row, "rss_kib") > 100.0, "{row}");
}

#[test]
fn what_is_not_here_is_listed_with_its_package() {
    let folder = tempfile::tempdir().unwrap();
    // What is relative on the path leads nowhere either, though there is a program of that name.
    let program = folder.path().join("lua5.4");
    std::fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let nothing_on_the_path = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_contend"))
            .env("CONTEND_ARCHIVE", "")
            .args(arguments)
            .current_dir(folder.path())
            .env("PATH", ".")
            .output()
            .unwrap()
    };
    let list = nothing_on_the_path(&["ring", "--list"]);
    let text = String::from_utf8(list.stdout).unwrap();
    let line =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(line("lua-coroutines").ends_with("no") && line("rust-fifo").ends_with("yes"), "{text}");
    assert!(text.lines().any(|line| line == "lua-coroutines needs apt package lua5.4"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let arguments = quick(&["--contestant", "rust-fifo,lua-coroutines", "--large", "0", "--no-memory"]);
    let output = nothing_on_the_path(&arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("lua-coroutines needs apt package lua5.4"), "{text}");
    let alone = nothing_on_the_path(&quick(&["--contestant", "lua-coroutines"]));
    assert_eq!(alone.status.code(), Some(1));
    assert!(String::from_utf8(alone.stderr).unwrap().contains("--list"));
}

#[test]
fn classes_are_compared_apart_unless_asked_and_tables_fit_eighty_columns() {
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

#[test]
fn wrong_flags_exit_with_2_and_say_what_is_allowed() {
    let nowhere = tempfile::tempdir().unwrap();
    let nowhere = nowhere.path().to_str().unwrap();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["--contestant", "cobol"], 2, &["--contestant cobol", "--list"]),
        (&["--class", "postbox"], 2, &["--class", "postbox", "mailbox", "os-block"]),
        (&["--class", "limit"], 2, &["--class", "limit"]),
        (&["--class", "channel", "--contestant", "rust-fifo"], 2, &["--class"]),
        (&["--threads", "0"], 2, &["--threads", "0", "from 1 to 10000000"]),
        (&["--hops", "-1"], 2, &["-1"]),
        (&["--hops", "9000000000"], 2, &["--hops", "4000000000"]),
        (&["--contestant", "rust-futex", "--threads", "20000"], 2, &["rust-futex", "10000", "20000"]),
        (&["--contestant", "rust-futex", "--hops", "4000000000"], 2, &["rust-futex", "--timeout"]),
        (&["--placement", "there"], 2, &["--placement", "pinned"]),
        (&["--timeout", "0"], 2, &["--timeout", "more than 0"]),
        (&["--alone", "rust-fifo", "3", "x"], 2, &["--alone", "x"]),
        (&["--recipe", "/no/such/folder"], 1, &["--recipe", "/no/such/folder"]),
        (&["--recipe", nowhere], 1, &["--recipe", "recipe.toml"]),
    ];
    for (arguments, status, words) in cases {
        let output = contend(&[&["ring"], *arguments].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*status), "{arguments:?}: {stderr}");
        words.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}: {stderr}"));
        assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn a_built_in_contestant_can_be_a_program_too() {
    let output = contend(&["ring", "--alone", "rust-async-fifo", "503", "1000"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", 1000 % 503 + 1));
}

/// Starts a run whose contestant sleeps and says who it is; ends it with a signal; looks at what is left.
fn ended_by(signal: Signal, script_is_build: bool) -> (Option<i32>, Vec<std::path::PathBuf>, bool) {
    let place = tempfile::tempdir().unwrap();
    let (pid_file, temporary) = (place.path().join("pid"), place.path().join("tmp"));
    std::fs::create_dir(&temporary).unwrap();
    // A child of its own, which must go too.
    let script = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", pid_file.display());
    let build = if script_is_build { "build = \"{tool} {out}/ring.sh\"" } else { "" };
    let folder = shell_contestant("sh-sleeper", &script, build);
    let mut child = Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(["ring", "--contestant", "sh-sleeper", "--timeout", "60s", "--recipe", folder.path().to_str().unwrap()])
        .env("TMPDIR", &temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until(|| pid_file.exists(), "the contestant runs");
    let grandchild = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let status = child.wait().unwrap().code();
    let left = std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
    let gone = || !lives(grandchild);
    for _ in 0..100 {
        if gone() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let gone = gone();
    if !gone {
        let _ = kill_process(Pid::from_raw(grandchild).unwrap(), Signal::KILL);
    }
    (status, left, gone)
}

fn until(mut done: impl FnMut() -> bool, what: &str) {
    for _ in 0..1_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never: {what}");
}

/// A zombie does not live; whoever inherits it will wait for it.
fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let zombie = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    test_kill_process(Pid::from_raw(pid).unwrap()).is_ok() && !zombie
}

#[test]
fn an_interrupted_run_leaves_no_program_and_no_folder() {
    command::heard::interrupts();
    for script_is_build in [false, true] {
        for signal in [Signal::INT, Signal::TERM] {
            let (status, left, gone) = ended_by(signal, script_is_build);
            assert_eq!(status, Some(130), "build: {script_is_build}");
            assert!(left.is_empty() && gone, "build: {script_is_build}, left {left:?}, gone: {gone}");
        }
    }
}

#[test]
fn csv_has_a_line_for_each_row() {
    let output =
        contend(&quick(&["--contestant", "rust-fifo", "--large", "0", "--no-memory", "--format", "csv", "--quiet"]));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.lines().next().unwrap().starts_with("contestant,class,scheduler,threads,hops,answer,correct"),
        "{text}"
    );
    assert!(text.lines().filter(|line| line.starts_with("rust-fifo,mailbox,fifo,503,")).count() == 2, "{text}");
}

/// The place where a contestant is built is nobody else's, whatever the umask; a compiler's files go there, and its
/// children with it.
#[test]
fn a_build_that_is_killed_leaves_no_process_and_its_folder_is_private() {
    let notes = tempfile::tempdir().unwrap();
    let place = notes.path().display();
    let script = format!(
        "if test $# = 0; then stat -c '%a %n' \"$TMPDIR\" >{place}/folder; sleep 300 & echo $! >{place}/new; \
         mv {place}/new {place}/pid; wait; fi\n"
    );
    let recipe = shell_contestant("sh-slow", &script, "build = \"{tool} {out}/ring.sh\"");
    let contend = env!("CARGO_BIN_EXE_contend");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 0; exec \"$@\"", "sh", contend, "ring", "--contestant", "sh-slow", "--large", "0"]);
    command.args(["--no-memory", "--quiet", "--recipe", recipe.path().to_str().unwrap()]);
    let mut child = command.env("CONTEND_ARCHIVE", "").env("TMPDIR", notes.path()).spawn().unwrap();
    let waits = |what: &dyn Fn() -> bool| {
        (0..600).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            what()
        })
    };
    let begun = waits(&|| notes.path().join("pid").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(begun, "it builds");
    let folder = std::fs::read_to_string(notes.path().join("folder")).unwrap();
    assert!(folder.starts_with(&format!("700 {place}/contend-ring-")), "{folder}");
    let pid = std::fs::read_to_string(notes.path().join("pid")).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    let has_ended = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    assert!(waits(&has_ended), "the compiler's child {pid} still runs");
}
