//! The locks in one process: under real threads, in files, in the public interface, and in the models of other tools.
#![cfg(not(loom))]

mod api;
mod biased;
mod checked;
mod ends;
mod exclusion;
mod files;
mod lifetime;
mod readers;
mod spin;
mod timeouts;
mod upgrades;
mod waits;
mod without_std;
