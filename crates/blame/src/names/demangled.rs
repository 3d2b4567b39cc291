//! Names of functions and variables as their languages write them.

use crate::allowance::{Allowance, Exhausted};
use std::borrow::Cow;
use std::fmt::{self, Write};

/// A name can be made such that each byte of it doubles the demangled one, so that is cut off.
const LONGEST: usize = 4_096;
/// Mangled names that are longer are shown as they are.
const LONGEST_MANGLED: usize = 16 << 10;

/// Returns a symbol's name as its language writes it. Only names that say that they are mangled are changed: to C++,
/// `m` is also the mangled name of a type.
///
/// # Errors
/// It takes more steps than are allowed.
pub fn demangled<'a>(name: &'a str, allowance: &Allowance) -> Result<Cow<'a, str>, Exhausted> {
    let is_mangled = ["_Z", "__Z", "_R", "__R"].iter().any(|prefix| name.starts_with(prefix));
    allowance.spend(1)?;
    let known = if is_mangled && name.len() <= LONGEST_MANGLED { of_rust(name).or_else(|| of_cpp(name)) } else { None };
    if let Some(known) = &known {
        // A part that is not printed is walked through again for each part that is, as deep as the name nests.
        allowance.spend((known.len() as u64) * (1 + name.len() as u64 / 32))?;
    }
    Ok(cut(known.map_or(Cow::Borrowed(name), Cow::Owned)))
}

fn cut(name: Cow<'_, str>) -> Cow<'_, str> {
    if name.len() <= LONGEST { name } else { Cow::Owned(format!("{}…", &name[..name.floor_char_boundary(LONGEST)])) }
}

fn of_rust(name: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(name).ok()?;
    let mut written = Limited(String::new());
    let end = write!(written, "{name:#}");
    (end.is_ok() || written.0.len() > LONGEST).then_some(written.0)
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

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() > LONGEST { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demangled(name: &str) -> String {
        super::demangled(name, &Allowance::default()).unwrap().into_owned()
    }

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
