/* A session whose marked operators run on the device: what crosses when, and the run. */
#include "device.h"
#include "model/flat.h"
#include "layer.h"
#include "model/requant_table.h"

#include <stdlib.h>

/* Bytes of the arena that cross before an operator; to_host of the last entry is after the last. */
typedef struct crossing {
    uint32_t offset, bytes;
    int to_device;
} crossing;

typedef struct step {
    ek_layer *layer; /* NULL: on the host */
    cl_object weights, quants, means;
    uint64_t weight_bytes, quant_bytes, mean_bytes;
    crossing *crossings;
    uint32_t crossing_count;
    ek_accelerated_op stats;
} step;

struct ek_accelerated {
    ek_opencl *opencl;
    ek_session *session;
    const ek_model *model;
    step *steps; /* of each operator, and one for what comes home after the last */
    cl_object arena, link[2];
    uint64_t arena_bytes, link_bytes;
    uint8_t *staging;
};

enum { PAGE = 4096, LINK_BYTES = 32 << 20, ON_HOST = 1, ON_DEVICE = 2 };

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static ek_status out_of_memory(ek_opencl_error *error)
{
    return ek_opencl_fail(error, EK_ERR_MEMORY, "this machine is out of memory");
}

/* One byte an operator: 1 for the accelerator. NULL when the file has no placement. */
static ek_status placement_of(const ek_model *m, const uint8_t **placement, ek_opencl_error *error)
{
    const ek_flat_file f = { m->data, (uint32_t)m->bytes };
    ek_flat_table root;
    ek_flat_vector v;
    if (!ek_flat_open_table(&f, m->data, &root) || !ek_flat_open_vector(&f, &root, EK_SLOT_MODEL_PLACEMENT, 1, 1, &v) ||
        (v.data && v.count != m->op_count))
        return ek_opencl_fail(error, EK_ERR_CORRUPT, "the file's placement does not match its operators");
    *placement = v.data;
    return EK_OK;
}

static ek_status add_crossing(step *s, uint32_t offset, uint32_t bytes, int to_device, ek_opencl_error *error)
{
    crossing *more = realloc(s->crossings, (s->crossing_count + 1) * sizeof *more);
    if (!more) return out_of_memory(error);
    s->crossings = more;
    more[s->crossing_count++] = (crossing){ offset, bytes, to_device };
    return EK_OK;
}

/* Whatever of [offset, offset + bytes) is not valid on `side` crosses before step `s`. */
static ek_status need(step *s, uint8_t *valid, uint32_t offset, uint32_t bytes, uint8_t side, ek_opencl_error *error)
{
    for (uint32_t i = offset, end = offset + bytes; i < end;) {
        if (valid[i] & side) {
            i++;
            continue;
        }
        const uint32_t from = i;
        for (; i < end && !(valid[i] & side); i++) valid[i] |= side;
        const ek_status status = add_crossing(s, from, i - from, side == ON_DEVICE, error);
        if (status) return status;
    }
    return EK_OK;
}

/* Walk through a run once, and note what has to cross. At its start all is on the host. */
static ek_status plan_crossings(ek_accelerated *a, ek_opencl_error *error)
{
    const ek_model *m = a->model;
    const uint32_t arena = ek_memory(m)->arena_bytes;
    ek_status status = EK_OK;
    uint8_t *valid = malloc(arena + 1u);
    if (!valid) return out_of_memory(error);
    memset(valid, ON_HOST, arena + 1u);
    for (uint32_t i = 0; i < m->op_count && !status; i++) {
        ek_op_record op;
        const ek_node n = ek_node_at(m, i, &op);
        const uint8_t side = a->steps[i].layer ? ON_DEVICE : ON_HOST;
        const uint32_t operands = (uint32_t)n.op->inputs + n.op->outputs;
        for (uint32_t o = 0; o < operands && !status; o++) {
            const ek_fmt_tensor *t = ek_operand(&n, o);
            if (!t || ek_type_of(m, t)->place != EK_PLACE_ARENA) continue;
            if (o < n.op->inputs)
                status = need(&a->steps[i], valid, t->offset, ek_type_of(m, t)->bytes, side, error);
            else
                memset(valid + t->offset, side, ek_type_of(m, t)->bytes);
        }
    }
    for (uint32_t i = 0; i < ek_output_count(m) && !status; i++) {
        ek_io io;
        status = ek_model_output(m, i, &io);
        const ek_fmt_tensor *t = (const ek_fmt_tensor *)m->tensors + io.tensor;
        if (!status && ek_type_of(m, t)->place == EK_PLACE_ARENA)
            status = need(&a->steps[m->op_count], valid, t->offset, ek_type_of(m, t)->bytes, ON_HOST, error);
    }
    free(valid);
    return status;
}

