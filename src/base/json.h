/* json.h: JSON (RFC 8259), read token by token and written value by value.
 *
 * The reader is strict: UTF-8 only, no comments, no trailing commas, no lone surrogates, one value
 * and nothing after it. It does not copy: strings and numbers are spans of the text. It does not
 * look for duplicate keys: who knows the keys does. Neither side recurses.
 *
 *     onx_json_reader r;
 *     onx_json_reader_init(&r, ctx, text, depth, diag);
 *     do status = onx_json_next(&r); while (!status && r.token != ONX_JSON_END);
 *     onx_json_reader_fini(&r);
 */
#ifndef ONX_JSON_H
#define ONX_JSON_H

#include "base/out.h"

typedef enum onx_json_token {
    ONX_JSON_END, /* of the text */
    ONX_JSON_OBJECT,
    ONX_JSON_OBJECT_END,
    ONX_JSON_ARRAY,
    ONX_JSON_ARRAY_END,
    ONX_JSON_KEY, /* its value is the next token */
    ONX_JSON_STRING,
    ONX_JSON_NUMBER,
    ONX_JSON_TRUE,
    ONX_JSON_FALSE,
    ONX_JSON_NULL,
} onx_json_token;

typedef struct onx_json_reader {
    onx_str text;
    onx_diag *diag;
    size_t at;            /* the next byte */
    size_t start;         /* of the current token; after a failure, where it happened */
    onx_json_token token; /* the current one */
    onx_str span; /* of a key or string: what is between the quotes; of a number: its digits */
    bool escaped; /* `span` has escapes: see onx_json_unescape */
    bool python;  /* take NaN, Infinity and -Infinity for numbers, as Python writes them */
    uint8_t expect;
    uint32_t depth; /* how many objects and arrays may be open */
    onx_buf open;   /* one '{' or '[' each */
} onx_json_reader;

void onx_json_reader_init(onx_json_reader *r, onx_context *ctx, onx_str text, uint32_t depth,
                          onx_diag *diag);
void onx_json_reader_fini(onx_json_reader *r);
/* Read the next token. Failures say line and column. */
onx_status onx_json_next(onx_json_reader *r) ONX_MUST_CHECK;
/* "a string", "an object", … */
const char *onx_json_token_name(onx_json_token token);
/* The text that a span stands for, into `out`, and its size; only the size when `out` is NULL. */
size_t onx_json_unescape(onx_str span, char *out);

/* Objects have one key a line, arrays stay on the line. Failures stick in `out`. */
typedef struct onx_json_writer {
    onx_out out;
    size_t depth; /* open objects */
    bool first;   /* nothing yet in the innermost object or array */
    bool keyed;   /* after a key */
} onx_json_writer;

void onx_json_writer_init(onx_json_writer *w, const onx_writer *writer, onx_diag *diag);
void onx_json_object(onx_json_writer *w);
void onx_json_object_end(onx_json_writer *w);
void onx_json_array(onx_json_writer *w);
void onx_json_array_end(onx_json_writer *w);
void onx_json_key(onx_json_writer *w, onx_str key);
void onx_json_string(onx_json_writer *w, onx_str text); /* INVALID if it is not UTF-8; keys too */
void onx_json_base64(onx_json_writer *w, onx_str bytes);
void onx_json_literal(onx_json_writer *w, onx_str text); /* a number, true, false, null: as it is */
/* After the one value: ends the line and flushes. */
onx_status onx_json_writer_finish(onx_json_writer *w) ONX_MUST_CHECK;

#endif
