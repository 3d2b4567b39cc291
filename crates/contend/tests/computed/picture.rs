//! Pictures as PNG: drawn by a separate program, from the SVG that contend writes, byte for byte.

use crate::command::executable;
use crate::command::stored::{Old, all};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A program that writes the signature of a PNG and then its input.
const ECHO: &str = "#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\n'\ncat\n";
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A directory with contend, which finds only the program that the test puts there.
struct Installed(TempDir);

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::hard_link(env!("CARGO_BIN_EXE_contend"), folder.path().join("contend")).unwrap();
        Self(folder)
    }

    fn with(script: &str) -> Self {
        let installed = Self::new();
        let file = installed.path("contend-png");
        executable(&file, script);
        installed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs contend with the picture written to this path, which is outside the directory if it begins with a slash.
    fn written(&self, arguments: &[&str], place: &str) -> Output {
        let mut command = Command::new(self.path("contend"));
        command.env("PATH", "/usr/bin:/bin").env("CONTEND_ARCHIVE", "");
        command.args(arguments).arg("--output").arg(self.path(place)).output().unwrap()
    }
}

fn old(experiment: &str) -> Old {
    all().into_iter().find(|old| old.experiment() == experiment).expect("there is one in tests/records")
}

/// Returns the reason why it was not written, with status 1 and nothing printed.
fn refusal(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{:?}: {stderr}", output.status);
    stderr
}

#[test]
fn png_is_drawn_from_the_written_svg() {
    let installed = Installed::with(ECHO);
    let (survey, latency) = (old("survey"), old("latency"));
    let title = ": locking";
    let page = Command::new(installed.path("contend")).arg("report").arg(&latency.path).output().unwrap().stdout;
    let page = String::from_utf8(page).unwrap();
    let end = page.find(title).expect("a histogram of locking") + title.len();
    let begin = page[..end].rfind(['>', '"']).unwrap() + 1;
    let calls = [
        vec!["ladder", survey.path.to_str().unwrap()],
        vec!["report", latency.path.to_str().unwrap(), "--picture", &page[begin..end]],
    ];
    for call in calls {
        for place in ["one.svg", "one.png"] {
            let output = installed.written(&call, place);
            assert!(output.status.success(), "{call:?} {place}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let [svg, png] = ["one.svg", "one.png"].map(|place| fs::read(installed.path(place)).unwrap());
        assert!(svg.starts_with(b"<svg ") && svg.len() > 2_000, "{call:?}");
        assert!(png == [SIGNATURE, &svg[..]].concat(), "{call:?}: the PNG is of another picture");
    }
}

#[test]
fn missing_png_program_is_reported_with_its_installation() {
    let installed = Installed::new();
    let stderr = refusal(&installed.written(&["ladder", old("survey").path.to_str().unwrap()], "one.png"));
    for word in ["one.png", "contend-png", "cargo install --locked --path crates/picture"] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    assert!(!installed.path("one.png").exists());
}

#[test]
fn unwritable_png_is_reported() {
    let installed = Installed::with(ECHO);
    let survey = old("survey");
    let call = ["ladder", survey.path.to_str().unwrap()];
    let stderr = refusal(&installed.written(&call, "missing/one.png"));
    assert!(stderr.contains("missing/one.png") && stderr.contains("does not exist"), "{stderr}");
    std::os::unix::fs::symlink("/dev/full", installed.path("full.png")).unwrap();
    let stderr = refusal(&installed.written(&call, "full.png"));
    assert!(stderr.contains("full.png: cannot write the file"), "{stderr}");
}

/// However the program fails, the old picture stays.
#[test]
fn failing_png_program_is_reported_and_old_picture_stays() {
    let survey = old("survey");
    let ends = [
        ("#!/bin/sh\necho 'error: no letters' >&2\nexit 1\n", "no letters"),
        ("#!/bin/sh\nkill -9 $$\n", "signal: 9"),
        ("#!/bin/sh\ncat >/dev/null\necho text\n", "did not produce a PNG"),
    ];
    for (script, message) in ends {
        let installed = Installed::with(script);
        fs::write(installed.path("one.png"), "old").unwrap();
        let stderr = refusal(&installed.written(&["ladder", survey.path.to_str().unwrap()], "one.png"));
        assert!(stderr.contains("contend-png") && stderr.contains(message), "{message}: {stderr}");
        assert_eq!(fs::read(installed.path("one.png")).unwrap(), b"old");
        assert_eq!(fs::read_dir(installed.0.path()).unwrap().count(), 3, "a draft is left");
    }
}
