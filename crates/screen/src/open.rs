//! A page, opened in the user's browser.

use instruments::cpus::{self, CpuSet};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Opens it; `None` where no browser is known. One that draws in the terminal would have none.
///
/// # Errors
/// The browser cannot be started.
pub fn page(path: &Path, all: &CpuSet) -> io::Result<Option<Child>> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| set(name).is_some());
    let Some(program) = set("BROWSER").or_else(|| has_desktop.then(|| "xdg-open".into())) else { return Ok(None) };
    let mut command = Command::new(program);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let all = all.clone();
    // SAFETY: this process has one thread, so that its copy is whole.
    unsafe { command.pre_exec(move || cpus::restrict_current_thread(&all)) };
    // In a group of its own: it stays when the screen goes, and does not stop with it.
    command.process_group(0).spawn().map(Some)
}
