//! Commands that are checked for what they say, keep and refuse: no test here asserts on a time, or needs a CPU for
//! itself, so all of them are one program, and run side by side. What measures, and has its figures asserted on, has a
//! program of its own in the folder above, and so has what is run by its name.

#[path = "../command/mod.rs"]
mod command;

mod bad_input;
mod baseline;
mod ci_recipe;
mod compare;
mod external;
mod foreign_archives;
mod foreign_records;
mod history;
mod history_writers;
mod hostile_records;
mod ladder;
mod lockstep;
mod machines;
mod manual;
mod model;
mod picture;
mod records_of_tomorrow;
mod report;
mod screen;
mod trend;
mod unfit_archives;
