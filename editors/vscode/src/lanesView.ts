/** The view *Lanes*: the lanes of the wave in focus, as a grid. Its page is `webview/lanes.ts`. */

import { randomBytes } from 'node:crypto';

import * as vscode from 'vscode';

import { legend, shownLanes } from './lanes';
import { waveName } from './groups';
import type { Follower } from './session';

/** A message from the page. */
type FromPage = { kind: 'ready' } | { kind: 'lane'; lane: number } | { kind: 'all' } | { kind: 'watch'; expression: string };

export class LanesView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly follower: Follower,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider('hetdwarf.lanes', this),
      follower.onDidChangeShown(() => this.update()),
      vscode.commands.registerCommand('hetdwarf.chooseLane', () => this.askLane()),
      vscode.commands.registerCommand('hetdwarf.allLanes', () => this.setLane(undefined)),
      vscode.commands.registerCommand('hetdwarf.laneWatch', () => this.askExpression()),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.onDidDispose(() => (this.view = undefined));
    const { webview } = view;
    const folders = ['media', 'out'].map((name) => vscode.Uri.joinPath(this.extension, name));
    webview.options = { enableScripts: true, localResourceRoots: folders };
    webview.onDidReceiveMessage((message: FromPage) => this.receive(message));
    webview.html = page(webview, this.extension);
  }

  dispose(): void {
    for (const one of this.subscriptions) {
      one.dispose();
    }
  }

  private receive(message: FromPage): void {
    switch (message.kind) {
      case 'ready':
        this.update();
        break;
      case 'lane':
        this.setLane(message.lane);
        break;
      case 'all':
        this.setLane(undefined);
        break;
      case 'watch':
        this.setExpression(message.expression);
        break;
    }
  }

  private update(): void {
    const shown = this.follower.shown;
    if (!this.view) {
      return;
    }
    if (!shown) {
      void this.view.webview.postMessage({ lanes: [], legend: [], title: '', expression: '', error: '', focus: null });
      return;
    }
    const lanes = shownLanes(shown.lanes, shown.values);
    this.view.description = shown.focus === null ? 'all lanes' : `lane ${shown.focus}`;
    void this.view.webview.postMessage({
      title: `${waveName(shown.core.names, shown.wave)}, frame ${shown.index} ${shown.frame?.name ?? ''}`,
      lanes,
      legend: legend(shown.values),
      expression: shown.core.expression,
      error: shown.error,
      focus: shown.focus,
    });
  }

  private setLane(lane: number | undefined): void {
    const shown = this.follower.shown;
    shown?.core.setLane(shown.wave, lane).then(undefined, (error: Error) => vscode.window.showErrorMessage(error.message));
  }

  private setExpression(expression: string): void {
    const core = this.follower.shown?.core;
    if (core) {
      core.expression = expression.trim();
      void this.follower.refresh();
    }
  }

  private async askLane(): Promise<void> {
    const shown = this.follower.shown;
    const lanes = shown ? shownLanes(shown.lanes, shown.values) : [];
    const items = lanes.map(({ lane, item, state, place, value }) => ({
      label: `lane ${lane}`,
      description: [item, place || state].filter(Boolean).join(' '),
      detail: value,
      lane,
    }));
    const chosen = await vscode.window.showQuickPick(items, { title: 'Show values of a lane', matchOnDescription: true });
    if (chosen) {
      this.setLane(chosen.lane);
    }
  }

  private async askExpression(): Promise<void> {
    const expression = await vscode.window.showInputBox({
      title: 'Color lanes by an expression',
      prompt: 'The expression is evaluated in each lane. Leave it empty to color lanes by their state.',
      value: this.follower.shown?.core.expression ?? '',
    });
    if (expression !== undefined) {
      this.setExpression(expression);
    }
  }
}

function page(webview: vscode.Webview, extension: vscode.Uri): string {
  const nonce = randomBytes(16).toString('hex');
  const uri = (...path: string[]): string => webview.asWebviewUri(vscode.Uri.joinPath(extension, ...path)).toString();
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${uri('media', 'lanes.css')}">
<title>Lanes</title>
</head>
<body>
<p id="title"></p>
<form id="watch"><label for="expression">Color by</label><input id="expression" type="text" spellcheck="false" placeholder="expression"></form>
<p id="error" role="alert"></p>
<div id="grid" role="grid" aria-label="Lanes"></div>
<button id="all" type="button">All lanes</button>
<ul id="legend" aria-label="Values"></ul>
<p id="detail" aria-live="polite"></p>
<script nonce="${nonce}" src="${uri('out', 'webview', 'lanes.js')}"></script>
</body>
</html>`;
}
