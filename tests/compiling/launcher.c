// Runs a compiler, or copies the object that the same command made of the same files before.
//
//   launcher COMPILER ARGUMENTS...      as CMAKE_C_COMPILER_LAUNCHER calls it
//
// Objects lie in the folder EDGEKIT_OBJECTS. Tests build the runtime for many models, in a folder of its own each; what
// differs between two builds are that folder, the generated files in it, and definitions EK_... that most files never
// read. So the working folder is written @ in all names, and a definition counts only where a file that is read has its
// name. What a compiler says something about is compiled anew each time.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 4096, LONGEST = 4096, ROOM = LONGEST + 64 };

typedef struct {
    uint64_t a, b;
} hash;

typedef struct {
    char *bytes;
    size_t count;
} text;

typedef struct {
    char *names[MOST];
    size_t count;
} list;

static const char *objects, *output, *depends;
static char here[LONGEST];
static list definitions; // -DEK_...

static void stop(const char *why)
{
    fprintf(stderr, "launcher: %s\n", why);
    exit(2);
}

static void *room(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        stop("no memory");
    }
    return p;
}

static void mix(hash *h, const void *bytes, size_t count)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < count; i++) {
        h->a = (h->a ^ p[i]) * 0x100000001b3u;
        h->b = (h->b + p[i] + 1) * 0x9e3779b97f4a7c15u;
        h->b ^= h->b >> 29;
    }
}

static void mix_word(hash *h, const char *word)
{
    mix(h, word, strlen(word) + 1);
}

static bool load(const char *path, text *to)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about) || !S_ISREG(about.st_mode)) {
        if (file) {
            fclose(file);
        }
        return false;
    }
    to->bytes = room((size_t)about.st_size + 1);
    to->count = fread(to->bytes, 1, (size_t)about.st_size, file);
    to->bytes[to->count] = 0;
    fclose(file);
    return true;
}

// Under another name first: who reads `path` never sees a part of it.
static void store(const char *path, const char *bytes, size_t count)
{
    char part[ROOM];
    snprintf(part, sizeof part, "%s.%d", path, (int)getpid());
    FILE *file = fopen(part, "wb");
    if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) || rename(part, path)) {
        stop("cannot write an object");
    }
}

static void add(list *to, const char *name)
{
    for (size_t i = 0; i < to->count; i++) {
        if (!strcmp(to->names[i], name)) {
            return;
        }
    }
    if (to->count == MOST) {
        stop("too many names");
    }
    to->names[to->count++] = strdup(name);
}

// `path` with the working folder, or a relative name, as @; the other way round with `back`.
static void renamed(const char *path, bool back, char *to)
{
    size_t n = strlen(here);
    if (back) {
        snprintf(to, LONGEST, "%s%s", path[0] == '@' ? here : "", path[0] == '@' ? path + 1 : path);
    } else if (!strncmp(path, here, n) && (path[n] == '/' || !path[n])) {
        snprintf(to, LONGEST, "@%s", path + n);
    } else {
        snprintf(to, LONGEST, "%s%s", path[0] == '/' ? "" : "@/", path);
    }
}

// The command without its folder, outputs and definitions.
static hash of_command(int count, char **words)
{
    hash h = { 0xcbf29ce484222325u, 0x243f6a8885a308d3u };
    struct stat compiler;
    char name[LONGEST];
    if (!stat(words[0], &compiler)) {
        mix(&h, &compiler.st_mtime, sizeof compiler.st_mtime);
        mix(&h, &compiler.st_size, sizeof compiler.st_size);
    }
    for (int i = 0; i < count; i++) {
        if (!strcmp(words[i], "-o") || !strcmp(words[i], "-MF") || !strcmp(words[i], "-MT")) {
            i++;
        } else if (!strncmp(words[i], "-I", 2)) {
            renamed(words[i] + 2, false, name);
            mix_word(&h, name);
        } else if (!strncmp(words[i], "-DEK_", 5)) {
            add(&definitions, words[i] + 2);
        } else {
            if (words[i][0] == '-' || i == 0) {
                snprintf(name, sizeof name, "%s", words[i]);
            } else {
                renamed(words[i], false, name);
            }
            mix_word(&h, name);
        }
    }
    return h;
}

// How a definition is searched for: EK_OMIT_slot is made of two parts where it is read.
static void searched(const char *definition, char *to)
{
    size_t n = !strncmp(definition, "EK_OMIT_", 8) ? 8 : strcspn(definition, "=");
    snprintf(to, LONGEST, "%.*s", (int)n, definition);
}

