//! The share of time with an active SMT sibling, by short probes, and its agreement with ten times longer ones.
//!
//! `cargo run --release --example neighbour [SECONDS] [CPU]`

use instruments::clock::Clock;
use instruments::cpus::pin_current_thread;
use instruments::neighbour::{CoreWidth, Probe, Probed, Sharing};
use std::time::{Duration, Instant};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let seconds = numbers.next().unwrap_or(3);
    if let Some(cpu) = numbers.next() {
        pin_current_thread(cpu as usize).expect("a CPU that this process may use");
    }
    let clock = Clock::calibrate(Duration::from_millis(50)).clock;
    let probe = Probe::calibrate(clock).expect("loops for this architecture");
    let (mut short, mut long) = (CoreWidth::default(), CoreWidth::default());
    let mut stretches = Vec::new();
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until {
        let before = probe.take();
        let middle = Probed::at(probe.longer(10).take());
        let around = Probed::between(before, probe.take());
        short.learn(&around);
        long.learn(&middle);
        stretches.push((around, middle));
    }
    let classified = stretches.iter().map(|(around, middle)| (short.sharing(&[*around]), long.sharing(&[*middle])));
    let classified: Vec<_> = classified.collect();
    let count = |one, other| classified.iter().filter(|&&pair| pair == (one, other)).count();
    println!("a probe takes {:.2} us; {} stretches", probe.cost_ns() / 1e3, classified.len());
    for sharing in [Sharing::Alone, Sharing::Shared, Sharing::Neither] {
        let row = [Sharing::Alone, Sharing::Shared, Sharing::Neither].map(|other| count(sharing, other));
        println!("short {sharing:?}: long alone {}, shared {}, neither {}", row[0], row[1], row[2]);
    }
    for cpu in 0..64 {
        if let Some(best) = short.best(cpu) {
            println!("CPU {cpu}: best {best:.2} cycles a round, {:?}", short.doubt(cpu));
        }
    }
    let ghz = stretches.iter().map(|(around, _)| f64::from(around.cycles_per_ns));
    println!("{:.2} GHz on average", ghz.sum::<f64>() / stretches.len() as f64);
}
