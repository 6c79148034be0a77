#!/usr/bin/env python3
"""Makes particles.hsaco and waves.json: compiles particles.hip, adds call frame information, and emulates eight waves.

Needs clang-22, ld.lld-22 and llvm-objdump-22. The emulator supports only the instructions of this program and rejects all others.
`truth` in waves.json is computed from the source, not by the emulator.
"""
import json
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
LANES = 32
LOAD = 0x7F40_0000_0000
ARGUMENTS, SLOTS, POSITION, CELLS = 0x7F10_0000_0000, 0x7F20_0000_0000, 0x7F20_0001_0000, 0x7F20_0002_0000
CELLS_BYTES = 64 * 32 * 4
# The stop of each wave: the source line, and the number of instructions of that line to run first.
STOPS = [("19", 5), ("13", 1), ("14", 1), ("13", 3), ("23", 2), ("25", 0), ("14", 0), ("19", 5)]
FAULT = 2
# The lanes of the faulted wave whose particle is outside of the grid.
OUTSIDE = {6: 1050, 19: 1199}

# LLVM 22 leaves these rules out; ROCm's compiler writes them. The kernel's CFA is private_wave 0. In put() the CFA is
# s32 * 32 in private_wave, the return address is in s[30:31], and v0-v2, v4 and v5 are overwritten.
KERNEL_CFA = "0x0f, 4, 0x30, 0x36, 0xe9, 2"
CFA = "0x0f, 9, 0x90, 0x40, 0x94, 4, 0x35, 0x24, 0x36, 0xe9, 2"
RETURN = "0x10, 16, 8, 0x90, 0x3e, 0x93, 4, 0x90, 0x3f, 0x93, 4"
CLOBBERED = [1536, 1537, 1538, 1540, 1541]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE).stdout


