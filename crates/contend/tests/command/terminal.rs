//! A full-screen run on a separate terminal: the screen, the keyboard, and the state of the terminal afterwards.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OutputModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use vt100::{Cell, Color, Parser, Screen};

pub struct Terminal {
    child: Child,
    keyboard: File,
    /// The program's end, from which the terminal's modes are read, until [`Self::end`].
    own: Option<File>,
    shown: Arc<Mutex<Parser>>,
    reader: Option<JoinHandle<()>>,
    mark: String,
    before: (LocalModes, OutputModes),
}

/// A hang is one at any speed of the machine.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Lines that have left the screen at its top, and that a user could scroll back to.
const HISTORY: usize = 1_000;

impl Terminal {
    /// Starts `contend screen` with an archive, or none, on a terminal of this size.
    pub fn screen(columns: u16, lines: u16, archive: &str) -> Self {
        super::held::reports();
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.arg("screen").env("CONTEND_ARCHIVE", archive);
        Self::start(command, columns, lines)
    }

    /// Starts a program as the leader of a session with its own terminal.
    pub fn start(mut command: Command, columns: u16, lines: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let own = OpenOptions::new().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        tcsetwinsize(&own, size(columns, lines)).unwrap();
        let before = modes(&own);
        let mark = format!("{:016x}", fastrand::u64(..));
        command.env("TERM", "xterm-256color").env("CONTEND_TEST_MARK", &mark);
        ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "NO_COLOR"].into_iter().for_each(|name| _ = command.env_remove(name));
        let end = || own.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: the calls are system calls, and access no memory.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = command.spawn().expect("the binary starts");
        let shown = Arc::new(Mutex::new(Parser::new(lines, columns, HISTORY)));
        let keyboard = File::from(master);
        let reader = std::thread::spawn({
            let (shown, mut terminal) = (Arc::clone(&shown), keyboard.try_clone().unwrap());
            move || listen(&mut terminal, &shown)
        });
        Self { child, keyboard, own: Some(own), shown, reader: Some(reader), mark, before }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the whole text on the screen.
    pub fn text(&self) -> String {
        self.shown.lock().unwrap().screen().contents()
    }

    /// Draws the cells of the screen.
    pub fn svg(&self) -> String {
        drawn(self.shown.lock().unwrap().screen())
    }

    /// Returns whether any cell has a colour.
    pub fn is_coloured(&self) -> bool {
        let shown = self.shown.lock().unwrap();
        let screen = shown.screen();
        let (lines, columns) = screen.size();
        let cells = (0..lines).flat_map(|line| (0..columns).filter_map(move |column| screen.cell(line, column)));
        cells.into_iter().any(|cell| cell.fgcolor() != Color::Default || cell.bgcolor() != Color::Default)
    }

    pub fn types(&mut self, keys: &[u8]) {
        // A program that has ended reads nothing.
        let _ = self.keyboard.write_all(keys);
    }

    /// Types, and waits until the text is on the screen.
    pub fn does(&mut self, keys: &str, shown: &str) -> String {
        self.types(keys.as_bytes());
        self.until(shown)
    }

    /// Waits until this is on the screen.
    pub fn until(&self, words: &str) -> String {
        self.wait_for(&format!("{words:?}"), |screen| screen.contains(words))
    }

