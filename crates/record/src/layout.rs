//! The only check of a record's layout, for all code that reads records: JSON, an object, of a version that this
//! program reads.

use crate::envelope::SCHEMA;
use crate::limits::check_size;
use crate::parsed::parsed;
use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};

/// The hint for a user who has no record.
const HOW: &str = "`contend … --format json --output FILE` writes a record";

/// Parses the fields of a record from these bytes.
///
/// # Errors
/// They are not a record, or have another layout.
pub fn fields(name: &str, bytes: &[u8]) -> anyhow::Result<Map<String, Value>> {
    checked(bytes).with_context(|| unreadable(name))
}

/// Returns the message about the unreadable record of this name.
pub fn unreadable(name: &str) -> String {
    format!("{name}: not a contend record")
}

fn checked(bytes: &[u8]) -> anyhow::Result<Map<String, Value>> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        bail!("the file is empty; {HOW}");
    }
    check_size(bytes)?;
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bail!("the file begins with a byte order mark, which JSON does not have; remove its first three bytes");
    }
    let value = parsed(bytes).map_err(|error| match error.is_eof() {
        true => anyhow!("the file is truncated: {error}; measure again, or use another copy"),
        false => anyhow!("not JSON: {error}; {HOW}"),
    })?;
    let Value::Object(record) = value else { bail!("JSON, but not an object; {HOW}") };
    match record.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => Ok(record),
        Some(other) if other.starts_with("contend/") => {
            bail!(
                "schema {other:?} is not supported (expected {SCHEMA:?}); use the version of contend that wrote the \
                 record, or a newer one"
            )
        }
        _ => bail!("the field schema is missing (expected {SCHEMA:?}); {HOW}"),
    }
}
