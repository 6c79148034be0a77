/* Expands variables like the variable view of a debugger. Prints each variable of each frame in each lane, with its members,
 * elements and pointer targets down to a depth. Then prints its type with the types that it consists of.
 *
 * expand_variables OBJECT SNAPSHOT DEPTH */

#include <hetdwarf.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
  static char buffer[1 << 20];
  check(hetdwarf_escape(text, buffer, sizeof buffer, NULL));
  fputs(buffer, stdout);
}

/* Prints a value in a lane: its state, text and bytes, or the reason for their absence. Then prints its parts, indented. */
static void print_lane(const hetdwarf_values *values, size_t index, uint32_t lane, int depth, int indent) {
  hetdwarf_value_info info = HETDWARF_INIT(hetdwarf_value_info);
  check(hetdwarf_values_get_info(values, index, &info));
  uint8_t states[64];
  uint64_t sizes[64];
  const char *texts[64], *messages[64];
  hetdwarf_lanes read = HETDWARF_INIT(hetdwarf_lanes);
  read.lanes = UINT64_C(1) << lane;
  read.count = 64;
  read.states = states;
  read.byte_sizes = sizes;
  read.texts = texts;
  read.messages = messages;
  check(hetdwarf_values_read(values, index, &read));
  uint8_t *bytes = NULL;
  if (sizes[lane] > 0) {
/* A value can have any size, so the bytes of this lane are read only once their number is known. */
    read.stride = sizes[lane];
    read.bytes = bytes = calloc(64, sizes[lane]);
    check(hetdwarf_values_read(values, index, &read));
    bytes += lane * sizes[lane];
  }
  printf("%*s", indent, "");
  show(info.type_name);
  putchar(' ');
  show(info.name);
  printf(" %" PRIu32 " %s", lane, hetdwarf_lane_state_name(states[lane]));
  if (texts[lane]) {
    printf(" = %s [", texts[lane]);
    for (uint64_t at = 0; at < sizes[lane]; at++)
      printf("%02x", bytes[at]);
    putchar(']');
  }
  free(read.bytes);
  if (messages[lane]) {
    fputs(" (", stdout);
    show(messages[lane]);
    putchar(')');
  }
  putchar('\n');
  if (depth == 0 || !texts[lane])
    return;
  hetdwarf_values *parts;
  uint64_t more;
  size_t count;
  check(hetdwarf_values_parts(values, index, lane, 0, 200, &parts, &more));
  check(hetdwarf_values_count(parts, &count));
  for (size_t part = 0; part < count; part++)
    print_lane(parts, part, lane, depth - 1, indent + 2);
  if (more > 0)
    printf("%*s%" PRIu64 " more\n", indent + 2, "", more);
  check(hetdwarf_free(parts));
}

/* Prints a type and the types that it consists of. A depth is needed because a type can refer to itself. */
static void print_type(const hetdwarf_types *types, uint64_t number, int depth, int indent) {
  hetdwarf_type type = HETDWARF_INIT(hetdwarf_type);
  check(hetdwarf_types_get(types, number, &type));
  printf("%*s%s ", indent, "", type.kind_name);
  show(type.name);
  if (type.byte_size != UINT64_MAX)
    printf(" of %" PRIu64 " bytes", type.byte_size);
  if (type.address_space)
    printf(" into %s", type.address_space);
  for (size_t at = 0; at < type.dimension_count; at++) {
    hetdwarf_dimension dimension = HETDWARF_INIT(hetdwarf_dimension);
    check(hetdwarf_types_dimension(types, number, at, &dimension));
    printf(" [%" PRIu64 "]", dimension.count);
  }
  putchar('\n');
  for (size_t at = 0; at < type.enumerator_count; at++) {
    hetdwarf_enumerator enumerator = HETDWARF_INIT(hetdwarf_enumerator);
    check(hetdwarf_types_enumerator(types, number, at, &enumerator));
    printf("%*s", indent + 2, "");
    show(enumerator.name);
    printf(" = %" PRId64 "\n", (int64_t)enumerator.value);
  }
  if (depth == 0)
    return;
  for (size_t at = 0; at < type.member_count; at++) {
    hetdwarf_member member = HETDWARF_INIT(hetdwarf_member);
    check(hetdwarf_types_member(types, number, at, &member));
    printf("%*s%s ", indent + 2, "", member.is_base ? "base" : "member");
    show(member.name ? member.name : "");
    printf(" at bit %" PRIu64 ":\n", member.bit_offset);
    print_type(types, member.type, depth - 1, indent + 4);
  }
  if (type.target != HETDWARF_NO_TYPE && type.kind != HETDWARF_TYPE_TYPEDEF)
    print_type(types, type.target, depth - 1, indent + 2);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s OBJECT SNAPSHOT DEPTH\n", argv[0]);
    return 2;
  }
  int depth = atoi(argv[3]);
  hetdwarf_object *object;
  hetdwarf_snapshot *process;
  hetdwarf_stop *stop;
  check(hetdwarf_object_open_file(argv[1], NULL, &object));
  check(hetdwarf_snapshot_open_file(argv[2], &process));
  hetdwarf_wave wave = HETDWARF_INIT(hetdwarf_wave);
  check(hetdwarf_snapshot_wave(process, &wave));
  check(hetdwarf_object_stop(object, &wave, &stop));
  hetdwarf_stop_info info = HETDWARF_INIT(hetdwarf_stop_info);
  check(hetdwarf_stop_get_info(stop, &info));
  for (size_t level = 0; level < info.frame_count; level++) {
    hetdwarf_values *values;
    hetdwarf_types *types;
    size_t count;
    check(hetdwarf_stop_variables(stop, level, &values));
    check(hetdwarf_values_types(values, &types));
    check(hetdwarf_values_count(values, &count));
    for (size_t index = 0; index < count; index++) {
      for (uint32_t lane = 0; lane < info.wave_size; lane++)
        print_lane(values, index, lane, depth, 0);
      uint64_t number;
      check(hetdwarf_types_number(types, index, &number));
      print_type(types, number, 3, 4);
    }
    check(hetdwarf_free(types));
    check(hetdwarf_free(values));
  }
  check(hetdwarf_free(stop));
  check(hetdwarf_free(process));
  check(hetdwarf_free(object));
  return 0;
}
