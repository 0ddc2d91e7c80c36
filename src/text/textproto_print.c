/* textproto_print.c: messages as protobuf text, as google.protobuf.text_format prints them.
 *
 *     graph {
 *       name: "main"
 *       initializer {
 *         dims: [2, 3]
 *         raw_data: "\000\000\200?"
 *
 * Lists of numbers are written in brackets. Text is UTF-8 as it is; what is not UTF-8, and bytes,
 * have octal escapes. Beyond the format, so that nothing is lost: unknown fields are bytes under
 * the name [onx.unknown], and a NaN other than the usual one is -nan or nan(0x12) with the bits of
 * its mantissa.
 */
#include "base/number.h"
#include "base/out.h"
#include "base/utf8.h"
#include "text/text.h"
#include "text/tree.h"

typedef struct printer {
    onx_out out;
    size_t depth;
} printer;

static bool is_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\'' && c != '\\';
}

static void put_escaped(onx_out *out, unsigned char c) {
    static const char named[] = "\t\n\r\"'\\", names[] = "tnr\"'\\";
    const char *name = c > 0 && c < 0x80 ? strchr(named, c) : NULL;
    char text[4] = {'\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)),
                    (char)('0' + (c & 7))};
    if (name) text[1] = names[name - named];
    onx_out_put(out, text, name ? 2 : 4);
}

/* Runs of characters that need no escape go out in one piece. */
static void put_string(onx_out *out, onx_str text, bool utf8) {
    const char *p = text.size ? text.data : "", *end = p + text.size, *run = p;
    onx_out_putc(out, '"');
    while (p < end && !out->status) {
        size_t n = is_plain(*p) ? 1 : utf8 && (unsigned char)*p >= 0x80 ? onx_utf8_size(p, end) : 0;
        if (n > 0) {
            p += n;
            continue;
        }
        if (p > run) onx_out_put(out, run, (size_t)(p - run));
        put_escaped(out, (unsigned char)*p);
        run = ++p;
    }
    onx_out_put(out, run, (size_t)(p - run));
    onx_out_putc(out, '"');
}

static void put_int(onx_out *out, const onx_field *field, int64_t v) {
    char text[ONX_NUMBER_MAX];
    const char *name = onx_enum_find(field->enums, v);
    if (name)
        onx_out_puts(out, name);
    else
        onx_out_put(out, text, onx_print_i64(v, text));
}

static void put_elem(onx_out *out, const onx_field *field, onx_elem v) {
    char text[ONX_NUMBER_MAX];
    switch (onx_field_elem(field)) {
    case ONX_ELEM_I32:
    case ONX_ELEM_I64: put_int(out, field, v.i); break;
    case ONX_ELEM_U64: onx_out_put(out, text, onx_print_u64(v.u, text)); break;
    case ONX_ELEM_F32: onx_out_put(out, text, onx_print_f32(v.f, text)); break;
    case ONX_ELEM_F64: onx_out_put(out, text, onx_print_f64(v.d, text)); break;
    case ONX_ELEM_STR: put_string(out, v.s, true); break;
    case ONX_ELEM_BYTES: put_string(out, v.s, false); break;
    case ONX_ELEM_MSG: break;
    }
}

static void begin_line(printer *p, const char *name, const char *then) {
    onx_out_spaces(&p->out, 2 * p->depth);
    onx_out_puts(&p->out, name);
    onx_out_puts(&p->out, then);
}

static void print_numbers(printer *p, onx_elems *elems) {
    onx_elem v;
    begin_line(p, elems->field->name, ": ");
    const char *before = "[";
    for (; !p->out.status && onx_elems_next(elems, &v); before = ", ") {
        onx_out_puts(&p->out, before);
        put_elem(&p->out, elems->field, v);
    }
    onx_out_puts(&p->out, "]\n");
}

static void print_field(printer *p, const onx_msg *msg, const onx_field *field) {
    onx_elems elems = {msg, field, 0};
    onx_elem v;
    if (onx_field_repeated(field) && onx_field_elem(field) < ONX_ELEM_STR) {
        print_numbers(p, &elems);
        return;
    }
    while (!p->out.status && onx_elems_next(&elems, &v)) {
        begin_line(p, field->name, ": ");
        put_elem(&p->out, field, v);
        onx_out_putc(&p->out, '\n');
    }
}

static void print_enter(printer *p, const onx_field *holder) {
    if (!holder) return;
    begin_line(p, holder->name, " {\n");
    p->depth++;
}

static void print_leave(printer *p, const onx_msg *msg, const onx_field *holder) {
    for (const onx_unknown *u = msg->unknown; u; u = u->next) {
        begin_line(p, ONX_TREE_UNKNOWN, ": ");
        put_string(&p->out, u->bytes, false);
        onx_out_putc(&p->out, '\n');
    }
    if (!holder) return;
    p->depth--;
    begin_line(p, "}", "\n");
}

onx_status onx_textproto_print(const void *msg, const onx_writer *writer, onx_diag *diag) {
    printer p = {.depth = 0};
    onx_out_init(&p.out, writer, diag);
    onx_tree tree = onx_tree_begin(msg);
    while (!p.out.status && onx_tree_next(&tree)) {
        const onx_field *holder = onx_tree_holder(&tree);
        if (tree.event == ONX_TREE_ENTER) print_enter(&p, holder);
        if (tree.event == ONX_TREE_FIELD) print_field(&p, tree.msg, tree.field);
        if (tree.event == ONX_TREE_LEAVE) print_leave(&p, tree.msg, holder);
    }
    return onx_out_flush(&p.out);
}
