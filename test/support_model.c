/* support_model.c: links checked against names, and a model with something of everything. */
#include "support.h"

#include "ir/edit.h"

#include <stdlib.h>

/* ── Links ── */

static bool wrong(const void *msg, const char *what) {
    char path[200] = "";
    if (msg) onx_msg_path(msg, path, sizeof path);
    fprintf(stderr, "links: %s%s%s\n", path, path[0] ? ": " : "", what);
    return false;
}

static bool is_live(const onx_model *model, const onx_msg *m) {
    for (; m && !m->dead; m = m->parent)
        if (m == &model->msg) return true;
    return false;
}

static bool ref_ok(const onx_ref *ref, const void *owner, onx_ref_kind kind, size_t index,
                   onx_str name) {
    if (!ref || !ref->value) return wrong(owner, "a name without a link");
    if (ref->owner != owner || ref->kind != kind || ref->index != index)
        return wrong(owner, "a link that is another's");
    if (ref->value->dead) return wrong(owner, "a link to a dead value");
    return onx_str_eq(ref->value->name, name) || wrong(owner, "a link to another name");
}

static bool node_ok(const onx_node *n) {
    if (n->graph != onx_msg_graph(n->msg.parent)) return wrong(n, "the graph of the node");
    for (size_t i = 0; i < n->input.n; i++) {
        onx_str name = n->input.v[i];
        if (name.size ? !ref_ok(n->ins[i], n, ONX_REF_INPUT, i, name) : n->ins[i] != NULL)
            return wrong(n, "an input");
        if (name.size && !onx_graph_sees(n->graph, n->ins[i]->value->graph))
            return wrong(n, "an input from a graph that is not seen");
    }
    for (size_t i = 0; i < n->output.n; i++) {
        onx_str name = n->output.v[i];
        if (name.size ? !ref_ok(n->outs[i], n, ONX_REF_OUTPUT, i, name) : n->outs[i] != NULL)
            return wrong(n, "an output");
        if (name.size && (n->outs[i]->value->def != n || n->outs[i]->value->def_index != i))
            return wrong(n, "an output that is defined elsewhere");
    }
    return true;
}

static bool function_ok(const onx_function *f) {
    if (f->body.ins.n != f->input.n || f->body.outs.n != f->output.n)
        return wrong(f, "the number of inputs or outputs");
    for (size_t i = 0; i < f->input.n; i++)
        if (!ref_ok(f->body.ins.v[i], f, ONX_REF_FUNCTION_IN, i, f->input.v[i]))
            return wrong(f, "an input");
    for (size_t i = 0; i < f->output.n; i++)
        if (!ref_ok(f->body.outs.v[i], f, ONX_REF_FUNCTION_OUT, i, f->output.v[i]))
            return wrong(f, "an output");
    return true;
}

static bool info_ok(const onx_model *model, const onx_value_info *info, const onx_value *value) {
    if (!info) return true;
    if (!is_live(model, &info->msg)) return wrong(NULL, "a value with a dead declaration");
    return (info->ref && info->ref->value == value) ||
           wrong(info, "a declaration of another value");
}

static bool refs_ok(const onx_model *model, const onx_value *v) {
    size_t uses = 0;
    const onx_ref *before = NULL;
    for (const onx_ref *r = v->first; r; before = r, r = r->next) {
        if (r->value != v || r->prev != before)
            return wrong(r->owner, "the list of places is broken");
        if (!is_live(model, r->owner))
            return wrong(r->owner, "a place that is gone is still listed");
        if (!onx_str_eq(*onx_ref_slot(r), v->name))
            return wrong(r->owner, "another name is written here");
        uses += r->kind == ONX_REF_INPUT;
    }
    if (v->last != before) return wrong(NULL, "the end of the list of places");
    return uses == v->n_uses || wrong(NULL, "the number of uses");
}

static bool value_ok(const onx_model *model, const onx_graph *graph, const onx_value *v) {
    if (v->graph != graph) return wrong(graph, "a value of another graph");
    if (!refs_ok(model, v)) return wrong(NULL, onx_str_z(v->name));
    if (v->def && (!is_live(model, &v->def->msg) || v->def->outs[v->def_index]->value != v))
        return wrong(v->def, "the definition of a value");
    if (v->init && (!is_live(model, &v->init->msg) || v->init->ref->value != v))
        return wrong(v->init, "the initializer of a value");
    if (!info_ok(model, v->input, v) || !info_ok(model, v->output, v) ||
        !info_ok(model, v->info, v))
        return wrong(NULL, onx_str_z(v->name));
    const onx_value *named = onx_map_get(&model->values, graph, v->name);
    if (!named) return true; /* a second definition: nobody can mean it */
    return (!named->dead && onx_str_eq(named->name, v->name)) ||
           wrong(NULL, "an entry of the table");
}

