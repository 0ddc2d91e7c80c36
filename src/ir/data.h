/* data.h: the messages of data files. */
#ifndef ONX_DATA_H
#define ONX_DATA_H

#include "ir/ir.h"

/* The table of a kind; NULL for ONX_DATA_NONE. */
const onx_desc *onx_data_table(onx_data_kind kind);
/* The list of a sequence, or the place in an optional, for elements of a kind; NULL for none. */
const onx_field *onx_sequence_row(int32_t kind);
const onx_field *onx_optional_row(int32_t kind);
/* Does a message, just decoded as what it is, make sense as that? */
bool onx_data_plausible(const onx_msg *root);

#endif