// The command, what its files hold, and the definitions that they read. False if a file is gone.
static bool of_files(hash *h, const list *files)
{
    char path[LONGEST], wanted[LONGEST];
    bool *read = room(definitions.count);
    memset(read, 0, definitions.count);
    for (size_t i = 0; i < files->count; i++) {
        text content;
        renamed(files->names[i], true, path);
        if (!load(path, &content)) {
            return false;
        }
        mix_word(h, files->names[i]);
        mix(h, content.bytes, content.count);
        for (size_t d = 0; d < definitions.count; d++) {
            searched(definitions.names[d], wanted);
            read[d] |= strstr(content.bytes, wanted) != NULL;
        }
        free(content.bytes);
    }
    for (size_t d = 0; d < definitions.count; d++) {
        if (read[d]) {
            mix_word(h, definitions.names[d]);
        }
    }
    return true;
}

static void lines(const char *path, list *to)
{
    text content;
    if (load(path, &content)) {
        for (char *word = strtok(content.bytes, "\n"); word; word = strtok(NULL, "\n")) {
            add(to, word);
        }
    }
}

// The files that the compiler says it read. False where names have blanks.
static bool dependencies(list *to)
{
    text content;
    char name[LONGEST];
    if (!load(depends, &content) || strstr(content.bytes, "\\ ") || strchr(content.bytes, '$')) {
        return false;
    }
    char *word = strtok(content.bytes, " \\\n"); // the object
    while ((word = strtok(NULL, " \\\n"))) {
        renamed(word, false, name);
        add(to, name);
    }
    return true;
}

static int compile(char **words, const char *said)
{
    pid_t child = fork();
    if (!child) {
        int file = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(file, 2);
        execvp(words[0], words);
        _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void write_depends(const list *files)
{
    FILE *file = fopen(depends, "w");
    char path[LONGEST];
    if (!file) {
        stop("cannot write dependencies");
    }
    fprintf(file, "%s:", output);
    for (size_t i = 0; i < files->count; i++) {
        renamed(files->names[i], true, path);
        fprintf(file, " \\\n  %s", path);
    }
    fprintf(file, "\n");
    fclose(file);
}

static void object_of(hash h, char *to)
{
    snprintf(to, ROOM, "%s/%016llx%016llx.o", objects, (unsigned long long)h.a, (unsigned long long)h.b);
}

// Writes the object that was kept, if there is one.
static bool found(hash command, const list *files)
{
    char object[ROOM];
    text content;
    if (!files->count || !of_files(&command, files)) {
        return false;
    }
    object_of(command, object);
    if (!load(object, &content)) {
        return false;
    }
    store(output, content.bytes, content.count);
    write_depends(files);
    return true;
}

// `files` are all that this command read before, with other definitions: what these might do is read there.
static void keep(hash command, list *files, const char *manifest)
{
    char object[ROOM];
    text content;
    if (!dependencies(files) || !of_files(&command, files) || !load(output, &content)) {
        return;
    }
    object_of(command, object);
    store(object, content.bytes, content.count);
    char *names = room(files->count * LONGEST), *end = names;
    for (size_t i = 0; i < files->count; i++) {
        end += sprintf(end, "%s\n", files->names[i]);
    }
    store(manifest, names, (size_t)(end - names));
}

static int run(int count, char **words)
{
    char manifest[ROOM], lock[ROOM], said[ROOM];
    hash command = of_command(count, words);
    list files = { { 0 }, 0 };
    text content = { NULL, 0 };
    snprintf(manifest, sizeof manifest, "%s/%016llx%016llx", objects, (unsigned long long)command.a,
             (unsigned long long)command.b);
    snprintf(lock, sizeof lock, "%s/%016llx.lock", objects, (unsigned long long)command.a);
    snprintf(said, sizeof said, "%s/said.%d", objects, (int)getpid());
    flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX); // who comes second finds the object of the first
    lines(manifest, &files);
    if (found(command, &files)) {
        return 0;
    }
    int status = compile(words, said);
    if (load(said, &content)) {
        fwrite(content.bytes, 1, content.count, stderr);
        unlink(said);
    }
    if (!status && !content.count) {
        keep(command, &files, manifest);
    }
    return status;
}

int main(int count, char **words)
{
    objects = getenv("EDGEKIT_OBJECTS");
    bool compiles = false;
    for (int i = 1; i + 1 < count; i++) {
        output = strcmp(words[i], "-o") ? output : words[i + 1];
        depends = strcmp(words[i], "-MF") ? depends : words[i + 1];
        compiles |= !strcmp(words[i], "-c");
    }
    if (count < 2) {
        stop("no command");
    }
    if (!objects || !output || !depends || !compiles || !getcwd(here, sizeof here) || strpbrk(here, " $#\\")) {
        execvp(words[1], words + 1);
        stop("cannot start the compiler");
    }
    return run(count - 1, words + 1);
}
