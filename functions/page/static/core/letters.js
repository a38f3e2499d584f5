/** Letters that nobody sees, or that turn the direction of a text: shown by their number, so that no text can hide. */

// Controls of direction, letters without width, tags, and other controls. The joiners of emoji and of some scripts stay.
const HIDDEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|[\u{E0000}-\u{E007F}]/gu;

/** Pieces of a text: strings, and {hidden: 'U+202E', count} for runs of letters that are not shown as they are. */
export function pieces(text) {
  const found = [];
  let last = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > last) found.push(text.slice(last, match.index));
    const name = `U+${match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
    const before = found.at(-1);
    if (before?.hidden && match.index === last) {
      before.count += 1;
      if (!before.names.includes(name)) before.names.push(name);
    } else {
      found.push({ hidden: name, names: [name], count: 1 });
    }
    last = match.index + match[0].length;
  }
  if (last < text.length) found.push(text.slice(last));
  return found;
}

export const hides = (text) => text.search(HIDDEN) >= 0;

/** A text without its hidden letters, for places that show plain text alone: titles of windows and dialogs. */
export const shownLetters = (text) => text.replace(HIDDEN, '');
