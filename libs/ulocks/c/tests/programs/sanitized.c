/* Two threads, and data that each lock protects: ThreadSanitizer must see nothing wrong. With an argument, it must. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#ifdef INLINE
#include "ulocks_inline.h"
#else
#include "ulocks.h"
#endif

static ulock_t lock = ULOCK_INIT;
static shared_ulock_t shared = ULOCK_INIT;
static urw_t readers = URW_INIT;
static ucond_t condition = UCOND_INIT;
static usem_t semaphore = USEM_INIT(1);
static long numbers[5], turn;
static int forgets;

static void *work(void *number)
{
    const long own = *(long *)number;
    for (int i = 0; i < 500; i++) {
        ulock_lock(&lock);
        numbers[0]++;
        while (turn % 2 != own) {
            const int late = ucond_timedwait(&condition, &lock, 1000000000);
            if (late) break;
        }
        turn++;
        ulock_unlock(&lock);
        ucond_broadcast(&condition);
        while (shared_ulock_trylock(&shared)) {
        }
        numbers[1]++;
        shared_ulock_unlock(&shared);
        if (urw_timedwrlock(&readers, 1000000000) == 0) {
            numbers[2]++;
            urw_wrunlock(&readers);
        }
        urw_rdlock(&readers);
        if (numbers[2] < 0) puts("negative");
        urw_rdunlock(&readers);
        usem_wait(&semaphore);
        numbers[3]++;
        usem_post(&semaphore);
        if (forgets) numbers[4]++;
    }
    return 0;
}

int main(int count, char **arguments)
{
    static const long own[2] = {0, 1};
    pthread_t other;
    forgets = count > 1 && arguments[1][0] == 'f';
    pthread_create(&other, 0, work, (void *)&own[1]);
    work((void *)&own[0]);
    pthread_join(other, 0);
    printf("%ld %ld %ld %ld\n", numbers[0], numbers[1], numbers[2], numbers[3]);
    return 0;
}
