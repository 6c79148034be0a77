// Opens the demo's core in VS Code like a user, with the packed extension (npm run package), and checks the contents of the screen.
//
// `test/install-code-server FOLDER` installs code-server and playwright-core.
//
//   CODE_SERVER   the file out/node/entry.js of code-server, which is VS Code in a browser
//   PLAYWRIGHT    the folder of playwright-core
//   CHROMIUM      the browser (default: chromium on the PATH)
//   HETDWARF      the command hetdwarf
//   MANY          a core of 10,000 waves, written by `cargo run -p dwarf-tests --example many_waves -- 10000 FILE` (default: none is opened)
//   PICTURES      a folder for screenshots (default: none are taken)
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const here = resolve(import.meta.dirname, '..');
const demo = resolve(here, '../../examples/particles');
const needed = (name) => {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
};
const server = needed('CODE_SERVER');
const hetdwarf = resolve(needed('HETDWARF'));
const { chromium } = createRequire(import.meta.url)(needed('PLAYWRIGHT'));
const browserPath = process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
const pictures = process.env.PICTURES;
const manyCore = process.env.MANY && resolve(process.env.MANY);

async function freePort() {
  const listener = createServer();
  await new Promise((done) => listener.listen(0, '127.0.0.1', done));
  const { port } = listener.address();
  await new Promise((done) => listener.close(done));
  return port;
}

/** Returns a debug agent's log of 10,000 waves. Wave 7777 faulted, and every fifth wave is at 0x7f4000001604. */
function manyWaves() {
  const waves = [];
  for (let wave = 1; wave <= 10_000; wave += 1) {
    const pc = (0x7f4000001600 + 4 * (wave % 5)).toString(16);
    const state = wave === 7777 ? ' (stopped, reason: MEMORY_VIOLATION)' : ' (running)';
    waves.push(`wave_${wave}: pc=0x${pc} (kernel_code_entry=0x7f4000001900 <k>)${state}\n\nsystem registers:\n  exec: ffffffff\n`);
  }
  return waves.join('\n');
}