/* Inputs and outputs are listed beside their declarations, in the same order. */
static bool listed_ok(const onx_graph *g, const onx_list *infos, const onx_refs *refs) {
    size_t i = 0;
    ONX_EACH (onx_value_info, info, *infos) {
        if (i >= refs->n || refs->v[i] != info->ref)
            return wrong(info, "a list of inputs or outputs");
        i++;
    }
    return i == refs->n || wrong(g, "a list of inputs or outputs is too long");
}

static bool graph_ok(const onx_model *model, const onx_graph *g) {
    if (g->model != model) return wrong(g, "the model of a graph");
    if (!g->function && (!listed_ok(g, &g->input, &g->ins) || !listed_ok(g, &g->output, &g->outs)))
        return false;
    for (const onx_value *v = g->values; v; v = v->next)
        if (!v->dead && !value_ok(model, g, v)) return wrong(g, "a value of this graph");
    for (const onx_graph *s = g->first_sub; s; s = s->next_sub) {
        if (s->outer != g) return wrong(g, "a graph inside that lies elsewhere");
        if (!is_live(model, &s->msg)) return wrong(g, "a graph inside that is gone");
    }
    if (!g->outer) return true;
    const onx_graph *s = g->outer->first_sub;
    while (s && s != g) s = s->next_sub;
    return s == g || wrong(g, "a graph that the one around it does not list");
}

static bool message_ok(const onx_model *model, const onx_msg *m) {
    if (m->desc == &onx_desc_graph) return graph_ok(model, (const onx_graph *)m);
    if (m->desc == &onx_desc_node) return node_ok((const onx_node *)m);
    if (m->desc == &onx_desc_function)
        return function_ok((const onx_function *)m) &&
               graph_ok(model, &((const onx_function *)m)->body);
    if (m->desc != &onx_desc_value_info) return true;
    const onx_value_info *info = (const onx_value_info *)m;
    return ref_ok(info->ref, info, ONX_REF_INFO, 0, info->name);
}

bool test_links(const onx_model *model) {
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));)
        if (!message_ok(model, m)) return false;
    return true;
}

/* ── Plain models ── */

static bool plain_graph(const onx_graph *g) {
    for (const onx_value *v = g->values; v; v = v->next) {
        if (v->dead) continue;
        if (!v->name.size || !onx_value_is_defined(v)) return false;
        if (v->def && (v->init || onx_value_is_input(v))) return false;
        if (onx_value_find(g, v->name) != v) return false;
        if (g->outer && onx_value_lookup(g->outer, v->name)) return false;
        size_t infos = 0;
        for (const onx_ref *r = v->first; r; r = r->next) {
            bool info = r->kind == ONX_REF_INFO && r->owner->parent->desc == &onx_desc_graph;
            const onx_field *row = info ? &onx_desc_graph.fields[r->owner->field] : NULL;
            infos += r->kind == ONX_REF_INFO && row != ONX_ROW(graph, output) &&
                     row != ONX_ROW(graph, input);
        }
        if (infos > 1) return false;
    }
    return true;
}

bool test_is_plain(const onx_model *model) {
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));) {
        if (m->desc == &onx_desc_graph && !plain_graph((const onx_graph *)m)) return false;
        if (m->desc == &onx_desc_function && !plain_graph(&((const onx_function *)m)->body))
            return false;
        if (m->desc == &onx_desc_value_info && !((const onx_value_info *)m)->name.size)
            return false;
    }
    return true;
}

/* ── What names lead to ── */

static void print_value(const onx_value *v, test_bytes *out) {
    char line[200], path[120];
    if (v && v->def) {
        onx_msg_path(v->def, path, sizeof path);
        snprintf(line, sizeof line, " %s:%u", path, v->def_index);
    } else if (v) {
        onx_msg_path(v->graph->function ? &v->graph->function->msg : &v->graph->msg, path,
                     sizeof path);
        snprintf(line, sizeof line, " %s/%.*s%s%s%s", path,
                 (int)(v->name.size < 40 ? v->name.size : 40), onx_str_z(v->name),
                 v->input ? " in" : "", v->init ? " init" : "", v->parameter ? " param" : "");
    } else {
        snprintf(line, sizeof line, " -");
    }
    test_put(out, line, strlen(line));
}

