/** Finds the command hetdwarf. Does not depend on the editor. */

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Returns true if a path is a program. */
function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Returns the path of the command: the path in the setting, or the first on the PATH.
 *
 * Relative folders on the PATH are skipped, because a program in the folder of a core must not be run.
 *
 * @throws If there is none. The message describes what to do.
 */
export function findCommand(setting: string, path: string | undefined, platform: NodeJS.Platform): string {
  const given = setting.trim();
  if (given) {
    if (!isAbsolute(given)) {
      throw new Error(`The setting hetdwarf.path is "${given}". It must be an absolute path.`);
    }
    if (!isProgram(given)) {
      throw new Error(`The setting hetdwarf.path is "${given}", which is not a program. Correct it, or clear it to use the PATH.`);
    }
    return given;
  }
  const name = platform === 'win32' ? 'hetdwarf.exe' : 'hetdwarf';
  const folders = (path ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const found = folders.map((folder) => join(folder, name)).find(isProgram);
  if (!found) {
    throw new Error(
      'The command hetdwarf is not on the PATH. Install it, or set hetdwarf.path to its absolute path.',
    );
  }
  return found;
}
