/** Plays the script of one prompt. */

const { randomUUID } = require("node:crypto");
const path = require("node:path");
const { setTimeout: after } = require("node:timers/promises");
const acp = require("@agentclientprotocol/sdk");
const { parse } = require("./script.js");

/** How long a model would think between two calls, in which the client finds what the first one did on disk. */
const MODEL_TIME = 100;
const STEPS = ["Look at the file", "Change the file", "Tell the user"];
const { client: calls } = acp.methods;

class Cancelled extends Error {}
class Failed extends Error {}

const text = (text) => ({ type: "text", text });

exports.Turn = class {
  /** @param {acp.AgentContext} client @param {any} session */
  constructor(client, session) {
    this.client = client;
    this.session = session;
    this.said = "";
    this.calls = 0;
  }

  /** @returns {Promise<acp.StopReason>} */
  async play(prompt) {
    try {
      await this.steps(prompt);
    } catch (error) {
      if (error instanceof Cancelled) return "cancelled";
      throw error;
    }
    return "end_turn";
  }

  async steps(prompt) {
    const groups = parse(prompt);
    if (groups.length === 0) await this.say(`Mock reply to: ${prompt}`);
    let result;
    for (const group of groups) {
      const [{ name, argument }] = group;
      result = undefined;
      switch (name) {
        case "say":
          await this.say(argument);
          break;
        case "think":
          await this.stream("agent_thought_chunk", argument);
          break;
        case "slow":
          for (let number = 1; number <= Number(argument); number += 1) {
            await this.say(`tick ${number} `);
            await this.wait(200);
          }
          break;
        case "hang":
          await this.wait(2 ** 31 - 1);
          break;
        case "todo": {
          const status = (index) => (index < Number(argument) ? "completed" : "pending");
          const entries = STEPS.map((content, index) => ({ content, priority: "medium", status: status(index) }));
          await this.update({ sessionUpdate: "plan", entries });
          break;
        }
        case "error":
          throw new acp.RequestError(Number(argument), `mock error ${argument}`);
        default:
          result = (await Promise.all(group.map((step) => this.call(step)))).at(-1);
          await this.wait(MODEL_TIME);
      }
    }
    if (result !== undefined) {
      await this.say(`All ${this.calls} steps done. Last tool result: ${result.replace(/\s+/g, " ")}`);
    }
  }

  /** Lets time pass, in which the turn may be cancelled. */
  async wait(milliseconds) {
    try {
      await after(milliseconds, undefined, { signal: this.session.cancelling.signal });
    } catch {
      throw new Cancelled();
    }
  }

  /** @param {acp.SessionUpdate} update */
  update(update) {
    return this.client.notify(calls.session.update, { sessionId: this.session.id, update });
  }

  async stream(sessionUpdate, words) {
    for (const word of words.match(/[^ ]+ ?| /g) ?? []) await this.update({ sessionUpdate, content: text(word) });
  }

  async say(words) {
    this.said += words;
    await this.stream("agent_message_chunk", words);
  }

  request(method, params) {
    return this.client.request(method, { sessionId: this.session.id, ...params });
  }

  /** Announces a tool call, makes it and tells how it ended. */
  async call({ name, argument }) {
    this.calls += 1;
    const [file, ...rest] = argument.split("|");
    const toolCallId = randomUUID();
    const isCommand = name === "shell";
    const about = {
      toolCallId,
      title: isCommand ? argument : `${name[0].toUpperCase()}${name.slice(1)} ${file}`,
      kind: { shell: "execute", read: "read" }[name] ?? "edit",
      locations: isCommand ? [] : [{ path: this.path(file) }],
      rawInput: isCommand ? { command: argument } : { path: file },
    };
    await this.update({ sessionUpdate: "tool_call", status: "pending", ...about });
    const told = (fields) => this.update({ sessionUpdate: "tool_call_update", toolCallId, ...fields });
    try {
      const result = await this.make(name, about, file, rest, argument, told);
      await told({ status: "completed" });
      return result;
    } catch (error) {
      if (error instanceof Cancelled) {
        await told({ status: "failed" });
        throw error;
      }
      // What the client refuses is the tool's failure, of which the model is told.
      const why = `${error.message} ${error.data === undefined ? "" : JSON.stringify(error.data)}`.trim();
      await told({ status: "failed", content: [{ type: "content", content: text(why) }] });
      return why;
    }
  }

  async make(name, about, file, rest, argument, told) {
    switch (name) {
      case "read":
        return this.read(file);
      case "edit": {
        const before = await this.read(file);
        if (!before.includes(rest[0])) throw new Failed(`${rest[0]} is not in ${file}`);
        return this.write(about, file, before, before.replace(rest[0], () => rest[1]), told);
      }
      case "write":
        return this.write(about, file, undefined, rest.join("|"), told);
      case "shell":
        return this.shell(about, argument, told);
      default:
        throw new Failed(`there is no step ${name}`);
    }
  }

  path(name) {
    return path.join(this.session.cwd, name);
  }

  async read(name) {
    return (await this.request(calls.fs.readTextFile, { path: this.path(name) })).content;
  }

  async write(about, name, oldText, newText, told) {
    const file = this.path(name);
    const content = [{ type: "diff", path: file, oldText, newText }];
    await this.ask({ ...about, content });
    await this.request(calls.fs.writeTextFile, { path: file, content: newText });
    await told({ content });
    return `${name} was written`;
  }

  async shell(about, command, told) {
    await this.ask(about);
    const sessionId = this.session.id;
    const args = ["-c", command];
    const terminal = await this.client.createTerminal({ sessionId, command: "sh", args, cwd: this.session.cwd });
    try {
      await told({ status: "in_progress", content: [{ type: "terminal", terminalId: terminal.id }] });
      const { signal } = this.session.cancelling;
      const kill = () => terminal.kill();
      signal.addEventListener("abort", kill);
      const { exitCode } = await terminal.waitForExit();
      signal.removeEventListener("abort", kill);
      if (signal.aborted) throw new Cancelled();
      const { output } = await terminal.currentOutput();
      if (exitCode !== 0) throw new Failed(output);
      return output;
    } finally {
      await terminal.release();
    }
  }

  /** Asks the user, whose answer to a turn that was cancelled is that. */
  async ask(toolCall) {
    if (this.session.mode === "auto") return;
    const options = [
      { optionId: "yes", name: "Allow", kind: "allow_once" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ];
    const { outcome } = await this.request(calls.session.requestPermission, { toolCall, options });
    if (outcome.outcome === "cancelled") throw new Cancelled();
    if (outcome.optionId !== "yes") throw new Failed("the user rejected it");
  }
};
