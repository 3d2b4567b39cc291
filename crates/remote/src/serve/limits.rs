//! The resources that a server gives to its clients. Together with the number of connections they bound its memory.

use std::time::Duration;

/// The maximum size of a request's line and headers.
pub const HEAD_BYTES: usize = 16 << 10;
pub const HEADERS: usize = 64;
/// The time limit for the head of a request, and for the pause between two.
pub const HEAD: Duration = Duration::from_secs(10);
/// The time limit for the handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// The maximum size of a pushed record, with its commit and manifest.
pub const PUSH_BYTES: usize = 8 << 20;
/// The time limit for a pushed record.
pub const PUSH: Duration = Duration::from_secs(30);
/// The maximum number of concurrent pushes; senders of further ones have to retry.
pub const PUSHES: usize = 4;
/// The number of concurrent uses of the disk or a child process, and the time limit of waiting for one.
pub const WORKERS: usize = 3;
pub const WORK: Duration = Duration::from_secs(20);
/// The number of threads for these, with listeners and files.
pub const BLOCKING: usize = 16;
/// The maximum size of all large answers that are being sent.
pub const ANSWERS_BYTES: usize = 64 << 20;
/// The size up to which an answer is counted with its connection.
pub const SMALL_BYTES: usize = 128 << 10;
/// The time limit for reading an answer, after which the connection is closed.
pub const ANSWER: Duration = Duration::from_secs(120);
/// The time limit without progress.
pub const STALLED: Duration = Duration::from_secs(20);
/// The maximum number of concurrent listeners of the feed.
pub const LISTENERS: usize = 64;
/// The maximum length of an experiment's output line.
pub const LINE_BYTES: usize = 16 << 10;
/// The maximum size of a page.
pub const PAGE_BYTES: u64 = 32 << 20;
pub const PAGE: Duration = Duration::from_secs(30);
/// The time limit for requests that are being answered at the end.
pub const DRAIN: Duration = Duration::from_secs(10);
