// A program with one contended lock, whose file becomes another one while it runs.
//   replaced fifo|sparse|garbage|nothing|kept SECONDS   itself, by that
//   replaced with PROGRAM SECONDS                       itself, by another program
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef LOCK
#define LOCK mapped_lock
#define FUNCTION mapped_function
#endif

pthread_mutex_t LOCK = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int over;

static void rest(long microseconds) {
    struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) void FUNCTION(void) {
    pthread_mutex_lock(&LOCK);
    rest(1000);
    pthread_mutex_unlock(&LOCK);
    rest(50);
}

static void *work(void *none) {
    while (!over) FUNCTION();
    return none;
}

static int replace(const char *own, char **words) {
    if (strcmp(words[1], "kept") == 0) return 0;
    if (strcmp(words[1], "with") == 0) return rename(words[2], own);
    if (unlink(own) != 0) return -1;
    if (strcmp(words[1], "nothing") == 0) return 0;
    if (strcmp(words[1], "fifo") == 0) return mkfifo(own, 0755);
    int file = open(own, O_CREAT | O_WRONLY, 0755);
    if (strcmp(words[1], "sparse") == 0) return ftruncate(file, 3L << 30);
    static const char garbage[] = "\177ELF\002\001\001 and nothing of use\n";
    for (int line = 0; line < 1000; line++)
        if (write(file, garbage, sizeof garbage) != sizeof garbage) return -1;
    return 0;
}

int main(int count, char **words) {
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (count < 3 || length < 0) return 2;
    own[length] = 0;
    pthread_t threads[3];
    for (int thread = 0; thread < 3; thread++) pthread_create(&threads[thread], NULL, work, NULL);
    if (replace(own, words) != 0) return 3;
    puts("replaced");
    fflush(stdout);
    double seconds = atof(words[count - 1]);
    for (double slept = 0; slept < seconds; slept += 0.01) rest(10000);
    over = 1;
    for (int thread = 0; thread < 3; thread++) pthread_join(threads[thread], NULL);
    return 0;
}
