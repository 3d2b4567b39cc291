/* Runs a program to which the kernel refuses some system calls, as a container's seccomp profile does: EPERM.
 *
 *   cc -o without without.c && ./without perf_event_open,membarrier contend survey
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} CALLS[] = {
    {"perf_event_open", SYS_perf_event_open},
    {"membarrier", SYS_membarrier},
    {"rseq", SYS_rseq},
    {"sched_setscheduler", SYS_sched_setscheduler},
    {"sched_setattr", SYS_sched_setattr},
    {"mlock", SYS_mlock},
    {"mlockall", SYS_mlockall},
    {"memfd_create", SYS_memfd_create},
};
enum { KNOWN = sizeof CALLS / sizeof *CALLS };

static long number_of(const char *name) {
    for (int place = 0; place < KNOWN; place++) {
        if (strcmp(CALLS[place].name, name) == 0) return CALLS[place].number;
    }
    return -1;
}

int main(int count, char **words) {
    struct sock_filter filter[2 * KNOWN + 4];
    unsigned short length = 0;
    if (count < 3) {
        fprintf(stderr, "usage: %s CALL,CALL PROGRAM ARGUMENT…\n", words[0]);
        return 2;
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *name = strtok(words[1], ","); name && length < 2 * KNOWN; name = strtok(NULL, ",")) {
        long number = number_of(name);
        if (number < 0) {
            fprintf(stderr, "%s: not one of the calls that this program knows\n", name);
            return 2;
        }
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("seccomp");
        return 1;
    }
    execvp(words[2], words + 2);
    perror(words[2]);
    return 127;
}
