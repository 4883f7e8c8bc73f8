/* Every kernel of every table in the build against the reference:
 *     check_kernels [SEED] [--bench] [--table NAME] [--trials N]
 * Integer kernels must give the same bytes, float kernels stay within 1e-5 of the sum of the
 * magnitudes of all terms. The seed is printed: the same seed repeats the same trials. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

typedef bool (*check_fn)(const ek_kernels *ref, const ek_kernels *opt);

static const struct check {
    const char *kernel;
    check_fn check;
} checks[] = {
#define EK_CHECKED(name, arguments, users) { #name, check_##name },
    EK_KERNELS(EK_NOTHING, EK_CHECKED, EK_CHECKED, EK_NOTHING)
};

static const bench_fn benches[] = { bench_gemm, bench_depthwise,   bench_s16, bench_elementwise, bench_elementwise_s16,
                                    bench_pool, bench_quantize_f32 };

static const char *running_table = "", *running_kernel = "";

/* A kernel that crashes is a failure. */
static void crashed(int number)
{
    printf("%s %s: CRASHED (signal %d)\n", running_table, running_kernel, number);
    fflush(stdout);
    _Exit(1);
}

static bool check_table(const ek_kernels *ref, const ek_kernels *opt, uint32_t seed)
{
    bool ok = opt->gemm_s8_rows >= 1 && opt->gemm_s16_rows >= 1 && opt->gemm_f32_rows >= 1;
    if (!ok) printf("%s: a number of rows is 0\n", opt->name);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        rnd_seed(seed);
        running_table = opt->name;
        running_kernel = checks[i].kernel;
        const bool same = checks[i].check(ref, opt);
        printf("%s %s: %s\n", opt->name, checks[i].kernel, same ? "ok" : "FAILED");
        fflush(stdout);
        ok = ok && same;
    }
    return ok;
}

static int usage(void)
{
    printf("usage: check_kernels [SEED] [--bench] [--table NAME] [--trials N]\n");
    return 2;
}

int main(int argc, char **argv)
{
    uint32_t seed = (uint32_t)time(NULL);
    const char *only = NULL;
    bool bench = false, ok = true, found = false;
    for (int i = 1; i < argc; i++) {
        char *end = argv[i];
        if (!strcmp(argv[i], "--bench"))
            bench = true;
        else if (!strcmp(argv[i], "--table") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "--trials") && i + 1 < argc)
            check_trials = (uint32_t)strtoul(argv[++i], NULL, 0);
        else if (seed = (uint32_t)strtoul(argv[i], &end, 0), *end)
            return usage();
    }
    printf("seed %" PRIu32 "\n", seed);
    signal(SIGSEGV, crashed);
    signal(SIGILL, crashed);
    const ek_kernels *ref = ek_kernels_reference();
    for (size_t i = 1; ek_kernels_name(i); i++) { /* table 0 is the reference */
        if (only && strcmp(only, ek_kernels_name(i))) continue;
        found = true;
        const ek_kernels *opt = ek_kernels_select(ek_kernels_name(i));
        if (!opt) {
            printf("%s: this CPU cannot run it\n", ek_kernels_name(i));
            continue;
        }
        check_pages = true;
        const bool same = check_table(ref, opt, seed);
        ok = ok && same;
        check_pages = false;
        for (size_t b = 0; bench && same && b < sizeof benches / sizeof *benches; b++) benches[b](ref, opt);
    }
    if (only && !found) {
        printf("no table '%s' in this build; there are:", only);
        for (size_t i = 0; ek_kernels_name(i); i++) printf(" %s", ek_kernels_name(i));
        printf("\n");
        return 2;
    }
    return ok ? 0 : 1;
}
