// POSIX threads that pass a token around a ring. How a thread gets the token from the one before is left to the file that
// includes this: it defines `struct mailbox` first, and then what is declared here.
#include "arguments.h"

#include <pthread.h>

static void prepare(struct mailbox *mailbox);
static void put(struct mailbox *mailbox, int64_t token);
static int64_t take(struct mailbox *mailbox);

struct member {
    size_t number;
    struct mailbox *own;
    struct mailbox *next;
};

static void *pass_on(void *argument)
{
    const struct member *member = argument;
    int64_t token;
    while ((token = take(member->own)) > 0)
        put(member->next, token - 1);
    printf("%zu\n", member->number);
    exit(0);
}

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "ring: %s: %s\n", what, strerror(error));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct arguments ring = read_arguments(argc, argv);
    struct mailbox *mailboxes = zeroed(ring.threads, sizeof *mailboxes);
    struct member *members = zeroed(ring.threads, sizeof *members);

    pthread_attr_t small;
    must(pthread_attr_init(&small), "thread attributes");
    must(pthread_attr_setstacksize(&small, 64 * 1024), "the size of a stack");

    for (size_t i = 0; i < ring.threads; i++)
        prepare(&mailboxes[i]);
    pthread_t thread;
    for (size_t i = 0; i < ring.threads; i++) {
        members[i] = (struct member){ i + 1, &mailboxes[i], &mailboxes[(i + 1) % ring.threads] };
        must(pthread_create(&thread, &small, pass_on, &members[i]), "cannot make that many threads");
    }

    put(&mailboxes[0], ring.hops);
    pthread_join(thread, NULL);
}
