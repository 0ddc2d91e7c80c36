/* every_tool.h: everything that reads a model, for tests of hostile ones. */
#ifndef ONX_TEST_EVERY_TOOL_H
#define ONX_TEST_EVERY_TOOL_H

#include "support.h"

/* Whatever the model is: each tool ends with a result or a failure that says what it is, within a
 * second, and a copy that a tool changed has sound links. False, and a line on stderr that names
 * `what`, where that does not hold. */
bool every_tool(onx_model *model, const char *what);
/* The same for one of them. */
size_t every_tool_count(void);
bool every_tool_one(size_t index, onx_model *model, const char *what);

#endif
