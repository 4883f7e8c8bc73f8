/* Sessions whose arena lies in memory of its own, which several of them share. */
#include "model/model.h"

/* The model, as if its tensors took no arena: `memory` is what it then says of memory. */
static ek_model without_arena(const ek_model *model, ek_fmt_memory *memory)
{
    ek_model copy = *model;
    *memory = *ek_memory(model);
    memory->arena_bytes = 0;
    copy.memory = memory;
    return copy;
}

ek_status ek_session_size_shared(const ek_model *model, const ek_kernels *kernels, size_t *bytes, size_t *arena_bytes)
{
    if (!model || !model->data || !arena_bytes) return EK_ERR_ARG;
    ek_fmt_memory memory;
    const ek_model copy = without_arena(model, &memory);
    const ek_status status = ek_session_size(&copy, kernels, bytes);
    if (!status) *arena_bytes = ek_memory(model)->arena_bytes;
    return status;
}

ek_status ek_session_init_shared(ek_session **session, void *memory, size_t bytes, void *arena, size_t arena_bytes,
                                 const ek_model *model, const ek_kernels *kernels)
{
    if (!model || !model->data || !arena) return EK_ERR_ARG;
    if ((uintptr_t)arena % EK_ALIGN) return EK_ERR_ALIGN;
    if (arena_bytes < ek_memory(model)->arena_bytes) return EK_ERR_MEMORY;
    ek_fmt_memory none;
    const ek_model copy = without_arena(model, &none);
    const ek_status status = ek_session_init(session, memory, bytes, &copy, kernels);
    if (status) return status;
    memset(arena, 0, ek_memory(model)->arena_bytes);
    ek_session_set_arena(*session, model, arena);
    return EK_OK;
}
