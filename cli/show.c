/* show.c: see show.h. */
#include "show.h"

#include "values.h"

enum { FEW = 20 }; /* elements of a sequence */

static int fail(const show_options *how, onx_diag *diag) {
    if (!diag->file[0]) snprintf(diag->file, sizeof diag->file, "%s", how->file);
    cli_fail(how->command, diag);
    return CLI_BAD;
}

static int show_tensor(const show_options *how, const onx_tensor *t, size_t indent) {
    onx_diag diag = ONX_INIT(onx_diag);
    values v;
    printf("%s", cli_dims(onx_tensor_dtype(t), onx_tensor_rank(t), onx_tensor_dims(t)).s);
    if (values_open(&v, t, &diag)) {
        putchar('\n');
        return fail(how, &diag);
    }
    if (v.dtype != ONX_DTYPE_STRING) printf(", %s", cli_bytes(v.bytes).s);
    printf("\n%*s", (int)indent + 2, "");
    values_print_stats(&v, stdout);
    size_t most = how->full ? SIZE_MAX : how->brief ? 60 : 1000;
    if (!how->stats) values_print(&v, most, indent + 2, stdout);
    values_close(&v);
    return CLI_OK;
}

static int show_sparse(const show_options *how, const onx_data *d, size_t indent) {
    const onx_tensor *tensors[] = {onx_data_tensor(d), onx_data_indices(d)};
    static const char *const names[] = {"values", "indices"};
    int status = CLI_OK;
    fputs("sparse [", stdout);
    for (size_t i = 0; i < onx_data_rank(d); i++)
        printf(i ? ",%lld" : "%lld", (long long)onx_data_dim(d, i));
    puts("]");
    for (size_t i = 0; i < CLI_COUNT(tensors) && status == CLI_OK; i++) {
        if (!tensors[i]) continue;
        printf("%*s%s: ", (int)indent + 2, "", names[i]);
        status = show_tensor(how, tensors[i], indent + 2);
    }
    return status;
}

static void put_label(const parts *p) {
    size_t index;
    const onx_data *container = parts_container(p, &index);
    onx_data_kind kind = onx_data_kind_of(container);
    if (kind == ONX_DATA_SEQUENCE) printf("[%zu] ", index);
    if (kind != ONX_DATA_MAP) return;
    if (onx_data_key_dtype(container) == ONX_DTYPE_STRING) {
        putchar('"');
        cli_put(stdout, onx_data_key_str(container, index));
        fputs("\": ", stdout);
    } else {
        printf("%lld: ", (long long)onx_data_key_int(container, index));
    }
}

static int show_part(const show_options *how, const onx_data *d, size_t indent) {
    onx_data_kind kind = onx_data_kind_of(d);
    if (*onx_data_name(d)) {
        cli_puts(stdout, onx_data_name(d));
        fputs(": ", stdout);
    }
    switch (kind) {
    case ONX_DATA_TENSOR: return show_tensor(how, onx_data_tensor(d), indent);
    case ONX_DATA_SPARSE_TENSOR: return show_sparse(how, d, indent);
    case ONX_DATA_SEQUENCE: printf("sequence of %s\n", cli_count(onx_data_count(d)).s); break;
    case ONX_DATA_MAP:
        printf("map of %s, keys %s\n", cli_count(onx_data_count(d)).s,
               onx_dtype_name(onx_data_key_dtype(d)));
        break;
    default: puts(onx_data_count(d) ? "optional" : "optional, empty"); break;
    }
    return CLI_OK;
}

/* Of long sequences the first elements. */
static bool is_past_few(const show_options *how, parts *p) {
    size_t index;
    const onx_data *container = parts_container(p, &index);
    if (!container || index < FEW || how->full) return false;
    printf("%*s… %s more (--full shows all)\n", (int)(2 * p->depth - 2), "",
           cli_count(onx_data_count(container) - index).s);
    parts_skip_rest(p);
    return true;
}

int show_data(const show_options *how, const onx_data *data) {
    parts p = {.root = data};
    int worst = CLI_OK;
    for (const onx_data *d; (d = parts_next(&p));) {
        size_t indent = 2 * p.depth - 2;
        if (is_past_few(how, &p)) continue;
        printf("%*s", (int)indent, "");
        put_label(&p);
        int status = show_part(how, d, indent);
        if (status > worst) worst = status;
    }
    return worst;
}
