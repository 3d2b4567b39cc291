//! What can be asked for: a measurement, or something of records that were kept.

mod archived;
pub mod baseline;
pub mod compare;
mod cores;
mod costs;
pub mod external;
mod found;
pub mod history;
pub mod ladder;
mod machines;
pub mod manual;
pub mod measure;
mod methods;
mod metrics;
mod parameters;
mod picture;
pub mod report;
pub mod schema;
pub mod screen;
mod shown;
pub mod survey;
