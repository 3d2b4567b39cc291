/* The thread ring in C, as protothreads: a switch statement over the line at which each thread waits.
 *
 *     ring SCHEDULER CALLED THREADS HOPS
 *
 * SCHEDULER is optimum (poll all, in order), pessimum (poll all, in reverse), bitmap or queue. CALLED is 1 if a thread is
 * a called function, like one in another file, and 0 if the compiler may inline it into the scheduler. Prints the number
 * of the thread that got the last token, and the duration in nanoseconds. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PT_BEGIN(pt) switch ((pt)->line) { case 0:
#define PT_WAIT_UNTIL(pt, condition) \
    do { (pt)->line = __LINE__; case __LINE__: if (!(condition)) return false; } while (0)
#define PT_END(pt) } return true;

struct pt { unsigned short line; };
struct semaphore { unsigned count; };

static unsigned thread_count;
static struct pt *threads;
static struct semaphore *semaphores;
static unsigned *tokens;
static unsigned answer;

/* The action of a semaphore for a waiter, in addition to its count: none, a bit, or an entry in the queue. */
enum waking { NOTHING, BITMAP, QUEUE };
static uint64_t *bits;
static unsigned *queue, queue_mask, queue_first, queue_end;

static inline void signal_semaphore(unsigned id, enum waking waking) {
    semaphores[id].count++;
    if (waking == BITMAP)
        bits[id / 64] |= (uint64_t)1 << id % 64;
    else if (waking == QUEUE)
        queue[queue_end++ & queue_mask] = id;
}

/* The end of the ring is a predicted branch. */
static inline unsigned after(unsigned id) {
    if (__builtin_expect(id + 1 == thread_count, 0))
        return 0;
    return id + 1;
}

#define PT_SEM_WAIT(pt, semaphore) \
    do { PT_WAIT_UNTIL(pt, (semaphore)->count > 0); (semaphore)->count--; } while (0)

static inline __attribute__((always_inline)) bool thread(struct pt *pt, unsigned id, enum waking waking) {
    PT_BEGIN(pt)
    for (;;) {
        PT_SEM_WAIT(pt, &semaphores[id]);
        unsigned token = tokens[id];
        if (token == 0) {
            answer = id + 1;
            break;
        }
        unsigned next = after(id);
        tokens[next] = token - 1;
        signal_semaphore(next, waking);
    }
    PT_END(pt)
}

static __attribute__((noinline, noclone)) bool called_polled(struct pt *pt, unsigned id) { return thread(pt, id, NOTHING); }
static __attribute__((noinline, noclone)) bool called_bitmap(struct pt *pt, unsigned id) { return thread(pt, id, BITMAP); }
static __attribute__((noinline, noclone)) bool called_queue(struct pt *pt, unsigned id) { return thread(pt, id, QUEUE); }

static void optimum(bool called) {
    for (;;)
        for (unsigned i = 0; i < thread_count; i++)
            if (called ? called_polled(&threads[i], i) : thread(&threads[i], i, NOTHING))
                return;
}

static void pessimum(bool called) {
    for (;;)
        for (unsigned i = thread_count; i-- > 0;)
            if (called ? called_polled(&threads[i], i) : thread(&threads[i], i, NOTHING))
                return;
}

static void bitmap(bool called) {
    unsigned words = (thread_count + 63) / 64;
    for (;;)
        for (unsigned word = 0; word < words; word++)
            while (bits[word] != 0) {
                unsigned i = word * 64 + (unsigned)__builtin_ctzll(bits[word]);
                bits[word] &= bits[word] - 1;
                if (called ? called_bitmap(&threads[i], i) : thread(&threads[i], i, BITMAP))
                    return;
            }
}

static void ready_queue(bool called) {
    while (queue_first != queue_end) {
        unsigned i = queue[queue_first++ & queue_mask];
        if (called ? called_queue(&threads[i], i) : thread(&threads[i], i, QUEUE))
            return;
    }
}

static void *zeroed(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fputs("ring: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv) {
    unsigned hops = argc == 5 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    thread_count = argc == 5 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    if (thread_count == 0) {
        fputs("usage: ring optimum|pessimum|bitmap|queue 0|1 THREADS HOPS\n", stderr);
        return 2;
    }
    const char *scheduler = argv[1];
    bool called = argv[2][0] == '1';
    threads = zeroed(thread_count, sizeof *threads);
    semaphores = zeroed(thread_count, sizeof *semaphores);
    tokens = zeroed(thread_count, sizeof *tokens);
    bits = zeroed(thread_count / 64 + 1, sizeof *bits);
    queue_mask = 1;
    while (queue_mask < thread_count)
        queue_mask *= 2;
    queue = zeroed(queue_mask, sizeof *queue);
    queue_mask -= 1;

    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    tokens[0] = hops;
    if (strcmp(scheduler, "optimum") == 0) {
        signal_semaphore(0, NOTHING);
        optimum(called);
    } else if (strcmp(scheduler, "pessimum") == 0) {
        signal_semaphore(0, NOTHING);
        pessimum(called);
    } else if (strcmp(scheduler, "bitmap") == 0) {
        signal_semaphore(0, BITMAP);
        bitmap(called);
    } else {
        signal_semaphore(0, QUEUE);
        ready_queue(called);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%u %lld\n", answer, (end.tv_sec - start.tv_sec) * 1000000000LL + (end.tv_nsec - start.tv_nsec));
    return 0;
}
