// The two arguments of every program in this folder: THREADS HOPS.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    size_t threads;
    int64_t hops;
};

// A whole number of at most 15 digits, or -1.
static int64_t whole_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits > 15 || text[digits] != '\0')
        return -1;
    return strtoll(text, NULL, 10);
}

static struct arguments read_arguments(int argc, char **argv)
{
    int64_t threads = argc == 3 ? whole_number(argv[1]) : -1;
    int64_t hops = argc == 3 ? whole_number(argv[2]) : -1;
    if (threads < 1 || hops < 0) {
        fputs("ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits\n", stderr);
        exit(2);
    }
    return (struct arguments){ .threads = (size_t)threads, .hops = hops };
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        perror("ring: cannot make that many threads");
        exit(1);
    }
    return memory;
}
