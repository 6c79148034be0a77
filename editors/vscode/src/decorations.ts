/** Decorates the source: the number of lanes at the frame's line, and the lines where other lanes wait. */

import * as vscode from 'vscode';

import { ranges, waitingLines } from './lanes';
import type { Source } from './protocol';
import type { Core, Follower, Shown } from './session';

export class Decorations implements vscode.Disposable {
  private readonly here = vscode.window.createTextEditorDecorationType({
    after: { margin: '0 0 0 3em', color: new vscode.ThemeColor('editorCodeLens.foreground') },
  });
  private readonly waiting = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('hetdwarf.waitingLineBackground'),
    overviewRulerColor: new vscode.ThemeColor('charts.yellow'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    after: { margin: '0 0 0 3em', color: new vscode.ThemeColor('editorCodeLens.foreground') },
  });
  /** The decoration types for the margin, one for each count. */
  private readonly counts = new Map<number, vscode.TextEditorDecorationType>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly follower: Follower) {
    this.subscriptions = [
      this.here,
      this.waiting,
      follower.onDidChangeShown(() => this.update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.update()),
    ];
  }

  dispose(): void {
    for (const one of [...this.subscriptions, ...this.counts.values()]) {
      one.dispose();
    }
  }

  private update(): void {
    const shown = this.follower.shown;
    for (const editor of vscode.window.visibleTextEditors) {
      this.decorate(editor, shown);
    }
  }

  private decorate(editor: vscode.TextEditor, shown: Shown | undefined): void {
    const document = editor.document;
    const isHere = (source: Source | undefined): boolean => shown !== undefined && isSource(document.uri, source, shown.core);
    const inDocument = (line: number): boolean => line >= 1 && line <= document.lineCount;
    const frame = shown?.frame;
    const here: vscode.DecorationOptions[] = [];
    if (shown && frame && isHere(frame.source) && inDocument(frame.line)) {
      const active = shown.lanes.filter((lane) => lane.state === 'active').map((lane) => lane.lane);
      here.push(option(document, frame.line, `${active.length} of ${shown.lanes.length} lanes here: ${ranges(active)}`));
    }
    const lines = waitingLines(shown?.innermost ?? []);
    const waiting = lines.filter(({ source, line }) => isHere(source) && inDocument(line));
    editor.setDecorations(this.here, here);
    editor.setDecorations(
      this.waiting,
      waiting.map(({ line, lanes }) => option(document, line, `${waits(lanes.length)} here: ${ranges(lanes)}`)),
    );
    for (const { lanes } of waiting) {
      this.count(lanes.length);
    }
    for (const [number, type] of this.counts) {
      const of = waiting.filter(({ lanes }) => lanes.length === number);
      editor.setDecorations(type, of.map(({ line }) => document.lineAt(line - 1).range));
    }
  }

  /** Returns the decoration type that shows a count in the margin. */
  private count(number: number): vscode.TextEditorDecorationType {
    const known = this.counts.get(number);
    if (known) {
      return known;
    }
    const picture = (color: string): vscode.Uri => {
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><rect x=".5" y="1.5" width="15" height="13" rx="3" fill="none" stroke="${color}"/><text x="8" y="12" font-family="sans-serif" font-size="10" text-anchor="middle" fill="${color}">${number}</text></svg>`;
      return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`);
    };
    const type = vscode.window.createTextEditorDecorationType({
      gutterIconSize: 'contain',
      light: { gutterIconPath: picture('#7a5b00') },
      dark: { gutterIconPath: picture('#e2c08d') },
    });
    this.counts.set(number, type);
    return type;
  }
}

function waits(count: number): string {
  return count === 1 ? '1 lane waits' : `${count} lanes wait`;
}

function option(document: vscode.TextDocument, line: number, text: string): vscode.DecorationOptions {
  return { range: document.lineAt(line - 1).range, renderOptions: { after: { contentText: text } } };
}

/** Returns true if a document is a source of the core. */
function isSource(uri: vscode.Uri, source: Source | undefined, core: Core): boolean {
  if (!source) {
    return false;
  }
  if (source.path && !source.sourceReference) {
    return uri.scheme === 'file' && uri.fsPath === vscode.Uri.file(source.path).fsPath;
  }
  return uri.toString() === vscode.debug.asDebugSourceUri(source as vscode.DebugProtocolSource, core.session).toString();
}
