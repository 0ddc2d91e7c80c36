/* json_writer.c: the writer of json.h. */
#include "base/base64.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdio.h>

void onx_json_writer_init(onx_json_writer *w, const onx_writer *writer, onx_diag *diag) {
    onx_out_init(&w->out, writer, diag);
    w->depth = 0;
    w->first = true;
    w->keyed = false;
}

/* What stands before a value: nothing after a key, a comma between two elements. */
static void before_value(onx_json_writer *w) {
    if (!w->keyed && !w->first) onx_out_puts(&w->out, ", ");
    w->keyed = w->first = false;
}

static void new_line(onx_json_writer *w) {
    onx_out_putc(&w->out, '\n');
    onx_out_spaces(&w->out, 2 * w->depth);
}

void onx_json_object(onx_json_writer *w) {
    before_value(w);
    onx_out_putc(&w->out, '{');
    w->depth++;
    w->first = true;
}

void onx_json_object_end(onx_json_writer *w) {
    w->depth--;
    if (!w->first) new_line(w);
    onx_out_putc(&w->out, '}');
    w->first = false;
}

void onx_json_array(onx_json_writer *w) {
    before_value(w);
    onx_out_putc(&w->out, '[');
    w->first = true;
}

void onx_json_array_end(onx_json_writer *w) {
    onx_out_putc(&w->out, ']');
    w->first = false;
}

static void put_escaped(onx_out *out, char c) {
    static const char named[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    char text[8];
    const char *name = c ? strchr(named, c) : NULL;
    if (name)
        snprintf(text, sizeof text, "\\%c", names[name - named]);
    else
        snprintf(text, sizeof text, "\\u%04x", (unsigned char)c);
    onx_out_puts(out, text);
}

static void put_string(onx_out *out, onx_str text) {
    const char *p = text.size ? text.data : "", *end = p + text.size, *plain = p;
    onx_out_putc(out, '"');
    for (size_t n; p < end && !out->status; p += n) {
        n = onx_utf8_size(p, end);
        if (n == 0)
            out->status =
                onx_fail(out->diag, ONX_INVALID, "JSON cannot express text that is not UTF-8");
        if (n != 1 || ((unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')) continue;
        onx_out_put(out, plain, (size_t)(p - plain));
        put_escaped(out, *p);
        plain = p + 1;
    }
    onx_out_put(out, plain, (size_t)(p - plain));
    onx_out_putc(out, '"');
}

void onx_json_key(onx_json_writer *w, onx_str key) {
    if (!w->first) onx_out_putc(&w->out, ',');
    new_line(w);
    put_string(&w->out, key);
    onx_out_puts(&w->out, ": ");
    w->first = false;
    w->keyed = true;
}

void onx_json_string(onx_json_writer *w, onx_str text) {
    before_value(w);
    put_string(&w->out, text);
}

void onx_json_literal(onx_json_writer *w, onx_str text) {
    before_value(w);
    onx_out_put(&w->out, text.data, text.size);
}

void onx_json_base64(onx_json_writer *w, onx_str bytes) {
    char text[4096];
    enum { PIECE = sizeof text / 4 * 3 };
    before_value(w);
    onx_out_putc(&w->out, '"');
    for (size_t i = 0; i < bytes.size && !w->out.status; i += PIECE) {
        size_t n = bytes.size - i < PIECE ? bytes.size - i : PIECE;
        onx_base64_encode(bytes.data + i, n, text);
        onx_out_put(&w->out, text, onx_base64_size(n));
    }
    onx_out_putc(&w->out, '"');
}

onx_status onx_json_writer_finish(onx_json_writer *w) {
    onx_out_putc(&w->out, '\n');
    return onx_out_flush(&w->out);
}
