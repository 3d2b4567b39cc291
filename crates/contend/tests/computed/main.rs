//! The command through its binary, where the result is computed: on stored or simulated records, or by a run that measures
//! nothing. The same input has the same output on any machine, however busy. The programs `measured` and `traced` have the
//! other tests of the binary.

#[path = "../command/mod.rs"]
mod command;
#[path = "../corpus/mod.rs"]
mod corpus;
#[path = "../pages/mod.rs"]
mod pages;

mod ab;
mod bad_input;
mod baseline;
mod book;
mod ci_recipe;
mod compare;
mod doctor;
mod evidence;
mod experiments;
mod explain;
mod external;
mod foreign_archives;
mod foreign_records;
mod history;
mod history_writers;
mod hostile_records;
mod inputs;
mod ladder;
mod lockstep;
mod machines;
mod machines_compared;
mod manual;
mod model;
mod mutants;
mod old_records;
mod recorded;
mod records_of_tomorrow;
mod report;
mod schema;
mod screen;
mod survey;
mod trend;
mod unfit_archives;
