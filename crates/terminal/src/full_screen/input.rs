//! Bytes from a terminal, and the keys and clicks that they mean.
//!
//! Nothing here waits for the rest of a sequence that was begun, so a terminal that has gone blocks no caller. Bytes
//! that are not a key are dropped, however they were cut.

/// An action of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Key(Key),
    /// A button, at this column and line from 0.
    Click(u16, u16),
    WheelUp,
    WheelDown,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    F1,
    F10,
}

/// Bytes of which no event has been made yet.
#[derive(Debug, Default)]
pub struct Input {
    pending: Vec<u8>,
}

/// The maximum length of a sequence of a key.
const LONGEST: usize = 256;

/// The head of what is pending.
enum Head {
    /// A sequence of this length: an event, or nothing.
    Whole(usize, Option<Event>),
    /// More bytes may make something of it.
    Begun,
}

impl Input {
    /// Returns the events that these bytes complete.
    pub fn events(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.pending.extend_from_slice(bytes);
        let mut events = Vec::new();
        let mut rest = self.pending.as_slice();
        while !rest.is_empty() {
            match head(rest) {
                Head::Whole(length, event) => {
                    events.extend(event);
                    rest = &rest[length..];
                }
                Head::Begun if rest.len() > LONGEST => rest = &rest[1..],
                Head::Begun => break,
            }
        }
        self.pending = rest.to_vec();
        events
    }

    /// Returns whether a sequence was begun.
    pub fn is_begun(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Ends a sequence that no byte followed for a while: a single escape is the key.
    pub fn settle(&mut self) -> Option<Event> {
        let pending = std::mem::take(&mut self.pending);
        (pending == b"\x1b").then_some(Event::Key(Key::Escape))
    }
}

fn head(bytes: &[u8]) -> Head {
    let key = |key| Head::Whole(1, Some(Event::Key(key)));
    match bytes[0] {
        0x1b => sequence(bytes),
        b'\r' | b'\n' => key(Key::Enter),
        b'\t' => key(Key::Tab),
        0x08 | 0x7f => key(Key::Backspace),
        control @ 1..=26 => key(Key::Ctrl(char::from(b'a' + control - 1))),
        0..=0x1f => Head::Whole(1, None),
        _ => letter(bytes),
    }
}

/// Parses a character of one to four bytes.
fn letter(bytes: &[u8]) -> Head {
    let length = match bytes[0] {
        0..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return Head::Whole(1, None),
    };
    let Some(complete) = bytes.get(..length) else {
        let may_come = bytes[1..].iter().all(|byte| byte & 0xc0 == 0x80);
        return if may_come { Head::Begun } else { Head::Whole(1, None) };
    };
    match std::str::from_utf8(complete).ok().and_then(|text| text.chars().next()) {
        Some(one) => Head::Whole(length, (!one.is_control()).then_some(Event::Key(Key::Char(one)))),
        None => Head::Whole(1, None),
    }
}

/// Parses a sequence that begins with an escape.
fn sequence(bytes: &[u8]) -> Head {
    match bytes.get(1) {
        None => Head::Begun,
        Some(b'[') => control_sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => Head::Begun,
            Some(last) => Head::Whole(3, named(*last).map(Event::Key)),
        },
        // An answer of the terminal ends with a bell, or an escape and a backslash.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => string(bytes),
        Some(0x1b) => Head::Whole(1, Some(Event::Key(Key::Escape))),
        // A key with Alt, which no command uses.
        Some(_) => Head::Whole(2, None),
    }
}

fn string(bytes: &[u8]) -> Head {
    let bell = bytes.iter().position(|byte| *byte == 0x07).map(|at| at + 1);
    let end = bytes.windows(2).position(|pair| pair == b"\x1b\\").map(|at| at + 2);
    bell.into_iter().chain(end).min().map_or(Head::Begun, |length| Head::Whole(length, None))
}

/// Parses `ESC [`, parameters, and a letter that ends them.
fn control_sequence(bytes: &[u8]) -> Head {
    let rest = &bytes[2..];
    let Some(length) = rest.iter().position(|byte| !(0x20..=0x3f).contains(byte)) else { return Head::Begun };
    let (parameters, last) = (&rest[..length], rest[length]);
    let complete = length + 3;
    match (parameters.first(), last) {
        // Another sequence began within it, or a control came: it is not a key.
        (_, 0..=0x1f | 0x7f..) => Head::Whole(complete - 1, None),
        (Some(b'<'), b'M' | b'm') => Head::Whole(complete, mouse(&parameters[1..], last == b'M')),
        // The mouse of old terminals: three bytes more.
        (None, b'M') if rest.len() < 4 => Head::Begun,
        (None, b'M') => Head::Whole(complete + 3, None),
        // F1 to F5 of the Linux console: one byte more.
        (None, b'[') => match rest.get(1) {
            None => Head::Begun,
            Some(0..=0x1f | 0x7f..) => Head::Whole(complete, None),
            Some(last) => Head::Whole(complete + 1, (*last == b'A').then_some(Event::Key(Key::F1))),
        },
        (_, b'Z') => Head::Whole(complete, Some(Event::Key(Key::BackTab))),
        (_, b'~') => Head::Whole(complete, numbered(parameters).map(Event::Key)),
        _ => Head::Whole(complete, named(last).map(Event::Key)),
    }
}

