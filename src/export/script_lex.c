/* script_lex.c: TorchScript's source to tokens, one at a time. Takes any bytes; a token is a span
 * of them. Columns count blanks: torch indents by two, and writes no tabs. */
#include "export/script_lex.h"

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static char peek(const onx_script_lexer *l, size_t ahead) {
    return ahead < l->text.size - l->at ? l->text.data[l->at + ahead] : '\0';
}

static bool at_end(const onx_script_lexer *l) {
    return l->at == l->text.size;
}

static void give(onx_script_lexer *l, onx_script_token_kind kind, size_t size) {
    l->token = (onx_script_token){kind, {l->text.data + l->at, size}};
    l->at += size;
}

static void skip_comment(onx_script_lexer *l) {
    while (!at_end(l) && peek(l, 0) != '\n') l->at++;
}

/* Blanks, comments, and within brackets line ends; at the beginning of a line, empty lines. Gives
 * the column of what follows. */
static size_t skip_blanks(onx_script_lexer *l, bool lines) {
    size_t column = 0;
    for (; !at_end(l); l->at++, column++) {
        if (peek(l, 0) == '#') skip_comment(l);
        char c = peek(l, 0);
        if (c == '\n' && lines)
            column = (size_t)-1;
        else if (c != ' ' && c != '\r')
            break;
    }
    return column;
}

static onx_status begin_line(onx_script_lexer *l, bool *given, onx_diag *diag) {
    size_t column = skip_blanks(l, true);
    l->line_begins = false;
    if (at_end(l)) column = 0;
    size_t open = l->indents ? l->indent[l->indents - 1] : 0;
    *given = column > open;
    if (column > open) {
        if (l->indents == ONX_SCRIPT_DEPTH)
            return onx_fail(diag, ONX_LIMIT, "more than %d blocks within blocks", ONX_SCRIPT_DEPTH);
        l->indent[l->indents++] = column;
        give(l, ONX_TOKEN_INDENT, 0);
        return ONX_OK;
    }
    while (l->ends < l->indents && l->indent[l->indents - 1 - l->ends] > column) l->ends++;
    size_t left = l->indents - l->ends;
    if ((left ? l->indent[left - 1] : 0) != column)
        return onx_fail(diag, ONX_MALFORMED, "a line that is indented like none before it");
    return ONX_OK;
}

static size_t number_size(const onx_script_lexer *l) {
    size_t n = peek(l, 0) == '-' || peek(l, 0) == '+';
    for (;; n++) {
        char c = peek(l, n);
        bool sign = (c == '-' || c == '+') && (peek(l, n - 1) == 'e' || peek(l, n - 1) == 'E');
        if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !(sign && n)) break;
    }
    return n + (peek(l, n) == 'j');
}

static onx_status lex_string(onx_script_lexer *l, onx_diag *diag) {
    char quote = peek(l, 0);
    for (size_t n = 1; n < l->text.size - l->at && peek(l, n) != '\n'; n++) {
        if (peek(l, n) == quote) {
            give(l, ONX_TOKEN_STRING, n + 1);
            return ONX_OK;
        }
        n += peek(l, n) == '\\';
    }
    return onx_fail(diag, ONX_MALFORMED, "a string without an end");
}

static onx_status lex_mark(onx_script_lexer *l, onx_diag *diag) {
    char c = peek(l, 0);
    if (c == '\0' || !strchr("()[]{}.,:=-+", c))
        return onx_fail(diag, ONX_MALFORMED, "a character (%u) that TorchScript does not use",
                        (unsigned)(unsigned char)c);
    bool open = strchr("([{", c) != NULL, close = strchr(")]}", c) != NULL;
    if (close && l->brackets == 0) return onx_fail(diag, ONX_MALFORMED, "'%c' closes nothing", c);
    l->brackets += open;
    l->brackets -= close;
    give(l, ONX_TOKEN_MARK, 1);
    return ONX_OK;
}

static onx_status lex_in_line(onx_script_lexer *l, onx_diag *diag) {
    skip_blanks(l, l->brackets > 0);
    char c = peek(l, 0), next = peek(l, 1);
    bool sign = c == '-' || c == '+';
    if (at_end(l) || c == '\n') {
        give(l, ONX_TOKEN_NEWLINE, !at_end(l));
        l->line_begins = true;
    } else if (is_letter(c)) {
        size_t n = 1;
        while (is_letter(peek(l, n)) || is_digit(peek(l, n))) n++;
        give(l, ONX_TOKEN_NAME, n);
    } else if (is_digit(c) || ((sign || c == '.') && is_digit(next))) {
        give(l, ONX_TOKEN_NUMBER, number_size(l));
    } else if (c == '"' || c == '\'') {
        return lex_string(l, diag);
    } else if (c == '-' && next == '>') {
        give(l, ONX_TOKEN_ARROW, 2);
    } else {
        return lex_mark(l, diag);
    }
    return ONX_OK;
}

onx_status onx_script_lex(onx_script_lexer *l, onx_diag *diag) {
    bool given = false;
    if (l->line_begins) ONX_TRY(begin_line(l, &given, diag));
    if (given) return ONX_OK;
    if (l->ends) {
        l->ends--;
        l->indents--;
        give(l, ONX_TOKEN_DEDENT, 0);
        return ONX_OK;
    }
    bool line_ended = l->token.kind <= ONX_TOKEN_DEDENT;
    if (at_end(l) && line_ended) {
        give(l, ONX_TOKEN_END, 0);
        return ONX_OK;
    }
    return lex_in_line(l, diag);
}

/* One escape sequence after the backslash; how many bytes of it. 0: it is none. */
static size_t unescape(onx_str in, char *out) {
    static const char letters[] = "\\'\"abfnrtv", means[] = "\\'\"\a\b\f\n\r\t\v";
    const char *found = in.size && in.data[0] ? strchr(letters, in.data[0]) : NULL;
    if (found) {
        *out = means[found - letters];
        return 1;
    }
    unsigned value = 0;
    size_t n = 0;
    for (; n < 3 && n < in.size && in.data[n] >= '0' && in.data[n] <= '7'; n++)
        value = value * 8 + (unsigned)(in.data[n] - '0');
    *out = (char)(unsigned char)value;
    return value < 256 ? n : 0;
}

onx_status onx_script_unquote(onx_arena *arena, onx_str token, onx_str *out, onx_diag *diag) {
    onx_str in = {token.data + 1, token.size - 2};
    char *text = onx_arena_alloc(arena, in.size + 1);
    if (!text) return onx_fail_nomem(diag);
    size_t n = 0;
    for (size_t i = 0; i < in.size; i++) {
        text[n] = in.data[i];
        if (in.data[i] == '\\') {
            size_t used = unescape((onx_str){in.data + i + 1, in.size - i - 1}, &text[n]);
            if (!used) return onx_fail(diag, ONX_MALFORMED, "a string with an unknown escape");
            i += used;
        }
        n++;
    }
    *out = (onx_str){text, n};
    return ONX_OK;
}
