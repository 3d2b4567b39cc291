// A spin lock of the program, of another kind by the first argument. Threads acquire it a known number of times, and note
// their own holds. It begins when it reads a line, so that a watcher can be there.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 100000 };
static atomic_int own_lock;
static pthread_spinlock_t glibc_lock;
static int acquisitions, threads, is_own;
static long hold_ns, pause_ns;
static double holds[8][MOST];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void compute(long ns) {
    for (double end = now() + ns; now() < end;) {}
}

__attribute__((noinline)) static void acquire(void) {
    if (!is_own) {
        pthread_spin_lock(&glibc_lock);
        return;
    }
    for (int free = 0; !atomic_compare_exchange_weak(&own_lock, &free, 1); free = 0) {
        while (atomic_load_explicit(&own_lock, memory_order_relaxed)) __builtin_ia32_pause();
    }
}

__attribute__((noinline)) static void release(void) {
    if (is_own) atomic_store_explicit(&own_lock, 0, memory_order_release);
    else pthread_spin_unlock(&glibc_lock);
}

__attribute__((noinline)) static void critical_work(int thread) {
    for (int turn = 0; turn < acquisitions; turn++) {
        acquire();
        double began = now();
        compute(hold_ns);
        holds[thread][turn] = now() - began;
        release();
        compute(pause_ns);
    }
}

static void *work(void *thread) {
    critical_work((int)(long)thread);
    return NULL;
}

static int ascending(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

// spinlock own|glibc THREADS ACQUISITIONS HOLD_NS PAUSE_NS
int main(int count, char **words) {
    if (count != 6) return 2;
    is_own = strcmp(words[1], "own") == 0;
    threads = atoi(words[2]);
    acquisitions = atoi(words[3]);
    hold_ns = atol(words[4]);
    pause_ns = atol(words[5]);
    if (threads < 1 || threads > 8 || acquisitions < 1 || acquisitions > MOST) return 2;
    pthread_spin_init(&glibc_lock, PTHREAD_PROCESS_PRIVATE);
    if (getchar() == EOF) return 1;
    pthread_t all[8];
    for (long thread = 0; thread < threads; thread++) pthread_create(&all[thread], NULL, work, (void *)thread);
    for (int thread = 0; thread < threads; thread++) pthread_join(all[thread], NULL);
    static double sorted[8 * MOST];
    double sum = 0;
    int number = 0;
    for (int thread = 0; thread < threads; thread++) {
        for (int turn = 0; turn < acquisitions; turn++) sum += sorted[number++] = holds[thread][turn];
    }
    qsort(sorted, number, sizeof sorted[0], ascending);
    printf("%d %.0f %.0f %.0f\n", number, sorted[number / 2], sorted[(number * 99 - 1) / 100], sum);
    return 0;
}
