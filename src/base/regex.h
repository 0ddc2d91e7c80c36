/* regex.h: regular expressions in the syntax of RE2, which a text must match as a whole.
 *
 * All of RE2's default syntax: classes, Unicode groups, flags, counted and lazy repetition,
 * assertions, \Q…\E, \C. Time is linear in the text; memory is bounded by the pattern. A text is
 * bytes: those that are no UTF-8 are matched by \C alone. Captures are parsed, but not reported. */
#ifndef ONX_REGEX_H
#define ONX_REGEX_H

#include "base/mem.h"

typedef struct onx_regex onx_regex;     /* compiled; may be used by several matchers at once */
typedef struct onx_matcher onx_matcher; /* for one text at a time */

/* INVALID: the pattern is wrong, with RE2's words for what is. It lives in the arena. */
onx_status onx_regex_compile(onx_arena *arena, onx_str pattern, const onx_regex **out,
                             onx_diag *diag) ONX_MUST_CHECK;

/* A matcher, in memory of this many bytes, aligned to 16. What it learns of a text helps with the
 * next one. */
size_t onx_matcher_bytes(const onx_regex *regex);
onx_matcher *onx_matcher_init(const onx_regex *regex, void *memory);

/* A new text, which comes in as many pieces as one likes: false when it cannot match any more;
 * and whether it did. */
void onx_matcher_begin(onx_matcher *matcher);
bool onx_matcher_feed(onx_matcher *matcher, const char *text, size_t size);
bool onx_matcher_end(onx_matcher *matcher);

/* The same for a part of a text, which begins behind the byte `before`, and would match if it ended
 * in front of the byte `next`; both matter to assertions alone. */
#define ONX_MATCHER_EDGE (-1) /* of the whole text: there is no such byte */
void onx_matcher_begin_after(onx_matcher *matcher, int before);
bool onx_matcher_ends(onx_matcher *matcher, int next);

#endif
