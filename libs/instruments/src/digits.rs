//! Numbers as text, with three significant digits.

/// Writes a share from 0 to 1 in per cent.
///
/// # Examples
///
/// ```
/// use instruments::digits::percent;
///
/// assert_eq!([0.85677, 0.00137, 0.0, -0.0].map(percent), ["85.7 %", "0.14 %", "0.0 %", "0.0 %"]);
/// assert_eq!([1e-7, 1e-6, 0.9996, 1.0].map(percent), ["0.0 %", "0.0001 %", "99.96 %", "100.0 %"]);
/// ```
pub fn percent(share: f64) -> String {
    // An empty sum is minus zero; less than the last digit is none either.
    let percent = if (share * 100.0).abs() < 5e-5 { 0.0 } else { share * 100.0 };
    if (99.9..99.995).contains(&percent) {
        // Nearly all: what is missing matters.
        format!("{percent:.2} %")
    } else if (1.0..1e15).contains(&percent) || percent == 0.0 {
        format!("{percent:.1} %")
    } else {
        format!("{} %", three_digits(percent))
    }
}

/// Writes a number with three significant digits: `0.073`, `8.94`, `157`.
pub fn three_digits(value: f64) -> String {
    // An empty sum is minus zero.
    let value = value + 0.0;
    match value.abs() {
        // A value from a foreign record: hundreds of digits would not be useful.
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.095 || size == 0.0 => format!("{value:.2}"),
        size if size >= 0.0095 => format!("{value:.3}"),
        size if size >= 0.00095 => format!("{value:.4}"),
        size if size >= 1e-9 => {
            let decimals = (-size.log10()).ceil() as usize;
            format!("{value:.decimals$}")
        }
        _ => format!("{value:.0e}"),
    }
}
