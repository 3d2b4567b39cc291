//! Every lock under real threads.
#![cfg(not(loom))]

mod ends;
mod exclusion;
mod readers;
mod waits;
