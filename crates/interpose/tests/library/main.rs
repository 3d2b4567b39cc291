//! The library in programs of all kinds: they do the same as without it, and their calls are counted. C programs are
//! compiled here and run with the library.

mod counts;
mod kinds;
mod programs;
mod wrappers;

use interpose::{Level, Memory, PLACE, Pair};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HEAD: &str = "#define _GNU_SOURCE\n#include <errno.h>\n#include <pthread.h>\n#include <semaphore.h>\n\
    #include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <threads.h>\n\
    #include <time.h>\n#include <unistd.h>\n#include <sys/wait.h>\n#define CHECK(x) do { if (!(x)) { \
    fprintf(stderr, \"line %d: %s\\n\", __LINE__, #x); _exit(9); } } while (0)\n";

fn run(body: &str, level: Level) -> Option<Watched> {
    watched(&[HEAD, body].concat(), level)
}

/// A program that ran, and the data recorded of it.
struct Watched {
    memory: Memory,
    output: Output,
}

/// Compiles a program; prints a note and returns `None` where there is no compiler.
fn compiled(folder: &tempfile::TempDir, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let (text, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&text, source).unwrap();
    let mut compiler = Command::new("cc");
    let Ok(output) = compiler.arg("-o").arg(&program).arg(&text).args(["-g", "-O1", "-pthread"]).args(flags).output()
    else {
        println!("skipped: needs cc");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// Runs a program with the library at this level.
fn watched(source: &str, level: Level) -> Option<Watched> {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, source, &[])?;
    Some(run_with(program, Memory::new(level, None).unwrap(), None))
}

/// Runs a program with the library, and another behind it.
fn run_with(program: PathBuf, memory: Memory, behind: Option<&Path>) -> Watched {
    let (_library, library) = Memory::library().unwrap();
    let libraries = behind.map_or(library.clone(), |behind| format!("{library}:{}", behind.display()));
    let output = Command::new(program).env("LD_PRELOAD", libraries).env(PLACE, memory.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("ld.so"), "{stderr}");
    Watched { memory, output }
}

impl Watched {
    /// Returns a sum over all counts.
    fn sum(&self, of: impl Fn(&Pair) -> u64) -> u64 {
        self.memory.region().pairs().map(|(_, pair)| of(pair)).sum()
    }

    fn acquisitions(&self) -> u64 {
        let region = self.memory.region();
        region.pairs().map(|(place, _)| region.acquisitions(place)).sum()
    }

    /// Returns the numbers that the program printed.
    fn said(&self) -> Vec<u64> {
        let text = String::from_utf8_lossy(&self.output.stdout).into_owned();
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    }

    fn ended_well(&self) {
        assert!(self.output.status.success(), "{:?}", self.output);
    }
}
