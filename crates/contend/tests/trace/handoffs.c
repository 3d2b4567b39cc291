// Two threads hand a token to each other after 20 us each: tens of thousands of waits a second.
//
// handoffs SECONDS: prints how often a thread left its CPU by its own will: most of these are waits for the token, which
// often comes before the thread is asleep.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

sem_t left_turn, right_turn;
static double until;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void work(void) {
    for (double begun = now(); now() < begun + 20e-6;) {}
}

static void *right(void *nothing) {
    for (;;) {
        sem_wait(&right_turn);
        work();
        sem_post(&left_turn);
    }
    return nothing;
}

int main(int count, char **arguments) {
    until = now() + (count > 1 ? atof(arguments[1]) : 1);
    pthread_t other;
    sem_init(&left_turn, 0, 1);
    sem_init(&right_turn, 0, 0);
    pthread_create(&other, 0, right, 0);
    while (now() < until) {
        sem_wait(&left_turn);
        work();
        sem_post(&right_turn);
    }
    sem_wait(&left_turn);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%ld\n", used.ru_nvcsw);
    return 0;
}
