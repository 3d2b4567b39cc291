// Programs that stand still, each in one known way, by the first argument. They print a line when they are about to.
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_t one, two;
static volatile int counted;

static void begin(void) {
    puts("begins");
    fflush(stdout);
}

__attribute__((noinline)) static int refill(int key) {
    pthread_mutex_lock(&accounts);
    if (key == 3) return -1;
    counted++;
    pthread_mutex_unlock(&accounts);
    return 0;
}

static void *pay(void *last) {
    pthread_mutex_lock(&accounts);
    usleep(50000);
    pthread_mutex_lock(&journal);
    return last;
}
static void *audit(void *last) {
    pthread_mutex_lock(&journal);
    usleep(50000);
    pthread_mutex_lock(&accounts);
    return last;
}
static void *refills(void *last) {
    for (int key = 0; key < 9; key++) refill(key);
    return last;
}
static void *leaves(void *last) {
    pthread_mutex_lock(&accounts);
    return last;
}
static void *keeps(void *last) {
    pthread_mutex_lock(&accounts);
    sleep(3600);
    return last;
}
static void *chats(void *last) {
    for (;;) {
        pthread_mutex_lock(&accounts);
        usleep(20000);
        pthread_mutex_unlock(&accounts);
    }
    return last;
}
static void *consume(void *last) {
    usleep(50000);
    pthread_mutex_lock(&accounts);
    pthread_cond_wait(&ready, &accounts);
    return last;
}
static void *produce(void *last) {
    pthread_cond_signal(&ready);
    return last;
}
static void tick(int number) {
    (void)number;
    pthread_mutex_lock(&accounts);
    counted++;
    pthread_mutex_unlock(&accounts);
}

// A pool of two threads and its queue.
struct task {
    void (*run)(int);
    int argument;
};
static struct task queue[8];
static int first, last, done[8];
static void submit(void (*run)(int), int argument) {
    pthread_mutex_lock(&journal);
    queue[last++ % 8] = (struct task){run, argument};
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&journal);
}
static void await(int task) {
    pthread_mutex_lock(&accounts);
    while (!done[task]) pthread_cond_wait(&ready, &accounts);
    pthread_mutex_unlock(&accounts);
}
static void leaf(int number) {
    pthread_mutex_lock(&accounts);
    done[number] = 1;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&accounts);
}
__attribute__((noinline)) static void parent(int number) {
    usleep(50000);
    submit(leaf, number + 2);
    await(number + 2);
    leaf(number);
}
static void *work(void *end) {
    for (;;) {
        pthread_mutex_lock(&journal);
        while (first == last) pthread_cond_wait(&ready, &journal);
        struct task task = queue[first++ % 8];
        pthread_mutex_unlock(&journal);
        task.run(task.argument);
    }
    return end;
}

static void both(void *(*left)(void *), void *(*right)(void *)) {
    pthread_create(&one, 0, left, 0);
    pthread_create(&two, 0, right, 0);
    begin();
    pthread_join(one, 0);
    pthread_join(two, 0);
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    char byte;
    if (!strcmp(way, "cycle")) both(pay, audit);
    if (!strcmp(way, "kept")) both(refills, refills);
    if (!strcmp(way, "lost")) both(consume, produce);
    if (!strcmp(way, "slow")) both(keeps, leaves);
    if (!strcmp(way, "ended")) {
        pthread_create(&one, 0, leaves, 0);
        pthread_join(one, 0);
        begin();
        refill(0);
    }
    if (!strcmp(way, "handler")) {
        signal(SIGALRM, tick);
        struct itimerval every = {{0, 300}, {0, 300}};
        begin();
        setitimer(ITIMER_REAL, &every, 0);
        for (;;) refill(0);
    }
    if (!strcmp(way, "fork")) {
        pthread_create(&one, 0, chats, 0);
        usleep(10000);
        pid_t child = fork();
        if (!child) {
            refill(0);
            _exit(0);
        }
        begin();
        waitpid(child, 0, 0);
    }
    if (!strcmp(way, "pool")) {
        pthread_create(&one, 0, work, 0);
        pthread_create(&two, 0, work, 0);
        submit(parent, 0);
        submit(parent, 1);
        begin();
        await(0);
        await(1);
    }
    if (!strcmp(way, "pipe")) {
        int questions[2], answers[2];
        if (pipe(questions) || pipe(answers)) return 1;
        if (!fork()) {
            close(questions[1]);
            close(answers[0]);
            if (read(questions[0], &byte, 1) == 1) (void)!write(answers[1], "x", 1);
            _exit(0);
        }
        close(questions[0]);
        close(answers[1]);
        begin();
        (void)!read(answers[0], &byte, 1);
    }
    if (!strcmp(way, "silent")) {
        int answers[2];
        if (pipe(answers)) return 1;
        if (!fork()) {
            close(answers[0]);
            for (;;) pause();
        }
        close(answers[1]);
        begin();
        (void)!read(answers[0], &byte, 1);
    }
    if (!strcmp(way, "file")) {
        int file = open(words[2], O_RDWR | O_CREAT, 0600);
        if (!fork()) {
            file = open(words[2], O_RDWR);
            flock(file, LOCK_EX);
            for (;;) pause();
        }
        usleep(100000);
        begin();
        flock(file, LOCK_EX);
    }
    if (!strcmp(way, "server")) {
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in address = {.sin_family = AF_INET};
        if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 5)) return 1;
        begin();
        for (;;) close(accept(listener, 0, 0));
    }
    if (!strcmp(way, "keyboard")) {
        begin();
        (void)!read(0, &byte, 1);
    }
    if (!strcmp(way, "sleep")) {
        begin();
        sleep(3600);
    }
    if (!strcmp(way, "busy")) {
        begin();
        for (;;) counted++;
    }
    return 0;
}
