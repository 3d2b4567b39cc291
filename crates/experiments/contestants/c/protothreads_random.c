// All threads are polled in an order that is shuffled once: a shuffle in every round would be measured with the polls. From
// a seed, so that every run has the same order.
#include "protothreads.h"

static inline void wake(size_t index)
{
    (void)index;
}

static size_t *shuffled(size_t count)
{
    size_t *order = zeroed(count, sizeof *order);
    unsigned short seed[3] = { 2008, 4, 1 };
    for (size_t i = 0; i < count; i++) {
        size_t other = (size_t)nrand48(seed) % (i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    return order;
}

static void schedule(void)
{
    const size_t *order = shuffled(thread_count);
    for (;;)
        for (size_t i = 0; i < thread_count; i++)
            pass_on(order[i]);
}
