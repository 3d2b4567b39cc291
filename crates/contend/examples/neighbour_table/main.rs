//! The worth of knowing of the SMT sibling: the main values of the experiments that distinguish it, measured with
//! `--neighbour both` and with `--neighbour ignore` alternately; the widths of their intervals each way, the
//! differences between the runs, and how far a window's value shows by itself which thread was on the core.
//!
//!     cargo run --release -p contend --example neighbour_table -- target/release/contend [ROUNDS [SECONDS]]

mod figures;

use anyhow::{Context, bail, ensure};
use figures::{Figures, Seen};
use serde_json::Value;
use std::process::Command;

/// The measurements, by their words after `contend`.
const CALLS: [&[&str]; 4] = [
    &["clock", "--longest", "20us"],
    &["latency", "--lock", "std", "--threads", "1"],
    &["throughput", "--lock", "std", "--children", "1", "--hold", "0"],
    &["ring", "--contestant", "rust-fifo", "--placement", "pinned", "--no-memory", "--large", "0"],
];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (program, numbers) = arguments.split_first().context("which contend? give its path, rounds, seconds")?;
    let rounds: usize = numbers.first().map_or(Ok(3), |rounds| rounds.parse()).context("rounds are a number")?;
    let seconds = numbers.get(1).map_or("3", String::as_str);
    let mut figures = Figures::default();
    for round in 0..rounds {
        for words in CALLS {
            // Neither comes first in every round.
            let mut ways = [Seen::Both, Seen::Ignored];
            ways.rotate_left(round % 2);
            for way in ways {
                figures.add(way, &measured(program, words, way, seconds)?)?;
            }
        }
    }
    print!("{}", figures.table());
    Ok(())
}

fn measured(program: &str, words: &[&str], way: Seen, seconds: &str) -> anyhow::Result<Value> {
    let neighbour = match way {
        Seen::Both => "both",
        Seen::Ignored => "ignore",
    };
    let mut command = Command::new(program);
    command.args(words).args(["--neighbour", neighbour, "--seconds", seconds]);
    let output = command.args(["--format", "json", "--quiet", "--no-keep"]).output().context(program.to_owned())?;
    ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout)?;
    if record["results"].as_array().is_none_or(Vec::is_empty) {
        bail!("{words:?}: nothing was measured");
    }
    Ok(record)
}
