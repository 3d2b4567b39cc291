//! A host, as the user writes it.

use crate::exchange::PORT;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name without brackets.
    pub name: String,
    pub port: u16,
    pub is_encrypted: bool,
}

/// Several hosts, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(pub Vec<Host>);

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl Host {
    /// Returns the host as written in an address.
    pub fn authority(&self) -> String {
        let name = if self.name.contains(':') { format!("[{}]", self.name) } else { self.name.clone() };
        format!("{name}:{}", self.port)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.authority())
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (name, port) = parts(rest)?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(
                "not a host; allowed: a name or an address, such as one.example:8418, 10.0.0.1 or [::1]:8418".into()
            );
        }
        let is_here = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let is_encrypted = match scheme {
            None => !is_here,
            Some("https") => true,
            Some("http") => false,
            Some(other) => return Err(format!("{other}:// is not supported; allowed: http:// and https://")),
        };
        Ok(Self { name: name.to_owned(), port, is_encrypted })
    }
}

/// Splits the name from the port.
///
/// An IPv6 address with a port has brackets.
fn parts(text: &str) -> Result<(&str, u16), String> {
    let number = |port: &str| port.parse().map_err(|_| format!("{port:?} is not a port; allowed: 1 to 65535"));
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match rest.strip_prefix(':') {
            Some(port) => Ok((address, number(port)?)),
            None if rest.is_empty() => Ok((address, PORT)),
            None => Err("only a port may follow the closing bracket".into()),
        };
    }
    match text.split_once(':') {
        Some((name, port)) if !port.contains(':') => Ok((name, number(port)?)),
        _ => Ok((text, PORT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_parsed_as_written() {
        for (text, name, port, is_encrypted) in [
            ("one.example", "one.example", PORT, true),
            ("one:1", "one", 1, true),
            ("localhost:1", "localhost", 1, false),
            ("127.0.0.1", "127.0.0.1", PORT, false),
            ("https://127.0.0.1:2/", "127.0.0.1", 2, true),
            ("http://one", "one", PORT, false),
            ("[::1]:3", "::1", 3, false),
            ("fe80::1", "fe80::1", PORT, true),
        ] {
            let host: Host = text.parse().unwrap();
            assert_eq!((host.name.as_str(), host.port, host.is_encrypted), (name, port, is_encrypted), "{text}");
        }
        for wrong in ["", ":1", "one:", "one:x", "one:70000", "ftp://one", "a b", "one/records", "[::1]x", "a@b"] {
            assert!(wrong.parse::<Host>().is_err(), "{wrong}");
        }
    }
}
