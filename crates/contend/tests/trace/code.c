/* Checks for as many seconds that its own code stays as it is; ends with 3 if it does not. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SIZE 3000000
__asm__(".text\n.globl code\ncode:\n.skip 3000000, 0x90\n");
extern const unsigned char code[];

int main(int count, char **arguments) {
    const time_t end = time(0) + (count > 1 ? atoi(arguments[1]) : 1);
    while (time(0) < end) {
        for (int at = 0; at < SIZE; at++)
            if (code[at] != 0x90) {
                printf("the byte at %#x is %#x\n", at, code[at]);
                return 3;
            }
        usleep(5000);
    }
    return 0;
}
