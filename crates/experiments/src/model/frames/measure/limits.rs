//! How large a table may become.

use chance::Limits;

/// Four million outcomes; some hundred megabytes while they are made.
pub const LIMITS: Limits = Limits { bytes: 64 << 20, paths: 100_000_000, draws: 10_000 };