void test_links_print(const onx_model *model, test_bytes *out) {
    const onx_msg *m;
    test_put(out, "", 0);
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));) {
        if (m->desc == &onx_desc_node) {
            const onx_node *n = (const onx_node *)m;
            for (size_t i = 0; i < n->input.n; i++) print_value(onx_node_input(n, i), out);
        } else if (m->desc == &onx_desc_value_info) {
            const onx_value_info *info = (const onx_value_info *)m;
            print_value(info->ref ? info->ref->value : NULL, out);
        } else if (m->desc == &onx_desc_function) {
            const onx_function *f = (const onx_function *)m;
            for (size_t i = 0; i < f->output.n; i++)
                print_value(onx_graph_output(&f->body, i), out);
        } else {
            continue;
        }
        test_put(out, "\n", 1);
    }
}

/* ── A model with something of everything, byte by byte (numbers are those of onnx.proto) ── */

typedef test_bytes B;
#define NEW(name) B name = {NULL, 0, 0}

static B entry(const char *key, const char *value) {
    NEW(b);
    test_put_str(&b, 1, key);
    test_put_str(&b, 2, value);
    return b;
}
static void put_entry(B *to, uint32_t number, const char *key, const char *value) {
    B b = entry(key, value);
    test_put_message(to, number, &b);
}

static B tensor_type(int elem, int64_t dim, const char *param) {
    NEW(d1);
    NEW(d2);
    NEW(shape);
    NEW(tensor);
    NEW(type);
    test_put_int(&d1, 1, (uint64_t)dim);
    if (param) test_put_str(&d2, 2, param);
    test_put_str(&d2, 3, "DATA_BATCH");
    test_put_message(&shape, 1, &d1);
    test_put_message(&shape, 1, &d2);
    test_put_int(&tensor, 1, (uint64_t)elem);
    test_put_message(&tensor, 2, &shape);
    test_put_message(&type, 1, &tensor);
    test_put_str(&type, 6, "IMAGE");
    return type;
}

/* seq(map(int64, optional(sparse_tensor(float)))) and an opaque type */
static B deep_type(void) {
    NEW(sparse);
    NEW(sparse_in);
    NEW(optional);
    NEW(optional_in);
    NEW(map);
    NEW(map_in);
    NEW(seq);
    NEW(type);
    test_put_int(&sparse_in, 1, 1);
    test_put_message(&sparse, 8, &sparse_in);
    test_put_message(&optional_in, 1, &sparse);
    test_put_message(&optional, 9, &optional_in);
    test_put_int(&map_in, 1, 7);
    test_put_message(&map_in, 2, &optional);
    test_put_message(&map, 5, &map_in);
    test_put_message(&seq, 1, &map);
    test_put_message(&type, 4, &seq);
    return type;
}
static B opaque_type(void) {
    NEW(opaque);
    NEW(type);
    test_put_str(&opaque, 1, "my.domain");
    test_put_str(&opaque, 2, "Thing");
    test_put_message(&type, 7, &opaque);
    return type;
}

static void put_info(B *graph, uint32_t number, const char *name, B *type) {
    NEW(info);
    test_put_str(&info, 1, name);
    if (type) test_put_message(&info, 2, type);
    test_put_str(&info, 3, "about");
    put_entry(&info, 4, "k", "v");
    test_put_message(graph, number, &info);
}
static void put_float_info(B *graph, uint32_t number, const char *name) {
    B type = tensor_type(1, 2, "N");
    put_info(graph, number, name, &type);
}

static B tensor(const char *name, int dtype, size_t rank, const int64_t *dims) {
    NEW(t);
    for (size_t i = 0; i < rank; i++) test_put_int(&t, 1, (uint64_t)dims[i]);
    test_put_int(&t, 2, (uint64_t)dtype);
    if (name) test_put_str(&t, 8, name);
    return t;
}
static B float_tensor(const char *name) {
    static const float values[] = {1.5f, -2.25f};
    B t = tensor(name, 1, 1, (const int64_t[]){2});
    test_put_bytes(&t, 9, values, sizeof values);
    return t;
}

