//! What an installation has beside the binary: completions for shells and man pages, both written from the definition
//! that the command line is parsed with, so that neither knows a flag that is not there.

mod completions;
mod page;
mod pages;

pub use completions::Flags as CompletionsFlags;
pub use completions::run as complete;
pub use page::EXIT_STATUS;
pub use pages::Flags as PagesFlags;
pub use pages::run as write_pages;
