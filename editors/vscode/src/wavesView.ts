/** The view *Waves*: groups by call stack, with their waves. */

import * as vscode from 'vscode';

import { PAGE, type ShownGroup, shownGroups, waveName } from './groups';
import type { Core, Follower } from './session';

type Node =
  | { kind: 'group'; core: Core; shown: ShownGroup }
  | { kind: 'page'; core: Core; waves: number[]; first: number }
  | { kind: 'wave'; core: Core; wave: number };

export class WavesView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.emitter.event;
  private readonly tree: vscode.TreeView<Node>;
  private readonly subscriptions: vscode.Disposable[];
  private filter = '';

  constructor(private readonly follower: Follower) {
    this.tree = vscode.window.createTreeView('hetdwarf.waves', { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions = [
      this.tree,
      this.emitter,
      follower.onDidChangeGroups(() => this.update()),
      vscode.commands.registerCommand('hetdwarf.filterWaves', () => this.askFilter()),
      vscode.commands.registerCommand('hetdwarf.clearFilter', () => this.setFilter('')),
      vscode.commands.registerCommand('hetdwarf.focusWave', (core: Core, wave: number) => core.focusWave(wave)),
    ];
  }

  getChildren(node?: Node): Node[] {
    if (!node) {
      const core = this.follower.core;
      return core ? this.groups(core).map((shown) => ({ kind: 'group', core, shown })) : [];
    }
    const waves = node.kind === 'group' ? node.shown.waves : node.kind === 'page' ? node.waves : [];
    if (node.kind === 'group' && waves.length > PAGE) {
      const pages: Node[] = [];
      for (let first = 0; first < waves.length; first += PAGE) {
        pages.push({ kind: 'page', core: node.core, waves: waves.slice(first, first + PAGE), first });
      }
      return pages;
    }
    return waves.map((wave) => ({ kind: 'wave', core: node.core, wave }));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case 'group':
        return groupItem(node.core, node.shown);
      case 'page': {
        const label = `${node.first + 1} to ${node.first + node.waves.length}`;
        return new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Collapsed);
      }
      case 'wave':
        return waveItem(node.core, node.wave);
    }
  }

  dispose(): void {
    for (const one of this.subscriptions) {
      one.dispose();
    }
  }

  private groups(core: Core): ShownGroup[] {
    return shownGroups(core.groups, core.names, this.filter, core.stopped?.threadId);
  }

  private update(): void {
    const core = this.follower.core;
    const all = core?.groups.reduce((sum, group) => sum + group.waves.length, 0) ?? 0;
    const left = core ? this.groups(core).reduce((sum, { waves }) => sum + waves.length, 0) : 0;
    this.tree.description = this.filter ? `${left} of ${all}: ${this.filter}` : core ? `${all}` : '';
    // A message replaces an empty tree.
    this.tree.message = this.filter && left === 0 && all > 0 ? `No wave matches "${this.filter}".` : undefined;
    this.emitter.fire();
  }

  private async askFilter(): Promise<void> {
    const given = await vscode.window.showInputBox({
      title: 'Filter waves',
      prompt: 'Part of a function, a line, a kernel, a state or a work-group',
      placeHolder: 'mid at calls.cl:21',
      value: this.filter,
    });
    if (given !== undefined) {
      this.setFilter(given);
    }
  }

  private setFilter(filter: string): void {
    this.filter = filter;
    void vscode.commands.executeCommand('setContext', 'hetdwarf.filtered', filter !== '');
    this.update();
  }
}

function groupItem(core: Core, { group, waves }: ShownGroup): vscode.TreeItem {
  const faulted = waves.includes(core.stopped?.threadId ?? -1);
  const state = faulted ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
  const place = group.stack[0] ?? group.kernel ?? 'position unknown';
  const item = new vscode.TreeItem(`${waves.length} × ${place}`, state);
  item.id = `${core.session.id}/${group.waves[0]}`;
  item.description = faulted ? core.stopped?.description ?? group.state : group.state;
  item.tooltip = group.stack.join('\n');
  item.iconPath = faulted
    ? new vscode.ThemeIcon('error', new vscode.ThemeColor('errorForeground'))
    : new vscode.ThemeIcon('layers');
  item.accessibilityInformation = { label: `${waves.length} waves, ${item.description}, ${group.stack.join(', called by ')}` };
  return item;
}

function waveItem(core: Core, wave: number): vscode.TreeItem {
  // The name of a wave is "wave PLACE KERNEL  STATE".
  const [label, state] = waveName(core.names, wave).split('  ');
  const item = new vscode.TreeItem(label ?? '', vscode.TreeItemCollapsibleState.None);
  item.id = `${core.session.id}/wave/${wave}`;
  item.description = state ?? '';
  item.tooltip = `${waveName(core.names, wave)} (wave ${wave})`;
  item.iconPath = new vscode.ThemeIcon(core.stopped?.threadId === wave ? 'debug-stackframe' : 'pulse');
  item.command = { command: 'hetdwarf.focusWave', title: 'Go to wave', arguments: [core, wave] };
  return item;
}
