//! The list of an archive's records: the newest first, each with a link to its page; the machines; and a search box, which
//! a script shows.

use super::{STYLE, head_with};
use crate::hues::page_style;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeMap;
use terminal::{counted, escaped_lines};

const SCRIPT: &str = include_str!("../../assets/report/index.js");

/// A record in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The address of its page, and that of its JSON.
    pub page: String,
    pub json: String,
    pub experiment: String,
    /// The program or the locks, and the measured quantity.
    pub subject: String,
    pub host: String,
    /// The processor and the kernel of the host.
    pub machine: String,
    /// The time at which it began.
    pub started: String,
    pub verdict: String,
    pub is_interrupted: bool,
}

/// Returns the page of these records, the newest of which is the first.
///
/// `omitted` is the number of older records.
pub fn index(records: &[Listed], omitted: usize) -> String {
    let machines = machines(records);
    let content = html! {
        (DOCTYPE)
        html lang="en" {
            (head_with("Archive", &[STYLE, &page_style()]))
            body {
                a.skip href="#records" { "Skip to the records" }
                header {
                    h1 { "Archive of records" }
                    p.machine {
                        (counted(records.len() + omitted, "record"))
                        @if omitted > 0 { "; the newest " (records.len()) " are" }
                        " of " (counted(machines.len(), "machine"))
                        @if let Some(newest) = records.first() { "; the newest began at " (newest.started) }
                    }
                }
                main.index {
                    (machine_list(&machines))
                    (list(records, omitted))
                }
                script { "\n" (PreEscaped(SCRIPT)) }
            }
        }
    };
    escaped_lines(&content.into_string()).into_owned()
}

/// Returns the records of each machine, the newest first.
fn machines(records: &[Listed]) -> BTreeMap<&str, Vec<&Listed>> {
    let mut machines: BTreeMap<&str, Vec<&Listed>> = BTreeMap::new();
    for record in records {
        machines.entry(&record.host).or_default().push(record);
    }
    machines
}

fn machine_list(machines: &BTreeMap<&str, Vec<&Listed>>) -> Markup {
    html! {
        section {
            h2 { "Machines" }
            ul.machines {
                @for (host, records) in machines {
                    li {
                        a href={ "?q=" (in_query(host)) } { (host) }
                        " " span { (counted(records.len(), "record")) }
                        p { (records[0].machine) }
                    }
                }
            }
            @if machines.len() > 1 {
                p { a href="/machines" { "Compare the machines" } ", as " code { "contend machines" } " does." }
            }
        }
    }
}

fn list(records: &[Listed], omitted: usize) -> Markup {
    html! {
        section {
            h2 id="records" { "Records" }
            search.search hidden {
                label {
                    "Search "
                    input type="search" autocomplete="off" spellcheck="false" placeholder="experiment, program, lock, machine, verdict";
                }
                " " output aria-live="polite" {}
            }
            @if records.is_empty() {
                p { "The archive is empty. " code { "contend" } " measures this machine, and the record then appears here." }
            }
            ol.records {
                @for record in records { li { (one(record)) } }
            }
            @if omitted > 0 {
                p { (counted(omitted, "older record")) " not shown here; " code { "contend history" } " lists all of them." }
            }
        }
    }
}

fn one(record: &Listed) -> Markup {
    html! {
        p.when { time { (record.started) } " " span { (record.host) } }
        " "
        h3 { a href=(record.page) { (record.subject) } }
        " "
        p {
            (record.verdict)
            @if record.is_interrupted { " (interrupted)" }
        }
        " "
        p.kind { (record.experiment) " · " a href=(record.json) aria-label={ "JSON of " (record.subject) ", " (record.started) } { "JSON" } }
    }
}

/// Returns a text as a value in the query of an address.
fn in_query(text: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_is_one_value_of_a_query() {
        assert_eq!(in_query("one-2.lan"), "one-2.lan");
        assert_eq!(in_query("a&b=ü\""), "a%26b%3D%C3%BC%22");
    }
}
