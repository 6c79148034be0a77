/* Prints the findings in the debugging information of a code object, one per line. `hetdwarf verify --each` reports the same.
 *
 * verify FILE [RULES]
 *
 * The exit status is the command's: 0 without errors, 1 with errors, 2 if the file cannot be read. */

#include <hetdwarf.h>

#include <inttypes.h>
#include <stdio.h>

struct counts {
  unsigned long by_severity[3];
};

/* Prints text from a file, with its control characters escaped. */
static void show(const char *text) {
  static char buffer[1 << 16];
  if (hetdwarf_escape(text, buffer, sizeof buffer, NULL) == HETDWARF_OK)
    fputs(buffer, stdout);
}

static int32_t on_finding(void *user, const hetdwarf_finding *finding) {
  static const char *const names[] = {"error", "warning", "note"};
  struct counts *counts = user;
  counts->by_severity[finding->severity]++;
  printf("%s %s %s", names[finding->severity], finding->rule, finding->section);
  if (finding->offset != UINT64_MAX)
    printf("+0x%" PRIx64, finding->offset);
  if (finding->pc != UINT64_MAX)
    printf(" pc 0x%" PRIx64, finding->pc);
  if (finding->function) {
    fputs(" in ", stdout);
    show(finding->function);
  }
  fputs(": ", stdout);
  show(finding->message);
  if (finding->help) {
    fputs("; ", stdout);
    show(finding->help);
  }
  printf(" (%s)\n", finding->spec);
  return HETDWARF_OK;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s FILE [RULES]\n", argv[0]);
    return 2;
  }
  hetdwarf_object *object;
  if (hetdwarf_object_open_file(argv[1], NULL, &object) != HETDWARF_OK) {
    fprintf(stderr, "%s\n", hetdwarf_last_error());
    return 2;
  }
  struct counts counts = {{0, 0, 0}};
  hetdwarf_status status = hetdwarf_object_verify(object, argc > 2 ? argv[2] : NULL, 1, on_finding, &counts);
  if (status != HETDWARF_OK)
    fprintf(stderr, "%s\n", hetdwarf_last_error());
  hetdwarf_free(object);
  if (status != HETDWARF_OK)
    return 2;
  return counts.by_severity[HETDWARF_SEVERITY_ERROR] > 0;
}
