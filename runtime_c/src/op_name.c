/* A file of its own: who never asks for a name links none. */
#include "model/model.h"

static const struct {
    uint16_t kind;
    char name[18];
} names[] = {
#define KIND(kind, variant, text) { EK_OP_##kind + (variant) * EK_VARIANT, text },
    EK_KINDS(KIND)
#undef KIND
};

const char *ek_op_name(const ek_model *model, uint32_t op)
{
    ek_op_record record;
    if (!model || !model->data || op >= model->op_count || ek_read_op(model, op, &record)) return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].kind == record.kind) return names[i].name;
    return NULL;
}
