/** The script in a prompt: `[[name argument]]`, `\n` in an argument is a newline. Knows nothing of the protocol. */

const CALLS = ["read", "write", "edit", "shell"];

/** @typedef {{ name: string, argument: string }} Step */

/**
 * The steps of a prompt; those of one group, between which is `&&`, are made at once.
 * @param {string} prompt
 * @returns {Step[][]}
 */
exports.parse = (prompt) => {
  const groups = [];
  for (const [, beside, name, argument] of prompt.matchAll(/(&&\s*)?\[\[(\w+) ?(.*?)\]\](?!\])/gs)) {
    const step = { name, argument: argument.replaceAll("\\n", "\n") };
    if (beside && groups.length && CALLS.includes(name)) {
      groups.at(-1).push(step);
    } else {
      groups.push([step]);
    }
  }
  return groups;
};
