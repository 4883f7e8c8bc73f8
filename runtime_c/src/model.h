/* What the core's own files share. */
#ifndef EK_MODEL_H
#define EK_MODEL_H

#include "op.h"

/* The operators of a build by their kind, and the code that reads their parameters. */
typedef struct ek_registered {
    const ek_op *op;
    const char *code;
} ek_registered;

typedef struct ek_registry {
    const ek_registered *ops;
    uint32_t count;
} ek_registry;

/* The operator of a kind, NULL when the build lacks it. */
static inline const ek_op *ek_op_of(const ek_registry *registry, uint32_t kind)
{
    return kind < registry->count ? registry->ops[kind].op : NULL;
}

/* As ek_model_open, with these operators. */
ek_status ek_open_with(ek_model *model, const ek_registry *registry, const void *data, size_t bytes, uint32_t flags);

/* Operator i of the program, of a kind that this build has. False when it does not lie in the
 * program; of a verified model it does. */
bool ek_read_op(const ek_model *model, uint32_t i, ek_op_record *op);

/* All but the parameters of an operator that ek_read_op has read before. */
void ek_read_memory(const ek_model *model, uint32_t i, ek_op_record *op);

/* The tensor of input or output i, of those that model.c has proved. */
const ek_fmt_tensor *ek_io_tensor(const ek_model *model, const uint8_t *tables, uint32_t i);

/* Prove every tensor, every operator: what model.c does once the sections are known to exist. */
ek_status ek_verify_tensors(const ek_model *model);
ek_status ek_verify_ops(ek_model *model);

static inline const ek_fmt_memory *ek_memory(const ek_model *model)
{
    return (const ek_fmt_memory *)model->memory;
}

enum { EK_PROGRAM_WORD = 4 };

static inline uint32_t ek_kind_at(const ek_model *model, uint32_t i)
{
    return model->program[(uint32_t)model->ops[i] * EK_PROGRAM_WORD];
}

/* Operator i of a verified model. */
static inline ek_node ek_node_at(const ek_model *model, uint32_t i, ek_op_record *op)
{
    (void)ek_read_op(model, i, op);
    return (ek_node){ .model = model, .op = op, .params = op->params };
}

/* For an executor that runs some operators elsewhere: the others one by one, and their memory. */
ek_status ek_session_run_op(ek_session *session, uint32_t op);
uint8_t *ek_session_arena(const ek_session *session);

#endif
