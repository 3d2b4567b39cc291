//! The floors of the house: what stands above what. This is the table to change when something new moves in.

/// What lies in one folder, by floor, the highest first.
///
/// Each may import what stands on a lower floor and nothing else of the folder: not what is above, nor its neighbours
/// on the same floor. Where one is a folder itself, its files have no order among them unless it has floors of its own.
pub struct Floors {
    pub folder: &'static str,
    pub highest_first: &'static [&'static [&'static str]],
}

/// Stands for all that the folder's floors do not name.
pub const EVERY_OTHER: &str = "*";

pub const FLOORS: &[Floors] = &[
    Floors {
        folder: "crates",
        highest_first: &[
            &["contend", "picture", "remote"],
            &["screen"],
            &["experiments"],
            &["launch"],
            &["loops", "report", "archive", "lockstep", "blame"],
            &["locks"],
            &["harness"],
            &["record"],
            &["terminal"],
            &["interpose", "exchange"],
        ],
    },
    // Each stands in its own right.
    Floors { folder: "libs", highest_first: &[&["instruments", "chance", "protothreads", "ulocks"]] },
    // The C face of the locks is a crate in the folder of theirs.
    Floors { folder: "libs/ulocks", highest_first: &[&["c"], &["src"]] },
    Floors {
        folder: "crates/contend/src",
        highest_first: &[&["main"], &["lib"], &["cli"], &["commands"], &["output"]],
    },
    Floors {
        folder: "crates/experiments/src",
        // Whatever else is there is an experiment, and knows no other.
        highest_first: &[&["lib"], &[EVERY_OTHER]],
    },
    // Two experiments that are one command: the flags and what both measure with are below.
    Floors { folder: "crates/experiments/src/noise", highest_first: &[&["mod"], &["wake"], &[EVERY_OTHER]] },
    // Two experiments that are one command and share what is not either's.
    Floors {
        folder: "crates/experiments/src/model",
        highest_first: &[&["mod"], &["frames", "step"], &["show"], &["trace"]],
    },
];
