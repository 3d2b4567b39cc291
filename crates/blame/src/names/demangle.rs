//! Functions' names as their languages write them, and those that belong to the languages.

use addr2line::gimli::DW_LANG_Rust;
use std::fmt;

/// A name can be made such that each byte of it doubles the demangled one, so that is cut off.
const LONGEST: usize = 4_096;

/// Returns a symbol's name as its language writes it. Only names that say that they are mangled are changed: to C++,
/// `m` is also the mangled name of a type.
pub fn demangled(name: &str) -> String {
    let is_mangled = ["_Z", "__Z", "_R", "__R"].iter().any(|prefix| name.starts_with(prefix));
    let known = is_mangled.then(|| addr2line::demangle(name, DW_LANG_Rust).or_else(|| of_cpp(name))).flatten();
    let mut name = known.unwrap_or_else(|| name.to_owned());
    if name.len() > LONGEST {
        name.truncate(name.floor_char_boundary(LONGEST));
        name.push('…');
    }
    name
}

fn of_cpp(name: &str) -> Option<String> {
    let mut written = Limited(String::new());
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let end = symbol.structured_demangle(&mut written, &cpp_demangle::DemangleOptions::default());
    // An error before there is much is one in the name.
    (end.is_ok() || written.0.len() > LONGEST).then_some(written.0)
}

/// Text that stops growing once it is too long.
struct Limited(String);

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() > LONGEST { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Functions that a language's own library puts around the C library's locks.
pub fn is_wrapper(name: &str, file: &str) -> bool {
    const OWN: [&str; 10] = [
        "std::",
        "core::",
        "__gthread",
        "__gthrw",
        "<std::",
        "<core::",
        "parking_lot",
        "<parking_lot",
        "lock_api::",
        "<lock_api::",
    ];
    OWN.iter().any(|own| name.starts_with(own)) || file.contains("/include/c++/") || file.starts_with("/rustc/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_c_stay_and_mangled_ones_are_read() {
        for name in ["m", "c", "i", "x", "lock", "St", "_start", "_", ""] {
            assert_eq!(demangled(name), name);
        }
        assert_eq!(demangled("_ZN5cache4lockE"), "cache::lock");
        assert_eq!(demangled("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
        assert_eq!(demangled("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
    }

    #[test]
    fn a_name_that_doubles_with_each_byte_is_cut_off() {
        // Each function type has the one before it as return type and as argument.
        let mut name = String::from("_Z1fPFvvE");
        for turn in 0..40 {
            let number = ["", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
            let before = format!("S{}_", number.get(turn.min(10)).unwrap());
            name.push_str(&format!("PF{before}{before}E"));
        }
        assert!(demangled(&name).len() <= LONGEST + 4);
        assert!(demangled(&format!("_Z{}", "1".repeat(100_000))).len() <= LONGEST + 4);
    }
}
