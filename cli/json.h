/* json.h: a JSON document, written as it comes: indented, keys in the order they are given.
 *
 *     json_begin(&j, stdout);
 *     json_open(&j, NULL, '{');
 *     json_string(&j, "name", "resnet18");
 *     json_open(&j, "inputs", '[');
 *     json_number(&j, NULL, 3);
 *     json_close(&j), json_close(&j);
 *
 * The key is NULL in arrays. At most 16 levels. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "cli.h"

typedef struct json {
    FILE *out;
    char ends[16]; /* of what is open */
    size_t depth;
    bool first; /* nothing has been written at this level */
} json;

void json_begin(json *j, FILE *out);
void json_open(json *j, const char *key, char kind); /* '{' or '[' */
void json_close(json *j);
void json_string(json *j, const char *key, const char *text);
void json_number(json *j, const char *key, int64_t n);
void json_size(json *j, const char *key, uint64_t n);
void json_real(json *j, const char *key, double x); /* null unless finite */
void json_bool(json *j, const char *key, bool b);
void json_null(json *j, const char *key);
void json_raw(json *j, const char *key, const char *text); /* text is JSON already */

#endif
