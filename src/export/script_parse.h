/* script_parse.h: what the parsers of expressions, statements and classes share. */
#ifndef ONX_SCRIPT_PARSE_H
#define ONX_SCRIPT_PARSE_H

#include "export/script_lex.h"

typedef struct onx_script_parser {
    onx_arena *arena;
    const onx_script_file *file;
    onx_script_lexer lexer;
    onx_diag *diag;
    size_t depth;             /* of the recursion */
    onx_map scope;            /* names of the present function's locals to their slots, plus one */
    onx_script_local *locals; /* by slot */
    size_t local_count, local_cap;
    void **pending; /* items of lists that are being read, the innermost last */
    size_t pending_count, pending_cap;
} onx_script_parser;

onx_status onx_script_refuse(onx_script_parser *p, onx_status status, const char *fmt, ...)
    ONX_PRINTF(3, 4);
onx_status onx_script_advance(onx_script_parser *p);
bool onx_script_at(const onx_script_parser *p, char mark);
bool onx_script_at_word(const onx_script_parser *p, const char *word);
/* The mark, which must be there, or, with `accept`, may. */
onx_status onx_script_expect(onx_script_parser *p, char mark);
onx_status onx_script_accept(onx_script_parser *p, char mark, bool *found);
onx_status onx_script_expect_name(onx_script_parser *p, onx_str *out);
/* Where the present token begins. */
uint32_t onx_script_here(const onx_script_parser *p);

/* Lists grow on one stack: push items, then take those above `base` as an array. */
onx_status onx_script_push(onx_script_parser *p, void *item);
onx_status onx_script_take(onx_script_parser *p, size_t base, void *array, size_t *n);

/* ":" NEWLINE INDENT, and DEDENT: around what a class, function or statement holds. */
onx_status onx_script_open(onx_script_parser *p);
static inline bool onx_script_closes(const onx_script_parser *p) {
    return p->lexer.token.kind == ONX_TOKEN_DEDENT;
}
onx_status onx_script_end_line(onx_script_parser *p);

onx_status onx_script_func_parse(onx_script_parser *p, onx_script_func *f); /* at its "def" */
onx_status onx_script_expr_parse(onx_script_parser *p, onx_script_expr **out);
/* expr ("," expr)* [","]; tells whether a comma ended it. */
onx_status onx_script_exprs_parse(onx_script_parser *p, bool *trailing);

#endif
