//! Code that this crate shares with `interpose`: the modules of its directory `shared`, by their paths.

include!(concat!(env!("OUT_DIR"), "/shared.rs"));
