/* A signal interrupts a wait with a deadline. Its handler runs until the deadline has passed and the lock is free: POSIX
 * says that the wait goes on as if it had not been interrupted, and it finds the lock. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static struct timespec deadline;
static atomic_int waits, is_handled, is_free;

static int lock(void) { return pthread_mutex_timedlock(&mutex, &deadline); }
static int rdlock(void) { return pthread_rwlock_timedrdlock(&table, &deadline); }
static int wrlock(void) { return pthread_rwlock_timedwrlock(&table, &deadline); }

static void handle(int signal)
{
    (void)signal;
    is_handled = 1;
    struct timespec now;
    do {
        const struct timespec nap = { 0, 1000000 };
        nanosleep(&nap, 0);
        clock_gettime(CLOCK_REALTIME, &now);
    } while (!is_free || now.tv_sec <= deadline.tv_sec);
}

static void *wait_for(void *function)
{
    /* Set here, so that the wait begins long before it, even if the thread had to wait for a CPU. */
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 1;
    waits = 1;
    const int code = (*(int (**)(void))function)();
    return (void *)(long)code;
}

int main(void)
{
    struct sigaction action = { .sa_handler = handle };
    sigaction(SIGUSR1, &action, 0);
    const struct { const char *name; int (*wait)(void); } cases[] = { { "mutex", lock }, { "reading", rdlock }, { "writing", wrlock } };
    for (int i = 0; i < 3; i++) {
        waits = is_handled = is_free = 0;
        pthread_mutex_lock(&mutex);
        pthread_rwlock_wrlock(&table);
        pthread_t thread;
        int (*wait)(void) = cases[i].wait;
        pthread_create(&thread, 0, wait_for, &wait);
        while (!waits) sched_yield();
        const struct timespec nap = { 0, 50000000 };
        nanosleep(&nap, 0);
        pthread_kill(thread, SIGUSR1);
        while (!is_handled) sched_yield();
        pthread_rwlock_unlock(&table);
        pthread_mutex_unlock(&mutex);
        is_free = 1;
        void *code;
        pthread_join(thread, &code);
        printf("%s: %s\n", cases[i].name, strerror((int)(long)code));
        if (code == 0 && wait == lock) pthread_mutex_unlock(&mutex);
        if (code == 0 && wait != lock) pthread_rwlock_unlock(&table);
    }
    return 0;
}
