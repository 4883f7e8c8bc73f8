/* Open whatever bytes come, and run what opens, with every kernel table of the build.
 *
 * With libFuzzer:  clang -fsanitize=fuzzer,address,undefined -DEK_LIBFUZZER fuzz_model.c ...
 * Without:         fuzz_model mutate SEED ROUNDS FILE...    mutates each file ROUNDS times
 *                  fuzz_model compare SEED ROUNDS FILE...   the same; all tables must give the same bytes
 *                  fuzz_model replay FILE...                runs each file as it is
 *                  fuzz_model truncate FILE...              runs every prefix of each file
 * A sanitizer ends the process at the first fault; the input is left in crash.edge (with -fsanitize=address).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edgekit/edgekit.h"
#include "edgekit/format.h"

enum { MOST_MEMORY = 1 << 17, MOST_OPS = 512 };

/* Every fourth of the 16-byte runs of an input is of the least integer of each type, every fourth of NaN. */
static uint8_t input_byte(uint32_t input, uint32_t at)
{
    static const uint8_t least[] = { 0x00, 0x80, 0x00, 0x80 }, nan[] = { 0x00, 0x00, 0xc0, 0x7f };
    switch ((at / 16 + input) % 4) {
    case 1: return least[at % 4];
    case 3: return nan[at % 4];
    default: return (uint8_t)(at * 37 + input * 11);
    }
}

/* What callers may do between runs and without any. */
static void call_the_rest(const ek_model *model, const ek_kernels *kernels, ek_session *session)
{
    for (uint32_t i = 0; i < model->op_count; i++) {
        size_t packed_bytes;
        const void *data;
        uint32_t bytes;
        if (!ek_pack_weights(model, i, kernels, NULL, &packed_bytes) && packed_bytes && packed_bytes <= MOST_MEMORY) {
            void *packed = malloc(packed_bytes);
            if (ek_pack_weights(model, i, kernels, packed, &packed_bytes)) abort();
            free(packed);
        }
        if (ek_session_op_output(session, i, 0, &data, &bytes)) abort();
        (void)ek_crc32(0, data, bytes);
    }
    if (ek_session_reset(session)) abort();
}

static void fill_inputs(const ek_model *model, const ek_session *session)
{
    for (uint32_t i = 0; i < ek_input_count(model); i++) {
        ek_io io;
        if (ek_session_input(session, i, &io)) abort();
        for (uint32_t j = 0; j < io.bytes; j++) ((uint8_t *)io.data)[j] = input_byte(i, j);
    }
}

static void read_outputs(const ek_model *model, const ek_session *session)
{
    for (uint32_t i = 0; i < ek_output_count(model); i++) {
        ek_io io;
        if (ek_session_output(session, i, &io)) abort();
        (void)ek_crc32(0, io.data, io.bytes);
    }
}

/* At the least sizes, at some between, and at what is no size; whatever the file says, what binds runs. */
static void bind_sizes(const ek_model *model, ek_session *session)
{
    const uint32_t count = ek_symbol_count(model);
    uint32_t sizes[16] = { 0 }, left;
    size_t bytes;
    if (!count || count > 16 || ek_session_bind_size(model, &bytes) || bytes > MOST_MEMORY) return;
    void *memory = malloc(bytes);
    for (uint32_t way = 0; way < 4; way++) {
        for (uint32_t i = 0; i < count; i++) {
            ek_symbol symbol;
            if (ek_model_symbol(model, i, &symbol)) continue;
            const uint32_t steps = (symbol.highest - symbol.lowest) / symbol.step;
            sizes[i] = way == 3 ? symbol.highest + 1 : symbol.lowest + steps / 2 * way * symbol.step;
        }
        (void)ek_session_bind(session, model, sizes, memory, bytes);
        fill_inputs(model, session);
        (void)ek_step(session, MOST_OPS, &left);
        read_outputs(model, session);
    }
    call_the_rest(model, ek_kernels_select("ref"), session);
    free(memory);
}

