/* In each of many children: loads a plugin, uses its lock in two threads, unloads it, is descheduled once, and forks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 1000, STILL_LOADED = 7 };

typedef unsigned long function(void);

static void *use(void *hit)
{
    function *const call = *(function **)hit;
    for (int i = 0; i < PAIRS; i++) call();
    return 0;
}

/* Waits outside the plugin while it is unloaded; the last sequence of this thread was in the plugin. */
static pthread_barrier_t unloaded;

static void *use_and_stay(void *hit)
{
    use(hit);
    pthread_barrier_wait(&unloaded);
    pthread_barrier_wait(&unloaded);
    const struct timespec one_switch = { 0, 1000000 };
    nanosleep(&one_switch, 0);
    return 0;
}

static int child(const char *plugin)
{
    void *const object = dlopen(plugin, RTLD_NOW);
    if (!object) return 1;
    function *hit;
    *(void **)&hit = dlsym(object, "hit");
    pthread_barrier_init(&unloaded, 0, 2);
    pthread_t other;
    if (!hit || pthread_create(&other, 0, use_and_stay, &hit)) return 2;
    use(&hit);
    pthread_barrier_wait(&unloaded);
    if (hit() != 2 * PAIRS + 1) return 3;
    dlclose(object);
    pthread_barrier_wait(&unloaded);
    const struct timespec one_switch = { 0, 1000000 };
    nanosleep(&one_switch, 0);
    pthread_join(other, 0);
    /* The fork handlers that the plugin registered are removed with it. */
    const pid_t grandchild = fork();
    if (!grandchild) _exit(0);
    int status;
    if (waitpid(grandchild, &status, 0) < 0 || status != 0) return 4;
    return dlopen(plugin, RTLD_NOW | RTLD_NOLOAD) ? STILL_LOADED : 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    int died = 0, failed = 0, still_loaded = 0;
    const int children = atoi(argv[2]);
    for (int i = 0; i < children; i++) {
        if (!fork()) _exit(child(argv[1]));
        int status;
        wait(&status);
        died += WIFSIGNALED(status);
        still_loaded += WIFEXITED(status) && WEXITSTATUS(status) == STILL_LOADED;
        failed += WIFEXITED(status) && WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != STILL_LOADED;
    }
    printf("of %d: %d died, %d failed, %d still loaded\n", children, died, failed, still_loaded);
}
