/* The callbacks of a debugger that uses ROCm's amd-dbgapi. They give hetdwarf access to a stopped wave.
 *
 * Here it is compiled against examples/stub/amd-dbgapi/amd-dbgapi.h, a stand-in that contains only the declarations in use. It
 * has not been run with ROCm. With ROCm, compile with -I/opt/rocm/include, -lamd-dbgapi, and HETDWARF_ADAPTER_IS_LIBRARY to
 * leave out `main`.
 *
 * amd-dbgapi accepts DWARF numbers of registers and address spaces, so no table is needed here. */

#include <amd-dbgapi/amd-dbgapi.h>
#include <hetdwarf.h>

/* A stopped wave. */
struct adapter {
  amd_dbgapi_process_id_t process;
  amd_dbgapi_architecture_id_t architecture;
  amd_dbgapi_wave_id_t wave;
};

/* Returns the DWARF number of the address space that addresses a memory. */
static uint64_t address_space(uint32_t memory) {
  switch (memory) {
  case HETDWARF_MEMORY_REGION:
    return 2;
  case HETDWARF_MEMORY_LOCAL:
    return 3;
  case HETDWARF_MEMORY_PRIVATE_WAVE:
    return 6;
  default:
    return 0;
  }
}

static int32_t status_of(amd_dbgapi_status_t status) {
  switch (status) {
  case AMD_DBGAPI_STATUS_SUCCESS:
    return HETDWARF_OK;
  case AMD_DBGAPI_STATUS_ERROR_REGISTER_NOT_AVAILABLE:
  case AMD_DBGAPI_STATUS_ERROR_MEMORY_ACCESS:
    return HETDWARF_UNAVAILABLE;
  default:
    return HETDWARF_CALLBACK_FAILED;
  }
}

/* Returns the byte of a register that contains the first bit. Vector registers have 4 bytes for each lane, lane 0 first. */
static amd_dbgapi_size_t byte_of(int32_t lane, uint32_t first_bit) {
  return (lane == HETDWARF_NO_LANE ? 0 : (amd_dbgapi_size_t)lane * 4) + first_bit / 8;
}

static int32_t read_register(void *user, uint32_t number, int32_t lane, uint32_t first_bit, uint32_t bit_count, void *out) {
  const struct adapter *adapter = user;
  amd_dbgapi_register_id_t id;
  if (amd_dbgapi_dwarf_register_to_register(adapter->architecture, number, &id) != AMD_DBGAPI_STATUS_SUCCESS)
    return HETDWARF_UNAVAILABLE;
  return status_of(amd_dbgapi_read_register(adapter->wave, id, byte_of(lane, first_bit), bit_count / 8, out));
}

static int32_t write_register(void *user, uint32_t number, int32_t lane, uint32_t first_bit, uint32_t bit_count,
                              const void *bytes) {
  const struct adapter *adapter = user;
  amd_dbgapi_register_id_t id;
  if (amd_dbgapi_dwarf_register_to_register(adapter->architecture, number, &id) != AMD_DBGAPI_STATUS_SUCCESS)
    return HETDWARF_UNAVAILABLE;
  return status_of(amd_dbgapi_write_register(adapter->wave, id, byte_of(lane, first_bit), bit_count / 8, bytes));
}

/* Reads memory. amd-dbgapi may read less than requested, and returns the number of bytes read. */
static int32_t read_memory(void *user, uint32_t memory, uint64_t address, size_t size, void *out) {
  const struct adapter *adapter = user;
  amd_dbgapi_address_space_id_t space;
  if (amd_dbgapi_dwarf_address_space_to_address_space(adapter->architecture, address_space(memory), &space) !=
      AMD_DBGAPI_STATUS_SUCCESS)
    return HETDWARF_UNAVAILABLE;
  for (size_t done = 0; done < size;) {
    amd_dbgapi_size_t count = size - done;
    int32_t status = status_of(amd_dbgapi_read_memory(adapter->process, adapter->wave, AMD_DBGAPI_LANE_NONE, space,
                                                      address + done, &count, (char *)out + done));
    if (status != HETDWARF_OK || count == 0)
      return status != HETDWARF_OK ? status : HETDWARF_UNAVAILABLE;
    done += count;
  }
  return HETDWARF_OK;
}

static int32_t write_memory(void *user, uint32_t memory, uint64_t address, size_t size, const void *bytes) {
  const struct adapter *adapter = user;
  amd_dbgapi_address_space_id_t space;
  if (amd_dbgapi_dwarf_address_space_to_address_space(adapter->architecture, address_space(memory), &space) !=
      AMD_DBGAPI_STATUS_SUCCESS)
    return HETDWARF_UNAVAILABLE;
  for (size_t done = 0; done < size;) {
    amd_dbgapi_size_t count = size - done;
    int32_t status = status_of(amd_dbgapi_write_memory(adapter->process, adapter->wave, AMD_DBGAPI_LANE_NONE, space,
                                                       address + done, &count, (const char *)bytes + done));
    if (status != HETDWARF_OK || count == 0)
      return status != HETDWARF_OK ? status : HETDWARF_UNAVAILABLE;
    done += count;
  }
  return HETDWARF_OK;
}

