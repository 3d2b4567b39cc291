// Threads that were woken wait in a queue, first in, first out; nobody is polled in vain.
#include "protothreads.h"

// A thread is in the queue at most once, so a place a thread is enough. A power of two of places: they are counted without
// end, and masked.
static size_t *ready;
static size_t mask;
static size_t added;
static size_t taken;

static inline void wake(size_t index)
{
    ready[added++ & mask] = index;
}

static void schedule(void)
{
    size_t places = 1;
    while (places < thread_count)
        places *= 2;
    mask = places - 1;
    ready = zeroed(places, sizeof *ready);

    wake(0);
    while (taken != added)
        pass_on(ready[taken++ & mask]);
    abort();
}