static ek_status upload_table(ek_accelerated *a, cl_object *memory, const void *table, uint64_t bytes,
                              ek_opencl_error *error)
{
    const ek_status status = ek_opencl_allocate(a->opencl, memory, pages(bytes), "weights", error);
    return status ? status : ek_opencl_upload(a->opencl, *memory, 0, table, (size_t)bytes, error);
}

/* Pack an operator's tables in this machine's memory, and take them over. */
/* False where there is no memory to widen a tight table in. */
static bool pack_quants(int32_t *to, const ek_layer *layer, const ek_node *n, const ek_opencl_config *c)
{
    const ek_table t = n->op->impl->table(n);
    const size_t bytes = (size_t)ek_widened_bytes(&t);
    void *const widened = bytes ? malloc(bytes) : NULL;
    if (bytes && !widened) return false;
    ek_node node = *n;
    if (bytes) ek_widen_table(widened, n, &t);
    node.widened = widened;
    ek_layer_pack_quants(to, layer, &node, c);
    free(widened);
    return true;
}

static ek_status upload_step(ek_accelerated *a, step *s, const ek_node *n, ek_opencl_error *error)
{
    const ek_opencl_config *c = &a->opencl->config;
    s->weight_bytes = ek_layer_weight_bytes(s->layer, c);
    s->quant_bytes = ek_layer_quant_bytes(s->layer, c);
    s->mean_bytes = s->layer->pool.mode == EK_POOL_MEAN ? s->layer->pool.counts * 2 * sizeof(int32_t) : 0;
    uint64_t most = s->weight_bytes > s->quant_bytes ? s->weight_bytes : s->quant_bytes;
    if (s->mean_bytes > most) most = s->mean_bytes;
    if (!most) return EK_OK;
    void *table = aligned_alloc(PAGE, pages(most));
    if (!table) return out_of_memory(error);
    ek_status status = EK_OK;
    if (s->weight_bytes) {
        ek_layer_pack_weights(table, s->layer, n, c);
        status = upload_table(a, &s->weights, table, s->weight_bytes, error);
    }
    if (!status && s->quant_bytes) {
        if (!pack_quants(table, s->layer, n, c)) {
            free(table);
            return out_of_memory(error);
        }
        status = upload_table(a, &s->quants, table, s->quant_bytes, error);
    }
    if (!status && s->mean_bytes) {
        ek_layer_pack_means(table, s->layer, n);
        status = upload_table(a, &s->means, table, s->mean_bytes, error);
    }
    free(table);
    return status;
}

static ek_status make_step(ek_accelerated *a, uint32_t i, ek_opencl_error *error)
{
    ek_op_record op;
    const ek_node n = ek_node_at(a->model, i, &op);
    ek_opencl_error why;
    step *s = &a->steps[i];
    s->layer = malloc(sizeof *s->layer);
    if (!s->layer) return out_of_memory(error);
    if (!ek_layer_of(s->layer, &n, &a->opencl->config, &why))
        return ek_opencl_fail(
            error, EK_ERR_UNSUPPORTED,
            "operator %u is placed on the accelerator, which cannot run it: %.2000s; place it anew for "
            "this program",
            (unsigned)i, why.text);
    s->stats.on_device = 1;
    if (s->layer->link_bytes > a->link_bytes) a->link_bytes = s->layer->link_bytes;
    return upload_step(a, s, &n, error);
}

static ek_status allocate_shared(ek_accelerated *a, ek_opencl_error *error)
{
    const uint64_t arena = ek_memory(a->model)->arena_bytes;
    a->arena_bytes = pages(arena) + PAGE; /* kernels read whole words, up to one past the end */
    ek_status status = ek_opencl_allocate(a->opencl, &a->arena, a->arena_bytes, "the arena", error);
    if (a->opencl->config.channels) a->link_bytes = 0;
    /* Several tiles at a time where links are buffers, so that the start of seven kernels pays. */
    if (a->link_bytes) a->link_bytes = pages(a->link_bytes > LINK_BYTES ? a->link_bytes : LINK_BYTES);
    for (int i = 0; i < 2 && a->link_bytes && !status; i++)
        status = ek_opencl_allocate(a->opencl, &a->link[i], a->link_bytes, "links between stages", error);
    a->staging = aligned_alloc(PAGE, a->arena_bytes);
    return status || a->staging ? status : out_of_memory(error);
}

