//! A server, and the client that measures it.

use crate::process::{End, Ended, Failed, FinishedRun, Pause, Running, pause, relatives, wait};
use harness::{Interrupted, Interruption};
use instruments::helper;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

/// The options of `--client`.
#[derive(Clone, Debug)]
pub struct Client {
    /// The command line, which the shell runs.
    pub command: String,
    /// The port at which the server is ready; the first that it listens on, if none is named.
    pub port: Option<u16>,
    /// The time that the server has to end after SIGTERM.
    pub patience: Duration,
}

/// The time that a server may take until it listens, and a client until it has connected.
const LISTENS: Duration = Duration::from_secs(30);
const CONNECTS: Duration = Duration::from_secs(30);
/// The period at which new listening sockets are looked for. Every hundredth time, their owner is looked up even if
/// there is no new one.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u64 = 100;

/// The outcome of a run: the client's time and output, the server's CPU time.
type Turn = anyhow::Result<Result<FinishedRun, Failed>>;

/// Runs the client when the server listens, and ends the server when the client has ended.
///
/// # Errors
/// The client cannot be started; a signal asks to end.
pub fn serve(
    client: &Client,
    server: Running,
    stops: Option<Pause>,
    at_most: Option<Duration>,
    interruption: &Interruption,
) -> Turn {
    let listens = at_most.map_or(LISTENS, |at_most| at_most.min(LISTENS));
    let port = match until_it_listens(client, &server, listens, interruption)? {
        Listens::On(port) => port,
        Listens::Ended => {
            return failed(server, |ended| format!("{} before it listened on a port", how(ended)));
        }
        Listens::Never => return failed(server, |_| never(client, listens)),
    };
    let before = accepted(server.pid());
    let mut command = helper::shell(&client.command)?;
    command.env("PORT", port.to_string());
    let running = Running::start(command, None)?;
    let began = running.began;
    let both = [&running, &server];
    let until = at_most.map(|at_most| began + at_most);
    let has_connected = || accepted(server.pid()).is_none_or(|now| before != Some(now));
    let first = began + CONNECTS;
    let mut end = match stops.map(|stops| pause(&both, stops, interruption)).transpose()?.flatten() {
        Some(end) => end,
        None => wait(&both, Some(until.map_or(first, |until| until.min(first))), interruption)?,
    };
    if matches!(end, End::Late) && until.is_none_or(|until| until > first) && has_connected() {
        end = wait(&both, until, interruption)?;
    }
    let has_connected = has_connected();
    let said = running.end()?;
    match end {
        End::Interrupted => Err(Interrupted.into()),
        End::Late if !has_connected => {
            Ok(Err(said.failed(format!("received no connection from the client within {} s", CONNECTS.as_secs()))))
        }
        End::Late => {
            let after = at_most.unwrap_or_default().as_secs_f64();
            Ok(Err(said.failed(format!("was still serving the client after {after:.0} s"))))
        }
        End::Itself(1) => failed(server, |ended| format!("{} while the client ran", how(ended))),
        End::Itself(_) => match said.fault() {
            Some(fault) => Ok(Err(said.failed(format!("served a client that {fault}")))),
            None if !has_connected => {
                Ok(Err(said.failed("received no connection from the client, which has ended".to_owned())))
            }
            None => end_of(server, client.patience, said, interruption),
        },
    }
}

/// Ends the server as its operator would, with SIGTERM.
fn end_of(server: Running, patience: Duration, client: Ended, interruption: &Interruption) -> Turn {
    server.ask_to_end();
    match wait(&[&server], Some(Instant::now() + patience), interruption)? {
        End::Interrupted => Err(Interrupted.into()),
        End::Late => failed(server, |_| format!("did not end within {} s of SIGTERM", patience.as_secs_f64())),
        End::Itself(_) => {
            let ended = server.end()?;
            Ok(match ended.fault_when_asked() {
                Some(fault) => Err(ended.failed(format!("{fault} after SIGTERM"))),
                None => {
                    let (wall_s, usage) = (client.wall_s, ended.usage);
                    Ok(FinishedRun { wall_s, usage, status: 0, output: client.output })
                }
            })
        }
    }
}

enum Listens {
    On(u16),
    Ended,
    Never,
}

fn until_it_listens(
    client: &Client,
    server: &Running,
    listens: Duration,
    interruption: &Interruption,
) -> anyhow::Result<Listens> {
    let until = server.began + listens;
    let mut before = Listening::new();
    for look in 0_u64.. {
        let sockets = listening(server.pid());
        // To see whose a socket is takes a walk through all processes.
        if (sockets != before || look % LOOKS == 0)
            && let Some(port) = port_of(server.pid(), &sockets, client.port)
        {
            return Ok(Listens::On(port));
        }
        before = sockets;
        let now = Instant::now();
        match wait(&[server], Some(now + LOOK), interruption)? {
            End::Itself(_) => return Ok(Listens::Ended),
            End::Interrupted => return Err(Interrupted.into()),
            End::Late if now >= until => return Ok(Listens::Never),
            End::Late => {}
        }
    }
    unreachable!("the loop has no end")
}

