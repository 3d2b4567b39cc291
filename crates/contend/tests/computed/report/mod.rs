//! `contend report` through its binary: pages of records, and inputs that are not records.

mod calls;
mod one_record;
mod ranks;
mod several;
mod well_formed;
