/* regex_program.h: what a pattern becomes: instructions for a machine that is in many places at
 * once. Inside the regex_*.c files only.
 *
 * Instruction i goes on to i + 1; jumps are relative, so that code can be copied and moved. The end
 * of the program is a match.
 *
 *     LITERAL code      the character
 *     CLASS index       one of the characters of a class
 *     BYTE              any byte
 *     SPLIT offset      both i + 1 and i + offset
 *     JUMP offset       i + offset
 *     ASSERT kind       on, if the place in the text is of that kind
 */
#ifndef ONX_REGEX_PROGRAM_H
#define ONX_REGEX_PROGRAM_H

#include "base/regex.h"
#include "base/unicode.h"

typedef enum onx_regex_op {
    OP_LITERAL,
    OP_CLASS,
    OP_BYTE,
    OP_SPLIT,
    OP_JUMP,
    OP_ASSERT
} onx_regex_op;
typedef enum onx_regex_place {
    AT_TEXT_BEGIN = 1,
    AT_TEXT_END = 2,
    AT_LINE_BEGIN = 4,
    AT_LINE_END = 8,
    AT_WORD_EDGE = 16,
    AT_NO_WORD_EDGE = 32,
} onx_regex_place;

typedef struct onx_regex_inst {
    uint32_t op;
    int32_t arg;
} onx_regex_inst;

typedef struct onx_regex_range {
    uint32_t lo, hi;
} onx_regex_range;

/* A set of characters: ranges, in order and apart once it is done. */
typedef struct onx_regex_class {
    onx_regex_range *v;
    size_t n, cap;
    bool all; /* all characters that are not ASCII: these also match what is nearly UTF-8 */
} onx_regex_class;

struct onx_regex {
    onx_regex_inst *code;
    size_t n, cap;
    onx_regex_class *classes;
    size_t n_classes, cap_classes;
    bool asserts; /* some instruction does */
};

enum { ONX_REGEX_LIMIT = 200000 }; /* instructions */

/* ── regex_class.c. False: memory ran out. ───────────────────────────────────────────────────── */

/* Add a range; `fold`: with all that differs only in case. */
bool onx_regex_add(onx_arena *arena, onx_regex_class *set, uint32_t lo, uint32_t hi, bool fold)
    ONX_MUST_CHECK;
/* Add all of a class by name ("d", "alpha", a group of Unicode), or, `negated`, all but that.
 * *known: is there such a class? */
typedef enum onx_regex_names { NAME_PERL, NAME_POSIX, NAME_UNICODE } onx_regex_names;
bool onx_regex_add_named(onx_arena *arena, onx_regex_class *set, onx_regex_names where,
                         onx_str name, bool negated, bool fold, bool *known) ONX_MUST_CHECK;
/* Ranges in order; `negated`: all other characters instead. */
bool onx_regex_class_end(onx_arena *arena, onx_regex_class *set, bool negated) ONX_MUST_CHECK;
bool onx_regex_class_has(const onx_regex_class *set, uint32_t code);

/* ── regex_escape.c ──────────────────────────────────────────────────────────────────────────── */

/* A place in a pattern that is being read. */
typedef struct onx_regex_cursor {
    onx_arena *arena;
    onx_diag *diag;
    const char *p, *end;
    bool unnamed; /* no ":]" follows: there are no more classes such as [:alpha:] */
} onx_regex_cursor;

/* INVALID, with the part of the pattern that is wrong. */
onx_status onx_regex_wrong(const onx_regex_cursor *in, const char *what, const char *first,
                           const char *end);
bool onx_regex_at(const onx_regex_cursor *in, const char *text);
/* The next character, which there is. */
onx_status onx_regex_take(onx_regex_cursor *in, uint32_t *code) ONX_MUST_CHECK;
/* A backslash and what it makes of the next character. */
onx_status onx_regex_escape(onx_regex_cursor *in, uint32_t *out) ONX_MUST_CHECK;
/* \d and its like, \p{…}: added to the set; *found: there was one. */
onx_status onx_regex_escaped_class(onx_regex_cursor *in, bool fold, onx_regex_class *set,
                                   bool *found) ONX_MUST_CHECK;
/* […]: added to the set, of which all else is meant if it is `negated`. */
onx_status onx_regex_bracket(onx_regex_cursor *in, bool fold, onx_regex_class *set, bool *negated)
    ONX_MUST_CHECK;

#endif
