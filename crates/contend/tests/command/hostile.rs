//! Invariants of every reader, for any input.

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The memory that a reader may allocate.
const MEMORY: u64 = 500 << 20;
/// The time limit of a reader. A hang is one at any speed of the machine.
const PATIENCE: Duration = Duration::from_secs(300);
/// The variable with the numbers of the mutants that a test tries (`0..10000`).
const MORE: &str = "CONTEND_TEST_MUTANTS";
/// The number without that variable.
const USUAL: usize = 48;

/// The mutants that are tried.
pub struct Tries {
    end: usize,
    /// The number of the next one.
    pub next: usize,
    /// The failures, each with its mutant.
    wrong: Vec<String>,
}

/// The maximum number of failures after which the test ends.
const MOST_WRONG: usize = 40;

impl Tries {
    pub fn begin() -> Self {
        let range = std::env::var(MORE).unwrap_or_else(|_| format!("0..{USUAL}"));
        let (from, to) = range.split_once("..").expect("two numbers with .. between them");
        Self { end: to.parse().unwrap(), next: from.parse().unwrap(), wrong: Vec::new() }
    }

    /// Runs a command on a mutant, and notes a failure.
    pub fn run(&mut self, mutant: usize, command: &mut Command) -> Output {
        let (output, wrong) = ran(command);
        let arguments: Vec<_> = command.get_args().collect();
        self.wrong.extend(wrong.map(|wrong| format!("mutant {mutant}, {arguments:?}: {wrong}")));
        output
    }

    /// Asserts that nothing failed.
    pub fn conclude(&self, what: &str) {
        println!("mutants of {what} up to {}: {} went wrong", self.next, self.wrong.len());
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }

    /// Returns whether another batch is to be tried.
    pub fn go_on(&self) -> bool {
        self.wrong.len() < MOST_WRONG && self.next < self.end
    }
}

/// Runs the command; returns its output and the failure, if any: a panic, a signal, too much time or memory, or a
/// control character on stdout or stderr.
fn ran(command: &mut Command) -> (Output, Option<String>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let limit = rustix::process::Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::prlimit(Some(pid), rustix::process::Resource::Data, limit).unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (status, stdout, stderr) = std::thread::scope(|scope| {
        let stdout = scope.spawn(move || whole(&mut stdout));
        let stderr = scope.spawn(move || whole(&mut stderr));
        let began = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if began.elapsed() > PATIENCE => child.kill().unwrap(),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        (status, stdout.join().unwrap(), stderr.join().unwrap())
    });
    let output = Output { status, stdout, stderr };
    let wrong = wrong(&output);
    (output, wrong)
}

fn whole(pipe: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).unwrap();
    bytes
}

fn wrong(output: &Output) -> Option<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !matches!(output.status.code(), Some(0..=3)) || stderr.contains("panicked") {
        return Some(format!("{}: {stderr}", output.status));
    }
    let obeyed = [&output.stdout, &output.stderr].into_iter().find_map(|output_text| {
        let output_text = String::from_utf8_lossy(output_text);
        let (place, character) = output_text.char_indices().find(|(_, character)| is_obeyed(*character))?;
        let before: String =
            output_text[..place].chars().rev().take(60).collect::<Vec<char>>().into_iter().rev().collect();
        Some(format!("{character:?} after {before:?}"))
    });
    obeyed.map(|what| format!("a terminal obeys {what}"))
}

/// Returns whether a terminal obeys the character: control characters except line end and tabulator, and characters
/// that change the direction of text.
fn is_obeyed(character: char) -> bool {
    let is_control = character.is_control() && !matches!(character, '\n' | '\t');
    let turns =
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_control || turns
}
