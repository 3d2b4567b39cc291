//! The commands before a run and after it.

use crate::trace::names::message;
use std::process::{Command, Stdio};

/// Runs a flag's command, if there is one.
///
/// # Errors
/// It does not end well.
pub fn shell(flag: &str, command: Option<&str>) -> anyhow::Result<()> {
    let Some(command) = command else { return Ok(()) };
    let output = Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).output();
    let output = output.map_err(|error| anyhow::anyhow!("cannot start sh: {}", message(&error)))?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{flag} {command}: {}; {}", output.status, said.trim_end());
    Ok(())
}
