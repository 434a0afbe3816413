// Preloaded library that lets the n-th call of one kind fail, as the system does when it runs out of something.
//
//   SKYRANK_FAULT_KIND   one of the kinds below
//   SKYRANK_FAULT_CALL   number of the call to fail, from 1; 0 or none: count only
//   SKYRANK_FAULT_COUNT  file for "called failed": calls of the kind, and 1 where one of them failed
//
// Calls are counted from the start of main, since what the loader does before is not the program's. Counts go out by
// raw system calls at the end of the process, however it ends but by a signal that cannot be caught.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { none, memory, map, thread, open_file, read_file, write_file, close_file, sync_file, rename_file, truncate_file,
            status_file, make_folder, remove_file, wait_file };

static const struct { const char* name; enum kind kind; int error; } kinds[] = {
    {"malloc", memory, ENOMEM},     {"mmap", map, ENOMEM},          {"pthread_create", thread, EAGAIN},
    {"open", open_file, EMFILE},    {"read", read_file, EIO},       {"write", write_file, ENOSPC},
    {"close", close_file, EIO},     {"fsync", sync_file, EIO},      {"rename", rename_file, EIO},
    {"ftruncate", truncate_file, EIO}, {"stat", status_file, EIO},  {"mkdir", make_folder, ENOSPC},
    {"unlink", remove_file, EIO},   {"poll", wait_file, ENOMEM}};

static enum kind chosen = none;
static int error_number;
static long failing_call;
static const char* count_file;
static atomic_long calls;
static atomic_int failed;
static atomic_int counting;

static void start_counting(void) {
  const char* const name = getenv("SKYRANK_FAULT_KIND");
  const char* const call = getenv("SKYRANK_FAULT_CALL");
  count_file = getenv("SKYRANK_FAULT_COUNT");
  failing_call = call == NULL ? 0 : atol(call);
  for (size_t i = 0; name != NULL && i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    if (strcmp(name, kinds[i].name) != 0) continue;
    chosen = kinds[i].kind;
    error_number = kinds[i].error;
  }
  counting = 1;
}

static void write_count(void) {
  counting = 0;
  if (count_file == NULL) return;
  char text[64];
  const int length = snprintf(text, sizeof(text), "%ld %d\n", atomic_load(&calls), atomic_load(&failed));
  const long fd = syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return;
  syscall(SYS_write, fd, text, (size_t)length);
  syscall(SYS_close, fd);
}

/// Returns 1, with errno set, where this call shall fail.
static int fails(enum kind kind) {
  if (kind != chosen || !counting) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 != failing_call) return 0;
  failed = 1;
  errno = error_number;
  return 1;
}

#define NEXT(name) ((__typeof__(&name))next_of(#name))
static void* next_of(const char* name) { return dlsym(RTLD_NEXT, name); }

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
void* malloc(size_t size) { return fails(memory) ? NULL : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return fails(memory) ? NULL : __libc_calloc(n, size); }
void* realloc(void* old, size_t size) { return fails(memory) ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) { return fails(memory) ? NULL : __libc_memalign(alignment, size); }
void* memalign(size_t alignment, size_t size) { return fails(memory) ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const block = fails(memory) ? NULL : __libc_memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *out = block;
  return 0;
}

void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  if (fails(map)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}
void* mmap64(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap(address, length, protection, flags, fd, offset);
}

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) {
  return fails(thread) ? EAGAIN : NEXT(pthread_create)(handle, attributes, routine, argument);
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}
#define OPEN(NAME)                                                                   \
  int NAME(const char* file, int flags, ...) {                                       \
    va_list arguments;                                                               \
    va_start(arguments, flags);                                                      \
    const mode_t mode = mode_of(flags, arguments);                                   \
    va_end(arguments);                                                               \
    if (fails(open_file)) return -1;                                                 \
    return (int)syscall(SYS_openat, AT_FDCWD, file, flags, mode);                    \
  }
