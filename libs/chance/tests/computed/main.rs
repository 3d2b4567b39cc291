//! Computed and simulated probabilities. The tests are one program, since none of them measures time; those of the
//! examples are part of it.

mod agreement;
#[path = "../../examples/lockstep.rs"]
#[allow(dead_code, reason = "only its tests run here")]
mod lockstep;
#[path = "../../examples/lottery.rs"]
#[allow(dead_code, reason = "only its tests run here")]
mod lottery;
mod recordings;