async function start(folder, theme) {
  const extensions = join(folder, 'extensions');
  const user = join(folder, 'data', 'User');
  const workspace = join(folder, 'crash');
  // The path of the command is a machine setting, because the server runs on that machine.
  const machine = join(folder, 'data', 'Machine');
  for (const one of [extensions, user, machine, workspace]) {
    mkdirSync(one, { recursive: true });
  }
  copyFileSync(join(demo, 'particles.core'), join(workspace, 'gpucore.1234'));
  copyFileSync(join(demo, 'particles.hip'), join(workspace, 'particles.hip'));
  mkdirSync(join(workspace, '.vscode'));
  const many = { type: 'hetdwarf', request: 'attach', name: 'Many waves', log: 'many.log' };
  const core = { type: 'hetdwarf', request: 'attach', name: 'Many waves of a core', coreFile: manyCore };
  const configurations = manyCore ? [many, core] : [many];
  writeFileSync(join(workspace, '.vscode', 'launch.json'), JSON.stringify({ version: '0.2.0', configurations }));
  writeFileSync(join(workspace, 'many.log'), manyWaves());
  writeFileSync(join(machine, 'settings.json'), JSON.stringify({ 'hetdwarf.path': hetdwarf }));
  writeFileSync(
    join(user, 'settings.json'),
    JSON.stringify({
      'workbench.colorTheme': theme,
      'workbench.startupEditor': 'none',
      'workbench.tips.enabled': false,
      'security.workspace.trust.enabled': false,
      'telemetry.telemetryLevel': 'off',
      'window.commandCenter': false,
      'workbench.layoutControl.enabled': false,
      'editor.minimap.enabled': false,
      'debug.openDebug': 'openOnDebugBreak',
      'workbench.secondarySideBar.defaultVisibility': 'hidden',
      'chat.commandCenter.enabled': false,
    }),
  );
  const config = ['--config', join(folder, 'config.yaml'), '--extensions-dir', extensions, '--user-data-dir', join(folder, 'data')];
  execFileSync(process.execPath, [server, ...config, '--install-extension', join(here, 'hetdwarf.vsix')], { stdio: ['ignore', 'ignore', 'inherit'] });
  const port = await freePort();
  const options = ['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check'];
  const child = spawn(process.execPath, [
    server, ...options, ...config, '--disable-workspace-trust', workspace,
  ], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  const listening = new Promise((done, failed) => {
    const read = (chunk) => {
      log += chunk;
      if (log.includes('HTTP server listening')) {
        done();
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('close', () => failed(new Error(`code-server ended: ${log}`)));
    setTimeout(() => failed(new Error(`code-server does not listen: ${log}`)), 60_000).unref();
  });
  await listening;
  return { child, url: `http://127.0.0.1:${port}/?folder=${encodeURIComponent(workspace)}` };
}

/** Returns the frame of the view Lanes. Views are in nested frames. */
async function viewFrame(page) {
  for (let tries = 0; tries < 100; tries += 1) {
    for (const frame of page.frames()) {
      if (await frame.locator('#grid').count().catch(() => 0)) {
        return frame;
      }
    }
    await page.waitForTimeout(200);
  }
  throw new Error('the view Lanes is not there');
}

/** Returns a pane of the side bar. */
function paneOf(page, title) {
  return page.locator('.pane', { has: page.locator('.pane-header h3', { hasText: new RegExp(`^${title}$`, 'i') }) });
}

async function setOpen(page, title, isOpen) {
  const header = paneOf(page, title).locator('.pane-header');
  if ((await header.count()) > 0 && (await header.getAttribute('aria-expanded')) !== String(isOpen)) {
    await header.click();
  }
}

/** Drags the upper edge of a pane of the side bar. */
async function drag(page, title, up) {
  const { x, y } = await paneOf(page, title).boundingBox();
  await page.mouse.move(x + 150, y - 1);
  await page.mouse.down();
  await page.mouse.move(x + 150, y - 1 - up, { steps: 10 });
  await page.mouse.up();
}

/** Waits until the palette has the extension's command. Before that, a double click would open the file as text. */
async function extensionLoaded(page) {
  for (let tries = 0; tries < 60; tries += 1) {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').fill('>hetdwarf: Open');
    await page.waitForTimeout(500);
    const found = await page.locator('.quick-input-widget .monaco-list-row', { hasText: 'Open GPU core' }).count();
    await page.keyboard.press('Escape');
    if (found > 0) {
      return;
    }
    await page.waitForTimeout(500);
  }
  throw new Error('the extension was not loaded');
}

async function picture(page, name) {
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    // Moves the pointer away, so that no tooltip is shown.
    await page.mouse.move(1000, 16);
    await page.waitForTimeout(1000);
    await page.screenshot({ path: join(pictures, `${name}.png`) });
  }
}

async function look(page, url, name) {
  await page.goto(url);
  // A double click on the core.
  const file = page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'gpucore.1234' });
  await file.waitFor({ timeout: 90_000 });
  await extensionLoaded(page);
  await file.dblclick();
  const stopped = page.locator('.debug-top-stack-frame-line, .debug-top-stack-frame-column');
  await stopped.first().waitFor({ timeout: 60_000 });
  const editor = page.locator('.monaco-editor').filter({ hasText: 'cells[slot] = particle' }).first();
  await editor.waitFor();
  for (const [title, isOpen] of Object.entries({ Breakpoints: false, 'Loaded Scripts': false, Watch: false, Waves: true, Lanes: true })) {
    await setOpen(page, title, isOpen);
  }
  await drag(page, 'Waves', 200);
  await drag(page, 'Lanes', 200);
  const waves = paneOf(page, 'Waves').locator('.monaco-list-row');
  await waves.filter({ hasText: '1 × put at particles.hip:14' }).first().waitFor();
  const groups = await waves.allInnerTexts();
  assert.match(groups[0], /put at particles\.hip:14/, 'the group at fault is first');
  const lanes = await viewFrame(page);
  await lanes.locator('#grid button').nth(31).waitFor();
  assert.equal(await lanes.locator('#grid button').count(), 32);
  assert.equal(await lanes.locator('#grid button.active').count(), 24);
  assert.match(await lanes.locator('#grid button').nth(1).getAttribute('aria-label'), /work-item \(65,0,0\).*particles\.hip:20/);
  await picture(page, `${name}-1-opened`);

  // Colors lanes by an expression: two lanes have an index past the end of the buffer, which has 2048 elements.
  await lanes.locator('#expression').fill('slot >= 2048');
  await lanes.locator('#expression').press('Enter');
  await lanes.locator('#legend', { hasText: '1 × 2' }).waitFor();
  assert.match(await lanes.locator('#legend').innerText(), /0 × 22/);

  // Chooses a lane: the variables show this lane's values.
  await lanes.locator('#grid button').nth(6).click();
  await lanes.locator('#grid button[aria-selected=true]', { hasText: '6' }).waitFor();
  assert.match(await lanes.locator('#legend').innerText(), /1 × 2/, 'the watch is of all lanes');
  const variables = page.locator('.debug-variables');
  await variables.locator('.monaco-list-row', { hasText: /^slot\s*=\s*2086$/ }).waitFor();
  await picture(page, `${name}-2-lane`);

  // Uses the keyboard: moves along the grid, chooses a lane, and returns to all lanes.
  await lanes.locator('#grid button').nth(6).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await lanes.locator('#grid button[aria-selected=true]', { hasText: '8' }).waitFor();
  await lanes.locator('#all').click();
  await variables.locator('.monaco-list-row', { hasText: /^slot.*24 values/ }).waitFor();

  // Adds a watch.
  await setOpen(page, 'Watch', true);
  const pane = paneOf(page, 'Watch');
  await pane.locator('.pane-header').hover();
  await pane.locator('.codicon-watch-expressions-add, [aria-label="Add Expression"]').first().click();
  await page.keyboard.type('slot - 2048');
  await page.keyboard.press('Enter');
  await pane.locator('.monaco-list-row', { hasText: /slot - 2048.*24 values/ }).waitFor();
  await drag(page, 'Call Stack', 120);
  await drag(page, 'Waves', 150);
  await drag(page, 'Lanes', 200);
  await picture(page, `${name}-3-watch`);

  // Chooses another wave.
  const group = waves.filter({ hasText: '2 × sort_particles at particles.hip:19' });
  await group.click();
  await waves.filter({ hasText: '(0,0,0)/0' }).click();
  await lanes.locator('#title', { hasText: '(0,0,0)/0' }).waitFor();
  await page.locator('.debug-call-stack .monaco-list-row', { hasText: /sort_particles/ }).first().waitFor();
  await picture(page, `${name}-4-wave`);
}

