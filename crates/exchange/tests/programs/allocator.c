/* An allocator of the program's own, which initialises and takes a mutex of its own within its first call: whatever the
 * library does to find the C library's functions must not allocate. */
#include "conform.h"
#include <stddef.h>

static pthread_mutex_t m;
static int is_ready, is_inside, came_back;
static _Alignas(16) char memory[8 << 20];
static size_t used;

void *malloc(size_t size) {
    /* As allocators with a lock of their own would stand still. */
    if (is_inside) came_back++;
    is_inside = 1;
    if (!is_ready) pthread_mutex_init(&m, 0), is_ready = 1;
    if (!came_back) pthread_mutex_lock(&m);
    void *start = memory + used;
    used += (size + 15) / 16 * 16;
    if (used > sizeof memory) abort();
    if (!came_back) pthread_mutex_unlock(&m);
    is_inside = 0;
    return start;
}
void free(void *unused) { (void)unused; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *old, size_t size) { return old ? memcpy(malloc(size), old, size) : malloc(size); }

/* Before any library's constructor. */
static void *volatile kept;
static void first(void) { kept = malloc(1); }
__attribute__((section(".preinit_array"), used)) static void (*const before)(void) = first;

int main(void) {
    chapter = "allocator";
    kept = malloc(100);
    HOLDS("it is called from within itself", came_back != 0);
    HOLDS("and works", kept != 0);
    return 0;
}
