/** Tests `hetdwarf dap` with the client of Microsoft's adapter tests, and compares values with the truth of the fixtures. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { DebugClient } from '@vscode/debugadapter-testsupport';
import type { DebugProtocol } from '@vscode/debugprotocol';

import { CORES, DEMO, HETDWARF, WAVES, cases, json } from './places';

interface TruthLane {
  lane: number;
  bytes: string;
  value?: string;
  number?: number | string;
}

interface TruthVariable {
  name: string;
  kind: string;
  type?: string;
  /** The result of comparing the location's value with the truth. Present only for optimised code. */
  dwarf?: string;
  lanes: TruthLane[];
}

interface Truth {
  object: string;
  snapshots: { wave: string; line?: number; stop: string; active_lanes: number[]; variables?: TruthVariable[] }[];
}

interface CoreTruth {
  expect: { result: string };
  files: { merged: string; gpu: string; host: string };
  waves: {
    queue_id: number;
    packet_id: number;
    workgroup: [number, number, number];
    wave_in_group: number;
    lanes: number;
    stop: string | null;
    pc: string;
    snapshot: string;
    registers: Record<string, string | string[]>;
  }[];
}

/** Returns bytes of memory as an unsigned number. */
function unsigned(bytes: string): bigint {
  return BigInt(`0x${bytes.match(/../g)!.reverse().join('')}`);
}

/** Returns true if a text is the value of a lane. Returns undefined if the truth has no comparable value. */
function isTrue(variable: TruthVariable, lane: TruthLane, text: string): boolean | undefined {
  if (variable.kind === 'global-pointer' || variable.kind === 'local-pointer') {
    const found = /0x[0-9a-f]+/.exec(text)?.[0];
    return found !== undefined && BigInt(found) === unsigned(lane.bytes);
  }
  if (variable.kind !== 'value') {
    return undefined;
  }
  if (variable.type === 'bool') {
    return text === (unsigned(lane.bytes) === 0n ? 'false' : 'true');
  }
  if (lane.number !== undefined && (variable.type === 'float' || variable.type === 'double')) {
    const [shown, known] = [Number(text), Number(lane.number)];
    return Object.is(shown, known) || (variable.type === 'float' ? Math.fround(shown) === Math.fround(known) : shown === known);
  }
  if (lane.value !== undefined && variable.type !== undefined) {
    return /^-?\d+/.exec(text)?.[0] === lane.value;
  }
  return undefined;
}

/** Opens a core or snapshot. Returns the event with the reason for the stop. */
async function open(client: DebugClient, args: object): Promise<DebugProtocol.StoppedEvent> {
  await client.start();
  await client.initializeRequest({ adapterID: 'hetdwarf', linesStartAt1: true, columnsStartAt1: true, pathFormat: 'path' });
  const initialized = client.waitForEvent('initialized');
  await Promise.all([initialized, client.attachRequest(args as DebugProtocol.AttachRequestArguments)]);
  const stopped = client.waitForEvent('stopped');
  await client.configurationDoneRequest();
  return (await stopped) as DebugProtocol.StoppedEvent;
}

/** Compares the variables of the innermost frame of a wave, through watches and their children. Returns the number of compared lanes. */
async function compare(client: DebugClient, wave: number, variables: readonly TruthVariable[], where: string): Promise<number> {
  const { body } = await client.stackTraceRequest({ threadId: wave, startFrame: 0, levels: 1 });
  const frameId = body.stackFrames[0]!.id;
  let compared = 0;
  for (const variable of variables) {
    // In optimised code, locations can give another value or none. The truth marks such variables.
    if (variable.dwarf !== undefined && variable.dwarf !== 'same') {
      continue;
    }
    let watch = await client.evaluateRequest({ expression: variable.name, frameId, context: 'watch' });
    if (/^[A-Z]|values: [A-Z]/.test(watch.body.result)) {
      // The truth contains enumerators as numbers.
      watch = await client.evaluateRequest({ expression: `(int)${variable.name}`, frameId, context: 'watch' });
    }
    const children = await client.variablesRequest({ variablesReference: watch.body.variablesReference });
    assert.equal(children.body.variables.length, watch.body.indexedVariables, where);
    for (const lane of variable.lanes) {
      const child = children.body.variables[lane.lane]!;
      assert.match(child.name, new RegExp(`^lane ${lane.lane}\\b`));
      const verdict = isTrue(variable, lane, child.value);
      assert.notEqual(verdict, false, `${where}: ${variable.name} in lane ${lane.lane} is ${child.value}, not ${JSON.stringify(lane)}`);
      compared += verdict ? 1 : 0;
    }
  }
  return compared;
}

