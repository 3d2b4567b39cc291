//! Where the parts of a plot lie.

pub const WIDTH: f64 = 640.0;
pub const HEIGHT: f64 = 300.0;
pub const LEFT: f64 = 76.0;
pub const RIGHT: f64 = 628.0;
pub const TOP: f64 = 34.0;
pub const BOTTOM: f64 = 250.0;
