/* Forks with open handles, and is interrupted by signals while it calls the library: stress OBJECT SNAPSHOT SECONDS */

#define _XOPEN_SOURCE 700

#include <hetdwarf.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count_signal(int number) {
  (void)number;
  signals++;
}

static void check(hetdwarf_status status, const char *what) {
  if (status != HETDWARF_OK) {
    fprintf(stderr, "%s: %s\n", what, hetdwarf_status_name(status));
    _exit(2);
  }
}

/* Stores the text of the first variable in lane 5, which must be the same each time. */
static void ask(const hetdwarf_object *object, const hetdwarf_wave *wave, char *text, size_t capacity) {
  hetdwarf_stop *stop;
  hetdwarf_values *values;
  const char *texts[64];
  hetdwarf_lanes lanes = HETDWARF_INIT(hetdwarf_lanes);
  lanes.lanes = 32;
  lanes.count = 64;
  lanes.texts = texts;
  check(hetdwarf_object_stop(object, wave, &stop), "stop");
  check(hetdwarf_stop_variables(stop, 0, &values), "variables");
  check(hetdwarf_values_read(values, 0, &lanes), "read");
  snprintf(text, capacity, "%s", texts[5] ? texts[5] : "?");
  check(hetdwarf_free(values), "free");
  check(hetdwarf_free(stop), "free");
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  hetdwarf_object *object;
  hetdwarf_snapshot *snapshot;
  hetdwarf_wave wave = HETDWARF_INIT(hetdwarf_wave);
  check(hetdwarf_object_open_file(argv[1], NULL, &object), "object");
  check(hetdwarf_snapshot_open_file(argv[2], &snapshot), "snapshot");
  check(hetdwarf_snapshot_wave(snapshot, &wave), "wave");
  char expected[4096], found[4096];
  ask(object, &wave, expected, sizeof expected);

  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count_signal;
  sigaction(SIGALRM, &action, NULL);
  struct itimerval timer = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &timer, NULL);
  time_t end = time(NULL) + atoi(argv[3]);
  unsigned asked = 0, forked = 0;
  do {
    ask(object, &wave, found, sizeof found);
    if (strcmp(expected, found) != 0)
      return 3;
    asked++;
    if (asked % 20 != 0)
      continue;
    pid_t child = fork();
    if (child == 0) {
      ask(object, &wave, found, sizeof found);
      check(hetdwarf_free(object), "free in a child");
      _exit(strcmp(expected, found) == 0 ? 0 : 3);
    }
    int status = -1;
    while (waitpid(child, &status, 0) != child) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return 4;
    forked++;
  } while (time(NULL) <= end || forked < 2);
  memset(&timer, 0, sizeof timer);
  setitimer(ITIMER_REAL, &timer, NULL);
  check(hetdwarf_free(snapshot), "free");
  check(hetdwarf_free(object), "free");
  printf("%u questions, %u children, %s\n", asked, forked, signals > 0 ? "signals" : "no signal");
  return 0;
}
