/* script_type.c: what an expression means as a type. */
#include "export/script.h"

onx_str onx_script_dotted(const onx_script_expr *expr) {
    const onx_script_expr *e = expr;
    size_t size = 0;
    while (e->kind == ONX_EXPR_ATTR) {
        size += e->text.size + 1;
        e = e->items[0];
    }
    if (e->kind != ONX_EXPR_NAME || e->slot >= 0) return (onx_str){0};
    onx_str whole = {e->text.data, e->text.size + size};
    bool gapless = whole.data + whole.size == expr->text.data + expr->text.size;
    return gapless ? whole : (onx_str){0};
}

static onx_script_type named(onx_str name) {
    static const struct {
        const char *name;
        onx_script_type_kind kind;
    } kinds[] = {
        {"Tensor", ONX_PY_TENSOR},
        {"int", ONX_PY_INT},
        {"float", ONX_PY_FLOAT},
        {"bool", ONX_PY_BOOL},
        {"complex", ONX_PY_COMPLEX},
        {"number", ONX_PY_NUMBER},
        {"str", ONX_PY_STR},
        {"NoneType", ONX_PY_NONE},
        {"Device", ONX_PY_DEVICE},
        {"Generator", ONX_PY_GENERATOR},
        {"Stream", ONX_PY_STREAM},
        {"Storage", ONX_PY_STORAGE},
        {"Any", ONX_PY_ANY},
        {"list", ONX_PY_ANY_LIST},
        {"AnyList", ONX_PY_ANY_LIST},
        {"tuple", ONX_PY_ANY_TUPLE},
        {"AnyTuple", ONX_PY_ANY_TUPLE},
        {"AnyEnumType", ONX_PY_ANY_ENUM},
        {"Layout", ONX_PY_INT},
        {"ScalarType", ONX_PY_INT},
        {"MemoryFormat", ONX_PY_INT},
        {"QScheme", ONX_PY_INT},
    };
    for (size_t i = 0; i < ONX_COUNT(kinds); i++)
        if (onx_str_is(name, kinds[i].name)) return (onx_script_type){.kind = kinds[i].kind};
    return (onx_script_type){.kind = ONX_PY_UNKNOWN};
}

static onx_script_type generic(const onx_script_expr *expr) {
    static const struct {
        const char *name;
        onx_script_type_kind kind;
        size_t n; /* how many types it takes; 0: any number */
    } kinds[] = {
        {"Optional", ONX_PY_OPTIONAL, 1}, {"List", ONX_PY_LIST, 1},    {"Dict", ONX_PY_DICT, 2},
        {"Tuple", ONX_PY_TUPLE, 0},       {"Union", ONX_PY_UNION, 0},  {"Future", ONX_PY_FUTURE, 1},
        {"RRef", ONX_PY_FUTURE, 1},       {"Await", ONX_PY_FUTURE, 1}, {"Final", ONX_PY_FINAL, 1},
    };
    onx_script_type type = {.kind = ONX_PY_UNKNOWN, .items = expr->items + 1, .n = 1};
    const onx_script_expr *index = expr->items[1];
    if (index->kind == ONX_EXPR_TUPLE) type.items = index->items, type.n = index->n;
    for (size_t i = 0; i < ONX_COUNT(kinds); i++)
        if (onx_str_is(expr->items[0]->text, kinds[i].name) &&
            (kinds[i].n == 0 || kinds[i].n == type.n))
            type.kind = kinds[i].kind;
    return type;
}

onx_script_type onx_script_type_of(const onx_script_expr *expr) {
    if (expr->kind == ONX_EXPR_NAME) return named(expr->text);
    if (expr->kind == ONX_EXPR_NONE) return (onx_script_type){.kind = ONX_PY_NONE};
    if (expr->kind == ONX_EXPR_INDEX && expr->items[0]->kind == ONX_EXPR_NAME) return generic(expr);
    onx_str name = onx_script_dotted(expr);
    return (onx_script_type){.kind = name.size ? ONX_PY_CLASS : ONX_PY_UNKNOWN, .name = name};
}
