/* onnx_lex.h: the tokens of ONNX text: identifiers, words, strings, numbers, blanks, comments and
 * notes.
 *
 * A comment runs from '#' to the end of the line. One that begins with "#@" is a note: it tells
 * about what follows it, in a language of its own (text/onnx_text.h). Blanks and comments are
 * skipped before every token; notes are not: they must be taken where they may stand.
 *
 * Functions that fail say where and what was found; those that take a token leave `at` behind it.
 */
#ifndef ONX_ONNX_LEX_H
#define ONX_ONNX_LEX_H

#include "wire/wire.h"

typedef struct onx_lex {
    onx_doc *doc; /* strings are copied into it */
    onx_diag *diag;
    const char *base, *at, *end;
    bool in_note; /* the text ends where the note does */
} onx_lex;

void onx_lex_init(onx_lex *lex, onx_doc *doc, onx_str text, onx_diag *diag);

/* "line 3, column 7: <sentence>" for the place where the lexer stands. */
onx_status onx_lex_fail(const onx_lex *lex, onx_status status, const char *fmt, ...)
    ONX_PRINTF(3, 4);
/* The same: "expected <what>, found 'Relu'". Skips blanks first. */
onx_status onx_lex_expected(onx_lex *lex, const char *what);
onx_status onx_lex_nomem(const onx_lex *lex);
/* Fails where more than limits.depth messages would be around one. */
onx_status onx_lex_depth(const onx_lex *lex, size_t depth) ONX_MUST_CHECK;

/* The next character that is no blank; 0 at the end. */
char onx_lex_peek(onx_lex *lex);
bool onx_lex_take(onx_lex *lex, char c);
/* `where` ends the sentence "expected '=' …": "after the node's outputs". */
onx_status onx_lex_expect(onx_lex *lex, char c, const char *where) ONX_MUST_CHECK;

/* Letters, digits and '_', not beginning with a digit; empty if there is none. */
onx_str onx_lex_identifier(onx_lex *lex);
onx_str onx_lex_peek_identifier(onx_lex *lex);
/* Anything up to a blank or punctuation: what the onnx package prints of names that are no
 * identifiers. */
onx_str onx_lex_word(onx_lex *lex);
/* A run of letters, digits, '.', '+' and '-' that begins like a number, or "nan(0x1)"; empty if
 * there is none. */
onx_str onx_lex_number(onx_lex *lex);
onx_status onx_lex_i64(onx_lex *lex, const char *what, int64_t *out) ONX_MUST_CHECK;

/* "…", where a backslash makes the next character an ordinary one; copied into the document. */
onx_status onx_lex_string(onx_lex *lex, size_t limit, const char *what, onx_str *out)
    ONX_MUST_CHECK;
/* A string or an identifier (loose: or a word); copied into the document. */
onx_status onx_lex_name(onx_lex *lex, const char *what, onx_str *out) ONX_MUST_CHECK;
onx_status onx_lex_loose_name(onx_lex *lex, const char *what, onx_str *out) ONX_MUST_CHECK;

/* The text of the note that begins here, behind its "#@", and go on after it; NULL if there is
 * none. */
const char *onx_lex_note(onx_lex *lex);

bool onx_is_identifier(onx_str s);
bool onx_is_word(onx_str s);
/* Can it stand in a string: UTF-8 without NUL. */
bool onx_is_text(onx_str s);

#endif
