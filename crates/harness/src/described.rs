//! What every part of a record can do, so that records have a schema.

/// Data whose JSON schema can be made from its type. That is compiled in for tests alone: a user's program has the
/// schema that they hold to the types, since making it is code for every type of every record.
#[cfg(feature = "schema")]
pub use schemars::JsonSchema as Described;

/// Any data: nobody asks here what it looks like.
#[cfg(not(feature = "schema"))]
pub trait Described {}

#[cfg(not(feature = "schema"))]
impl<T> Described for T {}
