/** Opens a core: through the command, a double click, or a configuration. */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';

import * as vscode from 'vscode';

import { commandPath } from './session';

const TYPE = 'hetdwarf';
/** The fields of a configuration that name files or folders. */
const PATHS = ['coreFile', 'waveFile', 'log', 'objectPath'];

/** Returns the files of a core. For the GPU's half, this includes the host's half in the same folder. */
export function filesOf(path: string): string[] {
  const number = /^gpucore\.(.+)$/.exec(basename(path))?.[1];
  const host = number && join(dirname(path), `core.${number}`);
  return host && existsSync(host) ? [path, host] : [path];
}

/** Opens a core in the debugger. */
export async function openCore(uri: vscode.Uri): Promise<boolean> {
  const folder = vscode.workspace.getWorkspaceFolder(uri) ?? vscode.workspace.workspaceFolders?.[0];
  return vscode.debug.startDebugging(folder, {
    type: TYPE,
    request: 'attach',
    name: basename(uri.fsPath),
    coreFile: filesOf(uri.fsPath),
    // Nothing is printed at the start, so the console stays closed.
    internalConsoleOptions: 'neverOpen',
  });
}

async function askForCore(): Promise<vscode.Uri | undefined> {
  const chosen = await vscode.window.showOpenDialog({ title: 'Open GPU core', openLabel: 'Open', canSelectMany: false });
  return chosen?.[0];
}

/** Fills in what a configuration leaves out. */
export class Configurations implements vscode.DebugConfigurationProvider {
  async resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (!configuration.type) {
      // There is no launch.json.
      const uri = await askForCore();
      if (!uri) {
        return undefined;
      }
      return { type: TYPE, request: 'attach', name: basename(uri.fsPath), coreFile: filesOf(uri.fsPath) };
    }
    return configuration;
  }

  async resolveDebugConfigurationWithSubstitutedVariables(
    folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    try {
      commandPath();
    } catch (error) {
      const settings = 'Open Settings';
      void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error), settings).then((chosen) => {
        if (chosen === settings) {
          void vscode.commands.executeCommand('workbench.action.openSettings', 'hetdwarf.path');
        }
      });
      return undefined;
    }
    // Paths in a configuration are relative to the workspace, but the command runs in another folder.
    const root = folder?.uri.fsPath;
    const absolute = (path: string): string => (root && !isAbsolute(path) ? join(root, path) : path);
    for (const field of PATHS) {
      const given: unknown = configuration[field];
      if (typeof given === 'string') {
        configuration[field] = absolute(given);
      } else if (Array.isArray(given)) {
        configuration[field] = given.map((path: unknown) => (typeof path === 'string' ? absolute(path) : path));
      }
    }
    configuration['sourceDir'] ??= vscode.workspace.workspaceFolders?.map((one) => one.uri.fsPath) ?? [];
    return configuration;
  }
}

/** The page that a double click on a core opens. It also starts the debugger. */
export class CoreEditor implements vscode.CustomReadonlyEditorProvider {
  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => undefined };
  }

  resolveCustomEditor(document: vscode.CustomDocument, panel: vscode.WebviewPanel): void {
    const nonce = randomBytes(16).toString('hex');
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    panel.webview.onDidReceiveMessage(() => void openCore(document.uri));
    panel.webview.html = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<title>GPU core</title>
<style nonce="${nonce}">
button { background: var(--vscode-button-background); border: 1px solid var(--vscode-button-border, transparent); color: var(--vscode-button-foreground); font: inherit; padding: 6px 14px; }
button:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px; }
</style>
</head>
<body>
<p>This file is the core of a GPU program. It is shown in the debugger: <em>Run and Debug</em> in the side bar.</p>
<button type="button">Open in the debugger</button>
<script nonce="${nonce}">
const api = acquireVsCodeApi();
document.querySelector('button').addEventListener('click', () => api.postMessage('open'));
</script>
</body>
</html>`;
    void openCore(document.uri);
  }
}

/** Registers the configuration provider, the page and the command. */
export function registerOpening(): vscode.Disposable[] {
  return [
    vscode.debug.registerDebugConfigurationProvider(TYPE, new Configurations()),
    vscode.window.registerCustomEditorProvider('hetdwarf.core', new CoreEditor(), {
      supportsMultipleEditorsPerDocument: false,
    }),
    vscode.commands.registerCommand('hetdwarf.openCore', async (given?: vscode.Uri) => {
      const uri = given ?? (await askForCore());
      if (uri) {
        await openCore(uri);
      }
    }),
  ];
}
