// Prints its arguments, and ends with their number.
#include <stdio.h>

int main(int count, char **words) {
    for (int i = 1; i < count; i++) printf("%s ", words[i]);
    puts("done");
    return count;
}
