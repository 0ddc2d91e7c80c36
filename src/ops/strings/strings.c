/* strings.c: operators of text: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_strings;
onx_op_rows onx_ops_strings = {
    {"RegexFullMatch", 20, "(X:T1) -> (Y:T2) {pattern?:string} [T1:string, T2:bool]",
     .infer = NULL},
    {"StringConcat", 20, "(X:T, Y:T) -> (Z:T) [T:string]", .infer = onx_infer_broadcast},
    {"StringNormalizer", 10,
     "(X:string) -> (Y:string) {case_change_action:string=\"NONE\", is_case_sensitive:int=0, "
     "locale?:string, stopwords?:strings}",
     .infer = NULL},
    {"StringSplit", 20,
     "(X:T1) -> (Y:T2, Z:T3) {delimiter?:string, maxsplit?:int} [T1:string, T2:string, T3:int64]",
     .infer = NULL},
    {"TfIdfVectorizer", 9,
     "(X:T) -> (Y:T1) {max_gram_length:int, max_skip_count:int, min_gram_length:int, mode:string, "
     "ngram_counts:ints, ngram_indexes:ints, pool_int64s?:ints, pool_strings?:strings, "
     "weights?:floats} [T:int32|int64|string, T1:float]",
     .infer = NULL},
    {0},
};
