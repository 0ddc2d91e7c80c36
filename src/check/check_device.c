/* check_device.c: device configurations of a model, and where its nodes run. */
#include "check/checker.h"
#include "ir/edit.h"

void onx_check_devices(onx_checker *c, const onx_model *model) {
    ONX_EACH (onx_device, d, model->configuration) {
        if (!d->name.size)
            onx_check_tell(c, ONX_RULE_DEVICE_NAME, d, NULL, "a device configuration has no name");
        else if (!onx_check_once(c, &c->names, &model->configuration, d->name))
            onx_check_tell(c, ONX_RULE_DEVICE_NAME, d, "rename one of the two",
                           "there are two device configurations '%.*s'", ONX_FMT(d->name));
        if (d->num_devices < 1)
            onx_check_tell(c, ONX_RULE_DEVICE_COUNT, d, NULL,
                           "the device configuration '%.*s' has %d devices", ONX_FMT(d->name),
                           (int)d->num_devices);
        else if (d->device.n && d->device.n != (size_t)d->num_devices)
            onx_check_tell(c, ONX_RULE_DEVICE_COUNT, d, "name all devices, or none",
                           "the device configuration '%.*s' has %d devices, but names %zu",
                           ONX_FMT(d->name), (int)d->num_devices, d->device.n);
    }
}

/* The names of a node, entered once, so that many specs can be looked up. */
static void enter_names(onx_checker *c, const onx_node *node) {
    if (!onx_check_once(c, &c->names, node, (onx_str){NULL, 0})) return;
    for (size_t i = 0; i < node->input.n; i++) onx_check_once(c, &c->names, node, node->input.v[i]);
    for (size_t i = 0; i < node->output.n; i++)
        onx_check_once(c, &c->names, node, node->output.v[i]);
}

/* What is declared about the tensor says what its axes are. */
static bool is_axis(const onx_node *node, onx_str tensor, int64_t axis) {
    const onx_value *value = onx_value_lookup(node->graph, tensor);
    const onx_type *type = value ? onx_value_type(value) : NULL;
    size_t index;
    return !type || !onx_type_has_shape(type) || onx_axis(axis, onx_type_rank(type), &index);
}

static void check_sharding(onx_checker *c, const onx_node *node, const onx_sharding_spec *s) {
    if (!s->tensor_name.size || !onx_map_get(&c->names, node, s->tensor_name)) {
        onx_check_tell(c, ONX_RULE_SHARDING, s, "name an input or output of the node",
                       "the sharding is about '%.*s', which the node does not have",
                       ONX_FMT(s->tensor_name));
        return;
    }
    ONX_EACH (onx_sharded_dim, d, s->sharded_dim) {
        if (!is_axis(node, s->tensor_name, d->axis))
            onx_check_tell(c, ONX_RULE_SHARDING, d, NULL, "'%.*s' has no axis %lld to be sharded",
                           ONX_FMT(s->tensor_name), (long long)d->axis);
        ONX_EACH (onx_simple_sharding, simple, d->simple_sharding)
            if (simple->num_shards < 1)
                onx_check_tell(c, ONX_RULE_SHARDING, simple, NULL,
                               "axis %lld of '%.*s' is cut into %lld shards", (long long)d->axis,
                               ONX_FMT(s->tensor_name), (long long)simple->num_shards);
    }
}

void onx_check_node_device(onx_checker *c, const onx_node_device *d) {
    const onx_node *node = (const onx_node *)d->msg.parent;
    onx_check_ir(c, ONX_RULE_IR_TYPE, d, 11, "device configurations of nodes");
    if (!onx_map_get(&c->names, &c->model->configuration, d->configuration_id))
        onx_check_tell(c, ONX_RULE_DEVICE_NODE, d, "name one of the model's configurations",
                       "the model has no device configuration '%.*s'",
                       ONX_FMT(d->configuration_id));
    enter_names(c, node);
    ONX_EACH (onx_sharding_spec, s, d->sharding_spec) check_sharding(c, node, s);
}
