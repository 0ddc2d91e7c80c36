/* near.c: names that are nearly the same, for hints. */
#include "base/base.h"

enum { LONGEST = 64 };

size_t onx_str_distance(onx_str a, onx_str b, size_t most) {
    size_t row[LONGEST + 1];
    if (a.size > LONGEST || b.size > LONGEST) return most;
    for (size_t j = 0; j <= b.size; j++) row[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            size_t change = corner + ((a.data[i - 1] | 32) != (b.data[j - 1] | 32));
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            corner = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[b.size] < most ? row[b.size] : most;
}
