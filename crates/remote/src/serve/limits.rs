//! How much a server gives to whoever asks. Together with the number of connections they bound its memory.

use std::time::Duration;

/// A request's line and headers.
pub const HEAD_BYTES: usize = 16 << 10;
pub const HEADERS: usize = 64;
/// Until they have come, and between two requests.
pub const HEAD: Duration = Duration::from_secs(10);
/// Until a connection is encrypted.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// A pushed record, with all that is beside it.
pub const PUSH_BYTES: usize = 8 << 20;
/// Until it has come.
pub const PUSH: Duration = Duration::from_secs(30);
/// Pushes at once: of more, the sender is told to come again.
pub const PUSHES: usize = 4;
/// What wants the disk or a child process at once, and how long others wait for their turn.
pub const WORKERS: usize = 3;
pub const WORK: Duration = Duration::from_secs(20);
/// Threads for all that, listeners and files included.
pub const BLOCKING: usize = 16;
/// Bytes of all large answers that are on their way.
pub const ANSWERS_BYTES: usize = 64 << 20;
/// What is small has its room in that of its connection.
pub const SMALL_BYTES: usize = 128 << 10;
/// Until an answer has been taken: then it is cut.
pub const ANSWER: Duration = Duration::from_secs(120);
/// Without a byte of it.
pub const STALLED: Duration = Duration::from_secs(20);
/// Who listens to what runs, at once.
pub const LISTENERS: usize = 64;
/// Of a line of an experiment that runs.
pub const LINE_BYTES: usize = 16 << 10;
/// A page.
pub const PAGE_BYTES: u64 = 32 << 20;
pub const PAGE: Duration = Duration::from_secs(30);
/// What is being answered when the end is asked for has so long.
pub const DRAIN: Duration = Duration::from_secs(10);
