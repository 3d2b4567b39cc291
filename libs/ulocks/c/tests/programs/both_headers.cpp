// The short C names exist regardless of the order of the headers, and are absent if the program disables them.
#ifdef INLINE
#define HEADER "ulocks_inline.h"
#else
#define HEADER "ulocks.h"
#endif
#ifdef CPP_FIRST
#include "ulocks.hpp"
#include HEADER
#else
#include HEADER
#include "ulocks.hpp"
#endif

int main()
{
    static ulock_t lock = ULOCK_INIT;
    static ulocks::adaptive other;
#ifdef ULOCKS_NO_SHORT_NAMES
    struct names { int ulock_lock; } own = { 0 };
    ulocks_ulock_lock(&lock);
    ulocks_ulock_unlock(&lock);
    return own.ulock_lock;
#else
    ulock_lock(&lock);
    ulock_unlock(&lock);
    return 0;
#endif
}
