//! `contend serve`, as its clients see it.

mod asked;
mod kept;
mod live;
mod metrics;
