/*
 * An experimental lock that never lets more than one of its waiters run: it shows how long the scheduler alone makes
 * a thread wait.
 *
 *     cc -O2 -shared -fPIC -I crates/locks/include crates/locks/examples/slices.c -o libslices.so
 *     contend throughput --lock ./libslices.so,adaptive,parking_lot --children 100 --nonhold 0 --hold 1us --run 2s
 *
 * One waiter spins; all others block in a queue. Once per slice, a release hands the lock off to the thread that has
 * waited longest: the lock stays held until that thread runs. Between these handoffs any running thread may acquire
 * the lock. A woken thread that finds it held goes back to the front of the queue. The lock needs x86-64 and Linux.
 */
#include "contend_lock.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

long syscall(long number, ...);

/* Cycles of a slice and of a spin: 0.4 ms and 30 us at 2.1 GHz. */
#ifndef SLICE
#define SLICE 840000ull
#endif
#define SPIN 63000ull

enum { FREE, HELD, HANDED_OFF };
enum { WAITING, OWNER, WOKEN };

struct waiter {
    struct waiter *next;
    atomic_int turn;
};

struct slices {
    _Alignas(64) atomic_int state;
    atomic_int spinner;
    atomic_int waiters;
    atomic_int waking;
    uint64_t handed_off_at;
    /* The queue, and the spin lock that protects it. */
    _Alignas(64) atomic_int guard;
    struct waiter *first, *last;
};

CONTEND_LOCK_OF(struct slices);

static void protect(struct slices *lock)
{
    while (atomic_exchange(&lock->guard, 1))
        _mm_pause();
}

static void leave(struct slices *lock)
{
    atomic_store(&lock->guard, 0);
}

static int take(struct slices *lock)
{
    int free = FREE;
    return atomic_load(&lock->state) == FREE && atomic_compare_exchange_strong(&lock->state, &free, HELD);
}

/* Spins as the only spinner; stops at a handoff, whose owner may need this CPU. */
static int spin(struct slices *lock)
{
    uint64_t end = __rdtsc() + SPIN;
    int taken = 0;
    if (atomic_exchange(&lock->spinner, 1))
        return 0;
    while (!(taken = take(lock)) && atomic_load(&lock->state) != HANDED_OFF && __rdtsc() < end)
        for (int i = 0; i < 4; i++)
            _mm_pause();
    atomic_store(&lock->spinner, 0);
    return taken;
}

/* Blocks until a release names this thread; returns whether it now owns the lock. */
static int block(struct slices *lock, int was_woken)
{
    struct waiter own = {0, WAITING};
    protect(lock);
    /* The count rises before the state is read: either this thread finds the lock free, or its releaser the count. */
    atomic_fetch_add(&lock->waiters, 1);
    if (take(lock)) {
        atomic_fetch_sub(&lock->waiters, 1);
        leave(lock);
        if (was_woken)
            atomic_store(&lock->waking, 0);
        return 1;
    }
    if (!lock->first) {
        lock->first = lock->last = &own;
    } else if (was_woken) {
        own.next = lock->first;
        lock->first = &own;
    } else {
        lock->last->next = &own;
        lock->last = &own;
    }
    leave(lock);
    if (was_woken)
        atomic_store(&lock->waking, 0);
    while (atomic_load(&own.turn) == WAITING)
        syscall(SYS_futex, &own.turn, FUTEX_WAIT_PRIVATE, WAITING, 0, 0, 0);
    if (atomic_load(&own.turn) == WOKEN)
        return 0;
    atomic_store(&lock->state, HELD);
    return 1;
}

static struct waiter *dequeue(struct slices *lock)
{
    protect(lock);
    struct waiter *first = lock->first;
    if (first) {
        lock->first = first->next;
        atomic_fetch_sub(&lock->waiters, 1);
    }
    leave(lock);
    return first;
}

static void wake(struct waiter *waiter, int turn)
{
    /* After the store the waiter may be gone; the kernel only compares the address. */
    atomic_int *word = &waiter->turn;
    atomic_store(word, turn);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

int contend_lock_init(void *lock)
{
    (void)lock;
    return 0;
}

void contend_lock_acquire(void *memory)
{
    struct slices *lock = memory;
    int was_woken = 0;
    if (take(lock))
        return;
    for (;;) {
        if (spin(lock) || (was_woken && take(lock))) {
            if (was_woken)
                atomic_store(&lock->waking, 0);
            return;
        }
        if (block(lock, was_woken))
            return;
        was_woken = 1;
    }
}

void contend_lock_release(void *memory)
{
    struct slices *lock = memory;
    uint64_t now = __rdtsc();
    if (atomic_load(&lock->waiters) > 0 && now - lock->handed_off_at >= SLICE) {
        struct waiter *longest = dequeue(lock);
        if (longest) {
            lock->handed_off_at = now;
            atomic_store(&lock->state, HANDED_OFF);
            wake(longest, OWNER);
            return;
        }
    }
    atomic_store(&lock->state, FREE);
    if (atomic_load(&lock->waiters) > 0 && !atomic_load(&lock->spinner) && !atomic_exchange(&lock->waking, 1)) {
        struct waiter *next = dequeue(lock);
        if (next)
            wake(next, WOKEN);
        else
            atomic_store(&lock->waking, 0);
    }
}

void contend_lock_destroy(void *lock)
{
    (void)lock;
}