    pub fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if is_there(&text) {
                return text;
            }
            assert!(Instant::now() < until, "{what} was never shown, but\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn resize(&self, columns: u16, lines: u16) {
        // The emulator itself fails on the smallest sizes.
        self.shown.lock().unwrap().screen_mut().set_size(lines.max(24), columns.max(80));
        tcsetwinsize(self.own.as_ref().unwrap(), size(columns, lines)).unwrap();
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).expect("it still runs");
    }

    /// Returns whether a full-screen program has the terminal.
    pub fn is_taken(&self) -> bool {
        let shown = self.shown.lock().unwrap();
        let (screen, modes) = (shown.screen(), modes(self.own.as_ref().unwrap()));
        screen.alternate_screen() && screen.hide_cursor() && modes != self.before
    }

    /// Returns whether its screen, its cursor and its mouse are restored.
    fn is_plain(&self) -> bool {
        let shown = self.shown.lock().unwrap();
        let screen = shown.screen();
        let has_mouse = screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None;
        !screen.alternate_screen() && !screen.hide_cursor() && !has_mouse
    }

    /// Returns whether it is restored, its modes too.
    pub fn is_as_before(&self) -> bool {
        self.is_plain() && modes(self.own.as_ref().unwrap()) == self.before
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end: the terminal is restored, and no child is left.
    ///
    /// Returns the status, and the last screen with what has left it at its top.
    pub fn end(mut self) -> (ExitStatus, String) {
        let until = Instant::now() + PATIENCE;
        while !self.has_ended() {
            assert!(Instant::now() < until, "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = self.child.wait().unwrap();
        while !self.processes().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let left = self.processes();
        assert!(left.is_empty(), "processes are left: {left:?}");
        // Its last output may not have been read yet: the reader ends once the last end of the program's is closed.
        let modes = modes(&self.own.take().unwrap());
        self.reader.take().unwrap().join().unwrap();
        assert!(self.is_plain() && modes == self.before, "the terminal is not as it was:\n{}", self.text());
        let above = scrolled_back(self.shown.lock().unwrap().screen_mut());
        (status, above + &self.text())
    }

    /// Returns the descendants of the process.
    pub fn processes(&self) -> Vec<u32> {
        let mark = format!("CONTEND_TEST_MARK={}", self.mark);
        let all =
            std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_one = |id: &u32| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            *id != self.child.id() && environment.windows(mark.len()).any(|part| part == mark.as_bytes())
        };
        all.filter(is_one).collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Only the last end closes the terminal, and so ends the reader, which is not waited for.
        drop(self.reader.take());
    }
}

fn size(columns: u16, lines: u16) -> Winsize {
    Winsize { ws_col: columns, ws_row: lines, ws_xpixel: 0, ws_ypixel: 0 }
}

fn modes(terminal: &File) -> (LocalModes, OutputModes) {
    let termios = tcgetattr(terminal).unwrap();
    (termios.local_modes, termios.output_modes)
}

/// Reads the terminal; one that the last writer has left returns an error.
fn listen(terminal: &mut File, shown: &Mutex<Parser>) {
    let mut bytes = [0; 4_096];
    while let Ok(length @ 1..) = terminal.read(&mut bytes) {
        shown.lock().unwrap().process(&bytes[..length]);
    }
}

/// Returns the lines that have left the screen, of which only the first one shown at each offset is read.
fn scrolled_back(screen: &mut Screen) -> String {
    screen.set_scrollback(HISTORY);
    let columns = screen.size().1;
    let mut text = String::new();
    for offset in (1..=screen.scrollback()).rev() {
        screen.set_scrollback(offset);
        text += &screen.rows(0, columns).next().unwrap_or_default();
        text.push('\n');
    }
    screen.set_scrollback(0);
    text
}

/// The colours of a dark terminal by their numbers: eight, and their light forms.
const PALETTE: [&str; 16] = [
    "#1e2127", "#e06c75", "#98c379", "#d7ba7d", "#61afef", "#c678dd", "#56b6c2", "#d7dae0", "#8b929e", "#ff7b86",
    "#b5e890", "#ffe08a", "#8cc8ff", "#e3a0f5", "#7fdbe6", "#ffffff",
];
/// The width and height of a cell, in pixels.
const CELL: (usize, usize) = (8, 17);

/// Returns the screen as an SVG: one text for each run of cells that look alike.
fn drawn(screen: &Screen) -> String {
    let (lines, columns) = screen.size();
    let (width, height) = (usize::from(columns) * CELL.0, usize::from(lines) * CELL.1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" data-cells=\"{columns}x{lines}\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" font-family=\"DejaVu Sans Mono, monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
        PALETTE[0]
    );
    for line in 0..lines {
        let mut column = 0;
        while column < columns {
            let look = looks(screen.cell(line, column));
            let end = (column..columns).find(|other| looks(screen.cell(line, *other)) != look).unwrap_or(columns);
            let text: String = (column..end).map(|column| letter(screen.cell(line, column))).collect();
            svg += &run(&text, (column, line), usize::from(end - column), look);
            column = end;
        }
    }
    svg + "</svg>\n"
}

/// Colour, background and weight of a cell.
type Looks = (&'static str, &'static str, bool);

fn looks(cell: Option<&Cell>) -> Looks {
    let Some(cell) = cell else { return (PALETTE[7], PALETTE[0], false) };
    let colour = |colour: Color, default| match colour {
        Color::Idx(number) => PALETTE[usize::from(number) % PALETTE.len()],
        _ => default,
    };
    let (text, behind) = (colour(cell.fgcolor(), PALETTE[7]), colour(cell.bgcolor(), PALETTE[0]));
    let (text, behind) = if cell.inverse() { (behind, text) } else { (text, behind) };
    (text, behind, cell.bold())
}

fn letter(cell: Option<&Cell>) -> String {
    let text = cell.map_or("", |cell| cell.contents());
    if text.is_empty() { " ".to_owned() } else { text.replace('&', "&amp;").replace('<', "&lt;") }
}

fn run(text: &str, (column, line): (u16, u16), cells: usize, (colour, behind, is_bold): Looks) -> String {
    let (x, y, width) = (usize::from(column) * CELL.0, usize::from(line) * CELL.1, cells * CELL.0);
    let mut svg = String::new();
    if behind != PALETTE[0] {
        svg += &format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{behind}\"/>\n", CELL.1);
    }
    let weight = if is_bold { " font-weight=\"bold\"" } else { "" };
    // A reader of SVG may join several blanks.
    let mut at = 0;
    for piece in text.split("  ") {
        let (blanks, words) = (piece.len() - piece.trim_start().len(), piece.trim());
        let cells = words.replace("&amp;", "&").replace("&lt;", "<").chars().count();
        if cells > 0 {
            let (x, base, width) = (x + (at + blanks) * CELL.0, y + 13, cells * CELL.0);
            svg += &format!(
                "<text x=\"{x}\" y=\"{base}\" fill=\"{colour}\"{weight} textLength=\"{width}\">{words}</text>\n"
            );
        }
        at += cells + (piece.len() - words.len()) + 2;
    }
    svg
}
