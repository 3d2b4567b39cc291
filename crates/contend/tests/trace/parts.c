/* A lock whose holder computes for a part of each hold and sleeps for the rest, while another thread waits: the program
   prints its own account of the wait, in s: all, while the holder computed, while it slept, and after the release. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { HOLDS = 150 };
static pthread_mutex_t part_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begins;
static double locked[HOLDS], slept[HOLDS], released[HOLDS], waits_from[HOLDS], waits_to[HOLDS];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void pause_ms(int ms) {
    struct timespec time = {0, ms * 1000000L};
    nanosleep(&time, NULL);
}

static void *holder(void *none) {
    for (int hold = 0; hold < HOLDS; hold++) {
        pthread_mutex_lock(&part_lock);
        locked[hold] = now();
        pthread_barrier_wait(&round_begins);
        double end = now() + 0.005;
        while (now() < end) {}
        slept[hold] = now();
        pause_ms(3);
        released[hold] = now();
        pthread_mutex_unlock(&part_lock);
        pthread_barrier_wait(&round_begins);
    }
    return none;
}

static double overlap(double from, double to, double begin, double end) {
    double first = from > begin ? from : begin, last = to < end ? to : end;
    return last > first ? last - first : 0;
}

int main(void) {
    pthread_barrier_init(&round_begins, NULL, 2);
    pthread_t thread;
    pthread_create(&thread, NULL, holder, NULL);
    for (int hold = 0; hold < HOLDS; hold++) {
        pthread_barrier_wait(&round_begins);
        waits_from[hold] = now();
        pthread_mutex_lock(&part_lock);
        waits_to[hold] = now();
        pthread_mutex_unlock(&part_lock);
        pthread_barrier_wait(&round_begins);
    }
    pthread_join(thread, NULL);
    double sums[4] = {0};
    for (int hold = 0; hold < HOLDS; hold++) {
        double from = waits_from[hold], to = waits_to[hold];
        sums[0] += to - from;
        sums[1] += overlap(from, to, locked[hold], slept[hold]);
        sums[2] += overlap(from, to, slept[hold], released[hold]);
        sums[3] += overlap(from, to, released[hold], to);
    }
    printf("account %f %f %f %f\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
