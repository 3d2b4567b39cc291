// Programs that a preloaded library harms easily: each prints what it was permitted, and ends with a status of its own.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

static void *lock(void *unused) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&outer);
        pthread_mutex_lock(&inner);
        pthread_mutex_unlock(&inner);
        pthread_mutex_unlock(&outer);
    }
    return unused;
}

static void threads(size_t stack) {
    pthread_t all[4];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack) pthread_attr_setstacksize(&attributes, stack);
    for (int i = 0; i < 4; i++) pthread_create(&all[i], &attributes, lock, NULL);
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
}

static void report(const char *what, pid_t process) {
    int status = -1;
    waitpid(process, &status, 0);
    printf("%s: %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    fflush(stdout);
}

// What is locked is more than a few megabytes only if it is not the program's.
static int locks_memory(int flags, int is_direct) {
    int code = is_direct ? (int)syscall(SYS_mlockall, flags) : mlockall(flags);
    printf("mlockall: %s\n", code ? strerror(errno) : "done");
    void *later = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char resident[16] = {0};
    mincore(later, 1 << 16, resident);
    FILE *status = fopen("/proc/self/status", "r");
    char line[200];
    long locked = 0, used = 0;
    while (fgets(line, sizeof line, status)) {
        sscanf(line, "VmLck: %ld", &locked);
        sscanf(line, "VmRSS: %ld", &used);
    }
    printf("later memory is %s, %s is locked, %s is used\n", resident[15] & 1 ? "there" : "not there",
           locked == 0 ? "nothing" : locked < 16384 ? "little" : "much", used < 16384 ? "little" : "much");
    threads(PTHREAD_STACK_MIN);
    return code ? 1 : 0;
}

// Every call that the program does not make itself ends it.
static int forbids_calls(int is_direct, int forks) {
    static const int allowed[] = {
        SYS_read, SYS_write, SYS_futex, SYS_exit, SYS_exit_group, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise,
        SYS_clone3, SYS_clone, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_wait4, SYS_brk,
        SYS_newfstatat, SYS_fstat, SYS_getrandom,
    };
    struct sock_filter code[64];
    int length = 0;
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)length, code};
    lock(NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long failed = is_direct ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                            : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    if (failed) return 77;
    threads(0);
    if (forks) {
        pid_t child = fork();
        if (!child) {
            lock(NULL);
            _exit(5);
        }
        report("child", child);
    }
    puts("done");
    return 3;
}

static int limits_addresses(void) {
    lock(NULL);
    struct rlimit limit = {512 << 20, RLIM_INFINITY}, is = {0, 0};
    printf("setrlimit: %d\n", setrlimit(RLIMIT_AS, &limit));
    getrlimit(RLIMIT_AS, &is);
    printf("the limit is %llu, at most %llu\n", (unsigned long long)is.rlim_cur, (unsigned long long)is.rlim_max);
    void *fits = malloc(100 << 20), *does_not = malloc(800u << 20);
    printf("100 MiB: %s, 800 MiB: %s\n", fits ? "yes" : "no", does_not ? "yes" : "no");
    fflush(stdout);
    threads(0);
    return system("ulimit -v");
}

static int closes_all(void) {
    for (int i = 3; i < 1024; i++) close(i);
    printf("the next descriptor is %d\n", dup(1));
    threads(0);
    return 4;
}

#define CHILD(what, call)                 \
    do {                                  \
        pid_t child = fork();             \
        if (!child) {                     \
            call;                         \
            _exit(98);                    \
        }                                 \
        report(what, child);              \
    } while (0)

// Starts a program in all ways.
static int starts(char *program) {
    char *words[] = {program, "1", "2", NULL}, *variables[] = {"A=b", NULL};
    lock(NULL);
    CHILD("execve", execve(program, words, environ));
    CHILD("execve without variables", execve(program, words, variables));
    CHILD("execv", execv(program, words));
    CHILD("execvp", execvp(program, words));
    CHILD("execvpe", execvpe(program, words, environ));
    CHILD("execl", execl(program, program, "1", "2", "3", "4", "5", "6", "7", "8", "9", (char *)NULL));
    CHILD("execle", execle(program, program, "1", "2", "3", "4", "5", "6", (char *)NULL, environ));
    CHILD("execlp", execlp(program, program, (char *)NULL));
    CHILD("fexecve", fexecve(open(program, O_RDONLY), words, environ));
    CHILD("no program", execl("/nowhere", "/nowhere", (char *)NULL));
    pid_t child = vfork();
    if (!child) {
        execl(program, program, "vfork", (char *)NULL);
        _exit(98);
    }
    report("vfork", child);
    if (posix_spawn(&child, program, NULL, NULL, words, environ) == 0) report("posix_spawn", child);
    if (posix_spawnp(&child, program, NULL, NULL, words, environ) == 0) report("posix_spawnp", child);
    char command[PATH_MAX + 8], line[200];
    snprintf(command, sizeof command, "%s a b", program);
    int status = system(command);
    printf("system: %d\n", status);
    FILE *output = popen(command, "r");
    while (fgets(line, sizeof line, output)) fputs(line, stdout);
    printf("popen: %d\n", pclose(output));
    return 0;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    if (!strcmp(what, "locks-memory")) return locks_memory(MCL_CURRENT | MCL_FUTURE, 0);
    if (!strcmp(what, "locks-memory-directly")) return locks_memory(MCL_CURRENT, 1);
    if (!strcmp(what, "forbids-calls")) return forbids_calls(0, 0);
    if (!strcmp(what, "forbids-calls-and-forks")) return forbids_calls(1, 1);
    if (!strcmp(what, "limits-addresses")) return limits_addresses();
    if (!strcmp(what, "closes-all")) return closes_all();
    if (!strcmp(what, "starts")) return starts(words[2]);
    threads(PTHREAD_STACK_MIN);
    puts("done");
    return 6;
}
