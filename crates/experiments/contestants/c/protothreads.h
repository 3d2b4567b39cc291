// Threads without stacks, after Adam Dunkels' protothreads: a thread is a function that returns when it must wait, and a
// `switch` that brings the next call back to the line where it left off. Variables of the function do not survive a wait.
// Which thread is called next is left to the file that includes this: it defines `wake` and `schedule`.
#include "arguments.h"

#include <stdbool.h>

struct thread {
    unsigned short line;    // where to go on; 0 is the beginning
    bool full;              // a semaphore that counts to one
    int64_t token;
};

#define BEGIN(thread)               \
    switch ((thread)->line) {       \
    case 0:

// Every wait needs a line of its own in the source.
#define WAIT_UNTIL(thread, condition)       \
    do {                                    \
        (thread)->line = __LINE__;          \
        __attribute__((fallthrough));       \
    case __LINE__:                          \
        if (!(condition))                   \
            return;                         \
    } while (0)

#define END }

#ifdef CALLED
#define THREAD __attribute__((noinline)) static void
#else
#define THREAD static inline void
#endif

static struct thread *threads;
static size_t thread_count;

static inline void wake(size_t index);
_Noreturn static void schedule(void);

THREAD pass_on(size_t index)
{
    struct thread *self = &threads[index];
    BEGIN(self);
    for (;;) {
        WAIT_UNTIL(self, self->full);
        self->full = false;
        if (self->token == 0) {
            printf("%zu\n", index + 1);
            exit(0);
        }
        size_t next = index + 1 == thread_count ? 0 : index + 1;
        threads[next].token = self->token - 1;
        threads[next].full = true;
        wake(next);
    }
    END
}

int main(int argc, char **argv)
{
    struct arguments ring = read_arguments(argc, argv);
    thread_count = ring.threads;
    threads = zeroed(thread_count, sizeof *threads);
    threads[0].token = ring.hops;
    threads[0].full = true;
    schedule();
}
