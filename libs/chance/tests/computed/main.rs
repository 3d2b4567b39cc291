//! Computed and simulated probabilities. The tests are one program, since none of them measures time.

mod agreement;
mod recordings;
