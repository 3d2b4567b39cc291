//! What both sides of a connection have to agree on.

/// A record with all that its name is the hash of; asked for by the header `accept`.
pub const WHOLE: &str = "application/vnd.contend.whole+json";
pub const JSON: &str = "application/json";
/// Server-sent events.
pub const EVENTS: &str = "text/event-stream";

/// Where a server listens, and a client looks, unless they are told otherwise.
pub const PORT: u16 = 8418;

/// The most bytes that are sent as one record, with all its text escaped: a record is JSON, and few of its bytes are.
pub const MOST_SENT: u64 = 3 * record::MOST_BYTES;