static B sparse(const char *name) {
    NEW(s);
    static const float values[] = {3.0f, 4.0f};
    static const unsigned char indices[] = {1, 5};
    B v = tensor(name, 1, 1, (const int64_t[]){2}), i = tensor("", 7, 1, (const int64_t[]){2});
    test_put_bytes(&v, 4, values, sizeof values);
    test_put_bytes(&i, 7, indices, sizeof indices);
    test_put_message(&s, 1, &v);
    test_put_message(&s, 2, &i);
    test_put_int(&s, 3, 10);
    return s;
}

static B attr(const char *name, int type) {
    NEW(a);
    test_put_str(&a, 1, name);
    test_put_int(&a, 20, (uint64_t)type);
    return a;
}

static B node(const char *op, const char *domain, const char *ins, const char *outs) {
    NEW(n);
    const char *lists[] = {ins, outs};
    for (unsigned k = 0; k < 2; k++)
        for (const char *p = lists[k]; *p;) { /* "a,b,,c" */
            size_t len = strcspn(p, ",");
            test_put_bytes(&n, k + 1, p, len);
            p += len + (p[len] == ',');
        }
    test_put_str(&n, 4, op);
    if (domain) test_put_str(&n, 7, domain);
    return n;
}

/* op(outer) -> name, with a graph inside it as deep as asked for */
static B subgraph(const char *name, const char *outer, unsigned depth) {
    NEW(g);
    char inner[60], out[60];
    snprintf(out, sizeof out, "%s_out", name);
    snprintf(inner, sizeof inner, "%s_in", name);
    if (depth) {
        B iff = node("If", NULL, "cond", inner), then = attr("then_branch", 5),
          other = attr("else_branch", 5);
        char a[60], b[60];
        snprintf(a, sizeof a, "%s_t%u", name, depth);
        snprintf(b, sizeof b, "%s_e%u", name, depth);
        B g1 = subgraph(a, outer, depth - 1), g2 = subgraph(b, outer, 0);
        test_put_message(&then, 6, &g1);
        test_put_message(&other, 6, &g2);
        test_put_message(&iff, 5, &then);
        test_put_message(&iff, 5, &other);
        test_put_message(&g, 1, &iff);
    } else {
        B neg = node("Neg", NULL, outer, inner);
        test_put_message(&g, 1, &neg);
    }
    B last = node("Identity", NULL, inner, out);
    test_put_message(&g, 1, &last);
    test_put_str(&g, 2, name);
    put_float_info(&g, 12, out);
    put_float_info(&g, 13, inner);
    return g;
}

static void put_attributes(B *n) {
    static const float floats[] = {0.5f, -0.0f, 1e30f};
    B f = attr("f", 1), i = attr("i", 2), s = attr("s", 3), t = attr("t", 4),
      fs = attr("floats", 6);
    B is = attr("ints", 7), ss = attr("strings", 8), ts = attr("tensors", 9),
      gs = attr("graphs", 10);
    B sp = attr("sparse", 11), sps = attr("sparses", 12), tp = attr("type", 13),
      tps = attr("types", 14);
    B t1 = float_tensor(NULL), t2 = float_tensor("named"),
      t3 = tensor("part", 6, 1, (const int64_t[]){9});
    B g1 = subgraph("ga", "X", 0), g2 = subgraph("gb", "a", 1);
    B s1 = sparse(""), s2 = sparse("x"), s3 = sparse("y"), y1 = deep_type(), y2 = opaque_type(),
      y3 = deep_type();
    NEW(segment);
    test_put_int(&segment, 1, 3);
    test_put_int(&segment, 2, 6);
    test_put_message(&t3, 3, &segment);
    test_put_bytes(&t3, 5, "\1\2\3", 3);
    test_put_tag(&f, 2, TEST_I32);
    test_put(&f, floats, 4);
    test_put_int(&i, 3, (uint64_t)-7);
    test_put_bytes(&s, 4, "a\0\xff\n", 4);
    test_put_message(&t, 5, &t1);
    for (unsigned k = 0; k < 3; k++) test_put_tag(&fs, 7, TEST_I32), test_put(&fs, &floats[k], 4);
    test_put_int(&is, 8, 1);
    test_put_int(&is, 8, (uint64_t)INT64_MIN);
    test_put_str(&ss, 9, "one");
    test_put_str(&ss, 9, "");
    test_put_message(&ts, 10, &t2);
    test_put_message(&ts, 10, &t3);
    test_put_message(&gs, 11, &g1);
    test_put_message(&gs, 11, &g2);
    test_put_message(&sp, 22, &s1);
    test_put_message(&sps, 23, &s2);
    test_put_message(&sps, 23, &s3);
    test_put_message(&tp, 14, &y1);
    test_put_message(&tps, 15, &y2);
    test_put_message(&tps, 15, &y3);
    test_put_str(&i, 13, "documented");
    B *all[] = {&f, &i, &s, &t, &fs, &is, &ss, &ts, &gs, &sp, &sps, &tp, &tps};
    for (size_t k = 0; k < ONX_COUNT(all); k++) test_put_message(n, 5, all[k]);
}

