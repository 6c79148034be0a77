/* A toy debugger. For a stopped wave, it prints the variables of every frame in every lane, the position of every lane, and the
 * values of expressions.
 *
 * The process is a snapshot in a file. A real debugger calls its driver in the two callbacks instead; see dbgapi_adapter.c.
 *
 * print_variables OBJECT SNAPSHOT [EXPRESSION...] */

#include <hetdwarf.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The debugger's own state, which the callbacks receive as `user`. */
struct debugger {
  hetdwarf_snapshot *process;
  unsigned long accesses;
};

static int32_t read_register(void *user, uint32_t number, int32_t lane, uint32_t first_bit, uint32_t bit_count, void *out) {
  struct debugger *debugger = user;
  debugger->accesses++;
  return hetdwarf_snapshot_read_register(debugger->process, number, lane, first_bit, bit_count, out);
}

static int32_t read_memory(void *user, uint32_t memory, uint64_t address, size_t size, void *out) {
  struct debugger *debugger = user;
  debugger->accesses++;
  return hetdwarf_snapshot_read_memory(debugger->process, memory, address, size, out);
}

/* Ends the program if a call has failed. */
static void check(hetdwarf_status status) {
  if (status != HETDWARF_OK) {
    const char *message = hetdwarf_last_error();
    fprintf(stderr, "%s: %s\n", hetdwarf_status_name(status), message ? message : "");
    exit(2);
  }
}

/* Prints text from a file, with its control characters escaped. */
static void show(const char *text) {
  static char buffer[1 << 16];
  check(hetdwarf_escape(text, buffer, sizeof buffer, NULL));
  fputs(buffer, stdout);
}

/* Prints a value in every lane of the wave. */
static void print_value(const hetdwarf_values *values, size_t index, uint32_t wave_size) {
  hetdwarf_value_info info = {.size = sizeof info};
  check(hetdwarf_values_get_info(values, index, &info));
  show(info.type_name);
  putchar(' ');
  show(info.name);
  printf(" (%s", info.kind);
  if (info.scope) {
    fputs(" of ", stdout);
    show(info.scope);
  }
  if (info.file) {
    fputs(", ", stdout);
    show(info.file);
    printf(":%" PRIu64, info.line);
  }
  if (info.reading)
    printf(", read as %s", info.reading);
  if (info.note)
    printf("; %s", info.note);
  puts(")");

/* All lanes in one call. The bytes of longer values are truncated here, but not their text. */
  enum { STRIDE = 32 };
  static uint8_t bytes[64 * STRIDE], undefined[64 * STRIDE], unavailable[64 * STRIDE];
  uint8_t states[64];
  uint64_t sizes[64];
  const char *texts[64], *messages[64];
  hetdwarf_lanes lanes = {
      .size = sizeof lanes,
      .lanes = UINT64_MAX,
      .count = 64,
      .states = states,
      .bytes = bytes,
      .undefined = undefined,
      .unavailable = unavailable,
      .stride = STRIDE,
      .byte_sizes = sizes,
      .texts = texts,
      .messages = messages,
  };
  check(hetdwarf_values_read(values, index, &lanes));
  for (uint32_t lane = 0; lane < wave_size; lane++) {
    printf("  lane %" PRIu32 " %s", lane, hetdwarf_lane_state_name(states[lane]));
    if (texts[lane]) {
      printf(": %s [", texts[lane]);
      for (size_t at = 0; at < sizes[lane] && at < STRIDE; at++)
        printf("%02x", bytes[lane * STRIDE + at]);
      putchar(']');
      size_t missing = 0;
      for (size_t at = 0; at < STRIDE; at++)
        missing += __builtin_popcount(undefined[lane * STRIDE + at] | unavailable[lane * STRIDE + at]);
      if (missing)
        printf(" without %zu bits", missing);
    }
    if (messages[lane]) {
      fputs(" (", stdout);
      show(messages[lane]);
      putchar(')');
    }
    putchar('\n');
  }
}

/* Prints a frame, which may be an inlined call: its position, its variables, and the positions of its lanes. */
static void print_frame(const hetdwarf_stop *stop, size_t level, uint32_t wave_size) {
  hetdwarf_frame frame = {.size = sizeof frame};
  check(hetdwarf_stop_frame(stop, level, &frame, NULL, 0));
  printf("#%zu 0x%" PRIx64 " ", level, frame.pc);
  show(frame.function ? frame.function : "?");
  if (frame.kind == HETDWARF_FRAME_INLINED)
    fputs(" (inlined)", stdout);
  if (frame.file) {
    fputs(" at ", stdout);
    show(frame.file);
    printf(":%" PRIu64, frame.line);
  }
  putchar('\n');

  hetdwarf_values *values;
  check(hetdwarf_stop_variables(stop, level, &values));
  size_t count;
  check(hetdwarf_values_count(values, &count));
  for (size_t index = 0; index < count; index++)
    print_value(values, index, wave_size);
  check(hetdwarf_free(values));

  hetdwarf_lane_place places[64];
  for (size_t lane = 0; lane < 64; lane++)
    places[lane] = (hetdwarf_lane_place){.size = sizeof places[lane]};
  hetdwarf_status status = hetdwarf_stop_lanes(stop, level, HETDWARF_RECOVER_WHERE_MISSING, places, 64);
  if (status != HETDWARF_OK) {
    printf("lanes: %s\n", hetdwarf_last_error());
    return;
  }
  for (uint32_t lane = 0; lane < wave_size; lane++) {
    const hetdwarf_lane_place *place = &places[lane];
    printf("lane %" PRIu32 " is %s", lane, place->state);
    if (place->pc != UINT64_MAX)
      printf(" at 0x%" PRIx64, place->pc);
    if (place->file) {
      putchar(' ');
      show(place->file);
      printf(":%" PRIu64, place->line);
    }
    if (place->caller_function) {
      fputs(" in ", stdout);
      show(place->caller_function);
    }
    if (place->origin)
      printf(", %s", place->origin);
    if (place->reason)
      printf(", %s", place->reason);
    putchar('\n');
  }
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s OBJECT SNAPSHOT [EXPRESSION...]\n", argv[0]);
    return 2;
  }
  hetdwarf_object *object;
  check(hetdwarf_object_open_file(argv[1], NULL, &object));
  struct debugger debugger = {0};
  check(hetdwarf_snapshot_open_file(argv[2], &debugger.process));

/* The facts that the debugger already has. The library requests the rest through the callbacks. */
  hetdwarf_wave wave = {.size = sizeof wave};
  check(hetdwarf_snapshot_wave(debugger.process, &wave));
  wave.user = &debugger;
  wave.read_register = read_register;
  wave.read_memory = read_memory;

  hetdwarf_stop *stop;
  check(hetdwarf_object_stop(object, &wave, &stop));
  hetdwarf_stop_info info = {.size = sizeof info};
  check(hetdwarf_stop_get_info(stop, &info));
  for (size_t level = 0; level < info.frame_count; level++)
    print_frame(stop, level, info.wave_size);
  printf("%s\n", info.message);

  for (int at = 3; at < argc; at++) {
    hetdwarf_values *values;
    if (hetdwarf_stop_print(stop, 0, argv[at], UINT64_MAX, &values) != HETDWARF_OK) {
      printf("%s: %s\n", argv[at], hetdwarf_last_error());
      continue;
    }
    print_value(values, 0, info.wave_size);
    check(hetdwarf_free(values));
  }
  check(hetdwarf_free(stop));
  check(hetdwarf_free(debugger.process));
  check(hetdwarf_free(object));
  fprintf(stderr, "%lu accesses\n", debugger.accesses);
  return 0;
}