/** Opens 10,000 waves through a configuration, and chooses one in a later page of the tree. */
async function lookAtMany(page, name) {
  await page.keyboard.press('Shift+F5');
  await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
  // Makes room for the tree.
  await setOpen(page, 'Watch', false);
  await setOpen(page, 'Variables', false);
  const begin = performance.now();
  await page.keyboard.press('F5');
  const waves = paneOf(page, 'Waves').locator('.monaco-list-row');
  await waves.filter({ hasText: 'wave 7777 k' }).waitFor();
  const seconds = (performance.now() - begin) / 1000;
  assert.ok(seconds < 15, `${seconds} s until 10,000 waves are there`);
  await paneOf(page, 'Waves').locator('.pane-header', { hasText: '10000' }).waitFor();
  await waves.filter({ hasText: '2000 × 0x7f4000001604' }).click();
  await waves.filter({ hasText: '201 to 400' }).click();
  // The first wave on the second page of 200.
  await waves.filter({ hasText: 'wave 1001 k' }).click();
  const lanes = await viewFrame(page);
  await lanes.locator('#title', { hasText: 'wave 1001 k' }).waitFor();
  await lanes.locator('#error', { hasText: /wave 1001 is in no code object/ }).waitFor();
  await picture(page, `${name}-5-many`);
  return seconds;
}

