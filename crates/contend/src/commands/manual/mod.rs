//! Files of an installation in addition to the binary: completions for shells and man pages. Both are written from the
//! definition that parses the command line, so that neither has a flag that does not exist.

mod completions;
mod page;
mod pages;

pub use completions::Flags as CompletionsFlags;
pub use completions::run as complete;
pub use page::EXIT_STATUS;
pub use pages::Flags as PagesFlags;
pub use pages::run as write_pages;
