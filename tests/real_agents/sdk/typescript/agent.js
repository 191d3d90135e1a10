/**
 * An agent on the package `@agentclientprotocol/sdk`: its types and its connection, and what they call. The turns
 * themselves are played by `turn`.
 */

const { randomUUID } = require("node:crypto");
const { Readable, Writable } = require("node:stream");
const acp = require("@agentclientprotocol/sdk");
const store = require("./store.js");
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

  /** @returns {acp.SessionModeState} */
  modes() {
    const names = { ask: "Ask", plan: "Plan", auto: "Auto" };
    const availableModes = Object.entries(names).map(([id, name]) => ({ id, name }));
    return { availableModes, currentModeId: this.mode };
  }
}

/** @type {Map<string, Session>} */
const sessions = new Map();

/** @param {Session} session */
const open = (session) => {
  sessions.set(session.id, session);
  return session;
};

const get = (id) => {
  const session = sessions.get(id);
  if (!session) throw acp.RequestError.sessionNotFound(id);
  return session;
};

const { agent: methods, client: calls } = acp.methods;

const app = acp
  .agent({ name: "scripted-typescript" })
  .onRequest(methods.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentCapabilities: { loadSession: true, promptCapabilities: { image: true } },
    agentInfo: { name: "scripted-typescript", version: "0" },
  }))
  .onRequest(methods.session.new, ({ params }) => {
    const session = open(new Session(randomUUID(), params.cwd, []));
    return { sessionId: session.id, modes: session.modes() };
  })
  .onRequest(methods.session.load, async ({ params, client }) => {
    const { sessionId } = params;
    const history = store.load(sessionId);
    if (!history) throw acp.RequestError.sessionNotFound(sessionId);
    const session = open(new Session(sessionId, params.cwd, history));
    const tell = (sessionUpdate, content) =>
      client.notify(calls.session.update, { sessionId, update: { sessionUpdate, content } });
    for (const { user = [], agent } of session.history) {
      for (const block of user) await tell("user_message_chunk", block);
      if (agent) await tell("agent_message_chunk", { type: "text", text: agent });
    }
    return { modes: session.modes() };
  })
  .onRequest(methods.session.setMode, ({ params }) => {
    get(params.sessionId).mode = params.modeId;
    return {};
  })
  .onRequest(methods.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const session = get(sessionId);
    session.cancelling = new AbortController();
    session.remember({ user: prompt });
    store.log(session.history);
    const availableCommands = [{ name: "init", description: "Does nothing" }];
    const update = { sessionUpdate: "available_commands_update", availableCommands };
    await client.notify(calls.session.update, { sessionId, update });
    const turn = new Turn(client, session);
    try {
      const texts = prompt.flatMap((block) => (block.type === "text" ? [block.text] : []));
      return { stopReason: await turn.play(texts.join("\n")) };
    } finally {
      session.remember({ agent: turn.said });
    }
  })
  .onNotification(methods.session.cancel, ({ params }) => get(params.sessionId).cancelling.abort());

app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
