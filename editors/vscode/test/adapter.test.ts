/** Tests the parts of the extension that need no editor, with the real `hetdwarf dap`. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { Adapter } from '../src/adapter';
import { findCommand } from '../src/command';
import { PAGE, shownGroups } from '../src/groups';
import { legend, ranges, shownLanes, waitingLines } from '../src/lanes';
import { Decoder, type Message, encode } from '../src/messages';
import type { Group, Lane, LanesBody, StackFrame, StoppedBody, Thread } from '../src/protocol';
import { DEMO, HETDWARF } from './places';

describe('messages', () => {
  it('are read whatever pieces they come in', () => {
    const messages: Message[] = [
      { seq: 1, type: 'event', event: 'é', body: { text: 'ü×𝄞' } },
      { seq: 2, type: 'response', request_seq: 1, command: 'x', success: true },
    ];
    const bytes = Buffer.concat(messages.map(encode));
    for (const size of [1, 2, 3, 7, 50, bytes.length]) {
      const decoder = new Decoder();
      const read: Message[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        read.push(...decoder.push(bytes.subarray(at, at + size)));
      }
      assert.deepEqual(read, messages, `pieces of ${size} bytes`);
    }
  });
});

describe('lanes', () => {
  it('are written as ranges', () => {
    assert.equal(ranges([]), '');
    assert.equal(ranges([5]), '5');
    assert.equal(ranges([0, 1, 2, 7]), '0-2, 7');
    assert.equal(ranges([1, 3, 5, 7]), '1-7 odd');
    assert.equal(ranges([0, 2, 4, 5, 6, 31]), '0-4 even, 5-6, 31');
    assert.equal(ranges([1, 3]), '1, 3');
    assert.equal(ranges([0, 3, 6, 9]), '0, 3, 6, 9');
  });

  it('wait at lines that an editor can open', () => {
    const source = { name: 'a.cl', path: '/a.cl' };
    const lanes: Lane[] = [
      { lane: 0, state: 'waiting', line: 5, source },
      { lane: 1, state: 'waiting', line: 0, source },
      { lane: 2, state: 'waiting', line: 5, pc: '0x10' },
      { lane: 3, state: 'elsewhere', line: 5, source },
      { lane: 4, state: 'active' },
    ];
    assert.deepEqual(waitingLines(lanes), [{ source, line: 5, lanes: [0, 3] }]);
    assert.equal(shownLanes(lanes, [])[2]?.place, 'waits at 0x10');
  });

  it('have colors by value, the most frequent first', () => {
    const values = ['1', '2', '2', '<optimized out>', '3', '4', '5', '6', '7'].map((text, lane) => ({ lane, text }));
    const entries = legend(values);
    assert.deepEqual(entries[0], { value: '2', count: 2, color: 0 });
    assert.equal(entries.length, 7);
    assert.equal(entries[6]?.color, undefined);
  });
});

describe('groups', () => {
  const groups: Group[] = [
    { kernel: 'k', stack: ['f at a.cl:1', 'k at a.cl:9'], state: 'running', waves: [1, 4, 5] },
    { kernel: 'k', stack: ['G at a.cl:2', 'k at a.cl:9'], state: 'stopped', waves: [2] },
    { kernel: 'k', stack: ['h at a.cl:3'], state: 'stopped', waves: [3, 6] },
  ];
  const names = new Map([[4, 'wave 1:1:(9,0,0)/0 k  running']]);
  const waves = (filter: string): number[][] => shownGroups(groups, names, filter, 6).map((one) => one.waves);

  it('begin with the wave at fault', () => {
    assert.deepEqual(waves(''), [[6, 3], [2], [1, 4, 5]]);
  });

  it('are filtered by stack, state and wave', () => {
    assert.deepEqual(waves('A.CL:2'), [[2]]);
    assert.deepEqual(waves('g at'), [[2]]);
    assert.deepEqual(waves('stopped'), [[6, 3], [2]]);
    assert.deepEqual(waves('(9,0,0)'), [[4]]);
    assert.deepEqual(waves('nothing'), []);
  });

  it('are quick with 100,000 waves', () => {
    const many = Array.from({ length: 100_000 }, (_, wave) => wave + 1);
    const begin = performance.now();
    const shown = shownGroups([{ stack: ['f'], state: 'running', waves: many }], names, '', 99_999);
    assert.ok(performance.now() - begin < 1000);
    assert.equal(shown[0]?.waves[0], 99_999);
    assert.ok(PAGE < 1000);
  });
});

describe('the command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hetdwarf-path-'));
  const program = join(folder, 'hetdwarf');
  before(() => writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 }));
  after(() => rmSync(folder, { recursive: true }));

  it('is the first on the PATH, or that of the setting', () => {
    assert.equal(findCommand('', ['/nonexistent', folder].join(delimiter), 'linux'), program);
    assert.equal(findCommand(program, '', 'linux'), program);
  });

  it('is not looked for in relative folders', () => {
    const before = process.cwd();
    process.chdir(folder);
    try {
      assert.throws(() => findCommand('', ['.', '', '../x'].join(delimiter), 'linux'), /not on the PATH.*hetdwarf\.path/);
    } finally {
      process.chdir(before);
    }
  });

  it('has to be a program', () => {
    assert.throws(() => findCommand('hetdwarf', folder, 'linux'), /absolute path/);
    assert.throws(() => findCommand(folder, folder, 'linux'), /not a program/);
    mkdirSync(join(folder, 'inner', 'hetdwarf'), { recursive: true });
    assert.throws(() => findCommand('', join(folder, 'inner'), 'linux'), /not on the PATH/);
  });
});

describe('the adapter between the editor and the command', () => {
  let adapter: Adapter;
  const messages: Message[] = [];
  let waiting: (() => void)[] = [];

  /** Sends a request like the editor, and returns the response. */
  async function editor(seq: number, command: string, args: object): Promise<Message> {
    adapter.send({ seq, type: 'request', command, arguments: args });
    for (;;) {
      const found = messages.find((one) => one.request_seq === seq);
      if (found) {
        return found;
      }
      await new Promise<void>((done) => waiting.push(done));
    }
  }

  async function innermost(): Promise<number> {
    const { stackFrames } = await adapter.ask<{ stackFrames: StackFrame[] }>('stackTrace', { threadId: 3, levels: 1 });
    return stackFrames[0]!.id;
  }

  beforeEach(async () => {
    messages.length = 0;
    adapter = new Adapter(HETDWARF);
    adapter.onMessage = (message) => {
      messages.push(message);
      waiting.forEach((done) => done());
      waiting = [];
    };
    await editor(1, 'initialize', {});
    const attached = await editor(2, 'attach', { coreFile: join(DEMO, 'demo.core'), sourceDir: [DEMO] });
    assert.equal(attached.success, true, attached.message);
    await editor(3, 'configurationDone', {});
  });
  afterEach(() => adapter.dispose());

  it('asks for the extension, which the editor does not see', async () => {
    const { groups } = await adapter.ask<{ groups: Group[] }>('hetdwarf/groups');
    const { threads } = await adapter.ask<{ threads: Thread[] }>('threads');
    const names = new Map(threads.map(({ id, name }) => [id, name]));
    const shown = shownGroups(groups, names, '', 3);
    assert.equal(shown[0]?.group.stack[0], 'leaf at calls-O2.cl:10');
    assert.equal(shown.reduce((sum, { waves }) => sum + waves.length, 0), 8);
    assert.ok(messages.every((one) => (one.request_seq ?? 0) <= 3));
    await assert.rejects(adapter.ask('hetdwarf/lanes', { frameId: -1 }), /no reference -1/);
  });

  // The expected values come from the demo's emulator. The odd lanes up to 25 are active. x is 99 in lanes 3, 7, 11 and so on, otherwise -3.
  it('has the values of all lanes, whatever lane is in focus', async () => {
    const frame = await innermost();
    const truth = Array.from({ length: 32 }, (_, lane) => (lane % 2 === 1 && lane < 26 ? (lane % 4 === 3 ? '99' : '-3') : null));
    for (const focus of [null, 3]) {
      if (focus !== null) {
        await editor(4, 'hetdwarf/setLane', { threadId: 3, lane: focus });
      }
      const values = await adapter.laneValues(frame, 'x');
      assert.deepEqual(values.map(({ text }) => (text.startsWith('<') ? null : text)), truth);
      assert.deepEqual(values.map(({ lane }) => lane), truth.map((_, lane) => lane));
    }
    // The lane in focus is unchanged, and only the editor's own request caused an event.
    const { focus } = await adapter.ask<{ focus: number }>('hetdwarf/lanes', { threadId: 3 });
    assert.equal(focus, 3);
    assert.equal(messages.filter((one) => one.event === 'invalidated').length, 1);
    await assert.rejects(adapter.laneValues(frame, 'nosuch'), /nosuch/);
  });

  it('knows the lines where lanes wait', async () => {
    const { lanes } = await adapter.ask<LanesBody>('hetdwarf/lanes', { threadId: 3 });
    const lines = waitingLines(lanes).map((one) => [one.source.path, one.line, ranges(one.lanes)]);
    const file = join(DEMO, 'calls-O2.cl');
    // `hetdwarf demo` prints the same.
    assert.deepEqual(lines, [
      [file, 23, '0-26 even'],
      [file, 41, '27-31'],
    ]);
    const shown = shownLanes(lanes, []);
    assert.equal(shown[2]?.place, 'waits at calls-O2.cl:23');
    assert.equal(shown[1]?.state, 'active');
    assert.equal(shown[1]?.item, '(65,0,0)');
  });

  it('goes to a wave by the event that editors follow', async () => {
    await editor(4, 'hetdwarf/focus', { threadId: 2 });
    // The event comes after the answer.
    await editor(5, 'threads', {});
    const stops = messages.filter((one) => one.event === 'stopped').map((one) => (one.body as StoppedBody).threadId);
    assert.deepEqual(stops, [3, 2]);
  });

  it('refuses what comes after the command has ended', async () => {
    await editor(5, 'disconnect', {});
    await new Promise((done) => setTimeout(done, 300));
    await assert.rejects(adapter.ask('threads'), /ended/);
    assert.equal((await editor(6, 'threads', {})).success, false);
    assert.ok(messages.some((one) => one.event === 'terminated'));
    assert.ok(messages.every((one) => one.event !== 'output'));
  });
});

