/* Programs of several shapes that do a fixed amount of work: SHAPE SECTION [PASSES], where SECTION times the length of
   the sections of `hot` (1, 0.5), and PASSES is how many passes of the loop take 1 us (measured if it is missing). Says
   its time, so that what a shorter section really saves can be held against what `--what-if` predicts.
   Times in us: what is done with `hot` in hand + outside.
   condition   a producer (200 + 150) and two consumers (150 + 300), one condition
   queue       two producers that sleep (150, then 60 in the queue), two consumers (60 + 250), a bounded queue
   barriers    two threads in phases: 900 or 500 outside, then 600 in the lock
   convoy      two threads, 79 + 47
   readers     three readers (100 read-locked + 200), a writer (200 write-locked + 400)
   asleep      six threads, 3,000 asleep in the lock + 500
   crowded     three threads, 300 + 100, on two CPUs
   pipeline    three stages, one thread each, a hand-over through two queues, 150 in the lock of the second
   striped     four threads, eight locks of the same length, 100 + 100
   seldom      two threads, 20 + 400
   alone       two threads, each with a lock of its own, 200 + 200
   serial      main works alone for a third, then four threads with 200 + 50
   mixed       three threads, 150 asleep and 150 at work in the lock, 400 outside */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER, cold = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *locks;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static double passes = 0, section = 1;
static int items, passed_items, is_done, is_first_done;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void loop(long count) {
    uint64_t value = 3;
    for (long i = 0; i < count; i++) {
        value *= value + i;
        __asm__ volatile("" : "+r"(value));
    }
}

static void work(double us) { loop((long)(us * passes)); }

static void rest(double us) {
    struct timespec time = {0, (long)(us * 1000)};
    nanosleep(&time, NULL);
}

static void locked(pthread_mutex_t *lock, double us) {
    pthread_mutex_lock(lock);
    work(us * section);
    pthread_mutex_unlock(lock);
}

static void *producer(void *unused) {
    for (int i = 0; i < 600; i++) {
        work(200);
        pthread_mutex_lock(&hot);
        work(150 * section);
        items++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&hot);
    }
    pthread_mutex_lock(&hot);
    is_done = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&hot);
    return unused;
}

static void *consumer(void *unused) {
    for (;;) {
        pthread_mutex_lock(&hot);
        while (!items && !is_done) pthread_cond_wait(&filled, &hot);
        if (!items) {
            pthread_mutex_unlock(&hot);
            return unused;
        }
        items--;
        work(150 * section);
        pthread_mutex_unlock(&hot);
        work(300);
    }
}

static void *fills(void *unused) {
    for (int i = 0; i < 400; i++) {
        rest(150);
        pthread_mutex_lock(&hot);
        while (items >= 16) pthread_cond_wait(&emptied, &hot);
        work(60 * section);
        items++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&hot);
    }
    return unused;
}

static void *empties(void *unused) {
    for (int i = 0; i < 400; i++) {
        pthread_mutex_lock(&hot);
        while (!items) pthread_cond_wait(&filled, &hot);
        items--;
        work(60 * section);
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&hot);
        work(250);
    }
    return unused;
}

static void *phases(void *number) {
    for (int i = 0; i < 130; i++) {
        work(number ? 500 : 900);
        locked(&hot, 600);
        pthread_barrier_wait(&both);
    }
    return number;
}

static void *convoy(void *unused) {
    for (int i = 0; i < 2000; i++) locked(&hot, 79), work(47);
    return unused;
}

static void *reads(void *unused) {
    for (int i = 0; i < 400; i++) {
        pthread_rwlock_rdlock(&table);
        work(100 * section);
        pthread_rwlock_unlock(&table);
        work(200);
    }
    return unused;
}

static void *writes(void *unused) {
    for (int i = 0; i < 250; i++) {
        pthread_rwlock_wrlock(&table);
        work(200 * section);
        pthread_rwlock_unlock(&table);
        work(400);
    }
    return unused;
}

static void *asleep(void *unused) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&hot);
        rest(3000 * section);
        pthread_mutex_unlock(&hot);
        work(500);
    }
    return unused;
}

