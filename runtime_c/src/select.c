#include "edgekit/target.h"

#include "kernels_ref/reference.h"
#include "model.h"

#if defined(__AVX2__)
#error "a target's flags reached the portable part"
#endif

/* ek_targets.inc is written by the build: one EK_TARGET(name) a kernel table, best last. */
#define EK_TARGET(name) extern const ek_target ek_target_##name;
#include "ek_targets.inc"
#undef EK_TARGET

static const ek_target *const targets[] = {
#define EK_TARGET(name) &ek_target_##name,
#include "ek_targets.inc"
#undef EK_TARGET
    NULL,
};

static const ek_kernels reference = { EK_REFERENCE_KERNELS };

/* ek_plans.inc likewise: one EK_PLAN(name) a table of another CPU. */
#define EK_PLAN(name) extern const ek_kernels ek_plan_##name;
#include "ek_plans.inc"
#undef EK_PLAN

static const ek_kernels *const plans[] = {
#define EK_PLAN(name) &ek_plan_##name,
#include "ek_plans.inc"
#undef EK_PLAN
    NULL,
};

const ek_kernels *ek_kernels_plan(const char *name)
{
    if (!name) return NULL;
    for (const ek_kernels *const *p = plans; *p; p++)
        if (ek_same(name, (*p)->name)) return *p;
    return NULL;
}

const ek_kernels *ek_kernels_reference(void)
{
    return &reference;
}

const char *ek_kernels_name(size_t i)
{
    const size_t count = sizeof targets / sizeof *targets - 1;
    if (i == 0) return reference.name;
    return i <= count ? targets[i - 1]->kernels->name : NULL;
}

const ek_kernels *ek_kernels_select(const char *name)
{
    const ek_kernels *found = !name || ek_same(name, reference.name) ? &reference : NULL;
    for (const ek_target *const *t = targets; *t; t++) {
        if (name && !ek_same(name, (*t)->kernels->name)) continue;
        if ((*t)->supported()) found = (*t)->kernels;
    }
    return found;
}
