//! What is computed of a job's clocks, ranks and places: one program, since nothing of it is measured.

mod alignment;
mod greeting;
mod placement;
mod prediction;
