/**
 * An agent on the draft of version 2 of ACP in the package `@agentclientprotocol/sdk`: the package's types and its
 * connection, and what they call. The turns themselves are played by `turn`.
 */

const { randomUUID } = require("node:crypto");
const { Readable, Writable } = require("node:stream");
const acp = require("@agentclientprotocol/sdk/experimental/v2");
const store = require("../typescript/store.js");
const { Turn } = require("./turn.js");

/** One conversation. */
class Session {
  /** @param {string} id @param {string} cwd @param {any[]} history */
  constructor(id, cwd, history) {
    this.id = id;
    this.cwd = cwd;
    this.history = history;
    this.mode = "ask";
    this.cancelling = new AbortController();
  }

  remember(entry) {
    this.history.push(entry);
    store.remember(this.id, entry);
  }

  /** What version 1 calls modes is an option. @returns {acp.SessionConfigOption[]} */
  configOptions() {
    const options = ["Ask", "Plan", "Auto"].map((name) => ({ value: name.toLowerCase(), name }));
    return [
      { type: "select", configId: "mode", name: "Mode", category: "mode", currentValue: this.mode, options },
    ];
  }
}

/** @type {Map<string, Session>} */
const sessions = new Map();

const get = (id) => {
  const session = sessions.get(id);
  if (!session) throw acp.RequestError.sessionNotFound(id);
  return session;
};

const { agent: methods, client: calls } = acp.methods;
const availableCommands = [{ type: "command", name: "init", description: "Does nothing" }];

/** A turn begins with its prompt and ends when the session is idle; the prompt itself has been answered by then. */
const play = async (client, session, messageId, prompt) => {
  const update = (update) => client.notify(calls.session.update, { sessionId: session.id, update });
  const turn = new Turn(client, session, update);
  let end = { stopReason: "end_turn" };
  await update({ sessionUpdate: "user_message", messageId, content: prompt });
  await update({ sessionUpdate: "state_update", state: "running" });
  try {
    const texts = prompt.flatMap((block) => (block.type === "text" ? [block.text] : []));
    end = await turn.play(texts.join("\n"));
  } finally {
    session.remember({ agent: turn.said, messageId: turn.messageId });
    await update({ sessionUpdate: "state_update", state: "idle", ...end });
  }
};

acp
  .agent({ name: "scripted-typescript-v2" })
  .onRequest(methods.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    info: { name: "scripted-typescript-v2", version: "0" },
    capabilities: { session: { prompt: { image: {} }, mcp: { stdio: {} } } },
  }))
  .onRequest(methods.session.new, ({ params }) => {
    const session = new Session(randomUUID(), params.cwd, []);
    sessions.set(session.id, session);
    return { sessionId: session.id, availableCommands, configOptions: session.configOptions() };
  })
  .onRequest(methods.session.resume, async ({ params, client }) => {
    const { sessionId, cwd, replayFrom } = params;
    const history = store.load(sessionId);
    if (!history) throw acp.RequestError.sessionNotFound(sessionId);
    const session = new Session(sessionId, cwd, history);
    sessions.set(sessionId, session);
    const tell = (sessionUpdate, messageId, content) =>
      client.notify(calls.session.update, { sessionId, update: { sessionUpdate, messageId, content } });
    for (const { messageId, user, agent } of replayFrom ? history : []) {
      if (user) await tell("user_message", messageId, user);
      if (agent) await tell("agent_message", messageId, [{ type: "text", text: agent }]);
    }
    return { availableCommands, configOptions: session.configOptions() };
  })
  .onRequest(methods.session.setConfigOption, ({ params }) => {
    const session = get(params.sessionId);
    session.mode = params.value;
    return { configOptions: session.configOptions() };
  })
  .onRequest(methods.session.prompt, ({ params, client }) => {
    const session = get(params.sessionId);
    const messageId = randomUUID();
    session.cancelling = new AbortController();
    session.remember({ user: params.prompt, messageId });
    store.log(session.history);
    play(client, session, messageId, params.prompt).catch((error) => console.error(error));
    return { messageId };
  })
  .onNotification(methods.session.cancel, ({ params }) => get(params.sessionId).cancelling.abort())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