static void put_device(B *n) {
    NEW(device);
    NEW(spec);
    NEW(group);
    NEW(dim);
    NEW(simple);
    NEW(simple2);
    test_put_str(&spec, 1, "X");
    test_put_int(&spec, 2, (uint64_t)-1);
    test_put_int(&group, 1, (uint64_t)-1);
    test_put_int(&group, 2, 0);
    test_put_int(&group, 2, 1);
    test_put_message(&spec, 3, &group);
    test_put_int(&simple, 1, 4);
    test_put_int(&simple, 3, 2);
    test_put_str(&simple2, 2, "N");
    test_put_int(&simple2, 3, 2);
    test_put_int(&dim, 1, 0);
    test_put_message(&dim, 2, &simple);
    test_put_message(&dim, 2, &simple2);
    test_put_message(&spec, 4, &dim);
    test_put_str(&device, 1, "two_gpus");
    test_put_message(&device, 2, &spec);
    test_put_int(&device, 3, 1);
    test_put_message(n, 10, &device);
}

static void put_nodes(B *g) {
    B add = node("Add", NULL, "X,W", "a"), custom = node("Custom", "my.domain", "a,,U", "c,,d");
    B iff = node("If", NULL, "cond", "r"),
      grad = node("Gradient", "ai.onnx.preview.training", "X", "gx");
    B call = node("Twice", "local", "r", "y"), then = attr("then_branch", 5),
      other = attr("else_branch", 5);
    B g1 = subgraph("then", "a", 2), g2 = subgraph("else", "c", 0), xs = attr("xs", 8),
      ty = attr("y", 3);
    B half = attr("k", 1);
    test_put_str(&add, 3, "the_add");
    test_put_str(&add, 6, "adds");
    put_entry(&add, 9, "scope", "encoder");
    put_device(&add);
    test_put_str(&custom, 8, "v2");
    put_attributes(&custom);
    test_put_message(&then, 6, &g1);
    test_put_message(&other, 6, &g2);
    test_put_message(&iff, 5, &then);
    test_put_message(&iff, 5, &other);
    test_put_str(&xs, 9, "X");
    test_put_str(&ty, 4, "a");
    test_put_message(&grad, 5, &xs);
    test_put_message(&grad, 5, &ty);
    test_put_tag(&half, 2, TEST_I32);
    test_put(&half, "\0\0\0\x3f", 4);
    test_put_message(&call, 5, &half);
    B *all[] = {&add, &custom, &iff, &grad, &call};
    for (size_t i = 0; i < ONX_COUNT(all); i++) test_put_message(g, 1, all[i]);
}

