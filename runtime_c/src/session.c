/* A session: where everything lies in the caller's memory, and the run through the operators. */
#include "model/model.h"
#include "session_needs.h"

/* What a session that packs weights keeps of each operator; others have little memory, and read
 * the program anew. */
typedef struct kept_op {
    const void *packed;  /* weights, NULL where these kernels pack none */
    const void *widened; /* the table of requantization, NULL where the file has none that is tight */
    ek_op_record op;
} kept_op;

#ifdef EK_NO_PACKERS
#define EK_WIDENED(table) .unpacked = NULL
#else
#define EK_WIDENED(table) .widened = table
#endif

struct ek_session {
    const ek_model *model;
    const ek_kernels *kernels;
    uint8_t *arena, *persistent;
    void *scratch; /* for operators whose planned scratch is too small for these kernels; NULL if none is */
    kept_op *kept; /* of each operator, or NULL */
    ek_op_callback on_op;
    void *on_op_context;
    ek_profiler on_profile;
    void *on_profile_context;
    uint32_t next; /* in ek_step: by how much a Region goes on */
    bool in_file;  /* weights lie packed in the file */
};

EK_STATIC_ASSERT((sizeof(ek_session) + EK_ALIGN - 1) / EK_ALIGN * EK_ALIGN <= EK_SESSION_OVERHEAD,
                 "EK_SESSION_OVERHEAD");

/* Offsets from the session's start, in this order. */
typedef struct session_layout {
    size_t kept, packed, arena, persistent, scratch, end;
} session_layout;

static ek_status session_lay_out(const ek_model *model, const ek_kernels *kernels, session_layout *l)
{
    op_needs needs;
    const ek_status status = find_needs(model, kernels, &needs);
    if (status) return status;
    const uint64_t kept = aligned(sizeof(ek_session));
    const uint64_t packed = aligned(kept + (needs.packed ? model->op_count * sizeof(kept_op) : 0));
    const uint64_t arena = packed + needs.packed;
    const uint64_t persistent = aligned(arena + ek_memory(model)->arena_bytes);
    const uint64_t scratch = aligned(persistent + ek_memory(model)->persistent_bytes);
    uint64_t end = aligned(scratch + needs.scratch);
    if (needs.packing && end < packed + needs.packing) end = aligned(packed + needs.packing);
    *l = (session_layout){
        (size_t)kept, (size_t)packed, (size_t)arena, (size_t)persistent, (size_t)scratch, (size_t)end
    };
    return end <= SIZE_MAX ? EK_OK : EK_ERR_MEMORY;
}

ek_status ek_session_size(const ek_model *model, const ek_kernels *kernels, size_t *bytes)
{
    session_layout l;
    if (!model || !model->data || !kernels || !bytes) return EK_ERR_ARG;
    const ek_status status = session_lay_out(model, kernels, &l);
    if (!status) *bytes = l.end;
    return status;
}

ek_status ek_pack_weights(const ek_model *model, uint32_t op, const ek_kernels *kernels, void *packed, size_t *bytes)
{
    if (!model || !model->data || !kernels || !bytes || op >= model->op_count) return EK_ERR_ARG;
    if (is_packed(model) || !CAN_PACK) return EK_ERR_UNSUPPORTED;
    ek_op_record record;
    ek_node n = packing_node(model, kernels, op, &record);
    const ek_op *impl = record.impl;
    const uint64_t kept = session_packed_bytes(impl, &n), table = kept ? table_bytes(impl, &n) : 0;
    const uint64_t behind = kept ? aligned(kept + session_pack_room(impl, &n)) : 0, need = behind + table;
    if (need > SIZE_MAX) return EK_ERR_MEMORY;
    *bytes = (size_t)(packed ? kept : need);
    if (!packed || !need) return EK_OK;
    if ((uintptr_t)packed % EK_ALIGN) return EK_ERR_ALIGN;
    memset(packed, 0, (size_t)need);
    if (table) session_widen_table(&n, (uint8_t *)packed + behind);
    impl->pack(&n, packed);
    return EK_OK;
}

