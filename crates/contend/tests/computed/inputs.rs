//! The page of bad and guessed inputs (`docs/validation/inputs.md`): each input is typed into a shell, and has the
//! answer of the page.
//!
//! `CONTEND_RENEW=1 cargo test -p contend --test computed inputs` writes the answers again. `…` in an answer
//! matches any text, such as the number of CPUs of a machine; an answer that still fits is left as it is.

use crate::command::stored;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// The mark of a row that measures: its answer is only the exit status.
const MEASURES: &str = "(measures)";

/// A row of the page.
struct Row {
    /// The index of its line.
    line: usize,
    input: String,
    status: i32,
    answer: String,
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation/inputs.md")
}

/// Returns the rows of the page.
///
/// A row has an input, an exit status and an answer. The first and the last are code spans of two backticks, since they
/// contain backticks themselves.
fn rows(text: &str) -> Vec<Row> {
    let row = |(line, text): (usize, &str)| {
        let mut cells = text.strip_prefix("| `` ")?.split(" `` |");
        let (input, rest) = (cells.next()?, cells.next()?);
        let (status, answer) = rest.trim().split_once(" | `` ").unwrap_or((rest.trim().trim_end_matches(" |"), ""));
        let plain = |cell: &str| cell.replace("\\|", "|");
        Some(Row { line, input: plain(input), status: status.parse().ok()?, answer: plain(answer) })
    };
    text.lines().enumerate().filter_map(row).collect()
}

impl Row {
    fn of_line(&self) -> String {
        let escaped = |text: &str| text.replace('|', "\\|");
        format!("| `` {} `` | {} | `` {} `` |", escaped(&self.input), self.status, escaped(&self.answer))
    }

    fn measures(&self) -> bool {
        self.answer == MEASURES
    }

    fn needs_root(&self) -> bool {
        self.input.starts_with("unprivileged ")
    }
}

/// Returns whether a text fits an answer in which `…` stands for any text.
fn fits(answer: &str, text: &str) -> bool {
    let mut pieces = answer.split('…');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// A directory with the files that the page describes.
struct Scene(TempDir);

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let record = |name: &str| stored::all().into_iter().find(|old| old.name() == name).unwrap().content;
        let latency = record("latency");
        for name in ["home", "directory", "readonly", "with space", "bin"] {
            fs::create_dir(at(name)).unwrap();
        }
        let written = [
            ("record.json", latency.clone()),
            ("noise.json", record("noise")),
            ("secret.json", latency.clone()),
            ("with space/a record.json", latency.clone()),
            ("cut.json", latency[..latency.len() / 2].to_owned()),
            ("bom.json", format!("\u{feff}{latency}")),
            ("future.json", latency.replacen("contend/1", "contend/9", 1)),
            ("empty.json", String::new()),
            ("foreign.json", "{\"name\": \"x\"}\n".to_owned()),
            ("list.json", "[1, 2]\n".to_owned()),
            ("notes.txt", "mine\n".to_owned()),
            ("server", "#!/bin/sh\nexit 0\n".to_owned()),
            (
                "bin/unprivileged",
                "#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"\n".to_owned(),
            ),
        ];
        written.iter().for_each(|(name, content)| fs::write(at(name), content).unwrap());
        fs::write(at("binary.json"), [0, 159, 146, 150, 255, 10, 0]).unwrap();
        let mode = |name: &str, mode| fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        [("server", 0o755), ("bin/unprivileged", 0o755), ("secret.json", 0o600), ("readonly", 0o555)]
            .into_iter()
            .for_each(|(name, bits)| mode(name, bits));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let scene = Self(folder);
        // The quickest of records: computed, not measured.
        for _ in 0..2 {
            let (status, _) = scene.typed("contend model frames --frame 1ms --quantum 1ms --quiet");
            assert_eq!(status, 0);
        }
        scene
    }

    /// Types a line into a shell; returns the exit status and the answer.
    fn typed(&self, line: &str) -> (i32, String) {
        let at = |name: &str| self.0.path().join(name);
        let own = Path::new(env!("CARGO_BIN_EXE_contend")).parent().unwrap();
        let mut shell = Command::new("bash");
        shell.args(["-c", line]).current_dir(self.0.path()).stdin(Stdio::null()).env_clear();
        shell.env("PATH", format!("{}:{}:/usr/bin:/bin", own.display(), at("bin").display()));
        shell.env("HOME", at("home")).env("CONTEND_ARCHIVE", at("archive.git")).env("TERM", "xterm");
        // Another test may have opened a file that programs inherit, and one input limits the number of files.
        let close_inherited = || {
            // SAFETY: `close_range` takes three numbers; with this flag, it marks descriptors and closes none.
            unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
            Ok(())
        };
        // SAFETY: between fork and exec the closure makes one system call, allocates nothing and takes no lock.
        unsafe { shell.pre_exec(close_inherited) };
        let output = shell.output().expect("bash");
        let is_refused = output.status.code() == Some(2);
        assert!(!is_refused || output.stdout.is_empty(), "{line} is refused, and prints something");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&self.0.path().display().to_string(), "DIR");
        (output.status.code().unwrap_or(-1), answer(&text(&output.stdout), &text(&output.stderr)))
    }
}

