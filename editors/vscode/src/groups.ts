/** Groups and filters waves by call stack. Does not depend on the editor. */

import type { Group } from './protocol';

/** The waves of a group that match a filter. */
export interface ShownGroup {
  group: Group;
  waves: number[];
}

/** The most waves in one level of the tree. */
export const PAGE = 200;

/**
 * Returns the groups whose stack, kernel, state or waves match a filter.
 *
 * The group of the faulted wave comes first, then the other stopped groups, then the rest by size.
 */
export function shownGroups(
  groups: readonly Group[],
  names: ReadonlyMap<number, string>,
  filter: string,
  faulted: number | undefined,
): ShownGroup[] {
  const wanted = filter.trim().toLowerCase();
  const matches = (text: string): boolean => text.toLowerCase().includes(wanted);
  const shown: ShownGroup[] = [];
  for (const group of groups) {
    const whole = [group.kernel ?? '', group.state, ...group.stack].some(matches);
    const waves = whole ? [...group.waves] : group.waves.filter((wave) => matches(waveName(names, wave)));
    if (waves.length > 0) {
      waves.sort((one, other) => Number(other === faulted) - Number(one === faulted) || one - other);
      shown.push({ group, waves });
    }
  }
  const rank = ({ group }: ShownGroup): number =>
    faulted !== undefined && group.waves.includes(faulted) ? 0 : group.state === 'stopped' ? 1 : 2;
  const ranks = new Map(shown.map((one) => [one, rank(one)]));
  return shown.sort((one, other) => ranks.get(one)! - ranks.get(other)! || other.waves.length - one.waves.length);
}

/** Returns the name of a wave, or its number: if there are very many waves, some have no name. */
export function waveName(names: ReadonlyMap<number, string>, wave: number): string {
  return names.get(wave) ?? `wave ${wave}`;
}
