//! A run at a terminal: all three standard streams are one, as for a user who types the command.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Command, ExitStatus};

/// Returns the output of `contend` on a terminal, with these arguments and variables, and how it ended.
pub fn typed(arguments: &[&str], variables: &[(&str, &str)]) -> (ExitStatus, String) {
    super::held::reports();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap();
    let slave = OpenOptions::new().read(true).write(true).open(path.to_str().unwrap()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").env("TERM", "xterm").env_remove("NO_COLOR").args(arguments);
    command.envs(variables.iter().copied());
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
    let mut child = command.spawn().expect("the binary starts");
    // The command has copies of the terminal; without them the reader comes to an end.
    drop(command);
    let reader = std::thread::spawn(move || {
        let (mut sent, mut bytes) = (Vec::new(), [0; 4_096]);
        let mut terminal = File::from(master);
        // A terminal that the last writer has left returns an error.
        while let Ok(length @ 1..) = terminal.read(&mut bytes) {
            sent.extend_from_slice(&bytes[..length]);
        }
        String::from_utf8_lossy(&sent).into_owned()
    });
    let status = child.wait().unwrap();
    (status, reader.join().unwrap())
}
