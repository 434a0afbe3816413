// Functions that compilers and the C++ library call and glibc 2.28 lacks, by means of those that it has. They are hidden, so
// that a module with them leaves those of the system to others.
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

// Those of the system, which no header declares any more.
int __xstat64(int version, const char* path, struct stat64* status);
int __lxstat64(int version, const char* path, struct stat64* status);
int __fxstat64(int version, int file, struct stat64* status);
int __fxstatat64(int version, int folder, const char* path, struct stat64* status, int flags);

#pragma GCC visibility push(hidden)

// Says that there may be other threads, so that counts of references are always atomic. Since 2.32.
char __libc_single_threaded = 0;

// Since 2.36. The C++ library's std::random_device takes it for granted.
uint32_t arc4random(void) {
  uint32_t value;
  if (syscall(SYS_getrandom, &value, sizeof value, 0) != (long)sizeof value) abort();
  return value;
}

// Since 2.30.
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// Since 2.33; before, headers called those with the version of the structure.
#ifdef __x86_64__
enum { kStatVersion = 1 };
#else
enum { kStatVersion = 0 };
#endif
int stat64(const char* restrict path, struct stat64* restrict status) { return __xstat64(kStatVersion, path, status); }
int lstat64(const char* restrict path, struct stat64* restrict status) { return __lxstat64(kStatVersion, path, status); }
int fstat64(int file, struct stat64* status) { return __fxstat64(kStatVersion, file, status); }
int fstatat64(int folder, const char* restrict path, struct stat64* restrict status, int flags) {
  return __fxstatat64(kStatVersion, folder, path, status, flags);
}
// With 64 bits both structures are one.
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "a 64-bit system");
int stat(const char* restrict path, struct stat* restrict status) { return stat64(path, (struct stat64*)status); }
int lstat(const char* restrict path, struct stat* restrict status) { return lstat64(path, (struct stat64*)status); }
int fstat(int file, struct stat* status) { return fstat64(file, (struct stat64*)status); }
int fstatat(int folder, const char* restrict path, struct stat* restrict status, int flags) {
  return fstatat64(folder, path, (struct stat64*)status, flags);
}

// Returns the time by the calendar's clock at which another clock will have reached `deadline`. It is computed once, so a
// calendar that is set meanwhile shortens or lengthens the wait; callers look at their own clock again.
static struct timespec calendar_time(clockid_t clock, const struct timespec* deadline) {
  const long second = 1000000000;
  struct timespec now, calendar;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &calendar);
  calendar.tv_sec += deadline->tv_sec - now.tv_sec;
  calendar.tv_nsec += deadline->tv_nsec - now.tv_nsec;
  if (calendar.tv_nsec < 0) {
    calendar.tv_nsec += second;
    --calendar.tv_sec;
  } else if (calendar.tv_nsec >= second) {
    calendar.tv_nsec -= second;
    ++calendar.tv_sec;
  }
  if (calendar.tv_sec < 0) calendar = (struct timespec){0, 0};
  return calendar;
}

// Since 2.30.
int pthread_cond_clockwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex, clockid_t clock,
                           const struct timespec* restrict deadline) {
  const struct timespec calendar = calendar_time(clock, deadline);
  return pthread_cond_timedwait(condition, mutex, &calendar);
}
int pthread_mutex_clocklock(pthread_mutex_t* restrict mutex, clockid_t clock, const struct timespec* restrict deadline) {
  const struct timespec calendar = calendar_time(clock, deadline);
  return pthread_mutex_timedlock(mutex, &calendar);
}

// Since 2.38, for the binary numbers of C23, which nobody here reads.
long __isoc23_strtol(const char* restrict text, char** restrict end, int base) { return strtol(text, end, base); }
unsigned long __isoc23_strtoul(const char* restrict text, char** restrict end, int base) { return strtoul(text, end, base); }
long long __isoc23_strtoll(const char* restrict text, char** restrict end, int base) { return strtoll(text, end, base); }
unsigned long long __isoc23_strtoull(const char* restrict text, char** restrict end, int base) {
  return strtoull(text, end, base);
}
int __isoc23_sscanf(const char* restrict text, const char* restrict format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int read = vsscanf(text, format, arguments);
  va_end(arguments);
  return read;
}

#pragma GCC visibility pop
