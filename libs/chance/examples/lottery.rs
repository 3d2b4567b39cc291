//! A time-sharing lottery scheduler: each quantum goes to a thread drawn by priority, with a factor of two for each
//! unit of priority.
//!
//! The example computes how often a busy thread of low priority takes time from a game's frame, and how much. The
//! problem and the figures are from Jean-Baptiste Queru, "The Scheduler Is Your Friend" (Be Newsletter 4-45, 1999).
//!
//! The model's assumption is the article's: draws are independent, and a frame holds a whole number of quanta.
use chance::{BigRational, Chance, Distribution, Error, Exact, Weight};

/// A thread that needs all CPU time, and another of lower priority that needs the same.
struct Lottery {
    own_priority: u32,
    other_priority: u32,
}

impl Lottery {
    /// Returns the number of quanta out of `quanta` that are lost to the other thread.
    fn lost(&self, quanta: u64) -> Result<Distribution<u64, Exact>, Error> {
        let tickets = 1 << (self.own_priority - self.other_priority);
        let lost = |chance: &mut Chance| u64::from(chance.odds(1, tickets + 1));
        Distribution::exact(&lost)?.sum_of(quanta)
    }

    /// Returns the other thread's share of the CPU.
    fn share(&self) -> Result<BigRational, Error> {
        Ok(self.lost(1)?.mean())
    }

    /// Returns the probability that a frame loses more than `percent` of its quanta.
    fn loses_more_than(&self, percent: u64, quanta: u64) -> Result<BigRational, Error> {
        Ok(self.lost(quanta)?.more_than(&(percent * quanta / 100)))
    }
}

const FRAME_US: u64 = 16_600;
const FRAMES_PER_S: f64 = 60.0;

fn main() -> Result<(), Error> {
    let game = Lottery { own_priority: 20, other_priority: 10 };
    println!("priorities 20 and 10: the other thread gets {} of the CPU\n", game.share()?);
    for quantum_us in [3_000, 100] {
        let quanta = FRAME_US / quantum_us;
        let lost = game.lost(quanta)?;
        let disturbed = Exact::to_f64(&lost.more_than(&0));
        println!("quantum of {quantum_us} us, {quanta} in a frame: the lost ones");
        print!("{}", lost.given(|lost| *lost < 5)?.plot().width(30));
        println!("a loss once in {:.1} frames, every {:.2} s", 1.0 / disturbed, 1.0 / disturbed / FRAMES_PER_S);
        let more = Exact::to_f64(&game.loses_more_than(2, quanta)?);
        println!("at most 2 % lost in {:.4} % of frames\n", (1.0 - more) * 100.0);
    }
    println!("an animation buffered ahead: two losses in two frames every {:.1} minutes", buffered_minutes(&game)?);
    Ok(())
}

/// Returns the mean time in minutes between losses of two or more of the 11 quanta in two frames, for disjoint pairs
/// of frames.
fn buffered_minutes(game: &Lottery) -> Result<f64, Error> {
    let both = Exact::to_f64(&game.lost(11)?.more_than(&1));
    Ok(1.0 / both / (FRAMES_PER_S / 2.0) / 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAME: Lottery = Lottery { own_priority: 20, other_priority: 10 };

    fn percent(probability: &BigRational, decimals: usize) -> String {
        format!("{:.decimals$}", Exact::to_f64(probability) * 100.0)
    }

    #[test]
    fn the_printed_priorities_lose_a_quantum_every_205_frames() {
        assert_eq!(GAME.share().unwrap().to_string(), "1/1025");
        assert_eq!(GAME.lost(5).unwrap().mean().to_string(), "1/205");
        let frames = 1.0 / Exact::to_f64(&GAME.lost(5).unwrap().more_than(&0));
        assert_eq!(frames.round(), 205.0);
        assert!((3.0..4.0).contains(&(frames / FRAMES_PER_S)));
    }

    #[test]
    fn a_reschedule_every_100_us_spreads_the_loss_as_printed() {
        let lost = GAME.lost(FRAME_US / 100).unwrap();
        let shares = [(0, 1), (1, 1), (2, 1), (3, 2)].map(|(n, decimals)| percent(&lost.probability(&n), decimals));
        assert_eq!(shares, ["85.0", "13.8", "1.1", "0.06"]);
        assert_eq!(lost.iter().map(|row| row.1).sum::<BigRational>().to_string(), "1");
    }

    /// The article says "more than 99.998 %"; the binomial gives 99.9976 %, which rounds to it.
    #[test]
    fn less_than_2_percent_is_lost_in_99_998_percent_of_frames() {
        let undisturbed = BigRational::from_integer(1.into()) - GAME.loses_more_than(2, FRAME_US / 100).unwrap();
        assert_eq!(percent(&undisturbed, 3), "99.998");
        assert_eq!(percent(&undisturbed, 4), "99.9976");
    }

    #[test]
    fn a_buffered_animation_stalls_less_than_once_in_ten_minutes() {
        let minutes = buffered_minutes(&GAME).unwrap();
        assert!((10.0..11.0).contains(&minutes), "{minutes}");
    }
}
