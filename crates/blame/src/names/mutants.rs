//! Programs whose files were changed to do harm: readers of ELF files read or refuse them, and never hang or crash.
//! For tests only; the tests of the crates above include this file by its path.

use fastrand::Rng;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "#include <pthread.h>\n\
pthread_mutex_t one_lock = PTHREAD_MUTEX_INITIALIZER, locks[3];\n\
static inline __attribute__((always_inline)) int inner(int x) { pthread_mutex_lock(&one_lock); return x * 3; }\n\
int outer(int x) { int y = inner(x + 1); pthread_mutex_unlock(&one_lock); return y; }\n\
int main(int count, char **words) { return outer(count) + (words[0] == 0); }\n";

/// Returns a small program with debugging information; `None`, and it is said, where there is no compiler.
pub fn compiled(folder: &Path, flags: &[&str]) -> Option<Vec<u8>> {
    let (source, program) = (folder.join("small.c"), folder.join("small"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-pthread"]).args(flags).arg("-o").arg(&program).arg(&source);
    match compiler.output() {
        Ok(output) if output.status.success() => Some(std::fs::read(program).unwrap()),
        _ => {
            println!("skipped: needs cc with {flags:?}");
            None
        }
    }
}

/// Changes some bytes: anywhere, in the headers, or a word to one that is at an edge.
pub fn mutated(bytes: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let sections = usize::from_ne_bytes(*bytes[40..].first_chunk().unwrap());
    for _ in 0..random.usize(1..40) {
        let at = match random.u32(0..4) {
            0 => random.usize(16..64),
            1 => random.usize(sections..bytes.len() - 8),
            _ => random.usize(64..bytes.len() - 8),
        };
        match random.u32(0..3) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u32(0..8),
            _ => {
                let edges = [0, 1, u64::MAX, i64::MAX as u64, 1 << 31, 1 << 40, bytes.len() as u64];
                let (edge, width) =
                    (edges[random.usize(0..edges.len())].to_ne_bytes(), [1, 2, 4, 8][random.usize(0..4)]);
                bytes[at..at + width].copy_from_slice(&edge[..width]);
            }
        }
    }
    if random.u32(0..8) == 0 {
        bytes.truncate(random.usize(0..bytes.len()));
    }
    bytes
}
