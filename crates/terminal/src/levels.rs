//! Shares as blocks of different heights, in a row.

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a character for each share from 0 to 1; a dot for an unknown one.
///
/// Only exactly 0 is blank, and only exactly 1 is a full block.
pub fn levels(shares: impl IntoIterator<Item = Option<f64>>) -> String {
    let level = |share: f64| match share {
        nothing if nothing <= 0.0 => 0,
        all if all >= 1.0 => 8,
        some => (some * 8.0).round().clamp(1.0, 7.0) as usize,
    };
    shares.into_iter().map(|share| share.map_or('·', |share| BLOCKS[level(share)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_is_blank_and_only_one_is_full() {
        assert_eq!(levels([Some(0.0), Some(0.001), Some(0.5), Some(0.999), Some(1.0), None]), " ▁▄▇█·");
    }
}