static void *crowded(void *unused) {
    for (int i = 0; i < 350; i++) locked(&hot, 300), work(100);
    return unused;
}

static void *first_stage(void *unused) {
    for (int i = 0; i < 600; i++) {
        work(250);
        pthread_mutex_lock(&cold);
        items++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&cold);
    }
    pthread_mutex_lock(&cold);
    is_first_done = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&cold);
    return unused;
}

static void *second_stage(void *unused) {
    for (;;) {
        pthread_mutex_lock(&cold);
        while (!items && !is_first_done) pthread_cond_wait(&filled, &cold);
        int is_over = !items;
        if (!is_over) items--;
        pthread_mutex_unlock(&cold);
        if (!is_over) work(150);
        pthread_mutex_lock(&hot);
        if (is_over) is_done = 1;
        else work(150 * section), passed_items++;
        pthread_cond_signal(&passed);
        pthread_mutex_unlock(&hot);
        if (is_over) return unused;
    }
}

static void *third_stage(void *unused) {
    for (;;) {
        pthread_mutex_lock(&hot);
        while (!passed_items && !is_done) pthread_cond_wait(&passed, &hot);
        if (!passed_items) {
            pthread_mutex_unlock(&hot);
            return unused;
        }
        passed_items--;
        work(150 * section);
        pthread_mutex_unlock(&hot);
        work(100);
    }
}

static void *striped(void *number) {
    unsigned long random = (unsigned long)number + 1;
    for (int i = 0; i < 700; i++) {
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        pthread_mutex_t *lock = locks + (random >> 33) % 8;
        pthread_mutex_lock(lock);
        work(100 * section);
        pthread_mutex_unlock(lock);
        work(100);
    }
    return number;
}

static void *seldom(void *unused) {
    for (int i = 0; i < 900; i++) locked(&hot, 20), work(400);
    return unused;
}

static void *alone(void *number) {
    for (int i = 0; i < 800; i++) {
        if (number) {
            locked(&hot, 200);
        } else {
            pthread_mutex_lock(&cold);
            work(200);
            pthread_mutex_unlock(&cold);
        }
        work(200);
    }
    return number;
}

static void *after(void *unused) {
    for (int i = 0; i < 250; i++) locked(&hot, 200), work(50);
    return unused;
}

static void *mixed(void *unused) {
    for (int i = 0; i < 250; i++) {
        pthread_mutex_lock(&hot);
        rest(150 * section);
        work(150 * section);
        pthread_mutex_unlock(&hot);
        work(400);
    }
    return unused;
}

static double measured(void) {
    double least = 1e9;
    for (int i = 0; i < 30; i++) {
        double began = now();
        loop(20000);
        double took = now() - began;
        if (took < least) least = took;
    }
    return 20000 / (least * 1e6);
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    const char *shape = arguments[1];
    section = atof(arguments[2]);
    passes = count > 3 ? atof(arguments[3]) : measured();
    if (!strcmp(shape, "passes")) return printf("%.3f\n", passes), 0;
    locks = calloc(8, sizeof *locks);
    pthread_barrier_init(&both, NULL, 2);
    struct { const char *shape; void *(*runs)(void *); int threads; } all[] = {
        {"condition", producer, 1}, {"condition", consumer, 2}, {"queue", fills, 2}, {"queue", empties, 2},
        {"barriers", phases, 2}, {"convoy", convoy, 2}, {"readers", reads, 3}, {"readers", writes, 1},
        {"asleep", asleep, 6}, {"crowded", crowded, 3}, {"pipeline", first_stage, 1}, {"pipeline", second_stage, 1},
        {"pipeline", third_stage, 1}, {"striped", striped, 4}, {"seldom", seldom, 2}, {"alone", alone, 2},
        {"serial", after, 4}, {"mixed", mixed, 3},
    };
    pthread_t threads[8];
    int started = 0;
    double began = now();
    if (!strcmp(shape, "serial")) work(100000);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(shape, all[i].shape)) continue;
        for (long number = 0; number < all[i].threads; number++)
            pthread_create(threads + started++, NULL, all[i].runs, (void *)number);
    }
    if (!started) return 2;
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    printf("took %.4f s\n", now() - began);
    return 0;
}