/* Hostile arithmetic is free to be slow: what asks for much memory or many operators is not run. */
static void run(const ek_model *model, const ek_kernels *kernels)
{
    size_t bytes;
    ek_session *session;
    uint32_t left;
    if (ek_session_size(model, kernels, &bytes) || bytes > MOST_MEMORY) return;
    void *memory = malloc(bytes);
    if (ek_session_init(&session, memory, bytes, model, kernels)) abort();
    fill_inputs(model, session);
    (void)ek_step(session, MOST_OPS, &left);
    read_outputs(model, session);
    call_the_rest(model, kernels, session);
    bind_sizes(model, session);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_model model;
    /* A copy of exactly this size: the sanitizer sees a read past the end. */
    uint8_t *file = malloc(size ? size : 1);
    memcpy(file, data, size);
    (void)ek_model_open(&model, file, size, EK_OPEN_CHECKSUM);
    if (!ek_model_open(&model, file, size, EK_OPEN_DEFAULT))
        for (size_t i = 0; ek_kernels_name(i); i++) {
            const ek_kernels *kernels = ek_kernels_select(ek_kernels_name(i));
            if (kernels) run(&model, kernels);
        }
    free(file);
    return 0;
}

static uint64_t state;

static uint32_t random_below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % n;
}

/* A byte range of the file that one sort of record fills. */
typedef struct range {
    const void *start;
    uint32_t bytes;
} range;

/* Half of all mutations hit the sections that the verifier reasons about, not weights or text. */
static uint32_t pick_position(const ek_model *m, const uint8_t *file, uint32_t size)
{
    const range sections[] = {
        { m->tensors, m->tensor_count * 12 },
        { m->types, m->type_count * 12 },
        { m->program, m->program_bytes },
        { m->program, m->program_bytes },
        { m->ops, m->op_count * 2 },
        { m->dims, m->dim_count * 4 },
        { m->memory, 24 },
        { m->blob, m->blob_bytes },
        { m->inputs, m->input_count * 4 },
    };
    const range *r = &sections[random_below(sizeof sections / sizeof *sections)];
    if (random_below(2) || !r->bytes) return random_below(size);
    return (uint32_t)((const uint8_t *)r->start - file) + random_below(r->bytes);
}

static void mutate_number(uint8_t *file, uint32_t size, uint32_t at)
{
    static const uint32_t awkward[] = { 0,          1,          2,          3,          7,
                                        16,         255,        256,        0x7fff,     0x8000,
                                        0xffff,     0x10000,    0x7fffffff, 0x80000000, 0xffffffff,
                                        0xfffffffe, 0x7f800000, 0x7fc00000, 0x40000000, 0xfffffff0 };
    static const uint32_t widths[] = { 1, 2, 4, 4 };
    const uint32_t width = widths[random_below(4)];
    uint32_t value = 0;
    at -= at % width;
    if (at + width > size) return;
    memcpy(&value, file + at, width);
    switch (random_below(4)) {
    case 0: value = awkward[random_below(sizeof awkward / sizeof *awkward)]; break;
    case 1: value += random_below(17) - 8; break;
    case 2: value ^= UINT32_C(1) << random_below(8 * width); break;
    default: value = random_below(2) ? value * 2 : value / 2; break;
    }
    memcpy(file + at, &value, width);
}

static uint32_t mutate(uint8_t *file, uint32_t size, const ek_model *m, const uint8_t *original)
{
    for (uint32_t n = 1 + random_below(3); n--;) {
        const uint32_t at = pick_position(m, original, size), from = pick_position(m, original, size);
        switch (random_below(8)) {
        case 0: memmove(file + at, file + from, (size - (at > from ? at : from)) < 20 ? 1 : 20); break;
        case 1: file[at] = (uint8_t)random_below(256); break;
        default: mutate_number(file, size, at); break;
        }
    }
    return random_below(64) ? size : random_below(size + 1);
}

#ifdef EK_LIBFUZZER

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    ek_model m;
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    state = seed;
    const bool opens = !ek_model_open(&m, copy, size, EK_OPEN_DEFAULT);
    const size_t now = opens && random_below(4) ? mutate(data, (uint32_t)size, &m, copy) : 0;
    free(copy);
    return now ? now : LLVMFuzzerMutate(data, size, most);
}

#else

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_set_death_callback(void (*callback)(void));
#else
#define __sanitizer_set_death_callback(callback) (void)(callback)
#endif

static uint8_t *read_file(const char *path, uint32_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) exit(2);
    *size = (uint32_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(*size + 1);
    if (fread(data, 1, *size, f) != *size) exit(2);
    fclose(f);
    return data;
}

static const uint8_t *trying;
static uint32_t trying_bytes;

static void keep_crash(void)
{
    FILE *f = fopen("crash.edge", "wb");
    if (f && fwrite(trying, 1, trying_bytes, f) == trying_bytes) fclose(f);
}

