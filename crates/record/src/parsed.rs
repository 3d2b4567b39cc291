//! JSON in which each name of an object is unique. Programs in other languages use the first or the last of two values
//! of one name, so that a record would have one meaning here and another elsewhere.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

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
