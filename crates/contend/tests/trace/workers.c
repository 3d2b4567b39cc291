/* Processes that do nothing themselves, and threads that write to who reads slowly. `parent`: children compute, and their parent sleeps.
 * `stream`: four threads print to one stream, a pipe, whose reader takes a page of it at a time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double end;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static void rest(long ms) {
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

static void *serve(void *output) {
    static const char line[] = "GET /orders/7 200 1234 bytes in 5 ms, by a browser with a long name, over a slow line\n";
    while (now() < end) fputs(line, output);
    return NULL;
}

static int print(void) {
    int ends[2];
    if (pipe(ends)) return 1;
    pid_t reader = fork();
    if (reader == 0) {
        char page[4096];
        close(ends[1]);
        while (read(ends[0], page, sizeof page) > 0) rest(5);
        _exit(0);
    }
    close(ends[0]);
    FILE *output = fdopen(ends[1], "w");
    pthread_t threads[4];
    for (int number = 0; number < 4; number++) pthread_create(&threads[number], NULL, serve, output);
    for (int number = 0; number < 4; number++) pthread_join(threads[number], NULL);
    fclose(output);
    waitpid(reader, NULL, 0);
    return 0;
}

static int divide(void) {
    for (int number = 0; number < 2; number++) {
        if (fork() == 0) {
            for (double turn = now(); now() < end;) {
                if (now() - turn < 1e-3) continue;
                rest(1);
                turn = now();
            }
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {}
    return 0;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    end = now() + atof(words[2]) / 1e3;
    return strcmp(words[1], "stream") ? divide() : print();
}
