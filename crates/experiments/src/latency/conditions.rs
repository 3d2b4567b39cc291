//! The conditions of a configuration in words: the plan, the progress and every view take them from here.

use terminal::counted;

/// `2 threads, 1 competitor`: the threads that contend for the lock, and those that only compete for the CPU.
pub fn conditions(threads: usize, competitors: usize) -> String {
    match competitors {
        0 => counted(threads, "thread"),
        number => format!("{}, {}", counted(threads, "thread"), counted(number, "competitor")),
    }
}
