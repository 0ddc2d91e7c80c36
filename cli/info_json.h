/* info_json.h: the facts about a model as a JSON document. */
#ifndef CLI_INFO_JSON_H
#define CLI_INFO_JSON_H

#include "survey.h"

/* To standard output. Keys are only ever added to this document; all are always there. */
void info_json(const survey *s);

#endif