/* Whether the bytes open. */
typedef bool try_fn(const uint8_t *data, uint32_t size);

static bool try_bytes(const uint8_t *data, uint32_t size)
{
    ek_model m;
    trying = data;
    trying_bytes = size;
    LLVMFuzzerTestOneInput(data, size);
    return !ek_model_open(&m, data, size, EK_OPEN_DEFAULT);
}

/* No tensor is float, so that every table owes the same bytes. */
static bool integer_only(const ek_model *m)
{
    const ek_fmt_tensor_type *types = (const ek_fmt_tensor_type *)m->types;
    for (uint32_t i = 0; i < m->type_count; i++)
        if (types[i].dtype == EK_DTYPE_FLOAT32) return false;
    return true;
}

/* The statuses and outputs of two runs in memory full of `garbage`; false for a model that asks for much of it. */
static bool answer(const ek_model *model, const ek_kernels *kernels, uint8_t garbage, uint64_t seed, uint32_t *crc)
{
    size_t bytes;
    ek_session *session;
    if (model->op_count > MOST_OPS || ek_session_size(model, kernels, &bytes) || bytes > MOST_MEMORY) return false;
    void *memory = malloc(bytes);
    memset(memory, garbage, bytes);
    if (ek_session_init(&session, memory, bytes, model, kernels)) abort();
    const uint64_t kept = state;
    state = seed;
    *crc = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < ek_input_count(model); i++) {
            ek_io io;
            if (ek_session_input(session, i, &io)) abort();
            const uint32_t sort = random_below(4);
            for (uint32_t j = 0; j < io.bytes; j++)
                ((uint8_t *)io.data)[j] = sort ? (uint8_t)random_below(256) : input_byte(i, j);
        }
        const int32_t status = ek_run(session);
        *crc = ek_crc32(*crc, (const uint8_t *)&status, sizeof status);
        for (uint32_t i = 0; !status && i < ek_output_count(model); i++) {
            ek_io io;
            if (ek_session_output(session, i, &io)) abort();
            *crc = ek_crc32(*crc, io.data, io.bytes);
        }
    }
    state = kept;
    free(memory);
    return true;
}

/* Every table, whatever lay in the memory, gives what the reference does. */
static bool compare(const uint8_t *file, uint32_t size)
{
    ek_model m;
    uint32_t right, crc;
    if (ek_model_open(&m, file, size, EK_OPEN_DEFAULT) || !integer_only(&m)) return false;
    const uint64_t seed = random_below(UINT32_MAX);
    if (!answer(&m, ek_kernels_select("ref"), 0, seed, &right)) return false;
    for (size_t i = 0; ek_kernels_name(i); i++) {
        const ek_kernels *kernels = ek_kernels_select(ek_kernels_name(i));
        if (!kernels || !answer(&m, kernels, 0x5a, seed, &crc) || crc == right) continue;
        printf("%s differs from ref\n", ek_kernels_name(i));
        keep_crash();
        exit(1);
    }
    return true;
}

static void fuzz(const uint8_t *original, uint32_t size, uint32_t rounds, try_fn *try)
{
    ek_model m;
    uint32_t opened = 0;
    uint8_t *file = malloc(size);
    if (ek_model_open(&m, original, size, EK_OPEN_DEFAULT)) exit(2);
    for (uint32_t i = 0; i < rounds; i++) {
        memcpy(file, original, size);
        const uint32_t cut = mutate(file, size, &m, original);
        trying = file;
        trying_bytes = cut;
        opened += try(file, cut);
    }
    printf("%u of %u mutants open\n", opened, rounds);
    free(file);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const bool mutates = !strcmp(mode, "mutate"), compares = !strcmp(mode, "compare");
    const int first = mutates || compares ? 4 : 2;
    if (argc <= first) return 2;
    __sanitizer_set_death_callback(keep_crash);
    for (int i = first; i < argc; i++) {
        uint32_t size;
        uint8_t *data = read_file(argv[i], &size);
        if (first == 4) {
            state = strtoull(argv[2], NULL, 10) + (uint64_t)i;
            fuzz(data, size, (uint32_t)strtoul(argv[3], NULL, 10), compares ? compare : try_bytes);
        } else if (!strcmp(mode, "truncate")) {
            for (uint32_t cut = 0; cut < size; cut++) try_bytes(data, cut);
        } else {
            try_bytes(data, size);
        }
        free(data);
    }
    return 0;
}

#endif