/* Describes a stopped wave. `adapter` must live as long as the stops that are made with it.
 *
 * load_address: the address at which the wave's code object is loaded; see amd_dbgapi_code_object_get_info. */
int describe_wave(amd_dbgapi_wave_id_t id, uint64_t load_address, struct adapter *adapter, hetdwarf_wave *wave) {
  size_t lanes;
  amd_dbgapi_global_address_t pc;
  adapter->wave = id;
  if (amd_dbgapi_wave_get_info(id, AMD_DBGAPI_WAVE_INFO_PROCESS, sizeof adapter->process, &adapter->process) ||
      amd_dbgapi_wave_get_info(id, AMD_DBGAPI_WAVE_INFO_ARCHITECTURE, sizeof adapter->architecture,
                               &adapter->architecture) ||
      amd_dbgapi_wave_get_info(id, AMD_DBGAPI_WAVE_INFO_LANE_COUNT, sizeof lanes, &lanes) ||
      amd_dbgapi_wave_get_info(id, AMD_DBGAPI_WAVE_INFO_PC, sizeof pc, &pc))
    return -1;
  *wave = (hetdwarf_wave){
      .size = sizeof *wave,
      .user = adapter,
      .read_register = read_register,
      .read_memory = read_memory,
      .write_register = write_register,
      .write_memory = write_memory,
      .pc = pc,
      .load_address = load_address,
      .wave_size = (uint32_t)lanes,
  };

/* Without the dispatch, the set of lanes with work-items stays unknown. */
  amd_dbgapi_dispatch_id_t dispatch;
  uint16_t group[3];
  if (amd_dbgapi_wave_get_info(id, AMD_DBGAPI_WAVE_INFO_DISPATCH, sizeof dispatch, &dispatch) ||
      amd_dbgapi_wave_get_info(id, AMD_DBGAPI_WAVE_INFO_WORKGROUP_COORD, sizeof wave->workgroup_id, wave->workgroup_id) ||
      amd_dbgapi_wave_get_info(id, AMD_DBGAPI_WAVE_INFO_WAVE_NUMBER_IN_WORKGROUP, sizeof wave->wave_in_group,
                               &wave->wave_in_group) ||
      amd_dbgapi_dispatch_get_info(dispatch, AMD_DBGAPI_DISPATCH_INFO_WORKGROUP_SIZES, sizeof group, group) ||
      amd_dbgapi_dispatch_get_info(dispatch, AMD_DBGAPI_DISPATCH_INFO_GRID_SIZES, sizeof wave->grid_size, wave->grid_size))
    return 0;
  for (int at = 0; at < 3; at++)
    wave->workgroup_size[at] = group[at];
  wave->flags |= HETDWARF_WAVE_HAS_DISPATCH;
  return 0;
}

#ifndef HETDWARF_ADAPTER_IS_LIBRARY
#include <stdio.h>

/* dbgapi_adapter OBJECT SNAPSHOT: prints the variables of lane 0. The functions of amd-dbgapi are stand-ins that read from the
 * snapshot (tests/dbgapi_stand_in.c). */
int main(int argc, char **argv) {
  extern amd_dbgapi_wave_id_t stand_in_wave(const char *snapshot, uint64_t *load_address);
  hetdwarf_object *object;
  if (argc != 3 || hetdwarf_object_open_file(argv[1], NULL, &object) != HETDWARF_OK)
    return 2;
  struct adapter adapter;
  hetdwarf_wave wave;
  hetdwarf_stop *stop;
  hetdwarf_values *values;
  uint64_t load_address;
  amd_dbgapi_wave_id_t id = stand_in_wave(argv[2], &load_address);
  if (describe_wave(id, load_address, &adapter, &wave) != 0 || hetdwarf_object_stop(object, &wave, &stop) != HETDWARF_OK ||
      hetdwarf_stop_variables(stop, 0, &values) != HETDWARF_OK)
    return 2;
  size_t count = 0;
  hetdwarf_values_count(values, &count);
  for (size_t at = 0; at < count; at++) {
    hetdwarf_value_info info = {.size = sizeof info};
    const char *texts[64] = {NULL};
    hetdwarf_lanes lanes = {.size = sizeof lanes, .lanes = 1, .count = 64, .texts = texts};
    if (hetdwarf_values_get_info(values, at, &info) == HETDWARF_OK &&
        hetdwarf_values_read(values, at, &lanes) == HETDWARF_OK)
      printf("%s = %s\n", info.name, texts[0] ? texts[0] : "?");
  }
  hetdwarf_free(values);
  hetdwarf_free(stop);
  hetdwarf_free(object);
  return 0;
}
#endif