def build():
    compile_ = ["clang-22", "-x", "hip", "--cuda-device-only", "--offload-arch=gfx1100", "-nogpuinc", "-nogpulib", "-O2",
                "-g", "-gembed-source", "-fdebug-compilation-dir=.", "-S", "particles.hip", "-o", "-"]
    lines = []
    in_kernel = False
    for line in run(*compile_).splitlines():
        in_kernel |= line.startswith("_Z14sort_particles")
        lines.append(line)
        if line.strip() == ".cfi_startproc":
            if in_kernel:
                lines += [f"\t.cfi_escape {KERNEL_CFA}", "\t.cfi_undefined 16"]
            else:
                lines += [f"\t.cfi_escape {CFA}", f"\t.cfi_escape {RETURN}"]
                lines += [f"\t.cfi_undefined {register}" for register in CLOBBERED]
    (HERE / "particles.s").write_text("\n".join(lines) + "\n")
    run("clang-22", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-c", "particles.s", "-o", "particles.o")
    run("ld.lld-22", "-shared", "particles.o", "-o", "particles.hsaco")
    for name in ("particles.s", "particles.o"):
        (HERE / name).unlink()


def disassemble():
    """Returns the instructions by address (mnemonic, operands, size and line), and the address of the kernel."""
    code, line, addresses = {}, None, []
    for text in run("llvm-objdump-22", "-d", "-l", "particles.hsaco").splitlines():
        if found := re.match(r"; \./particles\.hip:(\d+)", text):
            line = found[1]
        elif found := re.match(r"\t(\S+)\s*(.*?)\s*// ([0-9A-F]{12}): ([0-9A-F ]+)", text):
            address = int(found[3], 16)
            code[address] = (found[1], found[2], len(found[4].split()) * 4, line)
            addresses.append(address)
    entry = int(re.search(r"^([0-9a-f]+) <_Z14sort_particles", run("llvm-objdump-22", "-d", "particles.hsaco"), re.M)[1], 16)
    return code, entry


class Wave:
    def __init__(self, code, entry, group, memory, noise):
        self.code, self.pc, self.memory = code, entry, memory
        self.s = [noise.getrandbits(32) for _ in range(106)]
        self.v = [[noise.getrandbits(32) for _ in range(LANES)] for _ in range(8)]
        self.exec, self.vcc = 0xFFFF_FFFF, 0
        self.s[0], self.s[1], self.s[15] = ARGUMENTS & 0xFFFF_FFFF, ARGUMENTS >> 32, group
        self.v[0] = list(range(LANES))
        self.scc, self.faults = 0, []

    def scalar(self, text):
        if text.startswith("exec_lo"):
            return self.exec
        if text.startswith("vcc_lo"):
            return self.vcc
        if found := re.fullmatch(r"s(\d+)", text):
            return self.s[int(found[1])]
        if found := re.fullmatch(r"lit\((.*)\)", text):
            return int(found[1], 0)
        return int(text, 0) & 0xFFFF_FFFF

    def set_scalar(self, text, value):
        if text == "exec_lo":
            self.exec = value
        elif text == "vcc_lo":
            self.vcc = value
        else:
            self.s[int(text[1:])] = value & 0xFFFF_FFFF

    def pair(self, text):
        first = int(re.fullmatch(r"s\[(\d+):\d+\]", text)[1])
        return self.s[first] | self.s[first + 1] << 32

    def set_pair(self, text, value):
        first = int(re.fullmatch(r"s\[(\d+):\d+\]", text)[1])
        self.s[first], self.s[first + 1] = value & 0xFFFF_FFFF, value >> 32 & 0xFFFF_FFFF

    def vector(self, text, lane):
        if found := re.fullmatch(r"v(\d+)", text):
            return self.v[int(found[1])][lane]
        if found := re.fullmatch(r"v\[(\d+):\d+\]", text):
            first = int(found[1])
            return self.v[first][lane] | self.v[first + 1][lane] << 32
        return self.scalar(text)

    def each(self, text, function):
        """Computes a value in every active lane, then writes the values to a vector register or a pair."""
        values = {lane: function(lane) for lane in range(LANES) if self.exec >> lane & 1}
        found = re.fullmatch(r"v(\d+)|v\[(\d+):\d+\]", text)
        for lane, value in values.items():
            if found[1]:
                self.v[int(found[1])][lane] = value & 0xFFFF_FFFF
            else:
                first = int(found[2])
                self.v[first][lane], self.v[first + 1][lane] = value & 0xFFFF_FFFF, value >> 32 & 0xFFFF_FFFF

    def add_with_carry(self, target, carry_out, a, b, carry_in):
        sums = {lane: self.vector(a, lane) + self.vector(b, lane) + (carry_in >> lane & 1)
                for lane in range(LANES) if self.exec >> lane & 1}
        self.each(target, lambda lane: sums[lane])
        if carry_out != "null":
            self.set_scalar(carry_out, sum((value >> 32) << lane for lane, value in sums.items()))

    def load(self, address, size):
        return int.from_bytes(self.memory_at(address, size), "little")

    def memory_at(self, address, size):
        for start, data in self.memory.items():
            if start <= address and address + size <= start + len(data):
                return data[address - start:address - start + size]
        raise ValueError(hex(address))

    def store(self, lane, address, value):
        for start, data in self.memory.items():
            if start <= address and address + 4 <= start + len(data):
                data[address - start:address - start + 4] = value.to_bytes(4, "little")
                return
        self.faults.append((self.pc, lane, address))

    def simple(self, mnemonic, operands):
        """Returns the function of a vector operation, which can also be one half of a dual instruction."""
        a = operands[1:]
        at = self.vector
        name = re.sub(r"^v_dual_", "v_", re.sub(r"_e(32|64)$", "", mnemonic))
        operations = {
            "v_mov_b32": lambda lane: at(a[0], lane),
            "v_lshlrev_b32": lambda lane: at(a[1], lane) << (at(a[0], lane) & 31),
            "v_lshrrev_b32": lambda lane: at(a[1], lane) >> (at(a[0], lane) & 31),
            "v_lshlrev_b64": lambda lane: at(a[1], lane) << (at(a[0], lane) & 63),
            "v_and_or_b32": lambda lane: at(a[0], lane) & at(a[1], lane) | at(a[2], lane),
            "v_lshl_add_u32": lambda lane: (at(a[0], lane) << (at(a[1], lane) & 31)) + at(a[2], lane),
        }
        return operations[name]

    def step(self):
        mnemonic, operands, size, _ = self.code[self.pc]
        following = self.pc + size
        parts = [part.split(None, 1) for part in f"{mnemonic} {operands}".split(" :: ")]
        split = [(name, re.split(r", (?![^\[]*\])", rest)) for name, rest in ((p[0], p[1] if len(p) > 1 else "") for p in parts)]
        name, a = split[0]
        if name in ("s_waitcnt", "s_delay_alu", "s_clause", "s_nop"):
            pass
        elif name.startswith("s_load_b"):
            first, count = int(re.match(r"s\[?(\d+)", a[0])[1]), int(name[8:]) // 32
            address = self.pair(a[1]) + (0 if a[2] == "null" else int(a[2], 0))
            for n in range(count):
                self.s[first + n] = self.load(address + n * 4, 4)
        elif name == "s_mov_b32":
            self.set_scalar(a[0], self.scalar(a[1]))
        elif name == "s_or_b32":
            self.set_scalar(a[0], self.scalar(a[1]) | self.scalar(a[2]))
        elif name == "s_getpc_b64":
            self.set_pair(a[0], LOAD + following)
        elif name in ("s_add_u32", "s_addc_u32"):
            total = self.scalar(a[1]) + self.scalar(a[2]) + (self.scc if name == "s_addc_u32" else 0)
            self.scc = total >> 32
            self.set_scalar(a[0], total)
        elif name == "s_swappc_b64":
            target = self.pair(a[1])
            self.set_pair(a[0], LOAD + following)
            following = target - LOAD
        elif name == "s_setpc_b64":
            following = self.pair(a[0]) - LOAD
        elif name == "s_cbranch_execz":
            if not self.exec:
                following += 4 * int(a[0].split()[0])
        elif name == "v_cmpx_lt_i32_e32":
            signed = lambda value: value - (value >> 31 << 32)
            self.exec = sum(1 << lane for lane in range(LANES) if self.exec >> lane & 1
                            and signed(self.vector(a[0], lane)) < signed(self.vector(a[1], lane)))
        elif name == "v_add_co_u32":
            self.add_with_carry(a[0], a[1], a[2], a[3], 0)
        elif name == "v_add_co_ci_u32_e64":
            self.add_with_carry(a[0], a[1], a[2], a[3], self.scalar(a[4]))
        elif name == "global_load_b32":
            self.each(a[0], lambda lane: self.load(self.vector(a[1], lane), 4))
        elif name in ("flat_store_b32", "global_store_b32"):
            for lane in range(LANES):
                if self.exec >> lane & 1:
                    self.store(lane, self.vector(a[0], lane), self.vector(a[1].split()[0], lane))
        else:
            # Both halves of a dual instruction read before either writes.
            done = [(operands[0], self.simple(mnemonic, operands)) for mnemonic, operands in split]
            values = [(target, {lane: f(lane) for lane in range(LANES) if self.exec >> lane & 1}) for target, f in done]
            for target, of_lanes in values:
                self.each(target, lambda lane, of_lanes=of_lanes: of_lanes[lane])
        self.pc = following

    def run_to(self, line, count):
        """Runs until `count` instructions of the line have been executed."""
        done = 0
        for _ in range(1000):
            if self.code[self.pc][3] == line:
                if done == count:
                    return
                done += 1
            self.step()
        sys.exit(f"line {line} is not reached")


def main():
    build()
    code, entry = disassemble()
    noise = random.Random(1)
    positions = [noise.randrange(1024) if noise.random() < 0.7 else -1 for _ in range(LANES * len(STOPS))]
    for lane, x in OUTSIDE.items():
        positions[FAULT * LANES + lane] = x
    words = lambda values: bytearray(b"".join((value & 0xFFFF_FFFF).to_bytes(4, "little") for value in values))
    memory = {
        ARGUMENTS: bytearray(b"".join(at.to_bytes(8, "little") for at in (CELLS, SLOTS, POSITION))),
        SLOTS: words([0] * len(positions)),
        POSITION: words(positions),
        CELLS: bytearray(CELLS_BYTES),
    }
    waves = []
    for group, (line, count) in enumerate(STOPS):
        wave = Wave(code, entry, group, memory, noise)
        wave.run_to(line, count)
        assert (group == FAULT) == bool(wave.faults), (group, wave.faults)
        waves.append(wave)
    truth = {
        "fault": [{"pc": pc, "lane": lane, "address": address} for pc, lane, address in waves[FAULT].faults],
        "in_put": [lane for lane in range(LANES) if positions[FAULT * LANES + lane] >= 0],
        "x": positions[FAULT * LANES:(FAULT + 1) * LANES],
        "slot": [x // 16 * 32 + lane for lane, x in enumerate(positions[FAULT * LANES:(FAULT + 1) * LANES])],
    }
    assert sorted(OUTSIDE) == [fault["lane"] for fault in truth["fault"]]
    assert all(fault["address"] == CELLS + truth["slot"][fault["lane"]] * 4 for fault in truth["fault"])
    out = {
        "truth": truth,
        "memory": [{"address": hex(at), "bytes": data.hex()} for at, data in memory.items()],
        "waves": [{"pc": hex(LOAD + wave.pc), "exec": hex(wave.exec), "vcc": hex(wave.vcc),
                   "scalar": [hex(value) for value in wave.s],
                   "vector": [[hex(value) for value in lanes] for lanes in wave.v]} for wave in waves],
    }
    (HERE / "waves.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
