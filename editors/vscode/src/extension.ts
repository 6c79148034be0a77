/** The entry of the extension. */

import * as vscode from 'vscode';

import { Decorations } from './decorations';
import { LanesView } from './lanesView';
import { registerOpening } from './open';
import { Follower } from './session';
import { WavesView } from './wavesView';

export function activate(context: vscode.ExtensionContext): void {
  const follower = new Follower();
  context.subscriptions.push(
    follower,
    vscode.debug.registerDebugAdapterDescriptorFactory('hetdwarf', follower),
    new WavesView(follower),
    new LanesView(context.extensionUri, follower),
    new Decorations(follower),
    ...registerOpening(),
  );
}
