//! Measures the cost of the library to a whole program:
//! `cargo run --release -p interpose --example around -- events: 5 sysbench …`.
//!
//! Runs the program repeatedly, without the library and with it at each level, interleaved, and prints for each the
//! median of the first number in the first line of its output that contains the word. No process reads the recorded
//! data or records switches: any further cost of `contend trace` is its own.

use interpose::{Level, Memory, PLACE};
use std::process::Command;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [word, rounds, program, rest @ ..] = &arguments[..] else {
        return Err("usage: around WORD ITERATIONS PROGRAM …".into());
    };
    let levels = [None, Some(Level::Nothing), Some(Level::Sampled), Some(Level::Full)];
    let (_library, library) = Memory::library()?;
    let mut found = vec![Vec::new(); levels.len()];
    for _ in 0..rounds.parse()? {
        for (place, level) in levels.into_iter().enumerate() {
            let mut command = Command::new(program);
            command.args(rest);
            let memory = level.map(|level| Memory::new(level, None)).transpose()?;
            if let Some(memory) = &memory {
                command.env("LD_PRELOAD", &library).env(PLACE, memory.path());
            }
            let said = String::from_utf8(command.output()?.stdout)?;
            let line =
                said.lines().find(|line| line.contains(word.as_str())).ok_or("no line of the output contains WORD")?;
            let number = line.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|text| text.parse().ok());
            found[place].push(number.unwrap_or(f64::NAN));
        }
    }
    for (level, values) in levels.iter().zip(&mut found) {
        values.sort_by(f64::total_cmp);
        let name = level.map_or_else(|| "without".to_owned(), |level| format!("{level:?}"));
        println!("{name:<10} {:>10.2} of {values:.1?}", values[values.len() / 2]);
    }
    Ok(())
}
