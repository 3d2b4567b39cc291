//! How new a C library a binary needs.

/// The second number of the newest version of the GNU C library (2.x) that is named in these bytes.
pub fn newest(binary: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"GLIBC_2.";
    let number = |at: usize| {
        let digits = binary[at..].iter().take_while(|byte| byte.is_ascii_digit()).take(4);
        digits.fold(None, |number: Option<u32>, digit| Some(number.unwrap_or(0) * 10 + u32::from(digit - b'0')))
    };
    let starts = binary.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    starts.filter_map(|(at, _)| number(at + NAME.len())).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_found_as_a_number() {
        assert_eq!(newest(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0"), Some(34));
        assert_eq!(newest(b"GLIBC_2.\0GLIBC_PRIVATE"), None);
    }
}
