/* conform_find.c: see conform.h. Folders are walked without recursion, in the order of their names;
 * what is in the folder of a case is that case's. */
#define _POSIX_C_SOURCE 200809L
#include "conform.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 32 }; /* of folders in folders */

static char *join(const char *fmt, ...) CLI_PRINTF(1, 2);
static char *join(const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, fmt, args);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (text) vsnprintf(text, (size_t)size + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

static bool exists(const char *folder, const char *file) {
    char *path = join("%s/%s", folder, file);
    bool there = path && access(path, R_OK) == 0;
    free(path);
    return there;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Takes the texts over. */
static bool add(conform_cases *cases, char *name, char *model, char *base, bool light) {
    bool whole = name && model && base;
    if (whole && cases->count == cases->room) {
        size_t room = cases->room ? 2 * cases->room : 256;
        conform_case *list = realloc(cases->list, room * sizeof *list);
        if (list) cases->list = list, cases->room = room;
    }
    if (whole && cases->count < cases->room) {
        cases->list[cases->count++] = (conform_case){name, model, base, light};
        return true;
    }
    free(name);
    free(model);
    free(base);
    return false;
}

/* A folder that is being walked: its entries, and which comes next. */
typedef struct level {
    char *path;
    struct dirent **entries;
    int count, at;
} level;

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static bool level_open(level *l, char *path) {
    *l = (level){.path = path};
    l->count = path ? scandir(path, &l->entries, visible, by_name) : -1;
    return l->count >= 0;
}

static void level_close(level *l) {
    for (int i = 0; i < l->count; i++) free(l->entries[i]);
    free(l->entries);
    free(l->path);
}

/* The part of a path behind the folder that was given; of that folder itself, its own name. */
static const char *name_in(const char *root, const char *path) {
    size_t size = strlen(root);
    if (path[size] == '/') return path + size + 1;
    const char *slash = strrchr(root, '/');
    return slash ? slash + 1 : root;
}

static bool add_folder(conform_cases *cases, const char *root, const char *path) {
    return add(cases, join("%s", name_in(root, path)), join("%s/model.onnx", path),
               join("%s", path), false);
}

/* NAME.onnx with NAME_output_0.pb beside it. */
static bool add_light(conform_cases *cases, const char *root, const char *path) {
    size_t size = strlen(path);
    if (size < 6 || strcmp(path + size - 5, ".onnx")) return true;
    char *base = join("%.*s", (int)(size - 5), path),
         *output = join("%s_output_0.pb", base ? base : "");
    bool fine = base && output;
    if (fine && access(output, R_OK) == 0)
        fine =
            add(cases, join("%s", name_in(root, base)), join("%s", path), join("%s", base), true);
    free(base);
    free(output);
    return fine;
}

/* One entry of the folder on top: a case, a folder to go into, or nothing. */
static bool visit(conform_cases *cases, const char *root, level *stack, size_t *depth) {
    level *top = &stack[*depth - 1];
    char *path = join("%s/%s", top->path, top->entries[top->at++]->d_name);
    if (!path) return false;
    bool fine = true, folder = is_folder(path);
    if (!folder)
        fine = add_light(cases, root, path);
    else if (exists(path, "model.onnx"))
        fine = add_folder(cases, root, path);
    else if (*depth < DEPTH && level_open(&stack[*depth], path))
        path = NULL, ++*depth;
    free(path);
    return fine;
}

static bool walk(conform_cases *cases, const char *root, level *first) {
    level stack[DEPTH] = {*first};
    size_t depth = 1;
    bool fine = true;
    while (depth) {
        if (fine && stack[depth - 1].at < stack[depth - 1].count)
            fine = visit(cases, root, stack, &depth);
        else
            level_close(&stack[--depth]);
    }
    return fine;
}

int conform_find(const cli_command *command, const char *folder, conform_cases *cases) {
    size_t size = strlen(folder);
    while (size > 1 && folder[size - 1] == '/') size--;
    char *root = join("%.*s", (int)size, folder);
    level first = {.path = NULL};
    bool fine = root != NULL;
    if (fine && exists(root, "model.onnx")) {
        fine = add_folder(cases, root, root);
    } else if (fine && level_open(&first, join("%s", root))) {
        fine = walk(cases, root, &first);
    } else if (fine) {
        cli_note(command, "%s: cannot be read: %s", folder, strerror(errno));
        level_close(&first);
        free(root);
        return CLI_BAD;
    }
    free(root);
    return fine ? CLI_OK : cli_no_memory(command);
}

void conform_cases_free(conform_cases *cases) {
    for (size_t i = 0; i < cases->count; i++) {
        free(cases->list[i].name);
        free(cases->list[i].model);
        free(cases->list[i].base);
    }
    free(cases->list);
}
