//! The figures of 1998: Rico Tudor, "Where Does the Time Go?", Be Newsletter, October 1998.

/// Of the work that one grinder does alone, what two on a CPU did together.
pub const TAKING_TURNS_SHARE: f64 = 0.999_2;
