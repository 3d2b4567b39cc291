// Threads that wait at a word, for a lock or for work, by functions whose names the builds choose: the names say nothing.
//   locked    a lock of the program's own, made of a word; the holder sleeps in store_page
//   gated     a lock made of a mutex and a condition; the holder sleeps in store_page
//   idle      workers of a healthy pool wait for jobs at a word of the program's own
//   told      workers wait for jobs at a condition
//   handed    a lock that is handed on: each thread waits at a condition of its own; the holder sleeps in store_page
//   counted   a lock made of an eventfd; the holder sleeps in store_page
//   served    clients wait for their answers, each at a semaphore of its own
//   phases    two threads meet at a barrier; one of them sleeps in store_page before it
//   yielded   a lock whose waiters call sched_yield; the holder computes
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef ENTER
#define ENTER enter
#define LEAVE leave
#define NEXT next
#endif

enum { WORKERS = 4, ROUNDS = 250, JOBS = 400 };

static atomic_int page_state, jobs;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t page_gate = PTHREAD_COND_INITIALIZER, job_bell = PTHREAD_COND_INITIALIZER;
static int is_taken, queued;
static atomic_int is_over;
static long stored;

static void pause_us(long us) {
    struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

static void futex(atomic_int *word, int operation, int value) {
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

__attribute__((noinline)) static void ENTER(void) {
    int before = 0;
    if (atomic_compare_exchange_strong(&page_state, &before, 1)) return;
    while (atomic_exchange(&page_state, 2) != 0) futex(&page_state, FUTEX_WAIT_PRIVATE, 2);
}

__attribute__((noinline)) static void LEAVE(void) {
    if (atomic_exchange(&page_state, 0) == 2) futex(&page_state, FUTEX_WAKE_PRIVATE, 1);
}

__attribute__((noinline)) static void store_page(void) {
    pause_us(2000);
    stored++;
}

static void *locked(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        ENTER();
        store_page();
        LEAVE();
        pause_us(100);
    }
    return unused;
}

static void *gated(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        while (is_taken) pthread_cond_wait(&page_gate, &mutex);
        is_taken = 1;
        pthread_mutex_unlock(&mutex);
        store_page();
        pthread_mutex_lock(&mutex);
        is_taken = 0;
        pthread_cond_signal(&page_gate);
        pthread_mutex_unlock(&mutex);
        pause_us(100);
    }
    return unused;
}

// A thread that waits for its turn.
struct turn {
    pthread_cond_t bell;
    int has_it;
    struct turn *next;
};

static struct turn *first_turn, **last_turn = &first_turn;

static void *handed(void *unused) {
    struct turn own = {PTHREAD_COND_INITIALIZER, 0, NULL};
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        if (is_taken) {
            own.has_it = 0, own.next = NULL;
            *last_turn = &own, last_turn = &own.next;
            while (!own.has_it) pthread_cond_wait(&own.bell, &mutex);
        }
        is_taken = 1;
        pthread_mutex_unlock(&mutex);
        store_page();
        pthread_mutex_lock(&mutex);
        struct turn *next = first_turn;
        if (next) {
            first_turn = next->next;
            if (!first_turn) last_turn = &first_turn;
            next->has_it = 1;
            pthread_cond_signal(&next->bell);
        } else {
            is_taken = 0;
        }
        pthread_mutex_unlock(&mutex);
        pause_us(100);
    }
    return unused;
}

static int counter;

static void *counted(void *unused) {
    uint64_t one = 1;
    for (int round = 0; round < ROUNDS; round++) {
        if (read(counter, &one, sizeof one) != sizeof one) return NULL;
        store_page();
        if (write(counter, &one, sizeof one) != sizeof one) return NULL;
        pause_us(100);
    }
    return unused;
}

static sem_t *asked[WORKERS];

// Two of the threads serve the others.
static void *served(void *number) {
    intptr_t own = (intptr_t)number;
    sem_t answer;
    sem_init(&answer, 0, 0);
    while (!is_over) {
        if (own < 2) {
            pause_us(2000);
            for (int client = 2; client < WORKERS; client++) {
                sem_t *waits = __atomic_exchange_n(&asked[client], NULL, __ATOMIC_ACQ_REL);
                if (waits) sem_post(waits);
            }
        } else {
            __atomic_store_n(&asked[own], &answer, __ATOMIC_RELEASE);
            sem_wait(&answer);
            if (++stored > 8 * JOBS) is_over = 1;
        }
    }
    for (int client = 2; client < WORKERS; client++) {
        sem_t *waits = __atomic_exchange_n(&asked[client], NULL, __ATOMIC_ACQ_REL);
        if (waits) sem_post(waits);
    }
    return NULL;
}

static pthread_barrier_t meeting;

static void *phases(void *number) {
    if ((intptr_t)number > 1) return NULL;
    for (int round = 0; round < ROUNDS; round++) {
        if (number) store_page();
        pthread_barrier_wait(&meeting);
        if (!number) store_page();
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}

static atomic_uint next_number, current_number;

static void *yielded(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        unsigned own = atomic_fetch_add(&next_number, 1);
        while (atomic_load(&current_number) != own) sched_yield();
        for (volatile int step = 0; step < 1000000; step++) {}
        atomic_fetch_add(&current_number, 1);
    }
    return unused;
}

__attribute__((noinline)) static int NEXT(void) {
    for (;;) {
        int left = jobs;
        if (left < 0) return 0;
        if (left > 0 && atomic_compare_exchange_strong(&jobs, &left, left - 1)) return 1;
        if (left == 0) futex(&jobs, FUTEX_WAIT_PRIVATE, 0);
    }
}

static void *idle(void *unused) {
    while (NEXT()) pause_us(300);
    return unused;
}

static void *told(void *unused) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (!queued && !is_over) pthread_cond_wait(&job_bell, &mutex);
        int ends = !queued;
        if (!ends) queued--;
        pthread_mutex_unlock(&mutex);
        if (ends) return unused;
        pause_us(300);
    }
}

static void give_jobs(int by_condition) {
    for (int job = 0; job < JOBS; job++) {
        pause_us(5000);
        if (by_condition) {
            pthread_mutex_lock(&mutex);
            queued++;
            pthread_cond_signal(&job_bell);
            pthread_mutex_unlock(&mutex);
        } else {
            atomic_fetch_add(&jobs, 1);
            futex(&jobs, FUTEX_WAKE_PRIVATE, 1);
        }
    }
    pthread_mutex_lock(&mutex);
    is_over = 1;
    pthread_cond_broadcast(&job_bell);
    pthread_mutex_unlock(&mutex);
    atomic_store(&jobs, -1);
    futex(&jobs, FUTEX_WAKE_PRIVATE, WORKERS);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "locked";
    static const struct {
        const char *name;
        void *(*begin)(void *);
    } ways[] = {{"gated", gated},   {"idle", idle},     {"told", told},     {"handed", handed},
                {"counted", counted}, {"served", served}, {"phases", phases}, {"yielded", yielded}};
    void *(*begin)(void *) = locked;
    for (size_t each = 0; each < sizeof ways / sizeof *ways; each++)
        if (!strcmp(what, ways[each].name)) begin = ways[each].begin;
    counter = eventfd(1, EFD_SEMAPHORE);
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_t threads[WORKERS];
    for (intptr_t each = 0; each < WORKERS; each++) pthread_create(&threads[each], NULL, begin, (void *)each);
    if (begin == idle || begin == told) give_jobs(begin == told);
    for (int each = 0; each < WORKERS; each++) pthread_join(threads[each], NULL);
    printf("%ld\n", stored);
    return 0;
}
