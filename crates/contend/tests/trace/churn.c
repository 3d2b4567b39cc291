// Handles so many requests. Each has a lock at a new address, for which two threads meet; after every so many requests
// come two new threads. "free" destroys the locks; "leak" leaves them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct request {
    pthread_mutex_t lock;
    int count;
};

static struct request *requests;
static long all, each;
static int destroys;

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

int main(int count, char **arguments) {
    all = count > 1 ? atol(arguments[1]) : 1000000;
    each = count > 2 ? atol(arguments[2]) : 1000;
    destroys = count > 3 && !strcmp(arguments[3], "free");
    size_t bytes = all * sizeof *requests;
    requests = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (requests == MAP_FAILED) {
        return 1;
    }
    for (long first = 0; first + each <= all; first += each) {
        pthread_t threads[2];
        for (int which = 0; which < 2; which++) {
            pthread_create(&threads[which], 0, work, requests + first);
        }
        for (int which = 0; which < 2; which++) {
            pthread_join(threads[which], 0);
        }
        if (destroys) {
            for (long place = first; place < first + each; place++) {
                pthread_mutex_destroy(&requests[place].lock);
            }
        }
        // The pages of requests that are over are given back: the program's own memory stays the same.
        madvise(requests + first, each * sizeof *requests, MADV_DONTNEED);
    }
    printf("%ld\n", all / each * each * 2);
    return 0;
}
