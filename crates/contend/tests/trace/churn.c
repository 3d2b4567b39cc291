// Handles at least so many requests, for at least so many milliseconds. Each has a lock at a new address, for which two
// threads meet; after every so many requests come two new threads. The locks are never destroyed.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

struct request {
    pthread_mutex_t lock;
    int count;
};

static long each;

static void handle(struct request *request) {
    pthread_mutex_lock(&request->lock);
    request->count++;
    pthread_mutex_unlock(&request->lock);
}

static void *work(void *first) {
    for (long place = 0; place < each; place++) {
        handle((struct request *)first + place);
    }
    return 0;
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char **arguments) {
    if (count < 4) {
        return 2;
    }
    long least = atol(arguments[1]), until_ms = now_ms() + atol(arguments[3]), handled = 0;
    each = atol(arguments[2]);
    while (handled < least || now_ms() < until_ms) {
        size_t bytes = each * sizeof(struct request);
        struct request *requests =
            mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (requests == MAP_FAILED) {
            return 1;
        }
        pthread_t threads[2];
        for (int which = 0; which < 2; which++) {
            pthread_create(&threads[which], 0, work, requests);
        }
        for (int which = 0; which < 2; which++) {
            pthread_join(threads[which], 0);
        }
        handled += each;
        // The pages of requests that are over are given back, but not their addresses: the program's own memory stays
        // the same.
        madvise(requests, bytes, MADV_DONTNEED);
    }
    printf("%ld\n", handled * 2);
    return 0;
}
