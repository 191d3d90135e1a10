/* A file system that does not answer: loaded before the C library (LD_PRELOAD), it keeps whoever asks about a path below
 * a folder `hung` waiting while the file that RAT_TEST_HANG names exists. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void wait_for(const char *path) {
  const char *flag = getenv("RAT_TEST_HANG");
  if (!path || !flag || !strstr(path, "/hung/")) return;
  while (access(flag, F_OK) == 0) usleep(5000);
}

char *realpath(const char *path, char *resolved) {
  char *(*next)(const char *, char *) = dlsym(RTLD_NEXT, "realpath");
  wait_for(path);
  return next(path, resolved);
}

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *out) {
  int (*next)(int, const char *, int, unsigned, struct statx *) = dlsym(RTLD_NEXT, "statx");
  wait_for(path);
  return next(folder, path, flags, mask, out);
}

DIR *opendir(const char *path) {
  DIR *(*next)(const char *) = dlsym(RTLD_NEXT, "opendir");
  wait_for(path);
  return next(path);
}