fn named(last: u8) -> Option<Key> {
    Some(match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        b'P' => Key::F1,
        _ => return None,
    })
}

fn numbered(parameters: &[u8]) -> Option<Key> {
    Some(match numbers(parameters).first()? {
        1 | 7 => Key::Home,
        4 | 8 => Key::End,
        3 => Key::Delete,
        5 => Key::PageUp,
        6 => Key::PageDown,
        11 => Key::F1,
        21 => Key::F10,
        _ => return None,
    })
}

/// Returns the click of the first button, or the wheel.
fn mouse(parameters: &[u8], is_pressed: bool) -> Option<Event> {
    match numbers(parameters)[..] {
        [0, column @ 1..=u16::MAX, line @ 1..=u16::MAX] if is_pressed => Some(Event::Click(column - 1, line - 1)),
        [64, ..] => Some(Event::WheelUp),
        [65, ..] => Some(Event::WheelDown),
        _ => None,
    }
}

/// Returns the parameters; one that is not a number is 0.
fn numbers(parameters: &[u8]) -> Vec<u16> {
    let number = |text: &[u8]| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    parameters.split(|byte| *byte == b';').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Event> {
        Input::default().events(bytes)
    }

    #[test]
    fn bytes_of_terminals_become_their_keys() {
        let sent: &[(&[u8], Key)] = &[
            (b"q", Key::Char('q')),
            ("ü".as_bytes(), Key::Char('ü')),
            (b"\x03", Key::Ctrl('c')),
            (b"\r", Key::Enter),
            (b"\x1b[A", Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[1;5C", Key::Right),
            (b"\x1b[6~", Key::PageDown),
            (b"\x1bOP", Key::F1),
            (b"\x1b[[A", Key::F1),
            (b"\x1b[21~", Key::F10),
            (b"\x1b[Z", Key::BackTab),
        ];
        for (bytes, key) in sent {
            assert_eq!(keys(bytes), [Event::Key(*key)], "{bytes:?}");
        }
        assert_eq!(keys(b"\x1b[[Bq\x1b[[\x1b[A"), [Event::Key(Key::Char('q')), Event::Key(Key::Up)]);
        assert_eq!(keys(b"\x1b[<0;11;3M\x1b[<0;11;3m\x1b[<65;1;1M"), [Event::Click(10, 2), Event::WheelDown]);
    }

    #[test]
    fn an_escape_alone_is_a_key_once_nothing_follows() {
        let mut input = Input::default();
        assert!(input.events(b"\x1b").is_empty() && input.is_begun());
        assert_eq!(input.settle(), Some(Event::Key(Key::Escape)));
        assert!(input.events(b"\x1b[").is_empty());
        assert_eq!(input.settle(), None);
        assert_eq!(input.events(b"A"), [Event::Key(Key::Char('A'))]);
    }

    #[test]
    fn answers_of_the_terminal_are_not_keys() {
        assert_eq!(
            keys(b"\x1b]11;rgb:0/0/0\x07q\x1bP1$r0m\x1b\\x"),
            [Event::Key(Key::Char('q')), Event::Key(Key::Char('x'))]
        );
    }

    /// However bytes are cut, the same events come, and no byte is kept forever.
    #[test]
    fn splitting_the_input_does_not_change_the_events() {
        let mut random = fastrand::Rng::with_seed(1998);
        let pool = b"\x1b\x1b\x1b[[O;<~MmAZ0159qx\x07\\]P\xc3\xbc\xf0\xff\x00\x03";
        for _ in 0..2_000 {
            let bytes: Vec<u8> = (0..random.usize(1..40)).map(|_| pool[random.usize(..pool.len())]).collect();
            let mut cut = Input::default();
            let mut pieces: Vec<Event> = bytes.iter().flat_map(|byte| cut.events(&[*byte])).collect();
            let mut complete = Input::default();
            let mut at_once = complete.events(&bytes);
            pieces.extend(cut.settle());
            at_once.extend(complete.settle());
            assert_eq!(pieces, at_once, "{bytes:?}");
        }
        let mut endless = Input::default();
        endless.events(&[b"\x1b]".as_slice(), &[b'a'; 10_000]].concat());
        assert!(endless.pending.len() <= LONGEST);
    }
}
