/** The process `hetdwarf dap`. The editor and the extension both send it requests, and each receives only its own answers. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

import { Decoder, type Message, encode } from './messages';
import type { LaneValue } from './protocol';

/** The first number of the extension's own requests. The editor counts from 1. */
const FIRST_OWN = 1_000_000_000;
/** The most characters of the command's standard error that are kept. */
const MOST_ERROR = 2000;

interface Pending {
  command: string;
  resolve(body: unknown): void;
  reject(error: Error): void;
}

export class Adapter {
  /** Is called with every message for the editor. */
  onMessage: (message: Message) => void = () => undefined;
  private readonly process: ChildProcessWithoutNullStreams;
  private readonly decoder = new Decoder();
  private readonly own = new Map<number, Pending>();
  private readonly ofEditor = new Map<number, string>();
  private next = FIRST_OWN;
  private error = '';
  private ended = false;
  /** True once the editor has ended the session. */
  private leaving = false;

  constructor(private readonly command: string) {
    this.process = spawn(command, ['dap'], { stdio: 'pipe', windowsHide: true });
    this.process.stdout.on('data', (chunk: Buffer) => this.receive(chunk));
    this.process.stderr.on('data', (chunk: Buffer) => {
      this.error = (this.error + chunk.toString('utf8')).slice(-MOST_ERROR);
    });
    // Writing to a process that has ended fails, and `close` reports the reason.
    this.process.stdin.on('error', () => undefined);
    this.process.on('error', (error) => this.end(`${command} cannot be run: ${error.message}`));
    this.process.on('close', (status) => {
      const reason = this.error.trim();
      this.end(`${command} dap ended with status ${status ?? 'unknown'}${reason ? `: ${reason}` : ''}`);
    });
  }

  /** Passes a message from the editor to the process. */
  send(message: Message): void {
    if (message.type === 'request') {
      if (this.ended) {
        this.refuse(message.seq, message.command ?? '', 'hetdwarf has ended');
        return;
      }
      this.ofEditor.set(message.seq, message.command ?? '');
      this.leaving ||= message.command === 'disconnect' || message.command === 'terminate';
    }
    this.process.stdin.write(encode(message));
  }

  /** Sends a request of the extension, whose answer the editor does not see. */
  ask<Body>(command: string, args: object = {}): Promise<Body> {
    const seq = this.next++;
    return new Promise<Body>((resolve, reject) => {
      if (this.ended) {
        reject(new Error('hetdwarf has ended'));
        return;
      }
      this.own.set(seq, { command, resolve: (body) => resolve(body as Body), reject });
      this.process.stdin.write(encode({ seq, type: 'request', command, arguments: args }));
    });
  }

  /** Returns the values of an expression in all lanes of a frame, whatever lane is in focus. */
  async laneValues(frame: number, expression: string): Promise<LaneValue[]> {
    const { variablesReference } = await this.ask<{ variablesReference: number }>('evaluate', {
      expression,
      frameId: frame,
      context: 'lanes',
    });
    const { variables } = await this.ask<{ variables: { name: string; value: string }[] }>('variables', { variablesReference });
    return variables.map(({ name, value: text }) => ({ lane: Number(/^lane (\d+)/.exec(name)?.[1]), text }));
  }

  /** Ends the process. */
  dispose(): void {
    this.leaving = true;
    this.process.stdin.end();
    this.process.kill();
  }

  private receive(chunk: Buffer): void {
    let messages: Message[];
    try {
      messages = this.decoder.push(chunk);
    } catch (error) {
      this.end(`${this.command} sent something that is no message: ${String(error)}`);
      this.process.kill();
      return;
    }
    for (const message of messages) {
      this.deliver(message);
    }
  }

  private deliver(message: Message): void {
    if (message.type === 'response' && message.request_seq !== undefined) {
      const pending = this.own.get(message.request_seq);
      if (pending) {
        this.own.delete(message.request_seq);
        if (message.success === false) {
          pending.reject(new Error(message.message ?? `${pending.command}: it failed`));
          return;
        }
        pending.resolve(message.body);
        return;
      }
      this.ofEditor.delete(message.request_seq);
    }
    this.onMessage(message);
  }

  private refuse(seq: number, command: string, reason: string): void {
    this.onMessage({ seq: 0, type: 'response', request_seq: seq, success: false, command, message: reason });
  }

  /** Fails all open requests. */
  private end(reason: string): void {
    if (this.ended) {
      return;
    }
    this.ended = true;
    for (const pending of this.own.values()) {
      pending.reject(new Error(reason));
    }
    this.own.clear();
    for (const [seq, command] of this.ofEditor) {
      this.refuse(seq, command, reason);
    }
    this.ofEditor.clear();
    if (!this.leaving) {
      this.onMessage({ seq: 0, type: 'event', event: 'output', body: { category: 'important', output: `${reason}\n` } });
    }
    this.onMessage({ seq: 0, type: 'event', event: 'terminated', body: {} });
  }
}
