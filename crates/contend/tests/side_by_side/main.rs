//! The command through its binary: its messages, its archive, its refusals and its remains. No test asserts on a
//! measured value; those that do are in the programs `measured` and `traced`.

#[path = "../command/mod.rs"]
mod command;

mod ab;
mod bad_input;
mod baseline;
mod book;
mod ci_recipe;
mod compare;
mod doctor;
mod external;
mod foreign_archives;
mod foreign_records;
mod history;
mod history_writers;
mod hostile_records;
mod inputs;
mod interruption;
mod ladder;
mod lockstep;
mod machines;
mod machines_compared;
mod manual;
mod model;
mod mutants;
mod next;
mod old_records;
mod page_in_browser;
mod picture;
mod records_of_tomorrow;
mod report;
mod schema;
mod screen;
mod survey;
mod trend;
mod unfit_archives;
