//! `contend serve`, as whoever asks it meets it.

mod asked;
mod kept;
mod live;
mod metrics;
