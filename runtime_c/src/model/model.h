/* What the core's own files share. */
#ifndef EK_MODEL_H
#define EK_MODEL_H

#include "op.h"
#include "weights/codec.h"

/* A kind, or its variant, and an element type as one number. */
#define EK_FORM_KEY(kind, dtype) ((uint16_t)((kind) | (dtype) << 8))

/* A body of a kind: the element type that it computes in, or EK_DTYPE_ANY. `code` reads the kind's parameters. */
typedef struct ek_form {
    uint16_t key; /* EK_FORM_KEY */
    const ek_op *op;
    const char *code;
} ek_form;

/* What a build has. */
typedef struct ek_registry {
    const ek_form *forms;          /* up to one without an op */
    const ek_codec *const *codecs; /* up to NULL */
} ek_registry;

/* That of a build with operators of its user's: a model's registry is its first member. */
typedef struct ek_custom_registry {
    ek_registry built;
    const struct ek_custom_operator *const *operators; /* up to NULL */
} ek_custom_registry;

/* NULL when the build lacks it. */
static inline const ek_form *ek_form_of(const ek_registry *registry, uint32_t kind, uint32_t dtype)
{
    const uint32_t key = EK_FORM_KEY(kind, dtype), any = EK_FORM_KEY(kind, EK_DTYPE_ANY);
    const ek_form *form = registry->forms;
    while (form->op && form->key != key && form->key != any) form++;
    return form->op ? form : NULL;
}

/* As ek_model_open, with these operators. */
ek_status ek_open_with(ek_model *model, const ek_registry *registry, const void *data, size_t bytes, uint32_t flags);

/* Operator i of the program. EK_ERR_UNSUPPORTED when this build lacks it, EK_ERR_CORRUPT when it does not lie in the
 * program; neither of a verified model. */
ek_status ek_read_op(const ek_model *model, uint32_t i, ek_op_record *op);

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

/* Operator i of a verified model. */
static inline ek_node ek_node_at(const ek_model *model, uint32_t i, ek_op_record *op)
{
    (void)ek_read_op(model, i, op);
    return (ek_node){ .model = model, .op = op, .params = op->params.bytes };
}

/* For an executor that runs some operators elsewhere: the others one by one, and their memory. */
ek_status ek_session_run_op(ek_session *session, uint32_t op);
uint8_t *ek_session_arena(const ek_session *session);

/* The kernels of a session; and have it run `model` from now on, which is its own at other sizes. */
const ek_kernels *ek_session_kernels(const ek_session *session);
void ek_session_set_model(ek_session *session, const ek_model *model);

/* Have a session, made of a copy of `model` without an arena, use this one. */
void ek_session_set_arena(ek_session *session, const ek_model *model, uint8_t *arena);

#endif
