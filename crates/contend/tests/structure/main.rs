//! The structure of the repository: imports, documents, output, the schema, and the records of older versions.

#[path = "../command/mod.rs"]
mod command;

mod documents;
mod imports;
mod old_records;
mod one_way_out;
mod schema;
mod switched_off;
