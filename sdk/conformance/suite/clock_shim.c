/* Moves the wall clock of the process that it is preloaded into, and no other clock.

   CONFORMANCE_CLOCK names a file of one int64_t, the nanoseconds to add; it is mapped, so that a
   change of the file is seen at once. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* offset;

__attribute__((constructor)) static void open_clock(void) {
  const char* path = getenv("CONFORMANCE_CLOCK");
  int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) offset = mapped;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  int failed = (int)syscall(SYS_clock_gettime, clock, out);
  if (failed != 0 || offset == NULL) return failed;
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return 0;
  int64_t nanoseconds = out->tv_nsec + *offset % 1000000000;
  out->tv_sec += *offset / 1000000000;
  if (nanoseconds < 0) {
    nanoseconds += 1000000000;
    out->tv_sec -= 1;
  } else if (nanoseconds >= 1000000000) {
    nanoseconds -= 1000000000;
    out->tv_sec += 1;
  }
  out->tv_nsec = nanoseconds;
  return 0;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  if (failed != 0) return failed;
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
