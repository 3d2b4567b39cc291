/* Four threads add to a tally under an adaptive lock. Four processes then do the same in shared memory, and one of them
 * dies while it holds a robust lock.
 *
 *     cc -I include tally.c -lulocks_c -lpthread
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ulocks.h"

enum { CHILDREN = 4, ROUNDS = 10000 };

static ulock_t lock = ULOCK_INIT;
static long total;

static void *add(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        ulock_lock(&lock);
        total++;
        ulock_unlock(&lock);
    }
    return unused;
}

/* Anonymous shared memory is all zero: the locks in it are unlocked. */
struct ledger {
    shared_ulock_t lock;
    robust_ulock_t robust;
    shared_usem_t done;
    long total;
};

static void add_in_process(struct ledger *ledger)
{
    for (int i = 0; i < ROUNDS; i++) {
        shared_ulock_lock(&ledger->lock);
        ledger->total++;
        shared_ulock_unlock(&ledger->lock);
    }
    shared_usem_post(&ledger->done);
}

int main(void)
{
    pthread_t threads[CHILDREN];
    for (int i = 0; i < CHILDREN; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < CHILDREN; i++)
        pthread_join(threads[i], NULL);
    printf("threads: %ld\n", total);

    struct ledger *ledger =
        mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ledger == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (int i = 0; i < CHILDREN; i++) {
        if (fork() == 0) {
            add_in_process(ledger);
            if (i == 0 && robust_ulock_lock(&ledger->robust) == 0)
                _exit(0); /* dies while it holds the lock */
            _exit(0);
        }
    }
    for (int i = 0; i < CHILDREN; i++)
        shared_usem_wait(&ledger->done);
    while (wait(NULL) > 0)
        ;
    printf("processes: %ld\n", ledger->total);

    int inherited = robust_ulock_lock(&ledger->robust);
    printf("robust: %s\n", inherited == EOWNERDEAD ? "the owner died" : "clean");
    robust_ulock_consistent(&ledger->robust);
    robust_ulock_unlock(&ledger->robust);
    printf("busy: %s\n", ulock_trylock(&lock) == 0 && ulock_trylock(&lock) == EBUSY ? "yes" : "no");
    return 0;
}
