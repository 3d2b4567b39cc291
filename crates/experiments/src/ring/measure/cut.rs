//! How a turn of a contestant of this process is cut up.

/// A neighbour on the core comes and goes within so long: between two probes.
const PART_NS: f64 = 1.5e6;
const MOST_PARTS: f64 = 100.0;
/// What interrupts comes some thousand times a second and takes microseconds: fewer than half of the pieces that are so
/// short have any of it, whatever its rate just is, and so their median has none.
const PIECE_NS: f64 = 50e3;
/// Fewer times around, a piece would tell of where in the ring it began.
const LEAST_LAPS: f64 = 10.0;
const MOST_START_SHARE: f64 = 0.3;

/// Parts between probes, pieces that are timed one by one, and the hops of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub parts: u32,
    /// Of each part.
    pub pieces: u32,
    /// Of each piece.
    pub hops: u64,
}

impl Cut {
    /// Not at all.
    pub fn whole(hops: u64) -> Self {
        Self { parts: 1, pieces: 1, hops }
    }

    /// So many hops of a ring, of which one takes about so long and making the ring that: parts and pieces are no
    /// shorter than it takes to make them seem short.
    pub fn of(hops: u64, hop_ns: f64, threads: usize, start_ns: f64) -> Self {
        if start_ns >= PART_NS * MOST_START_SHARE {
            return Self::whole(hops);
        }
        let parts = (hops as f64 * hop_ns / PART_NS).clamp(1.0, MOST_PARTS) as u32;
        let in_part = hops as f64 / f64::from(parts);
        let in_laps = in_part / (LEAST_LAPS * threads as f64);
        let is_cut = start_ns < PIECE_NS * MOST_START_SHARE;
        let pieces = if is_cut { (in_part * hop_ns / PIECE_NS).min(in_laps).max(1.0) as u32 } else { 1 };
        Self { parts, pieces, hops: hops / u64::from(parts * pieces) }
    }

    /// How often the ring is made.
    pub fn runs(self) -> u32 {
        self.parts * self.pieces
    }

    pub fn all_hops(self) -> u64 {
        self.hops * u64::from(self.runs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_soon_is_cut_into_pieces_that_go_around_and_what_is_not_is_left_whole() {
        // 60 ms of a hop of 2 ns: 40 parts of 1.5 ms, each in 30 pieces of 50 µs.
        let short = Cut::of(30_000_000, 2.0, 503, 4e3);
        assert_eq!((short.parts, short.pieces), (40, 30));
        assert_eq!(short.all_hops(), 30_000_000);
        assert!(short.hops as f64 >= LEAST_LAPS * 503.0, "{short:?}");
        // Polled in vain: a lap is as long as many pieces.
        assert_eq!(Cut::of(100_000, 600.0, 503, 4e3).pieces, 1);
        // Threads of the kernel: parts, but no pieces; a million threads: neither.
        assert_eq!((Cut::of(40_000, 1_500.0, 2, 60e3).parts, Cut::of(40_000, 1_500.0, 2, 60e3).pieces), (40, 1));
        assert_eq!(Cut::of(1_000_000, 4.0, 1_000_000, 3e6), Cut::whole(1_000_000));
    }
}
