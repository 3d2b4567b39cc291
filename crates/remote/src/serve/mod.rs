//! `contend serve`: the archive, live values and metrics over HTTP/1.1.

mod answer;
mod body;
mod connections;
mod experiments;
mod failure;
mod flags;
mod index;
mod limits;
mod listed;
mod listen;
mod live;
mod metrics;
mod page;
mod push;
mod records;
mod routes;
mod runner;
mod scrape;
mod state;
mod tls;
mod worked;

pub use flags::Flags;

use crate::program::Words;
use ::archive::{Archive, Location};
use anyhow::Context;
use harness::{Outcome, output};
use state::State;
use std::sync::Arc;

pub const EXAMPLES: Words = Words {
    name: "serve",
    binary: "contend-serve",
    calls: &[
        ("contend serve", "Serve on this machine only, at the address in the first line"),
        ("contend serve --listen 0.0.0.0:8418 --token-file token", "Serve over TLS to clients with the token"),
        (
            "contend serve --run \"noise --seconds 10\" --every 5min",
            "Run an experiment every 5 min, for recent results",
        ),
    ],
};

/// Serves until a signal ends it.
///
/// # Errors
/// The flags are invalid, there is no archive, the address is not available, or files cannot be used.
pub fn run(flags: &Flags) -> anyhow::Result<Outcome> {
    let address = flags.address()?;
    let list = flags.list()?;
    let location = Location::of(flags.archive.as_deref());
    let default_certificate = location.sibling_file("serve.pem");
    let archive = Archive::open_or_create(&location.folder()?)?;
    let (token, is_new) = match &flags.token_file {
        Some(file) => crate::token::read_or_make(file).map(|(token, is_new)| (Some(token), is_new))?,
        None => (None, false),
    };
    let tls =
        flags.has_tls(address).then(|| tls::config(flags, address, default_certificate.as_deref())).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(limits::BLOCKING)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    runtime.block_on(async {
        let listener = listen::bind(address)?;
        let bound = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        output::print(&format!("listening on {scheme}://{bound}\n"))?;
        if let Some((_, fingerprint)) = &tls {
            output::print(&format!("certificate {fingerprint}\n"))?;
        }
        if let Some(file) = flags.token_file.as_ref().filter(|_| is_new) {
            output::print(&format!("token created in {}\n", file.display()))?;
        }
        let is_open = token.is_none() && flags.client_ca.is_none();
        let state = Arc::new(State::new(archive, token.as_deref(), is_open, flags, list));
        listen::serve(listener, tls.map(|(config, _)| config), state).await
    })?;
    // Unfinished work has already been given its time limit.
    runtime.shutdown_timeout(std::time::Duration::from_millis(100));
    Ok(Outcome::Done)
}
