//! The form of the repository: imports, documents, wording, output, manifests. `cargo xtask check` runs it; it says nothing
//! about behaviour, so `cargo test` does not.

mod bounded;
mod documents;
mod helpers;
mod imports;
mod one_way_out;
mod pure;
mod switched_off;
