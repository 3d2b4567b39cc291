//! The programs in C and C++, compiled here if a compiler is installed.
use std::{path::PathBuf, process::Command};

use crate::Outcome;

/// A program that prints the number of the thread that got the last token, and nanoseconds.
pub struct Program(PathBuf);

impl Program {
    /// Compiles a source of `benches/c`. Prints a line and returns `None` if there is no compiler for it.
    pub fn compile(compiler: &str, flags: &[&str], source: &str) -> Option<Self> {
        let binary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(source.replace('.', "-"));
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/c").join(source);
        match Command::new(compiler).args(flags).arg("-O2").arg(&source).arg("-o").arg(&binary).status() {
            Ok(status) if status.success() => Some(Self(binary)),
            _ => {
                println!("skipped: {} needs {compiler}", source.display());
                None
            }
        }
    }

    /// Runs it with these arguments, then threads and hops.
    pub fn run(&self, arguments: &[&str], threads: usize, hops: u32) -> Outcome {
        let numbers = [threads.to_string(), hops.to_string()];
        let output = Command::new(&self.0).args(arguments).args(&numbers).output().expect("the program runs");
        let text = String::from_utf8(output.stdout).expect("the program prints numbers");
        let (answer, ns) = text.trim().split_once(' ').expect("the program prints two numbers");
        Outcome { answer: answer.parse().expect("a thread's number"), ns: ns.parse().expect("nanoseconds") }
    }
}
