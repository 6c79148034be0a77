// Sorts particles into a grid of 64 cells, with room for 32 particles in each.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define BLOCK __builtin_amdgcn_workgroup_id_x()
#define THREAD __builtin_amdgcn_workitem_id_x()

__device__ inline int cell_of(int x) {
    return x / 16; // The bug: an x of 1024 or more is outside of the grid.
}

__device__ __attribute__((noinline)) int put(int *cells, int cell, unsigned particle) {
    int slot = cell * 32 + particle % 32;
    cells[slot] = particle;
    return slot;
}

__global__ void sort_particles(int *cells, int *slots, const int *position) {
    unsigned particle = BLOCK * 32 + THREAD;
    int x = position[particle];
    if (x < 0) {
        slots[particle] = -1; // It has left the grid.
    } else {
        slots[particle] = put(cells, cell_of(x), particle);
    }
}