describe('waves through the protocol', () => {
  let client: DebugClient;
  beforeEach(() => {
    client = new DebugClient(HETDWARF, 'dap', 'hetdwarf');
  });
  afterEach(() => client.stop());

  for (const name of cases(WAVES)) {
    it(`have the values of the truth: ${name}`, async () => {
      const folder = join(WAVES, name);
      const truth = json<Truth>(join(folder, 'truth.json'));
      let compared = 0;
      // Each wave needs its own client, because an adapter has one session.
      for (const stop of truth.snapshots.filter((one) => one.variables?.length)) {
        const one = new DebugClient(HETDWARF, 'dap', 'hetdwarf');
        try {
          const object = join(folder, truth.object);
          await open(one, { waveFile: join(folder, stop.wave), object: [object] });
          const { body } = await one.stackTraceRequest({ threadId: 1 });
          assert.equal(body.stackFrames[0]?.line, stop.line, stop.wave);
          compared += await compare(one, 1, stop.variables!, `${name}/${stop.wave}`);
        } finally {
          await one.stop();
        }
      }
      assert.ok(compared > 0, 'nothing was compared');
    });
  }
});

describe('cores through the protocol', () => {
  let folder: string;
  let client: DebugClient;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hetdwarf-dap-'));
    client = new DebugClient(HETDWARF, 'dap', 'hetdwarf');
  });
  afterEach(async () => {
    await client.stop();
    rmSync(folder, { recursive: true });
  });

  const unpack = (name: string, file: string): string => {
    const path = join(folder, file);
    writeFileSync(path, gunzipSync(readFileSync(join(CORES, name, `${file}.gz`))));
    return path;
  };

  for (const name of cases(CORES)) {
    const truth = json<CoreTruth>(join(CORES, name, 'truth.json'));
    if (truth.expect.result === 'error') {
      it(`say why one cannot be opened: ${name}`, async () => {
        await client.start();
        await client.initializeRequest();
        const core = unpack(name, truth.files.merged);
        await assert.rejects(client.attachRequest({ coreFile: core } as DebugProtocol.AttachRequestArguments), /version/);
      });
      continue;
    }
    if (truth.expect.result === 'partial') {
      it(`open as far as they go: ${name}`, async () => {
        await open(client, { coreFile: unpack(name, truth.files.merged) });
        const { body } = await client.threadsRequest();
        for (const thread of body.threads) {
          const frames = await client.stackTraceRequest({ threadId: thread.id });
          assert.ok(frames.body.stackFrames.length > 0);
          await client.scopesRequest({ frameId: frames.body.stackFrames[0]!.id });
        }
      });
      continue;
    }
    for (const halves of [false, true]) {
      it(`have the waves, values and registers of the truth: ${name}${halves ? ', in two halves' : ''}`, async () => {
        const files = halves ? [truth.files.gpu, truth.files.host] : [truth.files.merged];
        const stopped = await open(client, { coreFile: files.map((file) => unpack(name, file)) });
        assert.equal(stopped.body.reason, truth.waves.some((wave) => wave.stop) ? 'exception' : 'pause');
        const { threads } = (await client.threadsRequest()).body;
        assert.equal(threads.length, truth.waves.length);
        let compared = 0;
        for (const wave of truth.waves) {
          const place = `wave ${wave.queue_id}:${wave.packet_id}:(${wave.workgroup.join(',')})/${wave.wave_in_group} `;
          const thread = threads.find((one) => one.name.startsWith(place));
          assert.ok(thread, place);
          const { body } = await client.stackTraceRequest({ threadId: thread.id });
          const frame = body.stackFrames[0]!;
          assert.equal(BigInt(frame.instructionPointerReference!), BigInt(wave.pc), place);
          compared += await registers(client, frame.id, wave.registers, place);
          const [, of, snapshot] = wave.snapshot.split('/');
          const waves = json<Truth>(join(WAVES, of!, 'truth.json'));
          const stop = waves.snapshots.find((one) => one.wave === snapshot);
          compared += await compare(client, thread.id, stop?.variables ?? [], `${name} ${place}`);
        }
        assert.ok(compared > 1000, `${compared} values`);
      });
    }
  }
});

