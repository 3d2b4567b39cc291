/* A process dies while it holds a robust lock. A process that polls receives the report. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ulocks.h"

static const char *name(int code)
{
    return code == 0 ? "taken" : code == EBUSY ? "busy" : code == EOWNERDEAD ? "the owner died" : "another error";
}

int main(void)
{
    robust_ulock_t *const lock = mmap(0, sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lock == MAP_FAILED) return 1;
    if (!fork()) _exit(robust_ulock_lock(lock));
    wait(0);
    puts(name(robust_ulock_trylock(lock)));
    puts(name(robust_ulock_trylock(lock)));
    robust_ulock_consistent(lock);
    robust_ulock_unlock(lock);
    puts(name(robust_ulock_trylock(lock)));
}
