/* Stand-ins for the functions of amd-dbgapi that read from a snapshot, for testing examples/dbgapi_adapter.c. Handles of
 * registers and address spaces are their DWARF numbers. */

#include <amd-dbgapi/amd-dbgapi.h>
#include <hetdwarf.h>

#include <string.h>

static hetdwarf_snapshot *snapshot;
static hetdwarf_wave known;

amd_dbgapi_wave_id_t stand_in_wave(const char *path, uint64_t *load_address);

amd_dbgapi_wave_id_t stand_in_wave(const char *path, uint64_t *load_address) {
  known.size = sizeof known;
  if (hetdwarf_snapshot_open_file(path, &snapshot) == HETDWARF_OK)
    hetdwarf_snapshot_wave(snapshot, &known);
  *load_address = known.load_address;
  return (amd_dbgapi_wave_id_t){1};
}

static amd_dbgapi_status_t give(const void *from, size_t has, size_t size, void *value) {
  if (has != size)
    return AMD_DBGAPI_STATUS_ERROR_INVALID_ARGUMENT;
  memcpy(value, from, size);
  return AMD_DBGAPI_STATUS_SUCCESS;
}

amd_dbgapi_status_t amd_dbgapi_wave_get_info(amd_dbgapi_wave_id_t wave, amd_dbgapi_wave_info_t query, size_t size,
                                             void *value) {
  uint64_t number = 1;
  size_t lanes = known.wave_size;
  (void)wave;
  switch (query) {
  case AMD_DBGAPI_WAVE_INFO_PROCESS:
  case AMD_DBGAPI_WAVE_INFO_ARCHITECTURE:
  case AMD_DBGAPI_WAVE_INFO_DISPATCH:
    return give(&number, sizeof number, size, value);
  case AMD_DBGAPI_WAVE_INFO_PC:
    return give(&known.pc, sizeof known.pc, size, value);
  case AMD_DBGAPI_WAVE_INFO_LANE_COUNT:
    return give(&lanes, sizeof lanes, size, value);
  case AMD_DBGAPI_WAVE_INFO_WORKGROUP_COORD:
    return give(known.workgroup_id, sizeof known.workgroup_id, size, value);
  case AMD_DBGAPI_WAVE_INFO_WAVE_NUMBER_IN_WORKGROUP:
    return give(&known.wave_in_group, sizeof known.wave_in_group, size, value);
  }
  return AMD_DBGAPI_STATUS_ERROR;
}

amd_dbgapi_status_t amd_dbgapi_dispatch_get_info(amd_dbgapi_dispatch_id_t dispatch, amd_dbgapi_dispatch_info_t query,
                                                 size_t size, void *value) {
  uint16_t group[3];
  (void)dispatch;
  for (int at = 0; at < 3; at++)
    group[at] = (uint16_t)known.workgroup_size[at];
  if (query == AMD_DBGAPI_DISPATCH_INFO_WORKGROUP_SIZES)
    return give(group, sizeof group, size, value);
  return give(known.grid_size, sizeof known.grid_size, size, value);
}

amd_dbgapi_status_t amd_dbgapi_dwarf_register_to_register(amd_dbgapi_architecture_id_t architecture, uint64_t number,
                                                          amd_dbgapi_register_id_t *id) {
  (void)architecture;
  id->handle = number;
  return AMD_DBGAPI_STATUS_SUCCESS;
}

amd_dbgapi_status_t amd_dbgapi_dwarf_address_space_to_address_space(amd_dbgapi_architecture_id_t architecture,
                                                                    uint64_t number, amd_dbgapi_address_space_id_t *id) {
  (void)architecture;
  id->handle = number;
  return AMD_DBGAPI_STATUS_SUCCESS;
}

amd_dbgapi_status_t amd_dbgapi_read_register(amd_dbgapi_wave_id_t wave, amd_dbgapi_register_id_t id,
                                             amd_dbgapi_size_t offset, amd_dbgapi_size_t size, void *value) {
  (void)wave;
  int32_t status = hetdwarf_snapshot_read_register(snapshot, (uint32_t)id.handle, HETDWARF_NO_LANE, (uint32_t)offset * 8,
                                                   (uint32_t)size * 8, value);
  return status == HETDWARF_OK ? AMD_DBGAPI_STATUS_SUCCESS : AMD_DBGAPI_STATUS_ERROR_REGISTER_NOT_AVAILABLE;
}

/* Reads at most 8 bytes at a time, as a debugger may. */
amd_dbgapi_status_t amd_dbgapi_read_memory(amd_dbgapi_process_id_t process, amd_dbgapi_wave_id_t wave,
                                           amd_dbgapi_lane_id_t lane, amd_dbgapi_address_space_id_t space,
                                           amd_dbgapi_segment_address_t address, amd_dbgapi_size_t *size, void *value) {
  static const uint32_t memories[] = {HETDWARF_MEMORY_GLOBAL, 99, HETDWARF_MEMORY_REGION, HETDWARF_MEMORY_LOCAL, 99, 99,
                                      HETDWARF_MEMORY_PRIVATE_WAVE};
  (void)process, (void)wave, (void)lane;
  if (*size > 8)
    *size = 8;
  int32_t status = hetdwarf_snapshot_read_memory(snapshot, memories[space.handle], address, *size, value);
  return status == HETDWARF_OK ? AMD_DBGAPI_STATUS_SUCCESS : AMD_DBGAPI_STATUS_ERROR_MEMORY_ACCESS;
}

amd_dbgapi_status_t amd_dbgapi_write_register(amd_dbgapi_wave_id_t wave, amd_dbgapi_register_id_t id,
                                              amd_dbgapi_size_t offset, amd_dbgapi_size_t size, const void *value) {
  (void)wave, (void)id, (void)offset, (void)size, (void)value;
  return AMD_DBGAPI_STATUS_ERROR;
}

amd_dbgapi_status_t amd_dbgapi_write_memory(amd_dbgapi_process_id_t process, amd_dbgapi_wave_id_t wave,
                                            amd_dbgapi_lane_id_t lane, amd_dbgapi_address_space_id_t space,
                                            amd_dbgapi_segment_address_t address, amd_dbgapi_size_t *size,
                                            const void *value) {
  (void)process, (void)wave, (void)lane, (void)space, (void)address, (void)size, (void)value;
  return AMD_DBGAPI_STATUS_ERROR;
}
