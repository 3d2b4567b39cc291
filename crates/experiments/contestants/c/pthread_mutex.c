// A locked mutex a thread; whoever leaves the token unlocks it. One thread locks and another unlocks, which POSIX does not
// promise to work. With Linux's plain mutex it does, and it is how the program of 2008 handed over.
#include <pthread.h>
#include <stdint.h>

struct mailbox {
    pthread_mutex_t empty;
    int64_t token;
};

#include "pthreads.h"

static void prepare(struct mailbox *mailbox)
{
    must(pthread_mutex_init(&mailbox->empty, NULL), "a mutex");
    must(pthread_mutex_lock(&mailbox->empty), "a mutex");
}

static void put(struct mailbox *mailbox, int64_t token)
{
    mailbox->token = token;
    pthread_mutex_unlock(&mailbox->empty);
}

static int64_t take(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->empty);
    return mailbox->token;
}
