// A process that pretends to be a Java virtual machine: it loads LIBRARY, which is called libjvm.so, handles SIGQUIT and
// SIGSEGV, and names a thread as HotSpot does. It never opens the socket of the attach interface by itself.
//
//   false_jvm LIBRARY wait               changes each file that requests the socket, and prints its directory and owner
//   false_jvm LIBRARY MODE [FILE [PID]]  listens at the socket from the beginning; PID is the process that it answers for
//
// MODE: `file` sends FILE, `drip` a byte at a time and `flood` as much as it can, both without an end.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sendfile.h>
#include <sys/un.h>
#include <unistd.h>

static void ignore(int number) { (void)number; }

static void *dispatch(void *unused) {
    for (;;) pause();
    return unused;
}

static void look(const char *directory) {
    char path[128];
    struct stat status;
    snprintf(path, sizeof path, "%s/.attach_pid%d", directory, getpid());
    if (stat(path, &status) == 0 && (status.st_mode & 07777) == 0600) {
        chmod(path, 0644);
        printf("%s %d\n", directory, (int)status.st_uid);
        fflush(stdout);
    }
}

static void answer(int peer, const char *mode, const char *file) {
    static char bytes[1 << 16];
    read(peer, bytes, sizeof bytes);
    memset(bytes, 'x', sizeof bytes);
    if (strcmp(mode, "file") == 0) {
        struct stat status;
        off_t at = 0;
        int from = open(file, O_RDONLY);
        fstat(from, &status);
        while (at < status.st_size && sendfile(peer, from, &at, status.st_size - at) > 0) {}
        close(from);
    } else if (write(peer, "0\n", 2) == 2) {
        int drips = strcmp(mode, "drip") == 0;
        while (write(peer, bytes, drips ? 1 : sizeof bytes) > 0) usleep(drips ? 100000 : 0);
    }
    close(peer);
}

int main(int count, char **words) {
    if (count < 3 || dlopen(words[1], RTLD_NOW) == NULL) return 2;
    signal(SIGQUIT, ignore);
    signal(SIGSEGV, ignore);
    signal(SIGPIPE, SIG_IGN);
    pthread_t thread;
    pthread_create(&thread, NULL, dispatch, NULL);
    pthread_setname_np(thread, "Signal Dispatch");
    alarm(120);
    if (strcmp(words[2], "wait") == 0) {
        printf("begun\n");
        fflush(stdout);
        for (;;) {
            look(".");
            look("/tmp");
            usleep(200);
        }
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/.java_pid%d", count > 4 ? atoi(words[4]) : getpid());
    unlink(address.sun_path);
    umask(077);
    int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(socket_, (struct sockaddr *)&address, sizeof address) != 0 || listen(socket_, 8) != 0) return 3;
    printf("begun\n");
    fflush(stdout);
    for (;;) {
        int peer = accept(socket_, NULL, NULL);
        if (peer >= 0) answer(peer, words[2], count > 3 ? words[3] : "/dev/null");
    }
}
