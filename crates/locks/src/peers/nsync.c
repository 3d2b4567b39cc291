/* nsync's functions have C symbols and are called without a shim; only the compiler knows the mutex's size. */

#include <nsync.h>
#include <stdbool.h>
#include <stddef.h>

bool contend_nsync_fits(size_t size, size_t align) {
    return sizeof(nsync_mu) <= size && _Alignof(nsync_mu) <= align;
}
