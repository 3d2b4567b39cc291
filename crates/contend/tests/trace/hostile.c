// Hostile and odd processes: `hostile KIND OWN ROOTS`. OWN is a directory of the user that it becomes, ROOTS one of root.
// It prints "ready" once it is what KIND says, and ends after ten seconds.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
static const char *own, *roots, *self;
static char path[4096];

static void fail(const char *what) { perror(what); exit(9); }
static const char *in(const char *directory, const char *name) {
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static void become_nobody(void) {
    if (setgroups(0, 0) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)) fail("setresuid");
    prctl(PR_SET_DUMPABLE, 1);
}
static void ready(void) { puts("ready"); fflush(stdout); }
static void write_file(const char *name, const char *text, size_t length) {
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (file < 0 || write(file, text, length) != (ssize_t)length) fail(name);
    close(file);
}

// Work that is watched: threads that take a lock in turn.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        usleep(500);
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    return unused;
}
static void threads(int count) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (pthread_t thread; count > 0; count--) pthread_create(&thread, &small, work, 0);
}

// A map of a file with this name, as a runtime has of its library.
static void map_named(const char *name) {
    write_file(in(own, name), "not an object", 13);
    int file = open(in(own, name), O_RDONLY);
    if (mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) fail("mmap");
    close(file);
}
static void on_quit(int signal) { (void)signal; }
static void *dispatch(void *unused) {
    for (;;) pause();
    return unused;
}
// With the library of a real virtual machine (LIBJVM), its memory permits attaching, so that it is asked for its socket.
static void fake_machine(void) {
    const char *library = getenv("LIBJVM");
    if (!library) map_named("libjvm.so");
    else if (!dlopen(library, RTLD_NOW)) fail(library);
    signal(SIGQUIT, on_quit);
    signal(SIGSEGV, on_quit);
    signal(SIGPIPE, SIG_IGN);
    pthread_t thread;
    pthread_create(&thread, 0, dispatch, 0);
    pthread_setname_np(thread, "Signal Dispatch");
}
static char *attach(const char *directory, const char *name) {
    static char file[4200];
    snprintf(file, sizeof file, "%s/.%s_pid%d", directory, name, getpid());
    return file;
}
// Answers requests at its socket: with nothing, one letter at a time, or without end.
static void answer(const char *directory, char how) {
    struct sockaddr_un address = {AF_UNIX, ""};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", attach(directory, "java"));
    unlink(address.sun_path);
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listening, (void *)&address, sizeof address)) fail("bind");
    chmod(address.sun_path, 0600);
    listen(listening, 8);
    ready();
    static char letters[65536];
    memset(letters, 'x', sizeof letters);
    for (double end = now() + 10; now() < end;) {
        int client = accept(listening, 0, 0);
        if (how == 'd') for (int i = 0; i < 80 && write(client, "x", 1) == 1; i++) usleep(100000);
        if (how == 'f') while (now() < end && write(client, letters, sizeof letters) > 0) {}
        if (how == 's') usleep(10000000);
        close(client);
    }
    unlink(address.sun_path);
    exit(0);
}

static uint64_t text_sum(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    uint64_t sum = 14695981039346656037u, from, to;
    char line[4096], rights[5];
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && rights[0] == 'r' && rights[2] == 'x' && strchr(line, '/'))
            for (uint64_t *word = (uint64_t *)from; word < (uint64_t *)to; word++) sum = (sum ^ *word) * 1099511628211u;
    fclose(maps);
    return sum;
}
// A process beside the watched one, of the same file: it says whether its code was ever another.
static volatile sig_atomic_t is_over;
static void over(int signal) { is_over = signal; }
static void witness(void) {
    signal(SIGTERM, over);
    uint64_t before = text_sum();
    ready();
    for (double end = now() + 600; !is_over && now() < end; usleep(1000))
        if (text_sum() != before) exit(3);
    exit(0);
}

