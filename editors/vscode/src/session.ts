/** Manages the open cores, and the contents of the views for the current core. */

import * as vscode from 'vscode';

import { Adapter } from './adapter';
import { findCommand } from './command';
import type { Message } from './messages';
import type { Group, Lane, LaneValue, LanesBody, StackFrame, StoppedBody, Thread } from './protocol';

/** A debug session and its process. */
export class Core implements vscode.DebugAdapter {
  readonly adapter: Adapter;
  groups: Group[] = [];
  names = new Map<number, string>();
  /** The event with the reason why the core was written. */
  stopped: StoppedBody | undefined;
  /** The expression whose values determine the colors of the lanes. */
  expression = '';
  private readonly toEditor = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  readonly onDidSendMessage = this.toEditor.event;

  constructor(
    readonly session: vscode.DebugSession,
    command: string,
    private readonly changed: (core: Core, what: 'stopped' | 'values') => void,
  ) {
    this.adapter = new Adapter(command);
    this.adapter.onMessage = (message) => this.receive(message);
  }

  handleMessage(message: vscode.DebugProtocolMessage): void {
    this.adapter.send(message as Message);
  }

  /** Makes the editor show a wave. The event `stopped` follows, and editors select the thread of the last such event. */
  async focusWave(wave: number): Promise<void> {
    await this.session.customRequest('hetdwarf/focus', { threadId: wave });
  }

  /** Chooses the lane whose values are shown. If `lane` is undefined, shows all lanes. */
  async setLane(wave: number, lane: number | undefined): Promise<void> {
    await this.session.customRequest('hetdwarf/setLane', { threadId: wave, ...(lane === undefined ? {} : { lane }) });
  }

  dispose(): void {
    this.adapter.dispose();
    this.toEditor.dispose();
  }

  private receive(message: Message): void {
    this.toEditor.fire(message as unknown as vscode.DebugProtocolMessage);
    if (message.event === 'stopped' && !this.stopped) {
      // Later events belong to waves that the user selects.
      this.stopped = message.body as StoppedBody;
      // This fails only if the process has ended, which the adapter reports.
      this.load().catch(() => undefined);
    } else if (message.event === 'invalidated') {
      this.changed(this, 'values');
    }
  }

  private async load(): Promise<void> {
    const [{ groups }, { threads }] = await Promise.all([
      this.adapter.ask<{ groups: Group[] }>('hetdwarf/groups'),
      this.adapter.ask<{ threads: Thread[] }>('threads'),
    ]);
    this.groups = groups;
    this.names = new Map(threads.map(({ id, name }) => [id, name]));
    this.changed(this, 'stopped');
  }
}

/** The contents of the views. */
export interface Shown {
  core: Core;
  wave: number;
  /** The selected frame. `index` is its position among the frames. */
  frame: StackFrame | undefined;
  index: number;
  /** The lanes, as seen from that frame. */
  lanes: Lane[];
  /** The lanes, as seen from the innermost frame. */
  innermost: Lane[];
  focus: number | null;
  values: LaneValue[];
  /** The reason why the expression has no values, or why the lanes are unknown. */
  error: string;
}

/** Tracks the wave and the frame that the user has selected. */
export class Follower implements vscode.Disposable, vscode.DebugAdapterDescriptorFactory {
  private readonly cores = new Map<string, Core>();
  private readonly groupsEmitter = new vscode.EventEmitter<void>();
  private readonly shownEmitter = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  /** The number of refreshes so far. The answer to an earlier refresh is dropped. */
  private turn = 0;
  readonly onDidChangeGroups = this.groupsEmitter.event;
  readonly onDidChangeShown = this.shownEmitter.event;
  shown: Shown | undefined;

  constructor() {
    this.subscriptions = [
      vscode.debug.onDidChangeActiveStackItem(() => void this.refresh()),
      vscode.debug.onDidChangeActiveDebugSession(() => {
        this.groupsEmitter.fire();
        void this.refresh();
      }),
      vscode.debug.onDidTerminateDebugSession((session) => {
        this.cores.delete(session.id);
        this.groupsEmitter.fire();
        void this.refresh();
      }),
    ];
  }

  createDebugAdapterDescriptor(session: vscode.DebugSession): vscode.DebugAdapterDescriptor {
    const core = new Core(session, commandPath(), (changed, what) => {
      if (changed === this.core) {
        if (what === 'stopped') {
          this.groupsEmitter.fire();
        }
        void this.refresh();
      }
    });
    this.cores.set(session.id, core);
    return new vscode.DebugAdapterInlineImplementation(core);
  }

  /** The core of the active debug session. */
  get core(): Core | undefined {
    return this.cores.get(vscode.debug.activeDebugSession?.id ?? '');
  }

  /** Updates the contents of the views. */
  async refresh(): Promise<void> {
    const turn = ++this.turn;
    const shown = await this.load();
    if (turn === this.turn) {
      this.shown = shown;
      this.shownEmitter.fire();
    }
  }

  private async load(): Promise<Shown | undefined> {
    const item = vscode.debug.activeStackItem;
    const core = item && this.cores.get(item.session.id);
    if (!item || !core) {
      return undefined;
    }
    const { adapter } = core;
    const threadId = item.threadId;
    const shown: Shown = {
      core, wave: threadId, frame: undefined, index: 0, lanes: [], innermost: [], focus: null, values: [], error: '',
    };
    try {
      const { stackFrames } = await adapter.ask<{ stackFrames: StackFrame[] }>('stackTrace', { threadId });
      const frameId = item instanceof vscode.DebugStackFrame ? item.frameId : undefined;
      shown.index = Math.max(0, stackFrames.findIndex((frame) => frame.id === frameId));
      shown.frame = stackFrames[shown.index];
      const innermost = await adapter.ask<LanesBody>('hetdwarf/lanes', { threadId });
      shown.focus = innermost.focus;
      shown.innermost = innermost.lanes;
      shown.lanes = shown.innermost;
      if (shown.frame && shown.index > 0) {
        shown.lanes = (await adapter.ask<LanesBody>('hetdwarf/lanes', { frameId: shown.frame.id })).lanes;
      }
      if (shown.frame && core.expression) {
        shown.values = await adapter.laneValues(shown.frame.id, core.expression);
      }
    } catch (error) {
      shown.error = error instanceof Error ? error.message : String(error);
    }
    return shown;
  }

  dispose(): void {
    for (const one of [...this.subscriptions, this.groupsEmitter, this.shownEmitter]) {
      one.dispose();
    }
  }
}

/**
 * Returns the path of the command hetdwarf.
 *
 * @throws If there is none.
 */
export function commandPath(): string {
  const setting = vscode.workspace.getConfiguration('hetdwarf').get<string>('path', '');
  return findCommand(setting, process.env['PATH'], process.platform);
}
