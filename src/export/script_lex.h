/* script_lex.h: the tokens of TorchScript's source. Lines within brackets are one line; a deeper
 * line begins with INDENT, a shallower one with as many DEDENT as blocks end. */
#ifndef ONX_SCRIPT_LEX_H
#define ONX_SCRIPT_LEX_H

#include "export/script.h"

typedef enum onx_script_token_kind {
    ONX_TOKEN_END,
    ONX_TOKEN_NEWLINE,
    ONX_TOKEN_INDENT,
    ONX_TOKEN_DEDENT,
    ONX_TOKEN_NAME,
    ONX_TOKEN_NUMBER, /* with its sign, and the j of an imaginary one */
    ONX_TOKEN_STRING, /* with its quotes */
    ONX_TOKEN_ARROW,  /* -> */
    ONX_TOKEN_MARK,   /* one character */
} onx_script_token_kind;

typedef struct onx_script_token {
    onx_script_token_kind kind;
    onx_str text;
} onx_script_token;

typedef struct onx_script_lexer {
    onx_str text;
    size_t at;
    size_t brackets;                     /* open ones */
    size_t indents, ends;                /* blocks that are open; of those, blocks that end here */
    size_t indent[ONX_SCRIPT_DEPTH + 1]; /* their columns */
    bool line_begins;                    /* set it to start with */
    onx_script_token token;              /* the present one */
} onx_script_lexer;

/* Go on to the next token. The failure has no place. */
onx_status onx_script_lex(onx_script_lexer *lexer, onx_diag *diag);
/* The characters of a STRING token. */
onx_status onx_script_unquote(onx_arena *arena, onx_str token, onx_str *out, onx_diag *diag);

#endif