/// Returns the answer: the message on standard error without the usage, or else the first line of the output.
fn answer(stdout: &str, stderr: &str) -> String {
    let message: Vec<&str> = stderr.lines().take_while(|line| !line.starts_with("Usage: ")).collect();
    let joined = message.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let joined = joined.split(" For more information, try").next().unwrap_or_default().to_owned();
    let first = || stdout.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    if joined.is_empty() { first() } else { joined }
}

/// Types all of these inputs, several at once.
fn typed<'a>(scene: &Scene, rows: &[&'a Row]) -> Vec<(&'a Row, i32, String)> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (status, answer) = scene.typed(&row.input);
                    found.lock().unwrap().push((*row, status, answer));
                }
            });
        }
    });
    found.into_inner().unwrap()
}

#[test]
fn inputs_have_the_answers_of_the_page() {
    let text = fs::read_to_string(page()).unwrap();
    let all = rows(&text);
    assert!(all.len() >= 200, "the page has only {} inputs", all.len());
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped in part: needs root, to become an unprivileged user");
    }
    let scene = Scene::new();
    // An input that measures saves a record, so it comes after those that name one.
    let is_typed = |row: &&Row| is_root || !row.needs_root();
    let (last, first): (Vec<&Row>, Vec<&Row>) = all.iter().filter(is_typed).partition(|row| row.measures());
    let found = [first, last].iter().flat_map(|rows| typed(&scene, rows)).collect::<Vec<_>>();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut wrong = Vec::new();
    for (row, status, answer) in found {
        assert!(!answer.contains("panicked"), "{}: {answer}", row.input);
        let fits = row.measures() || fits(&row.answer, &answer);
        if fits && status == row.status {
            continue;
        }
        let answer = if row.measures() { MEASURES.to_owned() } else { answer };
        let now = Row { status, answer, line: row.line, input: row.input.clone() };
        wrong.push(format!("{}\n  now {}: {}", row.of_line(), now.status, now.answer));
        lines[row.line] = now.of_line();
    }
    if std::env::var_os("CONTEND_RENEW").is_some() {
        fs::write(page(), lines.join("\n") + "\n").unwrap();
    } else {
        assert!(wrong.is_empty(), "CONTEND_RENEW=1 writes the page again:\n{}", wrong.join("\n"));
    }
}

#[test]
fn an_ellipsis_in_an_answer_stands_for_any_text() {
    assert!(fits("CPU … does not exist (online: …)", "CPU 4095 does not exist (online: 0-1)"));
    assert!(fits("a", "a") && fits("…", "") && fits("a…", "ab"));
    assert!(!fits("a", "ab") && !fits("a…c", "ab") && !fits("a…b…b", "ab"));
}