static void *vanish(void *file) { for (;;) { unlink(file); usleep(1000); } return 0; }
static void *wander(void *unused) {
    for (;;) { if (chdir(roots) || chdir(own)) {} }
    return unused;
}
static void exec_after(const char *milliseconds) {
    ready();
    usleep(atoi(milliseconds) * 1000);
    execl(self, self, "plain", own, roots, (char *)0);
    fail("exec");
}

int main(int count, char **arguments) {
    if (count < 4) return 2;
    self = arguments[0];
    const char *kind = arguments[1];
    own = arguments[2], roots = arguments[3];
    umask(022);
    if (!strcmp(kind, "witness")) witness();
#define IS(name) (!strcmp(kind, name))
    // What only root can arrange.
    if (IS("chroot-with-a-link") || IS("chroot-without-proc")) {
        mkdir(in(own, "root"), 0755);
        if (IS("chroot-with-a-link")) if (symlink(roots, in(own, "root/tmp"))) {}
        map_named("libjvm.so");
        if (chroot(in(own, "root")) || chdir("/")) fail("chroot");
        become_nobody();
        signal(SIGQUIT, on_quit);
        threads(3);
        ready();
        sleep(10);
        return 0;
    }
    if (IS("mount-namespace") || IS("network-of-mounts")) {
        if (unshare(CLONE_NEWNS) || mount("none", "/", 0, MS_REC | MS_PRIVATE, 0)) fail("unshare");
        if (mount(IS("mount-namespace") ? "tmpfs" : roots, "/tmp", "tmpfs", IS("mount-namespace") ? 0 : MS_BIND, 0)) fail("mount");
        own = "/tmp";
    }
    if (IS("pid-namespace")) {
        if (unshare(CLONE_NEWPID)) fail("unshare");
        if (fork()) { wait(0); return 0; }
    }
    if (IS("stopped-by-a-tracer")) {
        pid_t self_pid = getpid();
        if (!fork()) {
            usleep(300000);
            if (ptrace(PTRACE_SEIZE, self_pid, 0, 0) || ptrace(PTRACE_INTERRUPT, self_pid, 0, 0)) fail("ptrace");
            sleep(8);
            return 0;
        }
    }
    if (IS("machine-in-a-root-directory") && chdir(roots)) fail("chdir");
    else if (!IS("machine-in-a-root-directory") && !IS("mount-namespace") && chdir(own)) fail("chdir");
    become_nobody();
    if (IS("user-namespace") && unshare(CLONE_NEWUSER)) fail("unshare");

    if (IS("plain")) threads(3);
    else if (!strncmp(kind, "machine", 7) || IS("mount-namespace") || IS("pid-namespace") || IS("network-of-mounts")) {
        if (IS("network-of-mounts")) { signal(SIGQUIT, on_quit); } else fake_machine();
        if (IS("machine-without-a-handler")) signal(SIGQUIT, SIG_IGN);
        if (IS("machine-that-execs")) { signal(SIGQUIT, SIG_IGN); threads(2); exec_after("300"); }
        if (IS("machine-with-a-linked-request") && symlink(in(roots, "secret"), attach("/tmp", "attach"))) fail("symlink");
        if (IS("machine-with-a-directory") && mkdir(attach("/tmp", "attach"), 0700)) fail("mkdir");
        if (IS("machine-with-a-pipe") && mkfifo(attach("/tmp", "java"), 0600)) fail("mkfifo");
        if (IS("machine-that-drips")) answer("/tmp", 'd');
        if (IS("machine-that-floods")) answer("/tmp", 'f');
        if (IS("machine-that-is-silent")) answer("/tmp", 's');
        pthread_t thread;
        if (IS("machine-that-wanders")) pthread_create(&thread, 0, wander, 0);
        threads(3);
        if (IS("machine-that-stops")) { ready(); raise(SIGSTOP); }
    } else if (!strncmp(kind, "exec-", 5)) exec_after(kind + 5);
    else if (IS("execs-for-ever")) {
        char times[16];
        int left = count > 4 ? atoi(arguments[4]) : 200;
        if (count <= 4) ready();
        usleep(20000);
        snprintf(times, sizeof times, "%d", left - 1);
        if (left) execl(self, self, kind, own, roots, times, (char *)0);
    } else if (IS("unlinked")) {
        threads(3);
        if (unlink(self)) fail("unlink");
    } else if (IS("replaced")) {
        threads(3);
        write_file(in(own, "other"), "\177ELF garbage", 12);
        if (rename(in(own, "other"), self)) fail("rename");
    } else if (IS("vanishing-libraries")) {
        static char library[4096];
        map_named("libpthread-like.so");
        snprintf(library, sizeof library, "%s/libpthread-like.so", own);
        pthread_t thread;
        pthread_create(&thread, 0, vanish, library);
        threads(3);
    } else if (IS("truncated-library")) {
        map_named("libc.so.6");
        if (truncate(in(own, "libc.so.6"), 0)) fail("truncate");
        threads(3);
    } else if (!strncmp(kind, "perf-map", 8)) {
        char map[64];
        snprintf(map, sizeof map, "/tmp/perf-%d.map", getpid());
        unlink(map);
        if (IS("perf-map-pipe") && mkfifo(map, 0644)) fail("mkfifo");
        if (IS("perf-map-link") && symlink(in(roots, "secret"), map)) fail("symlink");
        if (IS("perf-map-endless")) { write_file(map, "1 1 a\n", 6); if (truncate(map, 1L << 40)) fail("truncate"); }
        mmap((void *)0x7000000000, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        threads(3);
        ready();
        sleep(8);
        unlink(map);
        return 0;
    } else if (IS("python-like")) {
        prctl(PR_SET_NAME, "python3.11");
        map_named("libpython3.11.so.1.0");
        threads(300);
    } else if (IS("many-threads")) threads(2000);
    else if (IS("churn")) {
        ready();
        for (double end = now() + 8; now() < end;) {
            pthread_t thread;
            if (!pthread_create(&thread, 0, (void *(*)(void *))usleep, (void *)100)) pthread_join(thread, 0);
        }
        return 0;
    } else if (IS("forks")) {
        threads(2);
        ready();
        for (double end = now() + 8; now() < end; usleep(1000)) {
            pid_t child = fork();
            if (!child) _exit(0);
            waitpid(child, 0, 0);
        }
        return 0;
    } else if (IS("vanishes")) { threads(2); ready(); usleep(300000); return 0; }
    else if (IS("not-dumpable")) { threads(3); prctl(PR_SET_DUMPABLE, 0); }
    else if (IS("strict")) {
        ready();
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        for (volatile long i = 0; i < 4000000000; i++) {}
        _exit(0);
    } else if (IS("locks-its-memory")) { threads(3); if (mlockall(MCL_CURRENT | MCL_FUTURE)) {} }
    else if (IS("named-with-controls")) { prctl(PR_SET_NAME, "\033[2J\n\"x\xe2\x80\xae"); threads(3); }
    else if (IS("maps-with-odd-names")) { map_named("a\nb (deleted)"); map_named("7f00-7fff r-xp 0 0:0 0"); threads(3); }
    else if (IS("leader-has-ended")) { threads(3); ready(); pthread_exit(0); }
    else if (IS("without-descriptors")) { threads(3); ready(); for (int file = 0; file < 1024; file++) close(file); sleep(8); _exit(0); }
    else if (IS("signal-storm")) { signal(SIGUSR1, on_quit); threads(3); ready(); for (double end = now() + 8; now() < end; usleep(100)) raise(SIGUSR1); return 0; }
    else if (IS("user-namespace") || IS("stopped-by-a-tracer")) threads(3);
    else return 2;
    ready();
    for (double end = now() + 8; now() < end; usleep(20000)) {}
    return 0;
}
