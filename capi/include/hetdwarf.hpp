// hetdwarf for C++17: hetdwarf.h with handles that free themselves. Header only. SPDX-License-Identifier: MIT OR Apache-2.0
//
// No exception crosses the library: functions return a result<T>, which holds a value or an error, and callbacks are noexcept.
// The rules of hetdwarf.h for ownership and threads apply. Strings and arrays live as long as the object that returned them.

#ifndef HETDWARF_HPP
#define HETDWARF_HPP

#include "hetdwarf.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hetdwarf {

/// The status and message of a failed call.
struct failure {
  hetdwarf_status status;
  std::string message;

  const char *name() const noexcept { return hetdwarf_status_name(static_cast<std::int32_t>(status)); }
};

/// Returns the error of the last call of this thread.
inline failure last_error(hetdwarf_status status) {
  const char *message = hetdwarf_last_error();
  return failure{status, message ? message : ""};
}

/// A value or an error, like std::expected of C++23.
template <class T> class result {
  std::variant<T, failure> content;

public:
  result(T value) : content(std::in_place_index<0>, std::move(value)) {}
  result(failure why) : content(std::in_place_index<1>, std::move(why)) {}

  bool has_value() const noexcept { return content.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  /// Returns the value. There must be one.
  T &operator*() & { return *std::get_if<0>(&content); }
  const T &operator*() const & { return *std::get_if<0>(&content); }
  T &&operator*() && { return std::move(*std::get_if<0>(&content)); }
  T *operator->() { return std::get_if<0>(&content); }
  const T *operator->() const { return std::get_if<0>(&content); }
  /// Returns the error. There must be one.
  const failure &error() const { return *std::get_if<1>(&content); }
};

/// The result of functions without a return value.
using outcome = result<std::monostate>;

/// A contiguous range of elements, like std::span of C++20.
template <class T> class span {
  T *first = nullptr;
  std::size_t count = 0;

public:
  constexpr span() = default;
  constexpr span(T *first_, std::size_t count_) : first(first_), count(count_) {}
  template <class C, class = decltype(std::declval<C &>().data())>
  constexpr span(C &container) : first(container.data()), count(container.size()) {}
  constexpr T *data() const { return first; }
  constexpr std::size_t size() const { return count; }
  constexpr T *begin() const { return first; }
  constexpr T *end() const { return first + count; }
  constexpr T &operator[](std::size_t at) const { return first[at]; }
};

namespace detail {
struct deleter {
  void operator()(void *handle) const noexcept { hetdwarf_free(handle); }
};
template <class T> using owner = std::unique_ptr<T, deleter>;

inline outcome checked(hetdwarf_status status) {
  if (status != HETDWARF_OK)
    return last_error(status);
  return std::monostate{};
}

/// Returns an empty struct with its size set.
template <class T> T sized() {
  T value{};
  value.size = sizeof(T);
  return value;
}

/// Returns the struct that a function fills through its last argument.
template <class T, class F, class... A> result<T> filled(F function, A... arguments) {
  auto value = sized<T>();
  if (auto status = function(arguments..., &value); status != HETDWARF_OK)
    return last_error(status);
  return value;
}

/// Returns the value that a function writes to its last argument.
template <class T, class F, class... A> result<T> given(F function, A... arguments) {
  T value{};
  if (auto status = function(arguments..., &value); status != HETDWARF_OK)
    return last_error(status);
  return value;
}

/// Calls a function that fills arrays of frames, and returns the frames of each address.
template <class F, class... A>
result<std::vector<std::vector<hetdwarf_source_frame>>> symbolized(F function, const std::vector<std::uint64_t> &addresses,
                                                                   A... arguments) {
  std::vector<std::size_t> first(addresses.size() + 1);
  std::size_t count = 0;
  if (auto status = function(arguments..., addresses.data(), addresses.size(), first.data(), nullptr, 0, &count);
      status != HETDWARF_OK)
    return last_error(status);
  std::vector<hetdwarf_source_frame> frames(count, sized<hetdwarf_source_frame>());
  if (auto status = function(arguments..., addresses.data(), addresses.size(), first.data(), frames.data(), count, nullptr);
      status != HETDWARF_OK)
    return last_error(status);
  std::vector<std::vector<hetdwarf_source_frame>> found;
  for (std::size_t at = 0; at < addresses.size(); ++at)
    found.emplace_back(frames.begin() + first[at], frames.begin() + first[at + 1]);
  return found;
}
} // namespace detail

/// A stopped wave, as far as the debugger knows it. Derive from this class. The wave must outlive the stops made with it.
class wave {
public:
  virtual ~wave() = default;
  /// See hetdwarf_read_register.
  virtual std::int32_t read_register(std::uint32_t number, std::int32_t lane, std::uint32_t first_bit,
                                     std::uint32_t bit_count, void *out) noexcept = 0;
  /// See hetdwarf_read_memory.
  virtual std::int32_t read_memory(std::uint32_t memory, std::uint64_t address, std::size_t size, void *out) noexcept = 0;
  /// See hetdwarf_write_register.
  virtual std::int32_t write_register(std::uint32_t, std::int32_t, std::uint32_t, std::uint32_t, const void *) noexcept {
    return HETDWARF_READ_ONLY;
  }
  /// See hetdwarf_write_memory.
  virtual std::int32_t write_memory(std::uint32_t, std::uint64_t, std::size_t, const void *) noexcept {
    return HETDWARF_READ_ONLY;
  }

  /// The facts about the wave that need no callback. `described` sets `user` and the callbacks.
  hetdwarf_wave description = detail::sized<hetdwarf_wave>();

  /// Returns the description with the callbacks of this object.
  hetdwarf_wave described() noexcept {
    hetdwarf_wave all = description;
    all.size = sizeof all;
    all.user = this;
    all.read_register = [](void *user, std::uint32_t number, std::int32_t lane, std::uint32_t first_bit,
                           std::uint32_t bit_count, void *out) noexcept {
      return static_cast<wave *>(user)->read_register(number, lane, first_bit, bit_count, out);
    };
    all.read_memory = [](void *user, std::uint32_t memory, std::uint64_t address, std::size_t size, void *out) noexcept {
      return static_cast<wave *>(user)->read_memory(memory, address, size, out);
    };
    all.write_register = [](void *user, std::uint32_t number, std::int32_t lane, std::uint32_t first_bit,
                            std::uint32_t bit_count, const void *bytes) noexcept {
      return static_cast<wave *>(user)->write_register(number, lane, first_bit, bit_count, bytes);
    };
    all.write_memory = [](void *user, std::uint32_t memory, std::uint64_t address, std::size_t size,
                          const void *bytes) noexcept {
      return static_cast<wave *>(user)->write_memory(memory, address, size, bytes);
    };
    return all;
  }
};

/// A stopped wave in a file of the format `hetdwarf-wave/1`.
class snapshot final : public wave {
  detail::owner<hetdwarf_snapshot> handle;

  explicit snapshot(hetdwarf_snapshot *handle_) : handle(handle_) { hetdwarf_snapshot_wave(handle_, &description); }

  static result<std::unique_ptr<snapshot>> made(hetdwarf_status status, hetdwarf_snapshot *handle) {
    if (status != HETDWARF_OK)
      return last_error(status);
    return std::unique_ptr<snapshot>(new snapshot(handle));
  }

public:
  static result<std::unique_ptr<snapshot>> open(std::string_view text) {
    hetdwarf_snapshot *handle = nullptr;
    auto *bytes = reinterpret_cast<const std::uint8_t *>(text.data());
    auto status = hetdwarf_snapshot_open(bytes, text.size(), &handle);
    return made(status, handle);
  }

  static result<std::unique_ptr<snapshot>> open_file(const char *path) {
    hetdwarf_snapshot *handle = nullptr;
    auto status = hetdwarf_snapshot_open_file(path, &handle);
    return made(status, handle);
  }

  std::int32_t read_register(std::uint32_t number, std::int32_t lane, std::uint32_t first_bit, std::uint32_t bit_count,
                             void *out) noexcept override {
    return hetdwarf_snapshot_read_register(handle.get(), number, lane, first_bit, bit_count, out);
  }
  std::int32_t read_memory(std::uint32_t memory, std::uint64_t address, std::size_t size, void *out) noexcept override {
    return hetdwarf_snapshot_read_memory(handle.get(), memory, address, size, out);
  }
};

/// The result of an expression: a location or a value.
class location {
  detail::owner<hetdwarf_result> handle;

public:
  explicit location(hetdwarf_result *handle_) : handle(handle_) {}
  hetdwarf_result *get() const noexcept { return handle.get(); }

  /// Evaluates a DWARF expression.
  static result<location> evaluate(const hetdwarf_evaluation &evaluation) {
    hetdwarf_result *made = nullptr;
    if (auto status = hetdwarf_evaluate(&evaluation, &made); status != HETDWARF_OK)
      return last_error(status);
    return location(made);
  }

  result<hetdwarf_result_info> info() const {
    auto info = detail::sized<hetdwarf_result_info>();
    if (auto status = hetdwarf_result_get_info(get(), &info); status != HETDWARF_OK)
      return last_error(status);
    return info;
  }

  result<hetdwarf_place> place(std::size_t index) const {
    auto place = detail::sized<hetdwarf_place>();
    if (auto status = hetdwarf_result_place(get(), index, &place); status != HETDWARF_OK)
      return last_error(status);
    return place;
  }

  /// Returns the part of a composite that contains a bit.
  result<std::pair<hetdwarf_part, location>> part(std::size_t index, std::uint64_t bit) const {
    auto part = detail::sized<hetdwarf_part>();
    hetdwarf_result *made = nullptr;
    if (auto status = hetdwarf_result_part(get(), index, bit, &part, &made); status != HETDWARF_OK)
      return last_error(status);
    return std::make_pair(part, location(made));
  }

  /// Reads the bits. Fails if some of them are missing.
  outcome read(span<std::uint8_t> bytes, std::uint64_t bit_size, std::int32_t lane = HETDWARF_NO_LANE) const {
    auto bits = detail::sized<hetdwarf_bits>();
    bits.bytes = bytes.data();
    bits.capacity = bytes.size();
    if (auto status = hetdwarf_result_read(get(), lane, bit_size, &bits); status != HETDWARF_OK)
      return last_error(status);
    if (!bits.is_complete)
      return failure{HETDWARF_UNAVAILABLE, "some of the bits are missing"};
    return std::monostate{};
  }

  outcome write(span<const std::uint8_t> bytes, std::uint64_t bit_size, std::int32_t lane = HETDWARF_NO_LANE) const {
    if (bytes.size() < (bit_size + 7) / 8)
      return failure{HETDWARF_INVALID_ARGUMENT, "there are not so many bits"};
    return detail::checked(hetdwarf_result_write(get(), lane, bytes.data(), bit_size));
  }
};

/// A table of types. Types refer to each other by number.
class types {
  detail::owner<hetdwarf_types> handle;

public:
  explicit types(hetdwarf_types *handle_) : handle(handle_) {}
  hetdwarf_types *get() const noexcept { return handle.get(); }

  /// Returns the number of types that the query found.
  std::size_t size() const noexcept {
    std::size_t count = 0;
    hetdwarf_types_count(get(), &count);
    return count;
  }

  /// Returns the number by which other types refer to a type that the query found.
  result<std::uint64_t> number(std::size_t index) const {
    return detail::given<std::uint64_t>(hetdwarf_types_number, get(), index);
  }

  result<hetdwarf_type> type(std::uint64_t number) const {
    return detail::filled<hetdwarf_type>(hetdwarf_types_get, get(), number);
  }

  /// Returns a member or a base class.
  result<hetdwarf_member> member(std::uint64_t number, std::size_t index) const {
    return detail::filled<hetdwarf_member>(hetdwarf_types_member, get(), number, index);
  }

  result<hetdwarf_enumerator> enumerator(std::uint64_t number, std::size_t index) const {
    return detail::filled<hetdwarf_enumerator>(hetdwarf_types_enumerator, get(), number, index);
  }

  result<hetdwarf_dimension> dimension(std::uint64_t number, std::size_t index) const {
    return detail::filled<hetdwarf_dimension>(hetdwarf_types_dimension, get(), number, index);
  }

  /// Returns the number of a parameter's type.
  result<std::uint64_t> parameter(std::uint64_t number, std::size_t index) const {
    return detail::given<std::uint64_t>(hetdwarf_types_parameter, get(), number, index);
  }

  /// Returns the member that selects the variant.
  result<hetdwarf_member> discriminant(std::uint64_t number) const {
    return detail::filled<hetdwarf_member>(hetdwarf_types_discriminant, get(), number);
  }

  result<hetdwarf_variant> variant(std::uint64_t number, std::size_t index) const {
    return detail::filled<hetdwarf_variant>(hetdwarf_types_variant, get(), number, index);
  }

  result<hetdwarf_member> variant_member(std::uint64_t number, std::size_t of, std::size_t index) const {
    return detail::filled<hetdwarf_member>(hetdwarf_types_variant_member, get(), number, of, index);
  }

  result<hetdwarf_choice> variant_choice(std::uint64_t number, std::size_t of, std::size_t index) const {
    return detail::filled<hetdwarf_choice>(hetdwarf_types_variant_choice, get(), number, of, index);
  }
};

/// A value in all lanes of a wave.
struct lane_values {
  std::array<std::uint8_t, 64> states{};
  std::array<std::uint64_t, 64> byte_sizes{};
  /// The value as a C debugger prints it; null if there is no value. The strings belong to the values.
  std::array<const char *, 64> texts{};
  /// The message that explains a missing or incomplete value; null if there is no message.
  std::array<const char *, 64> messages{};
  /// The source of a value that is not from the debugging information; null for any other value.
  std::array<const char *, 64> origins{};
  /// The address at which the debugging information last gave the value; 0 if this does not apply.
  std::array<std::uint64_t, 64> as_of{};
  /// The bytes of each lane, `stride` apart.
  std::vector<std::uint8_t> bytes;
  /// A 1 for each bit that was optimised away, in the same layout.
  std::vector<std::uint8_t> undefined;
  /// A 1 for each bit that the debugger does not know, in the same layout.
  std::vector<std::uint8_t> unavailable;
  std::size_t stride = 0;
};

/// The variables of a frame, or the value of an expression.
class values {
  detail::owner<hetdwarf_values> handle;

public:
  explicit values(hetdwarf_values *handle_) : handle(handle_) {}
  hetdwarf_values *get() const noexcept { return handle.get(); }

  std::size_t size() const noexcept {
    std::size_t count = 0;
    hetdwarf_values_count(get(), &count);
    return count;
  }

  /// Returns the index of the innermost variable with a name.
  result<std::size_t> find(const char *name) const {
    std::size_t index = 0;
    if (auto status = hetdwarf_values_find(get(), name, &index); status != HETDWARF_OK)
      return last_error(status);
    return index;
  }

  result<hetdwarf_value_info> info(std::size_t index) const {
    auto info = detail::sized<hetdwarf_value_info>();
    if (auto status = hetdwarf_values_get_info(get(), index, &info); status != HETDWARF_OK)
      return last_error(status);
    return info;
  }

  /// Reads a value in the requested lanes.
  ///
  /// `stride`: the number of bytes to read in each lane; 0 for the size of the largest value.
  result<lane_values> read(std::size_t index, std::uint64_t lanes = UINT64_MAX, std::size_t stride = 0) const {
    lane_values found;
    auto wanted = detail::sized<hetdwarf_lanes>();
    wanted.lanes = lanes;
    wanted.count = 64;
    wanted.byte_sizes = found.byte_sizes.data();
    if (stride == 0) {
      if (auto status = hetdwarf_values_read(get(), index, &wanted); status != HETDWARF_OK)
        return last_error(status);
      for (auto size : found.byte_sizes)
        stride = size > stride ? static_cast<std::size_t>(size) : stride;
    }
    found.stride = stride;
    for (auto *bytes : {&found.bytes, &found.undefined, &found.unavailable})
      bytes->resize(stride * 64);
    wanted.states = found.states.data();
    wanted.bytes = found.bytes.data();
    wanted.undefined = found.undefined.data();
    wanted.unavailable = found.unavailable.data();
    wanted.stride = stride;
    wanted.texts = found.texts.data();
    wanted.messages = found.messages.data();
    wanted.origins = found.origins.data();
    wanted.as_of = found.as_of.data();
    if (auto status = hetdwarf_values_read(get(), index, &wanted); status != HETDWARF_OK)
      return last_error(status);
    return found;
  }

  /// Returns the source of a value that the debugging information does not give, and the time since which it is known.
  result<hetdwarf_earlier> earlier(std::size_t index, std::uint32_t lane) const {
    return detail::filled<hetdwarf_earlier>(hetdwarf_values_earlier, get(), index, lane);
  }

  /// Returns the members, elements or target of a value in a lane, and the number of elements after these.
  result<std::pair<values, std::uint64_t>> parts(std::size_t index, std::uint32_t lane, std::uint64_t first = 0,
                                                 std::uint64_t most = 200) const {
    hetdwarf_values *made = nullptr;
    std::uint64_t more = 0;
    if (auto status = hetdwarf_values_parts(get(), index, lane, first, most, &made, &more); status != HETDWARF_OK)
      return last_error(status);
    return std::make_pair(values(made), more);
  }

  /// Returns the types of the values, in the same order.
  result<hetdwarf::types> types() const {
    hetdwarf_types *made = nullptr;
    if (auto status = hetdwarf_values_types(get(), &made); status != HETDWARF_OK)
      return last_error(status);
    return hetdwarf::types(made);
  }

  /// Returns an expression for the location of a variable. `at` counts from 0.
  result<hetdwarf_location> location_expression(std::size_t index, std::size_t at) const {
    return detail::filled<hetdwarf_location>(hetdwarf_values_location_expression, get(), index, at);
  }

  /// Returns the location of a variable in a lane.
  result<location> location_in(std::size_t index, std::uint32_t lane) const {
    hetdwarf_result *made = nullptr;
    if (auto status = hetdwarf_values_location(get(), index, lane, &made); status != HETDWARF_OK)
      return last_error(status);
    return location(made);
  }
};

/// A stopped wave in an object.
class stop {
  detail::owner<hetdwarf_stop> handle;

public:
  explicit stop(hetdwarf_stop *handle_) : handle(handle_) {}
  hetdwarf_stop *get() const noexcept { return handle.get(); }

  result<hetdwarf_stop_info> info() const {
    auto info = detail::sized<hetdwarf_stop_info>();
    if (auto status = hetdwarf_stop_get_info(get(), &info); status != HETDWARF_OK)
      return last_error(status);
    return info;
  }

  result<hetdwarf_frame> frame(std::size_t level) const {
    auto frame = detail::sized<hetdwarf_frame>();
    if (auto status = hetdwarf_stop_frame(get(), level, &frame, nullptr, 0); status != HETDWARF_OK)
      return last_error(status);
    return frame;
  }

  result<values> variables(std::size_t level) const {
    hetdwarf_values *made = nullptr;
    if (auto status = hetdwarf_stop_variables(get(), level, &made); status != HETDWARF_OK)
      return last_error(status);
    return values(made);
  }

  /// Evaluates a C expression.
  result<values> print(std::size_t level, const char *text, std::uint64_t lanes = UINT64_MAX) const {
    hetdwarf_values *made = nullptr;
    if (auto status = hetdwarf_stop_print(get(), level, text, lanes, &made); status != HETDWARF_OK)
      return last_error(status);
    return values(made);
  }

  /// Reads the bytes of a register of a frame, by its DWARF number. Fails if some of them are missing.
  result<std::vector<std::uint8_t>> register_bytes(std::size_t level, std::uint32_t number,
                                                   std::int32_t lane = HETDWARF_NO_LANE) const {
    std::vector<std::uint8_t> bytes(256);
    auto bits = detail::sized<hetdwarf_bits>();
    bits.bytes = bytes.data();
    bits.capacity = bytes.size();
    if (auto status = hetdwarf_stop_register(get(), level, number, lane, &bits); status != HETDWARF_OK)
      return last_error(status);
    if (!bits.is_complete)
      return failure{HETDWARF_UNAVAILABLE, "some of the bits are missing"};
    bytes.resize(static_cast<std::size_t>((bits.bit_size + 7) / 8));
    return bytes;
  }

  /// Returns the place of each lane.
  result<std::vector<hetdwarf_lane_place>> lanes(std::size_t level,
                                                 std::uint32_t recovery = HETDWARF_RECOVER_WHERE_MISSING) const {
    std::vector<hetdwarf_lane_place> places(64, detail::sized<hetdwarf_lane_place>());
    if (auto status = hetdwarf_stop_lanes(get(), level, recovery, places.data(), places.size()); status != HETDWARF_OK)
      return last_error(status);
    if (auto known = info())
      places.resize(known->wave_size);
    return places;
  }
};

/// A code object.
class object {
  detail::owner<hetdwarf_object> handle;

  explicit object(hetdwarf_object *handle_) : handle(handle_) {}

public:
  hetdwarf_object *get() const noexcept { return handle.get(); }

  static result<object> open(span<const std::uint8_t> bytes, const char *choose = nullptr) {
    hetdwarf_object *made = nullptr;
    if (auto status = hetdwarf_object_open(bytes.data(), bytes.size(), choose, &made); status != HETDWARF_OK)
      return last_error(status);
    return object(made);
  }

  static result<object> open_file(const char *path, const char *choose = nullptr) {
    hetdwarf_object *made = nullptr;
    if (auto status = hetdwarf_object_open_file(path, choose, &made); status != HETDWARF_OK)
      return last_error(status);
    return object(made);
  }

  result<hetdwarf_object_info> info() const {
    auto info = detail::sized<hetdwarf_object_info>();
    if (auto status = hetdwarf_object_get_info(get(), &info); status != HETDWARF_OK)
      return last_error(status);
    return info;
  }

  /// Opens a file with limits that differ from the defaults. `opening` has its path or bytes; its size is set here.
  static result<object> open_with(hetdwarf_opening opening) {
    opening.size = sizeof opening;
    hetdwarf_object *made = nullptr;
    if (auto status = hetdwarf_object_open_with(&opening, &made); status != HETDWARF_OK)
      return last_error(status);
    return object(made);
  }

  result<hetdwarf_kernel> kernel(std::size_t index) const {
    return detail::filled<hetdwarf_kernel>(hetdwarf_object_kernel, get(), index);
  }

  result<hetdwarf_kernel_limits> kernel_limits(std::size_t kernel) const {
    return detail::filled<hetdwarf_kernel_limits>(hetdwarf_object_kernel_limits, get(), kernel);
  }

  result<hetdwarf_argument> kernel_argument(std::size_t kernel, std::size_t index) const {
    return detail::filled<hetdwarf_argument>(hetdwarf_object_kernel_argument, get(), kernel, index);
  }

  result<hetdwarf_initial_registers> kernel_initial_registers(std::size_t kernel, std::size_t index) const {
    return detail::filled<hetdwarf_initial_registers>(hetdwarf_object_kernel_initial_registers, get(), kernel, index);
  }

  result<hetdwarf_descriptor_field> kernel_field(std::size_t kernel, std::size_t index) const {
    return detail::filled<hetdwarf_descriptor_field>(hetdwarf_object_kernel_field, get(), kernel, index);
  }

  /// Returns the document of `hetdwarf info --format json`.
  result<std::string_view> info_json() const {
    auto text = detail::given<const char *>(hetdwarf_object_info_json, get());
    if (!text)
      return text.error();
    return std::string_view(*text);
  }

  /// Returns the document of `hetdwarf coverage --format json`.
  result<std::string_view> coverage_json() const {
    auto text = detail::given<const char *>(hetdwarf_object_coverage_json, get());
    if (!text)
      return text.error();
    return std::string_view(*text);
  }

  /// Returns the document of `hetdwarf compare OLD NEW --format json`, where NEW is this object.
  result<std::string_view> compare_json(const object &old, double tolerance = 0) const {
    auto text = detail::given<const char *>(hetdwarf_object_compare_json, get(), old.get(), tolerance);
    if (!text)
      return text.error();
    return std::string_view(*text);
  }

  /// Returns the function at an address of the object, and the names of the functions inlined there, the innermost first.
  result<std::pair<hetdwarf_function, std::vector<std::string_view>>> function_at(std::uint64_t pc) const {
    auto found = detail::sized<hetdwarf_function>();
    if (auto status = hetdwarf_object_function_at(get(), pc, &found, nullptr, 0); status != HETDWARF_OK)
      return last_error(status);
    std::vector<const char *> names(found.inlined_count);
    if (auto status = hetdwarf_object_function_at(get(), pc, &found, names.data(), names.size()); status != HETDWARF_OK)
      return last_error(status);
    return std::make_pair(found, std::vector<std::string_view>(names.begin(), names.end()));
  }

  result<hetdwarf_line> line_at(std::uint64_t pc) const {
    return detail::filled<hetdwarf_line>(hetdwarf_object_line_at, get(), pc);
  }

  /// Returns the addresses at which a debugger sets breakpoints for a line.
  result<std::vector<std::uint64_t>> addresses_of(const char *file, std::uint64_t line) const {
    std::size_t count = 0;
    if (auto status = hetdwarf_object_addresses_of(get(), file, line, nullptr, 0, &count); status != HETDWARF_OK)
      return last_error(status);
    std::vector<std::uint64_t> found(count);
    if (auto status = hetdwarf_object_addresses_of(get(), file, line, found.data(), count, &count); status != HETDWARF_OK)
      return last_error(status);
    return found;
  }

  /// Returns the functions, inlined calls and lines of each address of a process, the innermost first.
  result<std::vector<std::vector<hetdwarf_source_frame>>> symbolize(const std::vector<std::uint64_t> &addresses,
                                                                    std::uint64_t load_address = 0) const {
    return detail::symbolized(hetdwarf_symbolize, addresses, get(), load_address);
  }

  /// Returns the number of functions, global variables or rows. `list` is `HETDWARF_LIST_…`.
  result<std::size_t> count(std::uint32_t list) const {
    return detail::given<std::size_t>(hetdwarf_object_count, get(), list);
  }

  result<hetdwarf_function> function(std::size_t index) const {
    return detail::filled<hetdwarf_function>(hetdwarf_object_function, get(), index);
  }

  result<hetdwarf_range> function_range(std::size_t index, std::size_t at) const {
    return detail::given<hetdwarf_range>(hetdwarf_object_function_range, get(), index, at);
  }

  result<hetdwarf_global> global(std::size_t index) const {
    return detail::filled<hetdwarf_global>(hetdwarf_object_global, get(), index);
  }

  result<hetdwarf_location> global_location(std::size_t index, std::size_t at) const {
    return detail::filled<hetdwarf_location>(hetdwarf_object_global_location, get(), index, at);
  }

  result<hetdwarf_line_row> line_row(std::size_t index) const {
    return detail::filled<hetdwarf_line_row>(hetdwarf_object_line_row, get(), index);
  }

  /// Returns the types with a name. A null pointer selects no types; the types of global variables are found by their numbers.
  result<hetdwarf::types> types(const char *name) const {
    hetdwarf_types *made = nullptr;
    if (auto status = hetdwarf_object_types(get(), name, &made); status != HETDWARF_OK)
      return last_error(status);
    return hetdwarf::types(made);
  }

  /// Creates the stop of a wave in this object. The wave must outlive the stop.
  result<hetdwarf::stop> stop(wave &wave) const {
    hetdwarf_stop *made = nullptr;
    hetdwarf_wave described = wave.described();
    if (auto status = hetdwarf_object_stop(get(), &described, &made); status != HETDWARF_OK)
      return last_error(status);
    return hetdwarf::stop(made);
  }

  /// Calls `on_finding` with each finding. It must not throw an exception.
  template <class F> outcome verify(F on_finding, const char *rules = nullptr, std::uint32_t jobs = 1) const {
    auto call = [](void *user, const hetdwarf_finding *finding) noexcept -> std::int32_t {
      (*static_cast<F *>(user))(*finding);
      return HETDWARF_OK;
    };
    return detail::checked(hetdwarf_object_verify(get(), rules, jobs, call, &on_finding));
  }
};

/// A writer of call frame information.
class cfi {
  detail::owner<hetdwarf_cfi> handle;

  explicit cfi(hetdwarf_cfi *handle_) : handle(handle_) {}

public:
  hetdwarf_cfi *get() const noexcept { return handle.get(); }

  static result<cfi> make(const char *target, std::uint32_t wave_size) {
    hetdwarf_cfi *made = nullptr;
    if (auto status = hetdwarf_cfi_new(target, wave_size, &made); status != HETDWARF_OK)
      return last_error(status);
    return cfi(made);
  }

  /// Begins a function.
  outcome function(const char *symbol, std::uint64_t size) {
    return detail::checked(hetdwarf_cfi_function(get(), symbol, size));
  }

  /// Adds an event to the current function. Its size is set here.
  outcome add(hetdwarf_cfi_event event) {
    event.size = sizeof event;
    return detail::checked(hetdwarf_cfi_add(get(), &event));
  }

  result<hetdwarf_section> write() {
    auto section = detail::sized<hetdwarf_section>();
    if (auto status = hetdwarf_cfi_write(get(), &section); status != HETDWARF_OK)
      return last_error(status);
    return section;
  }

  /// Writes the call frame information as assembler directives.
  result<std::string_view> text() {
    const char *text = nullptr;
    if (auto status = hetdwarf_cfi_text(get(), &text); status != HETDWARF_OK)
      return last_error(status);
    return std::string_view(text);
  }
};

/// A written section. It is valid until the next write of its writer, or until the writer is destroyed.
struct section {
  std::string_view name;
  hetdwarf_section content;
};

/// A writer of lane PCs. It takes functions by their regions, or by their blocks.
class lane_pcs {
  detail::owner<hetdwarf_lane_pcs> handle;

  explicit lane_pcs(hetdwarf_lane_pcs *handle_) : handle(handle_) {}

public:
  hetdwarf_lane_pcs *get() const noexcept { return handle.get(); }

  static result<lane_pcs> make() {
    hetdwarf_lane_pcs *made = nullptr;
    if (auto status = hetdwarf_lane_pcs_new(&made); status != HETDWARF_OK)
      return last_error(status);
    return lane_pcs(made);
  }

  outcome begin_function(const char *name, const char *start, const char *end, std::uint64_t size,
                         std::uint32_t wave_size) {
    return detail::checked(hetdwarf_lane_pcs_begin_function(get(), name, start, end, size, wave_size));
  }

  outcome begin_region() { return detail::checked(hetdwarf_lane_pcs_begin_region(get())); }

  outcome mask(hetdwarf_range code, hetdwarf_mask place, const hetdwarf_mask *without = nullptr) {
    return detail::checked(hetdwarf_lane_pcs_mask(get(), code, place, without));
  }

  /// Begins a phase of the region. Its size is set here.
  outcome begin_phase(hetdwarf_phase phase) {
    phase.size = sizeof phase;
    return detail::checked(hetdwarf_lane_pcs_begin_phase(get(), &phase));
  }

  outcome whole_wave(hetdwarf_range code, hetdwarf_mask active) {
    return detail::checked(hetdwarf_lane_pcs_whole_wave(get(), code, active));
  }

  /// Ends the phase, the region or the function that was begun last.
  outcome end() { return detail::checked(hetdwarf_lane_pcs_end(get())); }

  /// Adds a function by its blocks. Returns the reasons why parts of it have no lane PCs; none for structured code.
  result<std::vector<std::string>> add_graph(const char *name, const char *start, const char *end,
                                             std::uint32_t wave_size, span<const hetdwarf_block> blocks) {
    std::size_t count = 0;
    if (auto status = hetdwarf_lane_pcs_add_graph(get(), name, start, end, wave_size, blocks.data(), blocks.size(), &count);
        status != HETDWARF_OK)
      return last_error(status);
    std::vector<std::string> refused;
    for (std::size_t at = 0; at < count; at++) {
      const char *text = nullptr;
      if (auto status = hetdwarf_lane_pcs_refused(get(), at, &text); status != HETDWARF_OK)
        return last_error(status);
      refused.emplace_back(text);
    }
    return refused;
  }

  /// Writes the lane PCs as text for an assembler.
  result<std::string_view> text(const char *unit_name) {
    const char *text = nullptr;
    if (auto status = hetdwarf_lane_pcs_text(get(), unit_name, &text); status != HETDWARF_OK)
      return last_error(status);
    return std::string_view(text);
  }

  /// Writes the lane PCs as sections with relocations.
  result<std::vector<section>> write(const char *unit_name) {
    std::size_t count = 0;
    if (auto status = hetdwarf_lane_pcs_write(get(), unit_name, &count); status != HETDWARF_OK)
      return last_error(status);
    std::vector<section> sections;
    for (std::size_t at = 0; at < count; at++) {
      const char *name = nullptr;
      auto content = detail::sized<hetdwarf_section>();
      if (auto status = hetdwarf_lane_pcs_section(get(), at, &name, &content); status != HETDWARF_OK)
        return last_error(status);
      sections.push_back({name, content});
    }
    return sections;
  }
};

/// A core file of a process with GPUs.
class core {
  detail::owner<hetdwarf_core> handle;

  explicit core(hetdwarf_core *handle_) : handle(handle_) {}

public:
  hetdwarf_core *get() const noexcept { return handle.get(); }

  /// Opens the merged file, or the GPU's and the host's in either order. `objects` replace missing code objects. The sizes of the
  /// entries are set here.
  static result<core> open(std::vector<hetdwarf_file> files, std::vector<hetdwarf_file> objects = {}) {
    for (auto *list : {&files, &objects})
      for (auto &file : *list)
        file.size = sizeof file;
    hetdwarf_core *made = nullptr;
    if (auto status = hetdwarf_core_open(files.data(), files.size(), objects.data(), objects.size(), &made);
        status != HETDWARF_OK)
      return last_error(status);
    return core(made);
  }

  result<hetdwarf_core_info> info() const {
    auto info = detail::sized<hetdwarf_core_info>();
    if (auto status = hetdwarf_core_get_info(get(), &info); status != HETDWARF_OK)
      return last_error(status);
    return info;
  }

  /// Returns the message of a problem of the core.
  result<std::string_view> problem(std::size_t index) const {
    const char *text = nullptr;
    if (auto status = hetdwarf_core_problem(get(), index, &text); status != HETDWARF_OK)
      return last_error(status);
    return std::string_view(text);
  }

  /// Returns the document of `hetdwarf core --format json`. `fault_address` is 0 if unknown.
  result<std::string_view> describe(std::uint64_t fault_address = 0) const {
    const char *text = nullptr;
    if (auto status = hetdwarf_core_describe(get(), fault_address, &text); status != HETDWARF_OK)
      return last_error(status);
    return std::string_view(text);
  }

  /// Returns the functions, inlined calls and lines of each address of the process, the innermost first.
  result<std::vector<std::vector<hetdwarf_source_frame>>> symbolize(const std::vector<std::uint64_t> &addresses) const {
    return detail::symbolized(hetdwarf_core_symbolize, addresses, get());
  }

  result<hetdwarf_core_wave> wave(std::size_t index) const {
    auto wave = detail::sized<hetdwarf_core_wave>();
    if (auto status = hetdwarf_core_get_wave(get(), index, &wave); status != HETDWARF_OK)
      return last_error(status);
    return wave;
  }

  /// Creates the stop of a wave. The stop may outlive the core.
  result<hetdwarf::stop> stop(std::size_t index) const {
    hetdwarf_stop *made = nullptr;
    if (auto status = hetdwarf_core_stop(get(), index, &made); status != HETDWARF_OK)
      return last_error(status);
    return hetdwarf::stop(made);
  }
};

} // namespace hetdwarf

#endif // HETDWARF_HPP
