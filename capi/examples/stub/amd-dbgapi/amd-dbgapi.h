/* A stand-in for ROCm's <amd-dbgapi/amd-dbgapi.h> with only the declarations that dbgapi_adapter.c uses, so that the adapter compiles
 * without ROCm. It was written from scratch, so the values of enumerators may differ from ROCm's. Compile programs against the
 * real header. */

#ifndef AMD_DBGAPI_STAND_IN_H
#define AMD_DBGAPI_STAND_IN_H

#include <stddef.h>
#include <stdint.h>

#define AMD_DBGAPI

typedef enum {
  AMD_DBGAPI_STATUS_SUCCESS = 0,
  AMD_DBGAPI_STATUS_ERROR,
  AMD_DBGAPI_STATUS_ERROR_INVALID_ARGUMENT,
  AMD_DBGAPI_STATUS_ERROR_REGISTER_NOT_AVAILABLE,
  AMD_DBGAPI_STATUS_ERROR_MEMORY_ACCESS
} amd_dbgapi_status_t;

typedef uint64_t amd_dbgapi_size_t;
typedef uint64_t amd_dbgapi_global_address_t;
typedef uint64_t amd_dbgapi_segment_address_t;
typedef uint32_t amd_dbgapi_lane_id_t;

typedef struct { uint64_t handle; } amd_dbgapi_process_id_t;
typedef struct { uint64_t handle; } amd_dbgapi_architecture_id_t;
typedef struct { uint64_t handle; } amd_dbgapi_dispatch_id_t;
typedef struct { uint64_t handle; } amd_dbgapi_wave_id_t;
typedef struct { uint64_t handle; } amd_dbgapi_register_id_t;
typedef struct { uint64_t handle; } amd_dbgapi_address_space_id_t;

#define AMD_DBGAPI_LANE_NONE ((amd_dbgapi_lane_id_t)(-1))

typedef enum {
  AMD_DBGAPI_WAVE_INFO_DISPATCH = 5,
  AMD_DBGAPI_WAVE_INFO_PROCESS = 8,
  AMD_DBGAPI_WAVE_INFO_ARCHITECTURE = 9,
  AMD_DBGAPI_WAVE_INFO_PC = 10,
  AMD_DBGAPI_WAVE_INFO_WORKGROUP_COORD = 12,
  AMD_DBGAPI_WAVE_INFO_WAVE_NUMBER_IN_WORKGROUP = 13,
  AMD_DBGAPI_WAVE_INFO_LANE_COUNT = 14
} amd_dbgapi_wave_info_t;

typedef enum {
  AMD_DBGAPI_DISPATCH_INFO_WORKGROUP_SIZES = 10,
  AMD_DBGAPI_DISPATCH_INFO_GRID_SIZES = 11
} amd_dbgapi_dispatch_info_t;

amd_dbgapi_status_t AMD_DBGAPI amd_dbgapi_wave_get_info(amd_dbgapi_wave_id_t wave_id, amd_dbgapi_wave_info_t query,
                                                        size_t value_size, void *value);

amd_dbgapi_status_t AMD_DBGAPI amd_dbgapi_dispatch_get_info(amd_dbgapi_dispatch_id_t dispatch_id,
                                                            amd_dbgapi_dispatch_info_t query, size_t value_size,
                                                            void *value);

amd_dbgapi_status_t AMD_DBGAPI amd_dbgapi_dwarf_register_to_register(amd_dbgapi_architecture_id_t architecture_id,
                                                                     uint64_t dwarf_register,
                                                                     amd_dbgapi_register_id_t *register_id);

amd_dbgapi_status_t AMD_DBGAPI amd_dbgapi_dwarf_address_space_to_address_space(
    amd_dbgapi_architecture_id_t architecture_id, uint64_t dwarf_address_space,
    amd_dbgapi_address_space_id_t *address_space_id);

amd_dbgapi_status_t AMD_DBGAPI amd_dbgapi_read_register(amd_dbgapi_wave_id_t wave_id,
                                                        amd_dbgapi_register_id_t register_id, amd_dbgapi_size_t offset,
                                                        amd_dbgapi_size_t value_size, void *value);

amd_dbgapi_status_t AMD_DBGAPI amd_dbgapi_write_register(amd_dbgapi_wave_id_t wave_id,
                                                         amd_dbgapi_register_id_t register_id, amd_dbgapi_size_t offset,
                                                         amd_dbgapi_size_t value_size, const void *value);

amd_dbgapi_status_t AMD_DBGAPI amd_dbgapi_read_memory(amd_dbgapi_process_id_t process_id, amd_dbgapi_wave_id_t wave_id,
                                                      amd_dbgapi_lane_id_t lane_id,
                                                      amd_dbgapi_address_space_id_t address_space_id,
                                                      amd_dbgapi_segment_address_t segment_address,
                                                      amd_dbgapi_size_t *value_size, void *value);

amd_dbgapi_status_t AMD_DBGAPI amd_dbgapi_write_memory(amd_dbgapi_process_id_t process_id, amd_dbgapi_wave_id_t wave_id,
                                                       amd_dbgapi_lane_id_t lane_id,
                                                       amd_dbgapi_address_space_id_t address_space_id,
                                                       amd_dbgapi_segment_address_t segment_address,
                                                       amd_dbgapi_size_t *value_size, const void *value);

#endif
