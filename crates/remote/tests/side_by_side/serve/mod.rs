//! `contend serve`, as its clients see it.

mod asked;
mod index;
mod kept;
mod live;
mod metrics;
