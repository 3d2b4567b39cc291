// All threads are polled in the order in which the token goes round: each finds it.
#include "protothreads.h"

static inline void wake(size_t index)
{
    (void)index;
}

static void schedule(void)
{
    for (;;)
        for (size_t i = 0; i < thread_count; i++)
            pass_on(i);
}
