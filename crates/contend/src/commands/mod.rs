//! The commands: a measurement, or a view of archived records.

pub mod archived;
pub mod baseline;
pub mod compare;
pub mod doctor;
pub mod explain;
pub mod external;
pub mod history;
pub mod ladder;
pub mod machines;
pub mod manual;
pub mod measure;
mod outliers;
mod parameters;
mod picture;
mod reading;
pub mod report;
pub mod schema;
pub mod screen;
mod shown;
pub mod survey;
mod survey_record;
pub mod top;