#define OPENAT(NAME)                                                                 \
  int NAME(int folder, const char* file, int flags, ...) {                           \
    va_list arguments;                                                               \
    va_start(arguments, flags);                                                      \
    const mode_t mode = mode_of(flags, arguments);                                   \
    va_end(arguments);                                                               \
    if (fails(open_file)) return -1;                                                 \
    return (int)syscall(SYS_openat, folder, file, flags, mode);                      \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FILE* fopen(const char* file, const char* mode) { return fails(open_file) ? NULL : NEXT(fopen)(file, mode); }
FILE* fopen64(const char* file, const char* mode) { return fails(open_file) ? NULL : NEXT(fopen64)(file, mode); }

ssize_t read(int fd, void* out, size_t n) { return fails(read_file) ? -1 : syscall(SYS_read, fd, out, n); }
ssize_t pread(int fd, void* out, size_t n, off_t at) {
  return fails(read_file) ? -1 : syscall(SYS_pread64, fd, out, n, at);
}
ssize_t pread64(int fd, void* out, size_t n, off_t at) { return pread(fd, out, n, at); }

// A message on standard error has nowhere else to go, so it does not fail. stdio writes below this interface.
ssize_t write(int fd, const void* from, size_t n) {
  return fd != STDERR_FILENO && fails(write_file) ? -1 : syscall(SYS_write, fd, from, n);
}
ssize_t pwrite(int fd, const void* from, size_t n, off_t at) {
  return fails(write_file) ? -1 : syscall(SYS_pwrite64, fd, from, n, at);
}
ssize_t pwrite64(int fd, const void* from, size_t n, off_t at) { return pwrite(fd, from, n, at); }
ssize_t writev(int fd, const struct iovec* parts, int n) {
  return fails(write_file) ? -1 : syscall(SYS_writev, fd, parts, n);
}
size_t fwrite(const void* from, size_t size, size_t n, FILE* file) {
  return file != stderr && fails(write_file) ? 0 : NEXT(fwrite)(from, size, n, file);
}
int fflush(FILE* file) { return file == stdout && fails(write_file) ? EOF : NEXT(fflush)(file); }

int close(int fd) {
  const int error = fails(close_file) ? EIO : 0;  // the descriptor is gone all the same
  const long result = syscall(SYS_close, fd);
  if (error == 0) return (int)result;
  errno = error;
  return -1;
}
int fsync(int fd) { return fails(sync_file) ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fails(sync_file) ? -1 : (int)syscall(SYS_fdatasync, fd); }
int rename(const char* from, const char* to) { return fails(rename_file) ? -1 : (int)syscall(SYS_rename, from, to); }
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  return fails(rename_file) ? -1 : (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}
int ftruncate(int fd, off_t size) { return fails(truncate_file) ? -1 : (int)syscall(SYS_ftruncate, fd, size); }
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }
int stat(const char* file, struct stat* out) { return fails(status_file) ? -1 : NEXT(stat)(file, out); }
int lstat(const char* file, struct stat* out) { return fails(status_file) ? -1 : NEXT(lstat)(file, out); }
int fstat(int fd, struct stat* out) { return fails(status_file) ? -1 : NEXT(fstat)(fd, out); }
int mkdir(const char* folder, mode_t mode) { return fails(make_folder) ? -1 : (int)syscall(SYS_mkdir, folder, mode); }
int unlink(const char* file) { return fails(remove_file) ? -1 : (int)syscall(SYS_unlink, file); }
int poll(struct pollfd* files, nfds_t n, int timeout) { return fails(wait_file) ? -1 : (int)syscall(SYS_poll, files, n, timeout); }

void _exit(int status) {
  write_count();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

static int (*program)(int, char**, char**);
static int counted_main(int argc, char** argv, char** environment) {
  start_counting();
  return program(argc, argv, environment);
}
int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  program = main;
  atexit(write_count);
  return NEXT(__libc_start_main)(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
