/* survey.h: the facts about a model that `onx info` tells. Reads its structure, not its data. */
#ifndef CLI_SURVEY_H
#define CLI_SURVEY_H

#include "cli.h"

typedef struct survey_op {
    const char *domain, *op, *overload; /* domain "" is ai.onnx */
    uint64_t count;
    bool is_function; /* one of the model's own */
} survey_op;

typedef struct survey_total {
    uint64_t tensors, elements, bytes;
} survey_total;

typedef enum survey_state {
    SURVEY_COMPLETE,
    SURVEY_MISSING,
    SURVEY_CUT,     /* shorter than the model says */
    SURVEY_REFUSED, /* its location leads, or may lead, out of the model's folder */
} survey_state;

typedef struct survey_file {
    const char *location;
    uint64_t tensors, bytes; /* of the model */
    uint64_t needed, size;   /* up to the last byte of any tensor; of the file */
    survey_state state;
} survey_file;

typedef struct survey {
    const onx_model *model;
    const char *path;
    uint64_t size; /* of the model file; 0 for standard input */
    onx_format format;
    uint64_t graph_nodes, sub_nodes, function_nodes, subgraphs, functions;
    survey_op *ops; /* most frequent first */
    size_t n_ops;
    survey_total types[ONX_DTYPE_COUNT], inside, external, constants; /* constants: in attributes */
    uint64_t sparse;
    survey_file *files;
    size_t n_files;
    uint64_t bad_tensors;         /* whose payload is not what dtype and dims say */
    onx_diag bad, external_error; /* the first of them; why external data could not be used */
} survey;

/* False when memory ran out. */
bool survey_make(survey *s);
void survey_free(survey *s);
const char *survey_state_name(survey_state state);

#endif