ek_status ek_accelerated_open(ek_accelerated **accelerated, ek_opencl *opencl, ek_session *session,
                              const ek_model *model, ek_opencl_error *error)
{
    const uint8_t *placement = NULL;
    if (!accelerated || !opencl || !session || !model || !error) return EK_ERR_ARG;
    error->text[0] = 0;
    if (opencl->lost) return ek_opencl_fail(error, EK_ERR_DEVICE, "the device failed before: open it again");
    ek_status status = placement_of(model, &placement, error);
    if (status) return status;
    ek_accelerated *a = calloc(1, sizeof *a);
    if (!a) return out_of_memory(error);
    *a = (ek_accelerated){ .opencl = opencl, .session = session, .model = model };
    a->steps = calloc(model->op_count + 1u, sizeof *a->steps);
    if (!a->steps) status = out_of_memory(error);
    for (uint32_t i = 0; i < model->op_count && placement && !status; i++)
        if (placement[i]) status = make_step(a, i, error);
    if (!status) status = plan_crossings(a, error);
    if (!status) status = allocate_shared(a, error);
    if (status)
        ek_accelerated_close(a);
    else
        *accelerated = a;
    return status;
}

void ek_accelerated_close(ek_accelerated *a)
{
    if (!a) return;
    for (uint32_t i = 0; a->steps && i <= a->model->op_count; i++) {
        step *s = &a->steps[i];
        ek_opencl_free(a->opencl, s->weights, pages(s->weight_bytes));
        ek_opencl_free(a->opencl, s->quants, pages(s->quant_bytes));
        ek_opencl_free(a->opencl, s->means, pages(s->mean_bytes));
        free(s->crossings);
        free(s->layer);
    }
    ek_opencl_free(a->opencl, a->arena, a->arena_bytes);
    for (int i = 0; i < 2; i++) ek_opencl_free(a->opencl, a->link[i], a->link_bytes);
    /* A device that is lost may still read what was staged. */
    if (!a->opencl->lost) free(a->staging);
    free(a->steps);
    free(a);
}

static ek_status cross(ek_accelerated *a, const step *s, ek_accelerated_op *stats, ek_opencl_error *error)
{
    uint8_t *arena = ek_session_arena(a->session);
    ek_status status = EK_OK;
    for (uint32_t i = 0; i < s->crossing_count && !status; i++) {
        const crossing *c = &s->crossings[i];
        if (c->to_device) {
            memcpy(a->staging, arena + c->offset, c->bytes);
            status = ek_opencl_upload(a->opencl, a->arena, c->offset, a->staging, c->bytes, error);
            stats->to_device_bytes += c->bytes;
        } else {
            status = ek_opencl_download(a->opencl, a->staging, a->arena, c->offset, c->bytes, error);
            memcpy(arena + c->offset, a->staging, c->bytes);
            stats->to_host_bytes += c->bytes;
        }
    }
    return status;
}

/* A kernel's arguments: up to three buffers, then numbers. */
typedef struct call {
    cl_object buffers[3];
    uint32_t buffer_count;
    const void *numbers;
    size_t number_bytes;
} call;

static int32_t start(ek_opencl *o, int stage, cl_object queue, const call *c, cl_object *event)
{
    int32_t code = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < c->buffer_count; i++)
        code |= o->cl->clSetKernelArg(o->kernel[stage], at++, sizeof(cl_object), &c->buffers[i]);
    for (size_t i = 0; i < c->number_bytes; i += 4)
        code |= o->cl->clSetKernelArg(o->kernel[stage], at++, 4, (const uint8_t *)c->numbers + i);
    return code ? code : o->cl->clEnqueueTask(queue, o->kernel[stage], 0, NULL, event);
}

/* What each stage is called with. With channels a stage has no links among its buffers; without,
 * they go back and forth between two buffers. */
