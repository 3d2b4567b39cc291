//! Listening programs and connected clients, by the kernel's tables of sockets.

use std::collections::{HashMap, HashSet};
use std::fs;

/// Listening sockets: their numbers, and their ports.
pub type Listening = HashMap<u64, u16>;

/// Returns the port that the program, or what it has started, listens on, of these: the one that is meant, or the
/// lowest.
pub fn port_of(program: u32, listening: &Listening, wanted: Option<u16>) -> Option<u16> {
    let sockets = sockets(program);
    let is_its = |inode: &u64| sockets.inodes.contains(inode) || (wanted.is_some() && sockets.is_incomplete);
    let ports = listening.iter().filter(|(inode, _)| is_its(inode)).map(|(_, port)| *port);
    ports.filter(|port| wanted.is_none_or(|wanted| wanted == *port)).min()
}

/// Returns how many connections were accepted where the program runs; `None` if the kernel does not count them.
pub fn accepted(program: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{program}/net/snmp")).ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split(' ').position(|name| name == "PassiveOpens")?;
    values.split(' ').nth(place)?.parse().ok()
}

/// Returns the listening sockets in the network namespace of this program.
pub fn listening(program: u32) -> Listening {
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

/// Returns a process, its parent and its group.
pub fn relatives(pid: u32) -> Option<(u32, u32, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses, and may contain any letter.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(1);
    Some((pid, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
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
