// All threads are polled against the order in which the token goes round: one in a whole round finds it.
#include "protothreads.h"

static inline void wake(size_t index)
{
    (void)index;
}

static void schedule(void)
{
    for (;;)
        for (size_t i = thread_count; i-- > 0;)
            pass_on(i);
}
