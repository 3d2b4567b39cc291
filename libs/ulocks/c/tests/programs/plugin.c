/* A plugin with a private lock, which contains the static library. */
#include "ulocks.h"

static ulock_t lock = ULOCK_INIT;
static unsigned long hits;

unsigned long hit(void);

unsigned long hit(void)
{
    ulock_lock(&lock);
    const unsigned long count = ++hits;
    ulock_unlock(&lock);
    return count;
}
