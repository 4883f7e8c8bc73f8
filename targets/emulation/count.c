/* A QEMU TCG plugin that counts executed guest instructions between markers.
 *
 * A marker is a hint instruction that executes as a no-op everywhere (edgekit/../runner/mark.h).
 * Each one writes a line "begin N" or "end N": N instructions were executed before it. Counts are
 * exact and the same on every run; they are instructions, not cycles. On Hexagon they are packets, of
 * up to four instructions: what QEMU translates there, and shows to plugins, is a packet at a time.
 *
 * Arguments: out=FILE. Build: cc -O2 -shared -fPIC -fvisibility=hidden -o count.so count.c
 * The declarations are those of plugin interface version 1 (QEMU 4.2 to 8.2); distributions ship the
 * interface with QEMU but not its header.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef struct {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    union {
        struct {
            int smp_vcpus, max_vcpus;
        } system;
    };
} qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int, void *, uint64_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *), int, void *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

EXPORT int qemu_plugin_version = 1;

enum { ADD_U64 = 0, NO_REGS = 0 };

static uint64_t executed; /* whole translation blocks, counted as they are entered */
static FILE *out;
static bool hexagon, riscv;

/* A marker's block was counted whole on entry: `after` of its instructions are not executed yet. */
typedef struct {
    const char *what;
    uint64_t after;
} marker;

static void on_marker(unsigned cpu, void *data)
{
    const marker *m = data;
    (void)cpu;
    fprintf(out, "%s %" PRIu64 "\n", m->what, executed - m->after);
}

static const char *marker_kind(const struct qemu_plugin_insn *insn)
{
    const size_t size = qemu_plugin_insn_size(insn);
    uint32_t code = 0;
    memcpy(&code, qemu_plugin_insn_data(insn), size < 4 ? size : 4);
    if (hexagon) return size != 4 ? NULL : code == 0xf11cdc1c ? "begin" : code == 0xf13cdc1c ? "end" : NULL;
    if (riscv) return size != 4 ? NULL : code == 0x06000013 ? "begin" : code == 0x06100013 ? "end" : NULL;
    if (size == 2) return code == 0xbf70 ? "begin" : code == 0xbf80 ? "end" : NULL; /* Thumb: hint 7, 8 */
    if (code == 0xd5032c1f || code == 0xe320f060) return "begin";                   /* A64, A32: hint 0x60 */
    if (code == 0xd5032c3f || code == 0xe320f061) return "end";                     /* A64, A32: hint 0x61 */
    return NULL;
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    const size_t n = qemu_plugin_tb_n_insns(block);
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed, n);
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        const char *what = marker_kind(insn);
        if (!what) continue;
        marker *m = malloc(sizeof *m); /* lives as long as the translation, that is, for ever */
        if (!m) abort();
        m->what = what;
        m->after = n - i;
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, NO_REGS, m);
    }
}

static void at_end(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    fprintf(out, "total %" PRIu64 "\n", executed);
    fclose(out);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    hexagon = !strcmp(info->target_name, "hexagon");
    riscv = !strncmp(info->target_name, "riscv", 5);
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "out=", 4)) out = fopen(argv[i] + 4, "w");
    if (!out) return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    qemu_plugin_register_atexit_cb(id, at_end, NULL);
    return 0;
}
