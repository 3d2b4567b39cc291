//! One folder an experiment, with the same four files: what the user may set (`flags`), the measurement (`measure`),
//! what came out (`record`), and the record on a terminal (`show`).

pub mod clock;
pub mod latency;
pub mod load;
pub mod model;
pub mod noise;
pub mod ring;
pub mod survey;
pub mod throughput;
