/* What the core's own files share. */
#ifndef EK_MODEL_H
#define EK_MODEL_H

#include "op.h"

/* The operator of a kind and the bytes of its parameters; NULL when this build lacks it. */
const ek_op *ek_op_of(uint32_t kind, uint32_t *params_bytes);

/* Prove every tensor, every operator: what model.c does once the sections are known to exist. */
ek_status ek_verify_tensors(const ek_model *model);
ek_status ek_verify_ops(ek_model *model);

/* Text equality, without the C library. */
static inline bool ek_same(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

static inline const ek_fmt_memory *ek_memory(const ek_model *model)
{
    return (const ek_fmt_memory *)model->memory;
}

static inline const ek_fmt_op *ek_op_at(const ek_model *model, uint32_t i)
{
    return (const ek_fmt_op *)model->ops + i;
}

static inline ek_node ek_node_at(const ek_model *model, uint32_t i)
{
    const ek_fmt_op *op = ek_op_at(model, i);
    return (ek_node){ .model = model, .op = op, .params = model->params + op->params };
}

/* For an executor that runs some operators elsewhere: the others one by one, and their memory. */
ek_status ek_session_run_op(ek_session *session, uint32_t op);
uint8_t *ek_session_arena(const ek_session *session);

#endif
