// Uses hetdwarf.hpp on a snapshot: prints the variables of lane 0 and calls the rest of the wrapper.

#include <hetdwarf.hpp>

#include <cstdio>

namespace {

class process : public hetdwarf::wave {
  hetdwarf_snapshot *snapshot = nullptr;

public:
  explicit process(const char *path) {
    if (hetdwarf_snapshot_open_file(path, &snapshot) == HETDWARF_OK)
      hetdwarf_snapshot_wave(snapshot, &description);
  }
  ~process() override { hetdwarf_free(snapshot); }

  std::int32_t read_register(std::uint32_t number, std::int32_t lane, std::uint32_t first_bit, std::uint32_t bit_count,
                             void *out) noexcept override {
    return hetdwarf_snapshot_read_register(snapshot, number, lane, first_bit, bit_count, out);
  }
  std::int32_t read_memory(std::uint32_t memory, std::uint64_t address, std::size_t size, void *out) noexcept override {
    return hetdwarf_snapshot_read_memory(snapshot, memory, address, size, out);
  }
};

int failed(const char *what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

/// Adds a kernel of one block, which narrows EXEC at 0 and restores it at 8.
int lane_pcs() {
  auto writer = hetdwarf::lane_pcs::make();
  if (!writer)
    return failed("a writer of lane PCs");
  const hetdwarf_mask saved = {HETDWARF_LANES_SCALAR, 4, 0};
  hetdwarf_lane_event events[3] = {};
  const std::uint32_t changes[3] = {HETDWARF_LANES_SAVE, HETDWARF_LANES_AND, HETDWARF_LANES_RESTORE};
  const std::uint64_t starts[3] = {0, 0, 8};
  for (int at = 0; at < 3; at++) {
    events[at].size = sizeof events[at];
    events[at].code = {starts[at], starts[at] + 4};
    events[at].change = changes[at];
    if (changes[at] != HETDWARF_LANES_AND)
      events[at].place = saved;
  }
  hetdwarf_block block = {};
  block.size = sizeof block;
  block.name = "entry";
  block.code = {0, 16};
  block.events = events;
  block.event_count = 3;
  auto refused = writer->add_graph("kernel", "kernel", ".Lend", 64, hetdwarf::span<const hetdwarf_block>(&block, 1));
  if (!refused || !refused->empty())
    return failed("a graph");
  auto text = writer->text("unit");
  auto sections = writer->write("unit");
  if (!text || text->find("kernel") == std::string_view::npos || !sections || sections->size() < 2)
    return failed("what was written");
  for (const auto &section : *sections)
    if (section.name.substr(0, 7) != ".debug_" || section.content.length == 0)
      return failed("a section");
  auto misplaced = writer->end();
  if (misplaced || misplaced.error().status != HETDWARF_NOT_FOUND)
    return failed("an end without a start");
  return 0;
}

/// Reads an object without a stop, and the types and parts of a stop's variables.
int statics(const hetdwarf::object &object, const hetdwarf::stop &stop, const hetdwarf::values &variables) {
  auto functions = object.count(HETDWARF_LIST_FUNCTIONS);
  auto rows = object.count(HETDWARF_LIST_LINE_ROWS);
  if (!functions || *functions == 0 || !rows || *rows == 0 || !object.count(HETDWARF_LIST_GLOBALS) || object.count(99))
    return failed("lists");
  auto function = object.function(0);
  auto range = object.function_range(0, 0);
  if (!function || !range || range->start != function->low_pc || object.function_range(0, function->range_count))
    return failed("a function");
  auto there = object.function_at(function->low_pc);
  if (!there || std::string_view(there->first.name) != function->name || object.function_at(UINT64_MAX))
    return failed("the function at its address");
  // A breakpoint on the row's line stops at the row's address or before it.
  auto row = object.line_row(0);
  auto addresses = row ? object.addresses_of(row->path, row->line) : hetdwarf::last_error(HETDWARF_FAILED);
  if (!addresses || addresses->empty() || addresses->front() > row->address)
    return failed("the addresses of a line");
  auto line = object.line_at(addresses->front());
  if (!line || line->line != row->line)
    return failed("the line of an address");
  auto frames = object.symbolize({addresses->front(), UINT64_MAX, addresses->front()});
  if (!frames || frames->size() != 3 || (*frames)[0].front().line != row->line || !(*frames)[1].empty() ||
      (*frames)[2].size() != (*frames)[0].size())
    return failed("the frames of addresses");
  auto kernel = object.kernel(0);
  if (!kernel || !object.kernel_limits(0) || !object.kernel_field(0, 0) || !object.info_json())
    return failed("a kernel");
  auto coverage = object.coverage_json(), comparison = object.compare_json(object, 0.5);
  if (!coverage || coverage->find("hetdwarf-coverage/1") == std::string_view::npos || !comparison ||
      comparison->find("\"fell\":false") == std::string_view::npos || object.compare_json(object, -1))
    return failed("coverage and comparison");
  auto number = object.types("int");
  if (!number || number->size() == 0 || number->type(*number->number(0))->kind != HETDWARF_TYPE_BASE)
    return failed("a type by its name");

  auto types = variables.types();
  if (!types || types->size() != variables.size())
    return failed("types of variables");
  for (std::size_t at = 0; at < variables.size(); at++) {
    auto type = types->type(*types->number(at));
    auto info = variables.info(at);
    if (!type || !info || *types->number(at) != info->type)
      return failed("the type of a variable");
    // A base type has no parts. A pointer has its target as a part, unless it is null.
    auto parts = variables.parts(at, 0);
    auto earlier = variables.earlier(at, 0);
    auto lane = variables.read(at, 1);
    auto is_earlier = lane && (lane->states[0] == HETDWARF_LANE_ENTRY || lane->states[0] == HETDWARF_LANE_LAST_KNOWN);
    if (static_cast<bool>(earlier) != is_earlier)
      return failed("a value that the debugging information does not give");
    if (!parts || (type->kind == HETDWARF_TYPE_BASE && parts->first.size() != 0) || !variables.location_expression(at, 0))
      return failed("parts of a variable");
    for (std::size_t part = 0; part < parts->first.size(); part++)
      if (!parts->first.read(part, 1) || parts->first.read(part, 2))
        return failed("a part is read in its lane alone");
  }
  // EXEC of a 32-lane wave has 4 bytes.
  auto exec = stop.register_bytes(0, 1);
  if (!exec || exec->size() != 4)
    return failed("a register");
  hetdwarf_limit wrong = {"nonsense", 1};
  hetdwarf_opening opening = {};
  opening.limits = &wrong;
  opening.limit_count = 1;
  auto unopened = hetdwarf::object::open_with(opening);
  return !unopened && unopened.error().status == HETDWARF_INVALID_ARGUMENT ? 0 : failed("a limit that there is not");
}

/// Checks that every wave of the core has a stop, and that the wave that faulted has four frames.
int cores(const char *path) {
  hetdwarf_file file = {};
  file.path = path;
  auto core = hetdwarf::core::open({file});
  if (!core)
    return failed(core.error().message.c_str());
  auto info = core->info();
  if (!info || info->wave_count != 8 || info->problem_count != 0 || core->problem(0))
    return failed("a core");
  bool is_found = false;
  for (std::size_t at = 0; at < info->wave_count; at++) {
    auto wave = core->wave(at);
    auto stop = core->stop(at);
    if (!wave || !stop || !stop->info())
      return failed("a wave of a core");
    if (std::string_view(wave->reasons).size() > 0)
      is_found = stop->info()->frame_count == 4;
  }
  return is_found ? 0 : failed("the wave that faulted");
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4)
    return failed("usage");
  auto object = hetdwarf::object::open_file(argv[1]);
  if (!object)
    return failed(object.error().message.c_str());
  auto missing = hetdwarf::object::open_file("/no/such/file");
  if (missing || missing.error().status != HETDWARF_IO || std::string_view(missing.error().name()) != "HETDWARF_IO")
    return failed("a file that is not there");

  process process(argv[2]);
  auto stop = object->stop(process);
  if (!stop)
    return failed(stop.error().message.c_str());
  auto variables = stop->variables(0);
  if (!variables)
    return failed(variables.error().message.c_str());
  for (std::size_t at = 0; at < variables->size(); at++) {
    auto info = variables->info(at);
    auto lanes = variables->read(at, 1);
    if (!info || !lanes)
      return failed("a variable");
    std::printf("%s = %s\n", info->name, lanes->texts[0] ? lanes->texts[0] : "?");
  }

  // Reads the same variable by its name, by its location, and as an expression.
  auto index = variables->find("even");
  if (!index)
    return failed("no variable of this name");
  auto lanes = variables->read(*index, 1);
  auto place = variables->location_in(*index, 0);
  std::uint8_t bytes[4] = {};
  if (!lanes || !place || !place->read(hetdwarf::span<std::uint8_t>(bytes, 4), 32))
    return failed("its location");
  for (int at = 0; at < 4; at++)
    if (bytes[at] != lanes->bytes[at])
      return failed("bytes differ");
  auto written = place->write(hetdwarf::span<const std::uint8_t>(bytes, 4), 32);
  if (written || written.error().status != HETDWARF_READ_ONLY)
    return failed("it was written");
  auto sum = stop->print(0, "even + 0");
  if (!sum || !sum->read(0) || sum->read(0)->states[0] != HETDWARF_LANE_OK)
    return failed("an expression");
  auto places = stop->lanes(0);
  auto info = stop->info();
  if (!places || !info || places->size() != info->wave_size)
    return failed("places of lanes");
  auto snapshot = hetdwarf::snapshot::open_file(argv[2]);
  if (!snapshot || !object->stop(**snapshot) || hetdwarf::snapshot::open("{}"))
    return failed("a snapshot");
  int findings = 0;
  if (!object->verify([&](const hetdwarf_finding &) { findings++; }))
    return failed("verify");
  return statics(*object, *stop, *variables) || lane_pcs() || cores(argv[3]);
}
