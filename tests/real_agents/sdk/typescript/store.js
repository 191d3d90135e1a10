/** What is kept of sessions: a file each below the home folder, with one entry per line; and the log that tests read. */

const fs = require("node:fs");
const path = require("node:path");

const SESSIONS = path.join(process.env.HOME ?? "", "sessions");

/** @param {string} file @param {unknown} entry */
const append = (file, entry) => fs.appendFileSync(file, JSON.stringify(entry) + "\n");

/** @param {string} id @param {any} entry */
exports.remember = (id, entry) => {
  fs.mkdirSync(SESSIONS, { recursive: true });
  append(path.join(SESSIONS, id), entry);
};

/** The entries of a session, if there is one. @param {string} id @returns {any[] | undefined} */
exports.load = (id) => {
  const file = path.join(SESSIONS, path.basename(id));
  if (!fs.existsSync(file)) return undefined;
  const lines = fs.readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
};

/** Notes all that the agent knows in a turn, where tests ask what its model would be asked. @param {any[]} history */
exports.log = (history) => {
  if (process.env.AGENT_LOG) append(process.env.AGENT_LOG, { body: history });
};
