// Requests with labels, some of which wait for a lock that a flushing thread holds in its sleep. It prints its account:
// a line for each label with its requests, and their time and waits in ns.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "contend_label.h"

#define FLUSHES 12
#define REQUESTS 30

pthread_mutex_t cache_mu = PTHREAD_MUTEX_INITIALIZER;

struct account {
    long requests;
    long long total, waited;
};

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline)) static void flush(void) {
    pthread_mutex_lock(&cache_mu);
    usleep(12000);
    pthread_mutex_unlock(&cache_mu);
    usleep(4000);
}

static void *flusher(void *unused) {
    for (int turn = 0; turn < FLUSHES; turn++) flush();
    return unused;
}

static void *worker(void *account_of) {
    struct account *account = account_of;
    for (int turn = 0; turn < REQUESTS; turn++) {
        // A buffer that has had another name: a label is its bytes.
        char name[16];
        strcpy(name, "GET /x");
        long long began = now();
        contend_label(name);
        memset(name, '?', sizeof name);
        long long asked = now();
        pthread_mutex_lock(&cache_mu);
        long long had = now();
        pthread_mutex_unlock(&cache_mu);
        usleep(2000);
        contend_label(NULL);
        account->total += now() - began;
        account->waited += had - asked;
        account->requests++;
    }
    // Each ends the one before, and the end of the thread ends the last.
    for (int turn = 0; turn < 5; turn++) contend_label("GET /y");
    return NULL;
}

int main(int count, char **arguments) {
    if (count > 1) {
        char name[200];
        for (int number = 0; number < atoi(arguments[1]); number++) {
            memset(name, 'x', sizeof name);
            snprintf(name, sizeof name, "GET /%d\033[2J", number);
            if (number == 0) name[strlen(name)] = 'x', name[sizeof name - 1] = 0;
            contend_label(name);
        }
        contend_label("");
        pthread_mutex_lock(&cache_mu);
        pthread_mutex_unlock(&cache_mu);
        return 0;
    }
    pthread_t threads[3];
    struct account accounts[2] = {0}, sum = {0};
    pthread_create(&threads[2], NULL, flusher, NULL);
    for (int place = 0; place < 2; place++) pthread_create(&threads[place], NULL, worker, &accounts[place]);
    for (int place = 0; place < 3; place++) pthread_join(threads[place], NULL);
    for (int place = 0; place < 2; place++) {
        sum.requests += accounts[place].requests;
        sum.total += accounts[place].total;
        sum.waited += accounts[place].waited;
    }
    printf("%ld %lld %lld\n", sum.requests, sum.total, sum.waited);
}
