// A program that does to the memory that it is recorded into what a wild pointer could, or somebody who means harm:
//   scribbles shrink            makes the file empty
//   scribbles random SEED       overwrites words in all pages that are used, but the first
//   scribbles ones SEED         the same, with ones
//   scribbles header            overwrites all counts of the first page
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t used_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t state;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void rest(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

static void *work(void *none) {
    for (int turn = 0; turn < 200; turn++) {
        pthread_mutex_lock(&used_lock);
        rest(1);
        pthread_mutex_unlock(&used_lock);
    }
    return none;
}

static uint32_t word(int is_ones) {
    if (is_ones) return UINT32_MAX;
    uint64_t random = next_random();
    switch (random % 4) {
    case 0: return 0;
    case 1: return (uint32_t)(random >> 32) % 70000;
    default: return (uint32_t)(random >> 32);
    }
}

int main(int count, char **words) {
    const char *path = getenv("CONTEND_TRACE_MEMORY");
    if (count < 2 || path == NULL) return 2;
    state = 88172645463325252u + (count > 2 ? strtoull(words[2], NULL, 10) : 0) * 2654435761u;
    pthread_t threads[3];
    for (int thread = 0; thread < 3; thread++) pthread_create(&threads[thread], NULL, work, NULL);
    rest(50);
    int file = open(path, O_RDWR);
    struct stat found;
    if (file < 0 || fstat(file, &found) != 0) return 3;
    if (strcmp(words[1], "shrink") == 0) {
        puts(ftruncate(file, 0) == 0 ? "it is empty" : "refused");
        fflush(stdout);
    } else {
        size_t pages = found.st_size / 4096;
        uint32_t *all = mmap(NULL, found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (all == MAP_FAILED) return 4;
        if (strcmp(words[1], "header") == 0)
            for (int place = 4; place < 48; place++) all[place] = UINT32_MAX;
        else {
            unsigned char *is_used = malloc(pages);
            if (is_used == NULL || mincore(all, found.st_size, is_used) != 0) return 5;
            for (size_t page = 1; page < pages; page++)
                for (int place = 0; place < 1024 && is_used[page] & 1; place++)
                    if (next_random() % 8 == 0) all[page * 1024 + place] = word(strcmp(words[1], "ones") == 0);
        }
        puts("written");
        fflush(stdout);
    }
    rest(300);
    _exit(0);
}