describe('the pages', () => {
  const ROOT = join(__dirname, '../..');

  it('set values as text, and load nothing but their own files', () => {
    const script = readFileSync(join(ROOT, 'webview/lanes.ts'), 'utf8');
    assert.doesNotMatch(script, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(|fetch\(|XMLHttpRequest|WebSocket/);
    assert.match(script, /textContent/);
    for (const name of ['lanesView.ts', 'open.ts']) {
      const page = readFileSync(join(ROOT, 'src', name), 'utf8');
      assert.match(page, /Content-Security-Policy" content="default-src 'none'; style-src [^;"]+; script-src 'nonce-\$\{nonce\}'"/);
      assert.doesNotMatch(page, /unsafe-inline|unsafe-eval|https?:/);
    }
  });
});

describe('a command that is none', () => {
  it('is an answer with the reason, and the end of the session', async () => {
    const adapter = new Adapter('/nonexistent/hetdwarf');
    const messages: Message[] = [];
    const ended = new Promise<void>((done) => {
      adapter.onMessage = (message) => {
        messages.push(message);
        if (message.event === 'terminated') {
          done();
        }
      };
    });
    adapter.send({ seq: 1, type: 'request', command: 'initialize' });
    await ended;
    assert.equal(messages[0]?.request_seq, 1);
    assert.match(messages[0]?.message ?? '', /nonexistent.*cannot be run/);
    assert.deepEqual(messages.slice(1).map((one) => one.event), ['output', 'terminated']);
  });

  it('is told by what it prints, if it has no adapter', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hetdwarf-old-'));
    const program = join(folder, 'hetdwarf');
    writeFileSync(program, '#!/bin/sh\necho "unrecognized subcommand $1" >&2\nexit 2\n', { mode: 0o755 });
    const adapter = new Adapter(program);
    const said = await new Promise<string>((done) => {
      adapter.onMessage = (message) => {
        if (message.event === 'output') {
          done((message.body as { output: string }).output);
        }
      };
    });
    assert.match(said, /dap ended with status 2: unrecognized subcommand dap/);
    rmSync(folder, { recursive: true });
  });
});
