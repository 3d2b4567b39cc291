//! The library in programs of all kinds: they do what they would have done, and what they did is counted.

mod counts;
mod free_mutex;
mod kinds;
mod nested;
mod programs;
mod waits;
mod watched;

use interpose::Level;
use watched::watched;

const HEAD: &str = "#define _GNU_SOURCE\n#include <errno.h>\n#include <pthread.h>\n#include <semaphore.h>\n\
    #include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <threads.h>\n\
    #include <time.h>\n#include <unistd.h>\n#include <sys/wait.h>\n#define CHECK(x) do { if (!(x)) { \
    fprintf(stderr, \"line %d: %s\\n\", __LINE__, #x); _exit(9); } } while (0)\n";

fn run(body: &str, level: Level) -> Option<watched::Watched> {
    watched(&[HEAD, body].concat(), level)
}
