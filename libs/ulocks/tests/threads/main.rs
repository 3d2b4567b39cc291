//! The locks in one process: under real threads, in files, and in the public interface. How long anything takes decides
//! no test: `tests/measured` has those.
#![cfg(not(loom))]

mod api;
mod checked;
mod ends;
mod exclusion;
mod files;
mod lifetime;
mod readers;
mod timeouts;
mod upgrades;
mod waits;
