//! Reading of a record from any source: a file, a pipe from another program, an endless device.
//!
//! This is the only check of a record's size and layout. Its values must fit into memory; the largest record that contend
//! itself has written has a hundredth of the limit. Each name of an object is unique: programs in other languages use the
//! first or the last of two values of one name, so that a record would have one meaning here and another elsewhere.

use crate::envelope::SCHEMA;
use anyhow::{Context, anyhow, bail, ensure};
use rustix::fs::{OFlags, fcntl_setfl};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// Returns whether a name means a file rather than a record of the archive.
pub fn is_file(name: &str) -> bool {
    // A file without read permission exists.
    let may_not = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    name == "-" || Path::new(name).try_exists().unwrap_or_else(may_not)
}

/// Returns the file's name for people, and its content; `-` is standard input.
pub fn content(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    if path == Path::new("-") {
        let name = "standard input".to_owned();
        let bytes = limited(io::stdin().lock()).with_context(|| format!("cannot read {name}"))?;
        return Ok((name, bytes));
    }
    let name = path.display().to_string();
    let bytes = opened(path).and_then(limited).with_context(|| format!("cannot read {name}"))?;
    Ok((name, bytes))
}

fn limited(file: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= MOST_BYTES, "larger than {} MiB, the limit for a record", MOST_BYTES >> 20);
    Ok(bytes)
}

/// Opens the file, if it is a regular file or a pipe with a writer.
fn opened(path: &Path) -> anyhow::Result<impl Read> {
    // Opening a pipe must not wait for a writer that never comes, and a terminal must not become the controlling one.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let kind = file.metadata()?.file_type();
    ensure!(!kind.is_dir(), "is a directory");
    ensure!(!kind.is_char_device() && !kind.is_block_device(), "is a device; give a file, or - for standard input");
    let first = if kind.is_fifo() { first_of(&mut file)? } else { Vec::new() };
    fcntl_setfl(&file, OFlags::empty()).map_err(io::Error::from)?;
    Ok(io::Cursor::new(first).chain(file))
}

/// Returns the bytes that a pipe already has, once it has a writer.
///
/// A writer that has not come yet looks like one that has gone.
fn first_of(pipe: &mut File) -> anyhow::Result<Vec<u8>> {
    const TRIES: usize = 100;
    let mut first = vec![0; 4_096];
    for _ in 0..TRIES {
        match pipe.read(&mut first) {
            Ok(0) => std::thread::sleep(Duration::from_millis(20)),
            Ok(length) => {
                first.truncate(length);
                return Ok(first);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
    }
    bail!("is a pipe that no process writes to")
}

/// The hint for a user who has no record.
const HOW: &str = "`contend … --format json --output FILE` writes a record";

/// Parses the fields of a record from these bytes.
///
/// # Errors
/// They are not a record, or have another layout.
pub fn fields(name: &str, bytes: &[u8]) -> anyhow::Result<Map<String, Value>> {
    let record = object(bytes).with_context(|| unreadable(name))?;
    match record.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => Ok(record),
        Some(other) if other.starts_with("contend/") => bail!(
            "{name}: schema {other:?} is not supported (expected {SCHEMA:?}); use the version of contend that wrote the \
             record, or a newer one"
        ),
        _ => Err(anyhow!("the field schema is missing (expected {SCHEMA:?}); {HOW}")).with_context(|| unreadable(name)),
    }
}

/// Returns the message about the unreadable record of this name.
pub fn unreadable(name: &str) -> String {
    format!("{name}: not a contend record")
}

fn object(bytes: &[u8]) -> anyhow::Result<Map<String, Value>> {
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
    Ok(record)
}

/// The maximum number of bytes of a record.
pub const MOST_BYTES: u64 = 16 << 20;
/// The maximum number of values in it, including nested ones: a byte or two of text need a hundred bytes in memory.
const MOST_VALUES: usize = 250_000;

/// Checks that a record of these bytes is not too large to be read.
pub fn check_size(bytes: &[u8]) -> anyhow::Result<()> {
    ensure!(bytes.len() as u64 <= MOST_BYTES, "larger than {} MiB, the limit for a record", MOST_BYTES >> 20);
    ensure!(values(bytes) <= MOST_VALUES, "more than {MOST_VALUES} values, the limit for a record");
    Ok(())
}

/// Returns an upper bound of the number of values in JSON: each but the first comes after one of these characters.
pub fn values(json: &[u8]) -> usize {
    let (mut is_text, mut is_escaped, mut found) = (false, false, 1);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => found += 1,
            _ => {}
        }
    }
    found
}

/// Parses JSON from these bytes.
///
/// # Errors
/// They are not JSON, or a name is in an object twice.
pub fn parsed(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice::<Unique>(bytes).map(|unique| unique.0)
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Unique(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unique(value))) = entries.next_entry::<String, Unique>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate field {name:?}")));
            }
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_a_text_counts_once() {
        for (json, least) in [("1", 1), ("[1,2,3]", 3), (r#"{"a":[],"b":{"c":"[,{\",,"}}"#, 4)] {
            assert!((least..=least + 2).contains(&values(json.as_bytes())), "{json}");
        }
    }

    #[test]
    fn small_record_with_too_many_values_is_refused() {
        assert!(check_size(b"{}").is_ok());
        assert!(check_size("[".repeat(MOST_VALUES + 1).as_bytes()).is_err());
        assert!(check_size(&vec![b' '; MOST_BYTES as usize + 1]).is_err());
    }

    #[test]
    fn json_is_read_as_serde_json_reads_it() {
        for json in ["null", "[true,-1,18446744073709551615,0.1,1e300,\"a\\u00b5\"]", "{\"a\":{\"b\":[]},\"c\":{}}"] {
            assert_eq!(parsed(json.as_bytes()).unwrap(), serde_json::from_str::<Value>(json).unwrap());
        }
        for broken in ["", "{", "[1,]", "{\"a\":1}x", "nul", "1e999"] {
            assert!(parsed(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    #[test]
    fn duplicate_name_is_refused_only_within_one_object() {
        let twice = parsed(br#"{"a":[{"seed":1,"x":{},"seed":2}]}"#).unwrap_err().to_string();
        assert!(twice.contains("duplicate field \"seed\""), "{twice}");
        assert!(parsed(br#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#).is_ok());
    }
}