static void put_initializers(B *g) {
    static const double doubles[] = {0.1, -1e300};
    B w = float_tensor("W"), i = tensor("I", 7, 1, (const int64_t[]){3}),
      d = tensor("D", 11, 1, (const int64_t[]){2});
    B u = tensor("U", 13, 0, NULL), b = tensor("I8", 3, 2, (const int64_t[]){1, 2}),
      e = tensor("E", 1, 1, (const int64_t[]){0});
    B s = tensor("S", 8, 1, (const int64_t[]){2}), q = tensor("Q4", 22, 1, (const int64_t[]){3}),
      c = tensor("C", 9, 0, NULL);
    test_put_bytes(&i, 7, "\1\x80\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 13);
    test_put_bytes(&d, 10, doubles, sizeof doubles);
    test_put_bytes(&u, 11, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10);
    test_put_bytes(&b, 5, "\x7f\x80\xff\xff\xff\xff\xff\xff\xff\xff\1", 11);
    test_put_bytes(&s, 6, "\xc3\xa9", 2);
    test_put_bytes(&s, 6, "\0\xff", 2);
    test_put_bytes(&q, 9, "\x21\x07", 2);
    test_put_bytes(&c, 9, "\1", 1);
    test_put_str(&w, 12, "weights");
    put_entry(&w, 16, "origin", "training");
    B *all[] = {&w, &i, &d, &u, &b, &e, &s, &q, &c};
    for (size_t k = 0; k < ONX_COUNT(all); k++) test_put_message(g, 5, all[k]);
}

static B main_graph(void) {
    NEW(g);
    NEW(annotation);
    put_nodes(&g);
    test_put_str(&g, 2, "main");
    put_initializers(&g);
    test_put_str(&g, 10, "the main graph");
    put_float_info(&g, 11, "X");
    B boolean = tensor_type(9, 1, NULL);
    put_info(&g, 11, "cond", &boolean);
    put_float_info(&g, 12, "y");
    put_info(&g, 12, "gx", NULL);
    put_float_info(&g, 12, "d");
    put_float_info(&g, 13, "a");
    test_put_str(&annotation, 1, "a");
    put_entry(&annotation, 2, "SCALE_TENSOR", "W");
    put_entry(&annotation, 2, "ZERO_POINT_TENSOR", "I8");
    test_put_message(&g, 14, &annotation);
    B sp = sparse("SP");
    test_put_message(&g, 15, &sp);
    put_entry(&g, 16, "graph", "meta");
    return g;
}

static B opset(const char *domain, uint64_t version) {
    NEW(o);
    test_put_str(&o, 1, domain);
    test_put_int(&o, 2, version);
    return o;
}

static B function(void) {
    NEW(f);
    B constant = node("Constant", NULL, "", "two"), mul = node("Mul", NULL, "x,two", "out"),
      k = attr("value_float", 1);
    B o = opset("", 22), k_default = attr("k", 1);
    test_put_str(&k, 21, "k");
    test_put_message(&constant, 5, &k);
    test_put_tag(&k_default, 2, TEST_I32);
    test_put(&k_default, "\0\0\0\x40", 4);
    test_put_str(&f, 1, "Twice");
    test_put_str(&f, 4, "x");
    test_put_str(&f, 5, "out");
    test_put_str(&f, 6, "unused");
    test_put_message(&f, 7, &constant);
    test_put_message(&f, 7, &mul);
    test_put_str(&f, 8, "two times");
    test_put_message(&f, 9, &o);
    test_put_str(&f, 10, "local");
    test_put_message(&f, 11, &k_default);
    put_float_info(&f, 12, "two");
    put_entry(&f, 14, "f", "meta");
    return f;
}

static B training(void) {
    NEW(t);
    B init = subgraph("init", "W", 0), step = subgraph("step", "W", 0);
    test_put_message(&t, 1, &init);
    test_put_message(&t, 2, &step);
    put_entry(&t, 3, "W", "init_out");
    put_entry(&t, 4, "W", "step_out");
    return t;
}

test_bytes test_model_rich_bytes(void) {
    NEW(m);
    NEW(device);
    B g = main_graph(), t = training(), f = function();
    B o1 = opset("", 22), o2 = opset("my.domain", 1), o3 = opset("local", 1),
      o4 = opset("ai.onnx.preview.training", 1);
    test_put_int(&m, 1, 11);
    test_put_str(&m, 2, "test");
    test_put_str(&m, 3, "1.0");
    test_put_str(&m, 4, "org.example");
    test_put_int(&m, 5, (uint64_t)-3);
    test_put_str(&m, 6, "a model\nwith everything");
    test_put_message(&m, 7, &g);
    test_put_message(&m, 8, &o1);
    test_put_message(&m, 8, &o2);
    test_put_message(&m, 8, &o3);
    test_put_message(&m, 8, &o4);
    put_entry(&m, 14, "author", "nobody");
    put_entry(&m, 14, "", "");
    test_put_message(&m, 20, &t);
    test_put_message(&m, 25, &f);
    test_put_str(&device, 1, "two_gpus");
    test_put_int(&device, 2, 2);
    test_put_str(&device, 3, "gpu0");
    test_put_str(&device, 3, "gpu1");
    test_put_message(&m, 26, &device);
    return m;
}

onx_model *test_model_rich(onx_context *ctx) {
    test_bytes bytes = test_model_rich_bytes();
    onx_load_options options = ONX_INIT(onx_load_options);
    options.copy = true;
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_model_load_memory(ctx, bytes.data, bytes.size, &options, &model, &diag))
        fprintf(stderr, "test support: %s: %s\n", diag.place, diag.message);
    test_bytes_free(&bytes);
    return model;
}
