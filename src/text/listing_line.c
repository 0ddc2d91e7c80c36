/* listing_line.c: lines of words, folded at the terminal's width; colours; names, sizes and counts
 * as people read them. */
#include "text/listing.h"

#include "base/number.h"
#include "base/utf8.h"
#include "ir/type_text.h"

#include <stdio.h>

static const char *const codes[] = {
    [ONX_STYLE_FAINT] = "2", [ONX_STYLE_HEAD] = "1",    [ONX_STYLE_OP] = "1;36",
    [ONX_STYLE_TYPE] = "32", [ONX_STYLE_STRING] = "33", [ONX_STYLE_BAD] = "1;31",
};

/* ── Words and lines ─────────────────────────────────────────────────────────────────────────── */

static void end_word(onx_listing *l, size_t gap) {
    if (l->word.failed && !l->out.status) l->out.status = onx_fail_nomem(l->out.diag);
    if (l->word_width == 0) return;
    size_t end = l->column + l->gap + l->word_width;
    if (end > l->width && l->column > l->indent) {
        onx_out_putc(&l->out, '\n');
        onx_out_spaces(&l->out, l->indent);
        l->column = l->indent;
    } else {
        onx_out_spaces(&l->out, l->gap);
        l->column += l->gap;
    }
    if (l->out.status == ONX_OK) onx_out_put(&l->out, l->word.data, l->word.size);
    l->column += l->word_width;
    l->word.size = l->word_width = 0;
    l->gap = gap;
}

void onx_line_begin(onx_listing *l, size_t indent, size_t indent_folded) {
    onx_out_spaces(&l->out, indent);
    l->column = indent;
    l->indent = indent_folded;
    l->gap = 0;
}

void onx_line_space(onx_listing *l) {
    end_word(l, 1);
}

void onx_line_fold(onx_listing *l) {
    end_word(l, 0);
}

void onx_line_pad(onx_listing *l, size_t column) {
    end_word(l, 0);
    size_t at = l->column + l->gap;
    l->gap += column > at + 2 ? column - at : 2;
}

void onx_line_end(onx_listing *l) {
    end_word(l, 0);
    onx_out_putc(&l->out, '\n');
    l->column = 0;
}

void onx_line_blank(onx_listing *l) {
    onx_out_putc(&l->out, '\n');
}

/* ── Text ────────────────────────────────────────────────────────────────────────────────────── */

/* Controls, and marks that turn the direction of the text around them. */
static bool is_control(const char *p, size_t size) {
    unsigned char a = (unsigned char)p[0], b = size > 1 ? (unsigned char)p[1] : 0,
                  c = size > 2 ? (unsigned char)p[2] : 0;
    if (size == 1) return a < 0x20 || a == 0x7f;
    if (size == 2) return a == 0xc2 && b < 0xa0;
    return size == 3 && a == 0xe2 &&
           ((b == 0x80 && c >= 0xaa && c <= 0xae) || (b == 0x81 && c >= 0xa6 && c <= 0xa9));
}

static void put_text(onx_listing *l, onx_str text) {
    for (size_t i = 0, n; i < text.size; i += n ? n : 1) {
        const char *p = text.data + i;
        n = onx_utf8_size(p, text.data + text.size);
        bool fine = n && !is_control(p, n);
        onx_buf_put(&l->word, fine ? p : "?", fine ? n : 1);
        l->word_width++;
    }
}

void onx_line_put(onx_listing *l, onx_style style, onx_str text) {
    bool coloured = l->colour && codes[style];
    if (text.size == 0) return;
    if (coloured) onx_buf_printf(&l->word, "\033[%sm", codes[style]);
    put_text(l, text);
    if (coloured) onx_buf_puts(&l->word, "\033[0m");
}

void onx_line_puts(onx_listing *l, onx_style style, const char *text) {
    onx_line_put(l, style, onx_str_of(text));
}

void onx_line_printf(onx_listing *l, onx_style style, const char *fmt, ...) {
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    onx_line_puts(l, style, text);
}

static bool is_misread(onx_str name) {
    for (size_t i = 0; i < name.size; i++)
        if (strchr(" ,=()[]{}\"", name.data[i])) return true; /* NUL included */
    return name.size == 0;
}

size_t onx_name_width(onx_str name) {
    size_t width = is_misread(name) ? 2 : 0;
    for (size_t i = 0, n; i < name.size; i += n ? n : 1, width++)
        n = onx_utf8_size(name.data + i, name.data + name.size);
    return width;
}

void onx_line_name(onx_listing *l, onx_style style, onx_str name) {
    const char *quote = is_misread(name) ? "\"" : "";
    onx_line_puts(l, style, quote);
    onx_line_put(l, style, name);
    onx_line_puts(l, style, quote);
}

/* The bytes of the first `width` characters. */
static size_t cut(onx_str text, size_t width) {
    size_t at = 0;
    for (size_t n; at < text.size && width > 0; at += n ? n : 1, width--)
        n = onx_utf8_size(text.data + at, text.data + text.size);
    return at;
}

void onx_line_string(onx_listing *l, onx_str text) {
    size_t shown = l->max_elements == SIZE_MAX ? text.size : cut(text, 60);
    onx_line_puts(l, ONX_STYLE_STRING, "\"");
    onx_line_put(l, ONX_STYLE_STRING, (onx_str){text.data, shown});
    onx_line_puts(l, ONX_STYLE_STRING, shown < text.size ? "…\"" : "\"");
}

void onx_line_text(onx_listing *l, onx_str text) {
    for (size_t at = 0, end; at < text.size; at = end + 1) {
        const char *space = memchr(text.data + at, ' ', text.size - at);
        end = space ? (size_t)(space - text.data) : text.size;
        onx_line_put(l, ONX_STYLE_PLAIN, (onx_str){text.data + at, end - at});
        onx_line_space(l);
    }
}

void onx_line_type(onx_listing *l, const onx_type *type) {
    l->scratch.size = 0;
    onx_type_print(type, &l->scratch);
    if (l->scratch.failed && !l->out.status) l->out.status = onx_fail_nomem(l->out.diag);
    if (!l->scratch.failed)
        onx_line_put(l, ONX_STYLE_TYPE, (onx_str){l->scratch.data, l->scratch.size});
}

/* ── Numbers ─────────────────────────────────────────────────────────────────────────────────── */

void onx_line_float(onx_listing *l, float v) {
    char text[ONX_NUMBER_MAX];
    onx_print_f32(v, text);
    onx_line_puts(l, ONX_STYLE_PLAIN, text);
}

void onx_line_count(onx_listing *l, uint64_t n) {
    char digits[ONX_NUMBER_MAX], text[2 * ONX_NUMBER_MAX], *p = text;
    size_t size = onx_print_u64(n, digits);
    for (size_t i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) *p++ = ',';
        *p++ = digits[i];
    }
    onx_line_put(l, ONX_STYLE_PLAIN, (onx_str){text, (size_t)(p - text)});
}

void onx_line_bytes(onx_listing *l, uint64_t n) {
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (n < 1000) {
        onx_line_printf(l, ONX_STYLE_PLAIN, "%u B", (unsigned)n);
        return;
    }
    size_t unit = 0;
    while (n >= 999950) n /= 1000, unit++;
    unsigned tenths = (unsigned)((n + 50) / 100);
    onx_line_printf(l, ONX_STYLE_PLAIN, "%u.%u %s", tenths / 10, tenths % 10, units[unit]);
}