/* And wide tables of requantization in front of them. */
static void session_pack_weights(ek_session *s, const session_layout *l, uint8_t *base)
{
    if (!CAN_PACK || l->packed == l->arena) return;
    s->kept = (kept_op *)(void *)(base + l->kept);
    uint8_t *at = base + l->packed;
    for (uint32_t i = 0; i < s->model->op_count; i++) {
        ek_node n = packing_node(s->model, s->kernels, i, &s->kept[i].op);
        const ek_op *impl = n.op->impl;
        const size_t table = (size_t)table_bytes(impl, &n),
                     bytes = s->in_file ? 0 : (size_t)session_packed_bytes(impl, &n);
        s->kept[i].widened = table ? at : NULL;
        if (table) session_widen_table(&n, at);
        at += table;
        s->kept[i].packed = bytes ? at : NULL;
        if (bytes) {
            impl->pack(&n, at);
            memset(at + aligned(bytes), 0, (size_t)session_pack_room(impl, &n));
        }
        at += aligned(bytes);
    }
}

/* Persistent memory, of zeros, gets the file's initial values. */
static void session_start(ek_session *s)
{
#ifndef EK_NO_STARTS
    const ek_model *m = s->model;
    for (uint32_t i = 0; i < m->start_count; i++) {
        const ek_fmt_start *from = (const ek_fmt_start *)m->starts + i;
        const ek_fmt_tensor *t = (const ek_fmt_tensor *)m->tensors + from->tensor;
        const uint32_t bytes = ek_type_of(m, t)->bytes, period = from->period ? from->period : bytes;
        uint8_t *to = s->persistent + t->offset;
        if (period == 1) {
            memset(to, m->blob[from->initial], bytes);
            continue;
        }
        for (uint32_t done = 0; done < bytes; done += period) memcpy(to + done, m->blob + from->initial, period);
    }
#else
    (void)s;
#endif
}

ek_status ek_session_init(ek_session **session, void *memory, size_t bytes, const ek_model *model,
                          const ek_kernels *kernels)
{
    session_layout l;
    if (!session || !memory || !model || !model->data || !kernels) return EK_ERR_ARG;
    if ((uintptr_t)memory % EK_ALIGN) return EK_ERR_ALIGN;
    const ek_status status = session_lay_out(model, kernels, &l);
    if (status) return status;
    if (bytes < l.end) return EK_ERR_MEMORY;
    uint8_t *base = memory;
    ek_session *s = memory;
    /* The arena too starts as zeros, lest a model read what the caller kept there before. */
    memset(base, 0, l.end);
    s->model = model;
    s->kernels = kernels;
    s->arena = base + l.arena;
    s->persistent = base + l.persistent;
    s->scratch = l.end > l.scratch ? base + l.scratch : NULL;
    s->in_file = is_packed(model);
    session_pack_weights(s, &l, base);
    session_start(s);
    *session = s;
    return EK_OK;
}

/* `room` is for the operator's record if the session keeps none. */
static ek_node session_node(const ek_session *s, uint32_t i, ek_op_record *room)
{
    const kept_op *kept = CAN_PACK && s->kept ? &s->kept[i] : NULL;
    const ek_op_record *op = kept ? &kept->op : room;
    if (!kept) (void)ek_read_op(s->model, i, room);
    return (ek_node){ .model = s->model,
                      .op = op,
                      .params = op->params.bytes,
                      .kernels = s->kernels,
                      .arena = s->arena,
                      .persistent = s->persistent,
                      .scratch = s->arena + op->scratch_offset,
                      .packed = kept ? kept->packed : NULL,
                      EK_WIDENED(kept ? kept->widened : NULL) };
}

