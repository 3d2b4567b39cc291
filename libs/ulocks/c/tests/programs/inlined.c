/* Threads and processes add under a lock by the inline functions, by those of the library, and by both in turns, while
 * signals restart the sequences. A program in C and in C++. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ulocks_inline.h"

enum { THREADS = 4, ROUNDS = 20000, PROCESSES = 3 };

typedef char same_size[sizeof(ulock_t) == 4 && sizeof(shared_ulock_t) == 4 ? 1 : -1];

static ulock_t lock = ULOCK_INIT;
static ulock_t in_handler;
static long total, handled;

static struct shared {
    shared_ulock_t lock;
    long total;
} *shared;

static void on_alarm(int signal)
{
    (void)signal;
    if (ulock_trylock(&in_handler) == 0) {
        handled++;
        ulock_unlock(&in_handler);
    }
}

static void *add(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i & 1) ulock_lock(&lock);
        else ulocks_ulock_lock(&lock);
        total++;
        if (i & 2) ulock_unlock(&lock);
        else ulocks_ulock_unlock(&lock);
    }
    return unused;
}

static void add_shared(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i & 1) shared_ulock_lock(&shared->lock);
        else ulocks_shared_ulock_lock(&shared->lock);
        shared->total++;
        if (i & 2) shared_ulock_unlock(&shared->lock);
        else ulocks_shared_ulock_unlock(&shared->lock);
    }
}

static const char *name(int code)
{
    return code == 0 ? "taken" : code == EBUSY ? "busy" : "another error";
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    struct itimerval often = { { 0, 20 }, { 0, 20 } };
    if (sigaction(SIGALRM, &action, 0) || setitimer(ITIMER_REAL, &often, 0)) return 1;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], 0, add, 0)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    /* Without other threads, the sequences of this thread are restarted. */
    for (long before = handled; handled < before + 1000;) {
        ulock_lock(&lock);
        ulock_unlock(&lock);
    }
    memset(&often, 0, sizeof often);
    setitimer(ITIMER_REAL, &often, 0);
    printf("threads: %ld\n", total);

    void *memory = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    shared = (struct shared *)memory;
    fflush(stdout);
    for (int i = 0; i < PROCESSES; i++)
        if (!fork()) {
            add_shared();
            _exit(0);
        }
    while (wait(0) > 0) {}
    printf("processes: %ld\n", shared->total);

    static ulock_t unused = ULOCK_INIT;
    ulock_lock(&unused);
    printf("held: word %u, %s\n", unused.word_[0], name(ulock_trylock(&unused)));
    ulock_unlock(&unused);
    printf("unlocked: word %u, ", unused.word_[0]);
    printf("%s\n", name(ulock_trylock(&unused)));
    ulocks_ulock_unlock(&unused);
    printf("shared: %s, ", name(shared_ulock_trylock(&shared->lock)));
    printf("%s\n", name(shared_ulock_trylock(&shared->lock)));
    shared_ulock_unlock(&shared->lock);
    return 0;
}
