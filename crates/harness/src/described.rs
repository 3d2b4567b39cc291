//! The trait of every part of a record, so that records have a schema.

/// Data whose JSON schema can be made from its type.
///
/// It is compiled for tests only, since it generates code for every type of every record. A user's program contains the
/// schema, which the tests compare with the types.
#[cfg(feature = "schema")]
pub use schemars::JsonSchema as Described;

/// Any data: no schema is generated here.
#[cfg(not(feature = "schema"))]
pub trait Described {}

#[cfg(not(feature = "schema"))]
impl<T> Described for T {}
