//! The offset of every rank's clock from rank 0's.

use super::world::Group;
use instruments::clock::Clock;
use lockstep::alignment::{Exchange, Meeting};

/// A rank's own time: its clock from a moment on, in nanoseconds.
#[derive(Clone, Copy)]
pub struct OwnTime {
    clock: Clock,
    origin: u64,
}

const EXCHANGES: usize = 100;
/// The maximum length of a meeting, however slow the network is.
const LONGEST_NS: f64 = 50e6;
/// The minimum number of exchanges: enough that one of them was not interrupted.
const FEWEST: usize = 5;

impl OwnTime {
    pub fn from_now(clock: Clock) -> Self {
        Self { clock, origin: clock.stamp() }
    }

    pub fn now_ns(&self) -> f64 {
        self.at_ns(self.clock.stamp())
    }

    pub fn at_ns(&self, ticks: u64) -> f64 {
        self.clock.to_ns(ticks.saturating_sub(self.origin))
    }
}

/// Lets all ranks meet rank 0, one after the other; each receives the result for its own clock.
pub fn meet(world: &Group, time: OwnTime) -> Meeting {
    let found = if world.rank == 0 {
        (1..world.size).for_each(|rank| ask(world, time, rank));
        Meeting::own(time.now_ns())
    } else {
        answer(world, time)
    };
    world.wait_gently();
    found
}

fn ask(world: &Group, time: OwnTime, rank: usize) {
    let (mut exchanges, began_ns) = (Vec::with_capacity(EXCHANGES), time.now_ns());
    while exchanges.len() < FEWEST || (exchanges.len() < EXCHANGES && time.now_ns() - began_ns < LONGEST_NS) {
        let (mut other_clock, asked_ns) = ([0.0], time.now_ns());
        world.send(rank, &[asked_ns, 0.0, 0.0, 1.0]);
        world.receive(rank, &mut other_clock);
        exchanges.push(Exchange { asked_ns, there_ns: other_clock[0], answered_ns: time.now_ns() });
    }
    let found = Meeting::of(&exchanges).expect("there are some");
    world.send(rank, &[found.there_ns, found.offset_ns, found.error_ns, 0.0]);
}

fn answer(world: &Group, time: OwnTime) -> Meeting {
    world.wait_gently_for(0);
    loop {
        let mut received = [0.0; 4];
        world.receive(0, &mut received);
        let [there_ns, offset_ns, error_ns, asks] = received;
        if asks == 0.0 {
            return Meeting { there_ns, offset_ns, error_ns };
        }
        world.send(0, &[time.now_ns()]);
    }
}