ek_status ek_session_run_op(ek_session *s, uint32_t i)
{
    ek_op_record room;
    ek_node n = session_node(s, i, &room);
    const ek_op *impl = n.op->impl;
    if (s->scratch && scratch_of(impl, &n) > n.op->scratch_bytes) n.scratch = s->scratch;
    if (s->in_file && session_packed_bytes(impl, &n)) n.packed = ek_blob(&n, weights_offset(impl, &n));
#ifndef EK_NO_REGIONS
    n.jump = &s->next;
#endif
    if (s->on_profile) s->on_profile(s->on_profile_context, i, 0);
    const ek_status status = impl->run(&n);
    if (s->on_profile) s->on_profile(s->on_profile_context, i, 1);
    if (!status && s->on_op) s->on_op(s->on_op_context, s, i);
    return status;
}

uint8_t *ek_session_arena(const ek_session *session)
{
    return session->arena;
}

void ek_session_set_arena(ek_session *session, const ek_model *model, uint8_t *arena)
{
    session->model = model;
    session->arena = arena;
}

const ek_kernels *ek_session_kernels(const ek_session *session)
{
    return session->kernels;
}

void ek_session_set_model(ek_session *session, const ek_model *model)
{
    session->model = model;
    session->next = 0;
    if (!session->kept) return;
    for (uint32_t i = 0; i < model->op_count; i++) (void)ek_read_op(model, i, &session->kept[i].op);
}

ek_status ek_step(ek_session *session, uint32_t ops, uint32_t *left)
{
    if (!session || !left) return EK_ERR_ARG;
    const uint32_t count = session->model->op_count;
    uint32_t next = session->next;
    session->next = 0;
    for (; ops && next < count; ops--, next++) {
        const ek_status status = ek_session_run_op(session, next);
        if (status) return status;
#ifndef EK_NO_REGIONS
        next += session->next;
        session->next = 0;
#endif
    }
    session->next = next < count ? next : 0;
    *left = count - next;
    return EK_OK;
}

ek_status ek_run(ek_session *session)
{
    uint32_t left;
    if (!session) return EK_ERR_ARG;
    session->next = 0;
    return ek_step(session, UINT32_MAX, &left);
}

ek_status ek_session_reset(ek_session *session)
{
    if (!session) return EK_ERR_ARG;
    memset(session->persistent, 0, ek_memory(session->model)->persistent_bytes);
    session_start(session);
    session->next = 0;
    return EK_OK;
}

static void locate(const ek_session *s, ek_io *io)
{
    const ek_node n = { .model = s->model, .arena = s->arena, .persistent = s->persistent };
    io->data = ek_tensor_data(&n, (const ek_fmt_tensor *)s->model->tensors + io->tensor);
}

ek_status ek_session_input(const ek_session *session, uint32_t index, ek_io *io)
{
    const ek_status status = session ? ek_model_input(session->model, index, io) : EK_ERR_ARG;
    if (!status) locate(session, io);
    return status;
}

ek_status ek_session_output(const ek_session *session, uint32_t index, ek_io *io)
{
    const ek_status status = session ? ek_model_output(session->model, index, io) : EK_ERR_ARG;
    if (!status) locate(session, io);
    return status;
}

ek_status ek_session_on_op(ek_session *session, ek_op_callback callback, void *context)
{
    if (!session) return EK_ERR_ARG;
    session->on_op = callback;
    session->on_op_context = context;
    return EK_OK;
}

ek_status ek_session_on_profile(ek_session *session, ek_profiler profiler, void *context)
{
    if (!session) return EK_ERR_ARG;
    session->on_profile = profiler;
    session->on_profile_context = context;
    return EK_OK;
}

ek_status ek_session_op_output(const ek_session *session, uint32_t op, uint32_t index, const void **data,
                               uint32_t *bytes)
{
    if (!session || !data || !bytes || op >= session->model->op_count) return EK_ERR_ARG;
    ek_op_record room;
    const ek_node n = session_node(session, op, &room);
    if (index >= n.op->outputs) return EK_ERR_ARG;
    *data = ek_out(&n, index);
    *bytes = ek_out_type(&n, index)->bytes;
    return EK_OK;
}
