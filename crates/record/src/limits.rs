//! How large a record may be that is read: it may be anybody's, and what it unfolds to has to fit into memory. The
//! largest that contend itself has written has a hundredth of this.

use anyhow::ensure;

/// The most bytes of a record.
pub const MOST_BYTES: u64 = 16 << 20;
/// The most values in it, counted with all that they are made of: a byte or two of text take a hundred in memory.
const MOST_VALUES: usize = 250_000;

/// That a record of these bytes is not too large to be read.
pub fn check_size(bytes: &[u8]) -> anyhow::Result<()> {
    ensure!(bytes.len() as u64 <= MOST_BYTES, "larger than {} MiB, the limit for a record", MOST_BYTES >> 20);
    ensure!(values(bytes) <= MOST_VALUES, "more than {MOST_VALUES} values, the limit for a record");
    Ok(())
}

/// How many values JSON has at most: each but the first comes after one of these.
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
    fn values_are_counted_and_text_is_one() {
        for (json, least) in [("1", 1), ("[1,2,3]", 3), (r#"{"a":[],"b":{"c":"[,{\",,"}}"#, 4)] {
            assert!((least..=least + 2).contains(&values(json.as_bytes())), "{json}");
        }
    }

    #[test]
    fn what_is_small_and_unfolds_is_refused() {
        assert!(check_size(b"{}").is_ok());
        assert!(check_size("[".repeat(MOST_VALUES + 1).as_bytes()).is_err());
        assert!(check_size(&vec![b' '; MOST_BYTES as usize + 1]).is_err());
    }
}
