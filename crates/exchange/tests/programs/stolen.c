/* A waits for a condition. N signals, and is stopped before its call of the kernel that wakes. B, which has a real-time
 * priority, begins to wait for the same condition. N goes on: one of the waiting threads must come out of its wait. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* <linux/ptrace.h> cannot be included together with <sys/ptrace.h>. */
enum { SYSCALL_INFO = 0x420e, AT_ENTRY = 1 };
struct info { unsigned char op; unsigned char padding[3]; unsigned arch; unsigned long ip, sp, number, arguments[6]; };

struct shared { atomic_int n, a_waits, n_may_go, signalled, b_may_come, b_waits, came_out; };
static struct shared *shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void nap(void)
{
    const struct timespec time = { 0, 1000000 };
    nanosleep(&time, 0);
}

static void await(atomic_int *what)
{
    while (!*what) nap();
}

static void *wait_once(void *waits)
{
    pthread_mutex_lock(&mutex);
    *(atomic_int *)waits = 1;
    pthread_cond_wait(&condition, &mutex);
    shared->came_out = 1;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void *b(void *waits)
{
    const struct sched_param priority = { .sched_priority = 10 };
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    await(&shared->b_may_come);
    return wait_once(waits);
}

static void *n(void *nothing)
{
    (void)nothing;
    await(&shared->a_waits);
    /* A has said so with the mutex, and gives it up in its wait. */
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    shared->n = (int)syscall(SYS_gettid);
    while (!shared->n_may_go) sched_yield();
    pthread_cond_signal(&condition);
    shared->signalled = 1;
    return 0;
}

static int program(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], 0, wait_once, &shared->a_waits);
    pthread_create(&threads[1], 0, b, &shared->b_waits);
    pthread_create(&threads[2], 0, n, 0);
    for (;;) pause();
}

/* Whether this call wakes: FUTEX_WAKE, FUTEX_WAKE_OP or FUTEX_WAKE_BITSET. */
static int wakes(const struct info *info)
{
    const unsigned long operation = info->arguments[1] & 0x7f;
    return info->op == AT_ENTRY && info->number == SYS_futex && (operation == 1 || operation == 5 || operation == 10);
}

int main(void)
{
    struct sched_param priority = { .sched_priority = 10 };
    const int has_priorities = !sched_setscheduler(0, SCHED_FIFO, &priority);
    priority.sched_priority = 0;
    sched_setscheduler(0, SCHED_OTHER, &priority);
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t child = fork();
    if (!child) return program();
    await(&shared->n);
    const pid_t n = shared->n;
    int status;
    if (!has_priorities || ptrace(PTRACE_ATTACH, n, 0, 0)) {
        puts("skipped: needs SCHED_FIFO and ptrace");
        kill(child, SIGKILL);
        return 0;
    }
    waitpid(n, &status, __WALL);
    ptrace(PTRACE_SETOPTIONS, n, 0, PTRACE_O_TRACESYSGOOD);
    shared->n_may_go = 1;
    int is_at_wake = 0;
    while (!is_at_wake && !shared->signalled) {
        if (ptrace(PTRACE_SYSCALL, n, 0, 0) || waitpid(n, &status, __WALL) != n || !WIFSTOPPED(status)) break;
        struct info info = { 0 };
        ptrace((enum __ptrace_request)SYSCALL_INFO, n, sizeof info, &info);
        is_at_wake = wakes(&info);
    }
    shared->b_may_come = 1;
    await(&shared->b_waits);
    for (int i = 0; i < 100; i++) nap();
    ptrace(PTRACE_DETACH, n, 0, 0);
    for (int i = 0; i < 20000 && !shared->came_out; i++) nap();
    if (!is_at_wake) puts("no call that wakes was seen");
    puts(shared->came_out ? "the signal let one out" : "the signal let none out");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 0;
}
