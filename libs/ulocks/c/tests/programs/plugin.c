/* A plugin with a private lock, which contains the static library. */
#ifdef INLINE
#include "ulocks_inline.h"
#else
#include "ulocks.h"
#endif

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
