/* case_file.c: see case_file.h. */
#include "case_file.h"

#include <stdlib.h>

bool case_file_open(case_file *file, const char *path) {
    const char *root = getenv("ROOT");
    char whole[1024];
    (void)snprintf(whole, sizeof whole, "%s/test/%s", root ? root : ".", path);
    *file = (case_file){.bytes = test_file_read(whole)};
    if (file->bytes.data) test_put_byte(&file->bytes, 0);
    char *first = file->bytes.data ? strstr(file->bytes.data, "== ") : NULL;
    file->next = first ? first + 3 : NULL;
    if (!first) fprintf(stderr, "%s has no cases\n", whole);
    return first != NULL;
}

char *case_file_next(case_file *file) {
    char *text = file->next;
    file->next = text ? case_cut(text, "\n== ") : NULL;
    return text;
}

void case_file_close(case_file *file) {
    test_bytes_free(&file->bytes);
}

char *case_cut(char *text, const char *mark) {
    char *at = strstr(text, mark);
    if (!at) return NULL;
    *at = '\0';
    return at + strlen(mark);
}

char *case_line(char **p) {
    char *line = *p, *rest = case_cut(line, "\n");
    *p = rest ? rest : line + strlen(line);
    return line;
}

onx_status case_parse(onx_context *ctx, const char *text, onx_model **out, onx_diag *diag) {
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    return onx_model_load_memory(ctx, text, strlen(text), &options, out, diag);
}

char *case_text(onx_model *model, onx_diag *diag) {
    onx_save_options options = ONX_INIT(onx_save_options);
    onx_walk walk = onx_walk_begin(model);
    void *data;
    size_t size;
    for (onx_msg *m; (m = onx_walk_next(&walk));)
        if (m->desc == &onx_desc_tensor && onx_tensor_store_typed((onx_tensor *)m, diag))
            return NULL;
    options.format = ONX_FORMAT_TEXT;
    if (onx_model_save_memory(model, &options, &data, &size, diag)) return NULL;
    char *text = malloc(size + 1);
    if (!text) abort();
    memcpy(text, data, size);
    text[size] = '\0';
    onx_buffer_free(NULL, data, size);
    return text;
}
