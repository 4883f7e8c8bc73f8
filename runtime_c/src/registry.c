/* All that depends on which operators and kernel tables a build has. `edgekit build` gives its symbols the
 * name of the model, as those of the tables: the rest of the runtime is the same for any number of models. */
#include "edgekit/target.h"

#include "edgekit/custom.h"
#include "kernels_ref/reference.h"
#include "model/model.h"

#if defined(__AVX2__)
#error "a target's flags reached the portable part"
#endif

/* A build that chooses its parts writes five lists and says so. Without them all operators and codecs are in it,
 * and no kernel table but the reference. */
#ifdef EK_CONFIGURED
#define EK_OPS_INC     "ek_ops.inc"
#define EK_CODECS_INC  "ek_codecs.inc"
#define EK_CUSTOM_INC  "ek_custom.inc"
#define EK_TARGETS_INC "ek_targets.inc"
#define EK_PLANS_INC   "ek_plans.inc"
#else
#define EK_OPS_INC     "default/ops.inc"
#define EK_CODECS_INC  "default/codecs.inc"
#define EK_CUSTOM_INC  "default/custom.inc"
#define EK_TARGETS_INC "default/targets.inc"
#define EK_PLANS_INC   "default/plans.inc"
#endif

#include EK_CODECS_INC
#include EK_CUSTOM_INC
#include EK_OPS_INC
#include EK_PLANS_INC
#include EK_TARGETS_INC

/* One EK_FORM(KIND, variant, DTYPE, name) a body of an operator kind. */
#define EK_FORM(KIND, variant, DTYPE, name) extern const ek_op ek_op_##name;
EK_FORM_LIST
#undef EK_FORM

static const ek_form forms[] = {
#define EK_FORM(KIND, variant, DTYPE, name) \
    { EK_FORM_KEY(EK_OP_##KIND + (variant) * EK_VARIANT, EK_DTYPE_##DTYPE), &ek_op_##name, EK_CODE_OF_##KIND },
    EK_FORM_LIST
#undef EK_FORM
    { 0, NULL, NULL },
};

/* One EK_CODEC(name) a codec of weights. */
#define EK_CODEC(name) extern const ek_codec ek_codec_##name;
EK_CODEC_LIST
#undef EK_CODEC

static const ek_codec *const codecs[] = {
#define EK_CODEC(name) &ek_codec_##name,
    EK_CODEC_LIST
#undef EK_CODEC
        NULL,
};

/* One EK_CUSTOM(name) an operator of the user's, or the table of the host's Python, which may change; neither in a
 * build without them. */
#if defined EK_CUSTOM_LIST
#define EK_CUSTOM(name) extern const ek_custom_operator ek_custom_##name;
EK_CUSTOM_LIST
#undef EK_CUSTOM

static const ek_custom_operator *const custom_operators[] = {
#define EK_CUSTOM(name) &ek_custom_##name,
    EK_CUSTOM_LIST
#undef EK_CUSTOM
        NULL,
};
#define EK_CUSTOM_TABLE custom_operators
#elif defined EK_CUSTOM_TABLE
extern const ek_custom_operator *EK_CUSTOM_TABLE[];
#endif

#ifdef EK_CUSTOM_TABLE
static const ek_custom_registry with_custom = { { forms, codecs }, EK_CUSTOM_TABLE };
#define EK_REGISTRY (&with_custom.built)
#else
static const ek_registry registry = { forms, codecs };
#define EK_REGISTRY (&registry)
#endif

/* One EK_TARGET(name) a kernel table, best last. */
#define EK_TARGET(name) extern const ek_target ek_target_##name;
EK_TARGET_LIST
#undef EK_TARGET

static const ek_target *const targets[] = {
#define EK_TARGET(name) &ek_target_##name,
    EK_TARGET_LIST
#undef EK_TARGET
        NULL,
};

/* Firmware that runs files packed for one table has no use for the reference beside it, unless it is that table. */
#if !defined(EK_NO_PACKERS) || defined(EK_ONLY_REFERENCE)
static const ek_kernels reference_kernels = { EK_REFERENCE_KERNELS };
static const ek_kernels *const reference = &reference_kernels;
#else
static const ek_kernels *const reference = NULL;
#endif

/* One EK_PLAN(name) a table of another CPU. */
#define EK_PLAN(name) extern const ek_kernels ek_plan_##name;
EK_PLAN_LIST
#undef EK_PLAN

static const ek_kernels *const plans[] = {
#define EK_PLAN(name) &ek_plan_##name,
    EK_PLAN_LIST
#undef EK_PLAN
        NULL,
};

const ek_kernels *ek_kernels_plan(const char *name)
{
    if (!name) return NULL;
    for (const ek_kernels *const *p = plans; *p; p++)
        if (ek_same(name, (*p)->name)) return *p;
    return reference && ek_same(name, reference->name) ? reference : NULL;
}

const ek_kernels *ek_kernels_reference(void)
{
    return reference;
}

const char *ek_kernels_name(size_t i)
{
    const size_t count = sizeof targets / sizeof *targets - 1, before = reference ? 1 : 0;
    if (i < before) return reference->name;
    return i - before < count ? targets[i - before]->kernels->name : NULL;
}

const ek_kernels *ek_kernels_select(const char *name)
{
    const ek_kernels *found = !name || (reference && ek_same(name, reference->name)) ? reference : NULL;
    for (const ek_target *const *t = targets; *t; t++) {
        if (name && !ek_same(name, (*t)->kernels->name)) continue;
        if ((*t)->supported()) found = (*t)->kernels;
    }
    return found;
}

ek_status ek_model_open(ek_model *model, const void *data, size_t bytes, uint32_t flags)
{
    return ek_open_with(model, EK_REGISTRY, data, bytes, flags);
}

uint32_t ek_scratch_bytes(const ek_kernels *kernels, uint32_t kind, uint32_t dtype, const void *params)
{
    const ek_model model = { .registry = EK_REGISTRY };
    const ek_node node = { .model = &model, .params = params, .kernels = kernels };
    const ek_form *form = ek_form_of(EK_REGISTRY, kind, dtype);
    if (!form || !kernels || !params) return UINT32_MAX;
    const uint64_t bytes = form->op->scratch ? form->op->scratch(&node) : 0;
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}
