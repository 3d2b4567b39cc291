//! The waits in other programs' forms.

mod folded;
mod perfetto;

use super::flags::Form;
use super::measure::NamedWait;

/// What goes into the file.
pub fn content(form: Form, waits: &[NamedWait]) -> Vec<u8> {
    match form {
        Form::Folded => folded::text(waits).into_bytes(),
        Form::Perfetto => perfetto::trace(waits),
    }
}
