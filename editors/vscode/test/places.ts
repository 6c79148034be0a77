/** Locates the files that the tests need. */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';

const ROOT = resolve(__dirname, '../../../..');
export const DEMO = join(ROOT, 'examples/demo');
export const WAVES = join(ROOT, 'dwarf-tests/fixtures/waves');
export const CORES = join(ROOT, 'dwarf-tests/fixtures/cores');

/** The command under test. */
export const HETDWARF = resolve(process.env['HETDWARF'] ?? join(ROOT, 'target/debug/hetdwarf'));
if (!existsSync(HETDWARF)) {
  throw new Error(`${HETDWARF} does not exist: build it (cargo build), or name one with HETDWARF`);
}

/** Returns the folders of fixtures in a folder. */
export function cases(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((one) => one.isDirectory()).map((one) => one.name).sort();
}

/** Returns the contents of a JSON file, which may be compressed. */
export function json<T>(path: string): T {
  const packed = `${path}.gz`;
  const bytes = existsSync(path) ? readFileSync(path) : gunzipSync(readFileSync(packed));
  return JSON.parse(bytes.toString('utf8')) as T;
}
