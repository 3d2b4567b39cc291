//! Cache lines with names, and which of them are a problem.

pub mod named;
pub mod record;
pub mod rules;
