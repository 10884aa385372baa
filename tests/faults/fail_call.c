/* Preloaded into a program: the n-th call of one function fails (ULPLAB_FAIL=NAME:N); N = 0 fails none. The number of
   calls is written to ULPLAB_FAIL_COUNT at the end. Programs that are started from this one are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char failing[32];
static long wanted = -1, calls;
static int begun; /* main: before it, in the libraries' own beginnings, nothing fails */

__attribute__((constructor)) static void begin(void) {
    const char* text = getenv("ULPLAB_FAIL");
    const char* colon = text ? strchr(text, ':') : NULL;
    if (!colon || colon - text >= (long)sizeof failing) return;
    memcpy(failing, text, (size_t)(colon - text));
    wanted = atol(colon + 1);
    unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void) {
    const char* file = getenv("ULPLAB_FAIL_COUNT");
    char text[32];
    int to;
    if (!file || wanted != 0) return;
    to = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    syscall(SYS_write, to, text, (size_t)snprintf(text, sizeof text, "%ld", calls));
}

/* Whether this call of the function is the one that fails. */
static int fails(const char* name, int error) {
    if (wanted < 0 || !begun || strcmp(name, failing) != 0) return 0;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != wanted) return 0;
    errno = error;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* What ulplab's main calls first. */
FILE* fopencookie(void* cookie, const char* mode, cookie_io_functions_t functions) {
    begun = 1;
    return REAL(fopencookie)(cookie, mode, functions);
}
ssize_t write(int file, const void* bytes, size_t size) {
    return file > 2 && fails("write", ENOSPC) ? -1 : (ssize_t)syscall(SYS_write, file, bytes, size);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
    return file > 2 && fails("write", ENOSPC) ? -1 : (ssize_t)syscall(SYS_writev, file, parts, count);
}
int fsync(int file) { return fails("fsync", EIO) ? -1 : (int)syscall(SYS_fsync, file); }
int rename(const char* from, const char* to) {
    return fails("rename", EACCES) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
    return fails("rename", EACCES) ? -1 : (int)syscall(SYS_renameat2, a, from, b, to, flags);
}
int pipe2(int ends[2], int flags) { return fails("pipe", EMFILE) ? -1 : (int)syscall(SYS_pipe2, ends, flags); }
pid_t fork(void) { return fails("fork", EAGAIN) ? -1 : REAL(fork)(); }
int posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* how,
                 char* const arguments[], char* const environment[]) {
    return fails("fork", EAGAIN) ? EAGAIN : REAL(posix_spawnp)(process, file, actions, how, arguments, environment);
}
extern void* __libc_malloc(size_t size);
void* malloc(size_t size) { return fails("malloc", ENOMEM) ? NULL : __libc_malloc(size); }
