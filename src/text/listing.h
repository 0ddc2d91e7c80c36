/* listing.h: the parts of the listing of a model for people: lines and colours in listing_line.c,
 * numbers of tensors in listing_tensor.c, attributes and nodes in files of their names, the rest in
 * listing.c. */
#ifndef ONX_LISTING_H
#define ONX_LISTING_H

#include "base/out.h"
#include "ir/ir.h"

typedef enum onx_style {
    ONX_STYLE_PLAIN,
    ONX_STYLE_FAINT,
    ONX_STYLE_HEAD,
    ONX_STYLE_OP,
    ONX_STYLE_TYPE,
    ONX_STYLE_STRING,
    ONX_STYLE_BAD,
} onx_style;

typedef struct onx_listing {
    onx_out out;
    size_t width;        /* lines are folded to this; SIZE_MAX: not at all */
    size_t max_elements; /* of a constant */
    bool colour;
    size_t column;     /* characters on the line so far */
    size_t indent;     /* of what follows when the line is folded */
    onx_buf word;      /* the end of the line, which will not be parted */
    size_t word_width; /* in characters */
    size_t gap;        /* spaces before the word, unless the line is folded there */
    onx_buf scratch;
} onx_listing;

/* A line is words. It may be folded where a word ends: at onx_line_space, which else leaves a
 * space, or onx_line_fold, which leaves nothing. Text comes from files: what is no text, or could
 * confuse a terminal, becomes '?'. */
void onx_line_begin(onx_listing *l, size_t indent, size_t indent_folded);
void onx_line_put(onx_listing *l, onx_style style, onx_str text);
void onx_line_puts(onx_listing *l, onx_style style, const char *text);
void onx_line_printf(onx_listing *l, onx_style style, const char *fmt, ...) ONX_PRINTF(3, 4);
void onx_line_space(onx_listing *l);
void onx_line_fold(onx_listing *l);
void onx_line_pad(onx_listing *l, size_t column); /* spaces up to a column, at least two */
void onx_line_end(onx_listing *l);
void onx_line_blank(onx_listing *l);

void onx_line_name(onx_listing *l, onx_style style,
                   onx_str name);                   /* quoted if it could be misread */
size_t onx_name_width(onx_str name);                /* in characters, so written */
void onx_line_string(onx_listing *l, onx_str text); /* quoted, and shortened */
void onx_line_text(onx_listing *l, onx_str text);   /* folded at its spaces */
void onx_line_float(onx_listing *l, float v);
void onx_line_type(onx_listing *l, const onx_type *type);
/* A large number: 11,689,512. And bytes: 46.8 MB. */
void onx_line_count(onx_listing *l, uint64_t n);
void onx_line_bytes(onx_listing *l, uint64_t n);

void onx_line_dims(onx_listing *l, onx_dtype dtype, const onx_i64s *dims); /* float[2,3] */
void onx_line_tensor_type(onx_listing *l, const onx_tensor *tensor);
void onx_line_sparse_type(onx_listing *l, const onx_sparse *sparse);
/* The first numbers, at most `limit`, and with `one_line` no more than fit; or why there are
 * none. */
void onx_line_values(onx_listing *l, const onx_tensor *tensor, size_t limit, bool one_line);
void onx_line_attr(onx_listing *l, const onx_attr *attr);
/* x: float[N,3] */
void onx_line_typed_name(onx_listing *l, onx_style style, onx_str name, const onx_type *type);
/* A whole line. Graphs that the node holds are not in it. */
void onx_line_node(onx_listing *l, const onx_node *n, size_t index, size_t indent);

/* What onx_model_print does, with all options given. */
onx_status onx_listing_print(const onx_model *model, const onx_writer *writer,
                             const onx_print_options *options, onx_diag *diag) ONX_MUST_CHECK;

#endif
