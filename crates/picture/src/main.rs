//! `contend-png`: converts the SVG on stdin to a PNG on stdout.
//!
//! The library that draws has some thirty dependencies. It is therefore in a separate program that contend runs if it
//! is installed, and a build for measuring does not include it.

mod fonts;
mod picture;

use harness::output;
use std::env;
use std::io::{self, Read};
use std::process::ExitCode;

const USAGE: &str = "Usage: contend-png < PICTURE.svg > PICTURE.png

Convert a chart of contend from SVG to PNG, in light colours, at twice its width and height.
`contend ladder --output ladder.png` runs this program.";

/// The maximum size: a picture's SVG has some hundred kilobytes.
const MOST_BYTES: u64 = 64 << 20;

const WRONG_CALL: u8 = 2;

fn main() -> ExitCode {
    match env::args_os().nth(1) {
        None => {}
        Some(word) if word == "--help" || word == "-h" => {
            return ended(output::print(&format!("{USAGE}\n")).map_err(Into::into));
        }
        Some(word) if word == "--version" || word == "-V" => {
            return ended(output::print(concat!("contend-png ", env!("CARGO_PKG_VERSION"), "\n")).map_err(Into::into));
        }
        Some(_) => {
            output::eprint_line(USAGE);
            return ExitCode::from(WRONG_CALL);
        }
    }
    ended(draw())
}

fn ended(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::eprint_line(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn draw() -> anyhow::Result<()> {
    let mut svg = String::new();
    let length = io::stdin().take(MOST_BYTES + 1).read_to_string(&mut svg)?;
    anyhow::ensure!(
        length as u64 <= MOST_BYTES,
        "standard input: the SVG is larger than {} MB, the limit",
        MOST_BYTES >> 20
    );
    let drawn = picture::drawn(&svg)?;
    if !drawn.missing.is_empty() {
        let letters = drawn
            .missing
            .iter()
            .map(|letter| format!("U+{:04X}", u32::from(*letter)))
            .collect::<Vec<String>>()
            .join(", ");
        output::eprint_line(&format!("warning: no installed font has {letters}; the picture shows boxes instead"));
    }
    output::print_bytes(&drawn.png)?;
    Ok(())
}
