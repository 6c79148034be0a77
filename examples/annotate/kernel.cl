// Lanes go different ways here: some leave the loop early, others take a branch in it.
__kernel void steps(__global int *out, __global const int *in, int limit) {
  int id = __builtin_amdgcn_workitem_id_x();
  int n = in[id];
  int count = 0;
  while (n != 1 && count < limit) {
    if (n & 1)
      n = 3 * n + 1;
    else
      n >>= 1;
    ++count;
  }
  out[id] = count;
}
