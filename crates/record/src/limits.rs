//! Limits of the size of a record that is read: it may come from any source, and its values must fit into memory. The
//! largest record that contend itself has written has a hundredth of this.

use anyhow::ensure;

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
}