static void calls_of(call calls[EK_STAGES], const ek_accelerated *a, const step *s)
{
    const ek_layer *l = s->layer;
    const cl_object none = a->arena, weights = s->weights ? s->weights : none, quants = s->quants ? s->quants : none;
    const cl_object x = a->link[0], y = a->link[1], means = s->means ? s->means : none;
#define NUMBERS(part) &l->part, sizeof l->part
    calls[EK_WEIGHTS] = (call){ { weights, quants }, 2, NUMBERS(weights) };
    if (a->opencl->config.channels) {
        calls[EK_READ] = (call){ { a->arena }, 1, NUMBERS(read) };
        calls[EK_WINDOW] = (call){ { NULL }, 0, NUMBERS(window) };
        calls[EK_MAC] = (call){ { NULL }, 0, NUMBERS(mac) };
        calls[EK_REQUANT] = (call){ { NULL }, 0, NUMBERS(requant) };
        calls[EK_POOL] = (call){ { means }, 1, NUMBERS(pool) };
        calls[EK_WRITE] = (call){ { a->arena }, 1, NUMBERS(write) };
    } else {
        calls[EK_READ] = (call){ { x, a->arena }, 2, NUMBERS(read) };
        calls[EK_WINDOW] = (call){ { x, y }, 2, NUMBERS(window) };
        calls[EK_MAC] = (call){ { y, weights, x }, 3, NUMBERS(mac) };
        calls[EK_REQUANT] = (call){ { x, quants, y }, 3, NUMBERS(requant) };
        calls[EK_POOL] = (call){ { y, x, means }, 3, NUMBERS(pool) };
        calls[EK_WRITE] = (call){ { x, a->arena }, 2, NUMBERS(write) };
    }
#undef NUMBERS
}

/* Start all stages, each on its queue where they run at the same time, and wait for them together. */
static ek_status run_stages(ek_accelerated *a, const step *s, ek_opencl_error *error)
{
    ek_opencl *o = a->opencl;
    call calls[EK_STAGES];
    cl_object events[EK_STAGES];
    uint32_t count = 0;
    calls_of(calls, a, s);
    for (int stage = 0; stage < EK_STAGES; stage++) {
        if (!o->kernel[stage] || (stage == EK_WEIGHTS && !s->layer->weights.steps)) continue;
        const int32_t code = start(o, stage, o->queue[o->config.channels ? stage : 0], &calls[stage], &events[count]);
        if (code) {
            o->lost = count > 0; /* those that were started wait for this one */
            return ek_opencl_fail_call(error, "starting a kernel", code);
        }
        count++;
    }
    for (int stage = 0; stage < EK_STAGES; stage++) o->cl->clFlush(o->queue[stage]);
    return ek_opencl_wait(o, events, count, "a layer", error);
}

static ek_status run_layer(ek_accelerated *a, step *s, ek_opencl_error *error)
{
    ek_layer *l = s->layer;
    uint64_t tiles = l->tiles;
    if (a->link_bytes && l->link_bytes) tiles = a->link_bytes / l->link_bytes;
    if (tiles > l->tiles) tiles = l->tiles;
    for (uint32_t first = 0; first < l->tiles; first += (uint32_t)tiles) {
        const uint64_t end = first + tiles;
        ek_layer_slice(l, first, end < l->tiles ? (uint32_t)end : l->tiles);
        const ek_status status = run_stages(a, s, error);
        if (status) return status;
    }
    return EK_OK;
}

static ek_status run_step(ek_accelerated *a, uint32_t i, ek_opencl_error *error)
{
    step *s = &a->steps[i];
    const double from = ek_opencl_now();
    s->stats = (ek_accelerated_op){ .on_device = s->layer != NULL };
    ek_status status = cross(a, s, &s->stats, error);
    if (!status && s->layer)
        status = run_layer(a, s, error);
    else if (!status && i < a->model->op_count && (status = ek_session_run_op(a->session, i)) != EK_OK)
        ek_opencl_fail(error, status, "operator %u: %s", (unsigned)i, ek_status_str(status));
    s->stats.seconds = ek_opencl_now() - from;
    return status;
}

ek_status ek_accelerated_run(ek_accelerated *a, ek_opencl_error *error)
{
    if (!a || !error) return EK_ERR_ARG;
    error->text[0] = 0;
    if (a->opencl->lost) return ek_opencl_fail(error, EK_ERR_DEVICE, "the device failed before: open it again");
    ek_status status = EK_OK;
    for (uint32_t i = 0; i <= a->model->op_count && !status; i++) status = run_step(a, i, error);
    return status;
}

ek_status ek_accelerated_get_op(const ek_accelerated *a, uint32_t op, ek_accelerated_op *stats)
{
    if (!a || !stats || op > a->model->op_count) return EK_ERR_ARG;
    *stats = a->steps[op].stats;
    return EK_OK;
}
