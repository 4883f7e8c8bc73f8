/* Custom: an operator of the user's. What it is called with is proved here; whether that fits it, it proves itself. */
#include "edgekit/custom.h"

#include "model/model.h"

enum { CUSTOM_OPERANDS = EK_CUSTOM_INPUTS + EK_CUSTOM_OUTPUTS, CUSTOM_ALIGN = 8 };

/* NULL where the build lacks it. Any verified model that has one was opened with such a registry. */
static const ek_custom_operator *custom_find(const ek_node *n)
{
    const ek_fmt_custom *p = n->params;
    const char *name = ek_blob(n, p->name);
    const ek_custom_registry *registry = (const ek_custom_registry *)(const void *)n->model->registry;
    const ek_custom_operator *const *each = registry->operators;
    while (*each && !(ek_same((*each)->name, name) && (*each)->version == p->version)) each++;
    return *each;
}

/* Fill `tensors` and return the call; without data but that of constants where the node has no arena. */
static ek_custom_call custom_call(const ek_node *n, ek_custom_tensor *tensors)
{
    const ek_fmt_custom *p = n->params;
    const ek_model *m = n->model;
    const uint32_t inputs = n->op->inputs, outputs = n->op->outputs;
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        const ek_fmt_tensor *t = ek_operand(n, i);
        memset(&tensors[i], 0, sizeof tensors[i]);
        if (!t) continue;
        const ek_fmt_tensor_type *type = ek_type_of(m, t);
        const bool there = n->arena || type->place == EK_PLACE_BLOB;
        tensors[i] = (ek_custom_tensor){ .data = there ? ek_tensor_data(n, t) : NULL,
                                         .shape = m->dims + type->dims,
                                         .rank = type->rank,
                                         .count = type->bytes / ek_dtype_bytes(type->dtype),
                                         .scale = t->scale,
                                         .zero_point = t->zero_point,
                                         .dtype = type->dtype };
    }
    return (ek_custom_call){ .inputs = tensors,
                             .outputs = tensors + inputs,
                             .input_count = inputs,
                             .output_count = outputs,
                             .attributes = p->attribute_bytes ? ek_blob(n, p->attributes) : NULL,
                             .attribute_bytes = p->attribute_bytes,
                             .scratch_bytes = p->scratch,
                             .scratch = n->arena && p->scratch ? n->scratch : NULL };
}

static uint64_t custom_scratch(const ek_node *n)
{
    const ek_fmt_custom *p = n->params;
    return p->scratch;
}

static ek_status custom_check(const ek_node *n)
{
    const ek_fmt_custom *p = n->params;
    ek_custom_tensor tensors[CUSTOM_OPERANDS];
    if (!p->name_bytes || !ek_check_blob(n, p->name, p->name_bytes, 1)) return EK_ERR_CORRUPT;
    if (((const char *)ek_blob(n, p->name))[p->name_bytes - 1]) return EK_ERR_CORRUPT;
    if (p->attribute_bytes && !ek_check_blob(n, p->attributes, p->attribute_bytes, CUSTOM_ALIGN)) return EK_ERR_CORRUPT;
    const ek_custom_operator *found = custom_find(n);
    if (!found) return EK_ERR_UNSUPPORTED;
    const ek_custom_call call = custom_call(n, tensors);
    const ek_status status = found->check(&call);
    if (status) return status;
    return found->scratch && found->scratch(&call) > p->scratch ? EK_ERR_CORRUPT : EK_OK;
}

static ek_status custom_run(const ek_node *n)
{
    ek_custom_tensor tensors[CUSTOM_OPERANDS];
    const ek_custom_operator *found = custom_find(n);
    if (!found) return EK_ERR_UNSUPPORTED; /* on a host whose table has changed */
    const ek_custom_call call = custom_call(n, tensors);
    return found->run(&call);
}

const ek_op ek_op_custom = { .inputs_min = 0,
                             .inputs_max = EK_CUSTOM_INPUTS,
                             .outputs = EK_CUSTOM_OUTPUTS,
                             .check = custom_check,
                             .scratch = custom_scratch,
                             .run = custom_run };