fn never(client: &Client, listens: Duration) -> String {
    let seconds = listens.as_secs_f64();
    match client.port {
        None => format!("did not listen on a TCP port within {seconds} s"),
        Some(port) if listening(std::process::id()).values().any(|&other| other == port) => {
            format!("did not listen on port {port} within {seconds} s; another process listens on that port")
        }
        Some(port) => format!("did not listen on port {port} within {seconds} s"),
    }
}

/// Returns how a server ended that contend did not end.
fn how(ended: &Ended) -> String {
    ended.fault().unwrap_or_else(|| "ended with status 0".to_owned())
}

/// Ends the server, and says why.
fn failed(server: Running, why: impl FnOnce(&Ended) -> String) -> Turn {
    let ended = server.end()?;
    let how = why(&ended);
    Ok(Err(ended.failed(how)))
}

impl Ended {
    pub fn failed(self, how: String) -> Failed {
        let failed = Failed { how, output: self.output };
        if self.left > 0 { failed.left_running() } else { failed }
    }
}

// Listening programs and connected clients are found in the kernel's tables of sockets.

/// Listening sockets: their numbers, and their ports.
type Listening = HashMap<u64, u16>;

/// Returns the port that the program, or what it has started, listens on, of these: the one that is meant, or the
/// lowest.
fn port_of(program: u32, listening: &Listening, wanted: Option<u16>) -> Option<u16> {
    let sockets = sockets(program);
    let is_its = |inode: &u64| sockets.inodes.contains(inode) || (wanted.is_some() && sockets.is_incomplete);
    let ports = listening.iter().filter(|(inode, _)| is_its(inode)).map(|(_, port)| *port);
    ports.filter(|port| wanted.is_none_or(|wanted| wanted == *port)).min()
}

/// Returns how many connections were accepted where the program runs; `None` if the kernel does not count them.
fn accepted(program: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{program}/net/snmp")).ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split(' ').position(|name| name == "PassiveOpens")?;
    values.split(' ').nth(place)?.parse().ok()
}

/// Returns the listening sockets in the network namespace of this program.
fn listening(program: u32) -> Listening {
    let read = |table: &str| fs::read_to_string(format!("/proc/{program}/net/{table}")).unwrap_or_default();
    let tables = [read("tcp"), read("tcp6")];
    tables.iter().flat_map(|table| table.lines().skip(1).filter_map(listening_in)).collect()
}

/// Parses a line of the table: `  0: 0100007F:1F90 00000000:0000 0A … inode …`
fn listening_in(line: &str) -> Option<(u64, u16)> {
    const LISTENS: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let port = fields.get(1)?.rsplit_once(':')?.1;
    (*fields.get(3)? == LISTENS).then_some(())?;
    Some((fields.get(9)?.parse().ok()?, u16::from_str_radix(port, 16).ok()?))
}

/// Sockets of a program and its descendants.
struct Sockets {
    inodes: HashSet<u64>,
    /// Whether one of the processes does not let its descriptors be read.
    is_incomplete: bool,
}

fn sockets(program: u32) -> Sockets {
    let mut found = Sockets { inodes: HashSet::new(), is_incomplete: false };
    for pid in tree(program) {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            found.is_incomplete = true;
            continue;
        };
        let targets = descriptors.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        found
            .inodes
            .extend(targets.filter_map(|target| {
                target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok()
            }));
    }
    found
}

/// Returns the program, its descendants, and the processes of its group.
fn tree(program: u32) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut others: Vec<(u32, u32, u32)> = numbers.filter_map(relatives).collect();
    let mut tree = vec![program];
    loop {
        let is_of =
            |&(pid, parent, group): &(u32, u32, u32)| pid != program && (tree.contains(&parent) || group == program);
        let (found, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_of);
        if found.is_empty() {
            return tree;
        }
        tree.extend(found.iter().map(|(pid, ..)| *pid));
        others = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_port_is_found_by_who_listens_and_a_connection_is_counted() {
        let me = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(port_of(me, &listening(me), Some(port)), Some(port));
        let before = accepted(me).unwrap();
        drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
        assert!(accepted(me).unwrap() > before);
        drop(listener);
        assert_eq!(port_of(me, &listening(me), Some(port)), None);
    }
}
