// A mutex and a condition variable a thread, as a textbook hands over.
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct mailbox {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    bool full;
    int64_t token;
};

#include "pthreads.h"

static void prepare(struct mailbox *mailbox)
{
    must(pthread_mutex_init(&mailbox->mutex, NULL), "a mutex");
    must(pthread_cond_init(&mailbox->filled, NULL), "a condition variable");
}

static void put(struct mailbox *mailbox, int64_t token)
{
    pthread_mutex_lock(&mailbox->mutex);
    mailbox->token = token;
    mailbox->full = true;
    pthread_mutex_unlock(&mailbox->mutex);
    pthread_cond_signal(&mailbox->filled);
}

static int64_t take(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->mutex);
    while (!mailbox->full)
        pthread_cond_wait(&mailbox->filled, &mailbox->mutex);
    mailbox->full = false;
    int64_t token = mailbox->token;
    pthread_mutex_unlock(&mailbox->mutex);
    return token;
}
