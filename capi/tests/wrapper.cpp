// hetdwarf.hpp over a snapshot: prints what lane 0 has, and tries the rest of the wrapper.

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

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
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

  // The same by its name, its location, and as an expression.
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
  int findings = 0;
  if (!object->verify([&](const hetdwarf_finding &) { findings++; }))
    return failed("verify");
  return 0;
}