/** Compares the registers of a frame. Returns the number of compared values. */
async function registers(client: DebugClient, frameId: number, known: Record<string, string | string[]>, where: string): Promise<number> {
  const { scopes } = (await client.scopesRequest({ frameId })).body;
  let compared = 0;
  for (const title of ['Scalar registers', 'Vector registers']) {
    const scope = scopes.find((one) => one.name === title)!;
    const { variables } = (await client.variablesRequest({ variablesReference: scope.variablesReference })).body;
    for (const register of variables) {
      const truth = known[register.name];
      if (typeof truth === 'string' && /^[sv]\d+$/.test(register.name)) {
        assert.equal(BigInt(register.value), BigInt(truth), `${where}: ${register.name}`);
        compared += 1;
      } else if (Array.isArray(truth)) {
        const lanes = await client.variablesRequest({ variablesReference: register.variablesReference });
        const shown = lanes.body.variables.map(({ value }) => BigInt(value));
        assert.deepEqual(shown.slice(0, truth.length), truth.map(BigInt), `${where}: ${register.name}`);
        compared += truth.length;
      }
    }
  }
  return compared;
}

describe('the demo through the protocol', () => {
  let client: DebugClient;
  beforeEach(() => {
    client = new DebugClient(HETDWARF, 'dap', 'hetdwarf');
  });
  afterEach(() => client.stop());

  it('stops at the faulting line', async () => {
    const stopped = await open(client, { coreFile: join(DEMO, 'demo.core'), sourceDir: [DEMO] });
    assert.equal(stopped.body.reason, 'exception');
    assert.equal(stopped.body.description, 'memory violation');
    const { body } = await client.stackTraceRequest({ threadId: stopped.body.threadId! });
    const [leaf] = body.stackFrames;
    assert.deepEqual([leaf?.name, leaf?.line, leaf?.source?.path], ['leaf', 10, join(DEMO, 'calls-O2.cl')]);
  });

  it('refuses what needs a process that runs, and goes on', async () => {
    await open(client, { coreFile: join(DEMO, 'demo.core') });
    await assert.rejects(client.continueRequest({ threadId: 3 }), /cannot run/);
    await assert.rejects(client.nextRequest({ threadId: 3 }), /cannot run/);
    await assert.rejects(client.setVariableRequest({ variablesReference: 1, name: 'x', value: '1' }));
    assert.equal((await client.threadsRequest()).body.threads.length, 8);
  });

  it('says which file cannot be opened, and opens another', async () => {
    await client.start();
    await client.initializeRequest();
    const attach = (coreFile: string): Promise<unknown> => client.attachRequest({ coreFile } as DebugProtocol.AttachRequestArguments);
    await assert.rejects(attach('/nonexistent/gpucore.1'), /nonexistent/);
    await attach(join(DEMO, 'demo.core'));
  });
});