/** Opens a core of 10,000 waves with 18 call stacks through the next configuration. Checks waves, variables and lanes as for eight waves. */
async function lookAtManyInCore(page, name) {
  await page.keyboard.press('Shift+F5');
  await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').fill('>Debug: Select and Start Debugging');
  await page.keyboard.press('Enter');
  const begin = performance.now();
  await page.locator('.quick-input-widget .monaco-list-row', { hasText: 'Many waves of a core' }).click();
  const pane = paneOf(page, 'Waves');
  const waves = pane.locator('.monaco-list-row');
  await pane.locator('.pane-header', { hasText: '10000' }).waitFor();
  await waves.filter({ hasText: '556 × mid at calls.cl:15' }).first().waitFor();
  // The frame is selected and its variables are shown even without the source.
  await setOpen(page, 'Variables', true);
  await page.locator('.debug-variables .monaco-list-row').nth(1).waitFor();
  const seconds = (performance.now() - begin) / 1000;
  assert.ok(seconds < 15, `${seconds} s until a core of 10,000 waves is there`);
  const lanes = await viewFrame(page);
  // Measures the time to choose a wave and show its variables and lanes.
  const times = [];
  await pane.locator('.pane-header').hover();
  await pane.locator('[aria-label^="Filter"]').first().click();
  await page.locator('.quick-input-widget input').fill('leaf at calls.cl:8');
  await page.keyboard.press('Enter');
  await waves.filter({ hasText: '556 × leaf at calls.cl:8' }).first().click();
  const ofWaves = waves.filter({ hasText: /wave \d+:\d+:\(\d+,0,0\)/ });
  // A click during a redraw of the tree is lost.
  for (let tries = 0; tries < 5 && (await ofWaves.count()) === 0; tries += 1) {
    await waves.filter({ hasText: '1 to 200' }).first().click();
    await page.waitForTimeout(1000);
  }
  for (let number = 0; number < 3; number += 1) {
    const wave = ofWaves.nth(number);
    const title = /\(\d+,0,0\)\/\d+/.exec(await wave.innerText())[0];
    const start = performance.now();
    await wave.click();
    await lanes.locator('#title', { hasText: title }).waitFor();
    await lanes.locator('#grid button').nth(31).waitFor();
    // Only leaf has this variable.
    await page.locator('.debug-variables .monaco-list-row', { hasText: /^x\b/ }).waitFor();
    times.push(performance.now() - start);
  }
  assert.ok(Math.max(...times) < 5000, `${times} ms from wave to wave`);
  await picture(page, `${name}-6-many-core`);
  return [seconds, Math.max(...times)];
}

async function main() {
  const themes = { light: 'Default Light Modern', dark: 'Default Dark Modern' };
  for (const [name, theme] of Object.entries(themes)) {
    const folder = mkdtempSync(join(tmpdir(), 'hetdwarf-editor-'));
    const { child, url } = await start(folder, theme);
    const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    try {
      await look(page, url, name);
      console.log(`${name}: the core opens, waves, lanes and watches are shown`);
      const seconds = await lookAtMany(page, name);
      console.log(`${name}: 10,000 waves are there after ${seconds.toFixed(1)} s`);
      if (manyCore) {
        const [opened, went] = await lookAtManyInCore(page, name);
        console.log(`${name}: those of a core after ${opened.toFixed(1)} s, and each wave after ${went.toFixed(0)} ms`);
      }
    } catch (error) {
      await picture(page, `${name}-failed`);
      throw error;
    } finally {
      await browser.close();
      child.removeAllListeners('close');
      child.kill();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

await main();
