//! `contend fetch`: copies records of other machines to the local archive, or shows what runs there.

mod client;
mod flags;
mod live;
mod records;

pub use flags::Flags;

use crate::program::Words;
use crate::tls;
use crate::tls::Identity;
use ::archive::{Archive, Location};
use anyhow::Context;
use client::{Client, Deadline, Host, Patience, Secrets};
use harness::{Outcome, output};
use records::{Keeper, Stored};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

pub const EXAMPLES: Words = Words {
    name: "fetch",
    binary: "contend-fetch",
    calls: &[
        ("contend fetch localhost:8418", "Copy the records that the local archive lacks"),
        ("contend fetch one:8418,two:8418 last", "Copy the last record of each of two machines"),
        ("contend fetch one --live \"noise --seconds 10\"", "Start an experiment there, and show its results"),
    ],
};

/// The result for one machine.
struct HostResult {
    host: String,
    /// The host names in its records.
    machines: BTreeSet<String>,
    listed: usize,
    stored: Stored,
    failed: Option<String>,
}

/// Fetches records, or follows a run.
///
/// # Errors
/// The flags are invalid, files cannot be used, or there is no archive; hosts that fail are listed in the table.
pub fn run(flags: &Flags) -> anyhow::Result<Outcome> {
    let identity = match (&flags.certificate, &flags.key) {
        (Some(certificate), Some(key)) => Some(Identity::read(certificate, key)?),
        _ => None,
    };
    let secrets = Secrets::new(
        flags.token_file.as_deref(),
        tls::client_config(&flags.fingerprint, flags.ca.as_deref(), identity)?,
    )?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    if flags.live {
        return runtime.block_on(watch_all(flags, &secrets));
    }
    let archive = Archive::open_or_create(&Location::of(flags.archive.as_deref()).folder()?)?;
    let result = runtime.block_on(ask_all(flags, &secrets, &archive))?;
    archive.tidy();
    output::print(&table(&result))?;
    for one in &result {
        if let Some(why) = &one.failed {
            output::eprint_line(&format!("error: {}: {why}", one.host));
        }
    }
    let is_whole = result.iter().all(|one| one.failed.is_none() && one.stored.refused == 0);
    Ok(if is_whole { Outcome::Done } else { Outcome::Exceeded })
}

async fn ask_all(flags: &Flags, secrets: &Secrets, archive: &Archive) -> anyhow::Result<Vec<HostResult>> {
    let shared = Arc::new(Mutex::new(archive.clone()));
    let tasks: Vec<_> = flags
        .hosts
        .0
        .iter()
        .map(|host| {
            let keeper = Keeper::new(host.to_string(), Arc::clone(&shared));
            let client = Client::new(host.clone(), secrets.clone());
            let wish = HostRequest { what: flags.what.clone(), within: flags.within };
            tokio::spawn(ask(host.clone(), client, keeper, archive.clone(), wish))
        })
        .collect();
    let mut result = Vec::new();
    for task in tasks {
        result.push(task.await?);
    }
    Ok(result)
}

/// The part of the flags that is the same for each host.
struct HostRequest {
    what: Option<String>,
    within: Duration,
}

async fn ask(host: Host, client: Client, mut keeper: Keeper, archive: Archive, wish: HostRequest) -> HostResult {
    let mut result = HostResult {
        host: host.to_string(),
        machines: BTreeSet::new(),
        listed: 0,
        stored: Stored::default(),
        failed: None,
    };
    let fetched = fetch(client, &mut keeper, archive, &wish, &mut result).await;
    // Records that arrived before the failure are stored.
    let stored = keeper.flush().await;
    result.stored = keeper.stored;
    result.failed = fetched.and(stored).err().map(|error| format!("{error:#}"));
    result
}

async fn fetch(
    mut client: Client,
    keeper: &mut Keeper,
    archive: Archive,
    wish: &HostRequest,
    result: &mut HostResult,
) -> anyhow::Result<()> {
    let (mut patience, deadline) = (Patience::default(), Deadline::after(wish.within));
    let all = deadline.hold("the list of records", records::list(&mut client, &mut patience)).await?;
    result.listed = all.len();
    result.machines = all.iter().map(|entry| entry.summary.host.clone()).collect();
    let wanted = records::wanted(all, wish.what.as_deref())?;
    let listing = tokio::task::spawn_blocking(move || archive.listing()).await??;
    let known: BTreeSet<String> = listing.entries.into_iter().map(|entry| entry.id).collect();
    for entry in wanted.iter().filter(|entry| !known.contains(&entry.id)) {
        let subject = format!("record {}", entry.short_id());
        let portable = deadline.hold(&subject, records::one(&mut client, &entry.id, &mut patience)).await?;
        keeper.add(portable).await?;
    }
    Ok(())
}

fn table(result: &[HostResult]) -> String {
    let row = |one: &HostResult| {
        let machines: Vec<&str> = one.machines.iter().map(String::as_str).collect();
        let outcome = if one.failed.is_some() { "failed" } else { "done" };
        let numbers = [one.listed, one.stored.new, one.stored.refused].map(|number| number.to_string());
        [vec![one.host.clone()], numbers.into(), vec![outcome.to_owned(), machines.join(" ")]].concat()
    };
    terminal::table_of_words(&["host", "records", "new", "refused", "result", "machines"], result.iter().map(row))
}

async fn watch_all(flags: &Flags, secrets: &Secrets) -> anyhow::Result<Outcome> {
    let is_one = flags.hosts.0.len() == 1;
    let tasks: Vec<_> = flags
        .hosts
        .0
        .iter()
        .map(|host| {
            let [mut client, mut listener] = [(); 2].map(|()| Client::new(host.clone(), secrets.clone()));
            let before = if is_one { String::new() } else { format!("{host}: ") };
            let (host, call) = (host.clone(), flags.what.clone());
            tokio::spawn(async move {
                let watched = live::watch(&mut client, &mut listener, call.as_deref(), &before).await;
                watched.with_context(|| host.to_string())
            })
        })
        .collect();
    let mut is_good = true;
    for task in tasks {
        match task.await? {
            Ok(ended) => is_good &= ended.status == Some(0),
            Err(error) => {
                is_good = false;
                output::eprint_line(&format!("error: {error:#}"));
            }
        }
    }
    Ok(if is_good { Outcome::Done } else { Outcome::Exceeded })
}
