/* A server on a port of the kernel's choice, which answers each connection under a mutex, and its client, which asks the
 * one of $PORT. The rate is known, and twice as high with calock. What it is to do wrong is its argument; `lingers FILE`
 * takes 2.5 s to end where it is watched, and says in the file that it did. */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int answered;

static void *answers(void *connection) {
    const char *given = getenv("ULOCKS_PTHREAD");
    char text[32];
    pthread_mutex_lock(&lock);
    answered++;
    int length = sprintf(text, "rate %d\n", given && !strcmp(given, "calock") ? 200 : 100);
    pthread_mutex_unlock(&lock);
    if (write((int)(long)connection, text, length) != length) abort();
    close((int)(long)connection);
    return 0;
}

static struct sockaddr_in address(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int asks(void) {
    struct sockaddr_in server = address(atoi(getenv("PORT")));
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    char text[32] = "";
    if (connect(connection, (struct sockaddr *)&server, sizeof server)) return 8;
    for (size_t had = 0, got; (got = read(connection, text + had, sizeof text - 1 - had)) > 0;) had += got;
    fputs(text, stdout);
    return 0;
}

static const char *said;

static void ends(int signal) {
    (void)signal;
    if (said && getenv("CONTEND_TRACE_MEMORY")) usleep(2500000);
    if (said) {
        int file = open(said, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (write(file, "x\n", 2) != 2) _exit(10);
    }
    _exit(answered ? 0 : 9);
}

int main(int count, char **arguments) {
    const char *wish = count > 1 ? arguments[1] : "";
    if (!strcmp(wish, "ask")) return asks();
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = address(0);
    signal(SIGTERM, !strcmp(wish, "dies") ? SIG_DFL : !strcmp(wish, "stays") ? SIG_IGN : ends);
    if (!strcmp(wish, "early")) return 7;
    if (!strcmp(wish, "lingers")) said = arguments[2];
    if (!strcmp(wish, "hides") && daemon(1, 0)) return 1;
    /* Slow to begin: the client waits for it. */
    usleep(20000);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 8)) return 1;
    if (!strcmp(wish, "leaves") && daemon(1, 0)) return 1;
    while (1) {
        pthread_t thread;
        int connection = accept(listener, 0, 0);
        if (!strcmp(wish, "crash")) abort();
        if (pthread_create(&thread, 0, answers, (void *)(long)connection)) return 2;
        pthread_detach(thread);
    }
}
