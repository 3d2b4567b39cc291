//! The definitions that both sides of a connection share.

/// The media type of a record with all objects that its name is the hash of; requested by the header `accept`.
pub const WHOLE: &str = "application/vnd.contend.whole+json";
pub const JSON: &str = "application/json";
/// The media type of server-sent events.
pub const EVENTS: &str = "text/event-stream";

/// The default port of servers and clients.
pub const PORT: u16 = 8418;

/// The maximum number of bytes that are sent as one record, with all its text escaped: a record is JSON, and few of its
/// bytes need escapes.
pub const MOST_SENT: u64 = 3 * record::MOST_BYTES;
