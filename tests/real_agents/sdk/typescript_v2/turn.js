/**
 * Plays the script of one prompt. In version 2 clients have neither files nor terminals: the agent reads and writes
 * the disk, runs commands, and tells what it does.
 */

const { spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const { writeFileSync } = require("node:fs");
const fs = require("node:fs/promises");
const path = require("node:path");
const { setTimeout: after } = require("node:timers/promises");
const acp = require("@agentclientprotocol/sdk/experimental/v2");
const { parse } = require("../typescript/script.js");

/** How long a model would think between two calls, in which the client finds what the first one did on disk. */
const MODEL_TIME = 100;
const STEPS = ["Look at the file", "Change the file", "Tell the user"];
const { client: calls } = acp.methods;

class Cancelled extends Error {}
class Failed extends Error {}

const text = (text) => ({ type: "text", text });

/** A patch of one hunk, with all lines of both texts. */
const gitPatch = (file, before, now) => {
  const lines = (text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
  const [old, fresh] = [lines(before ?? ""), lines(now)];
  const marked = (sign, all, text) => all.map((line) => `${sign}${line}\n`).join("") + (text && !text.endsWith("\n") ? "\\ No newline at end of file\n" : "");
  const name = file.replace(/^\//, "");
  const range = (all) => `${all.length ? 1 : 0},${all.length}`;
  return (
    `diff --git a/${name} b/${name}\n${before === undefined ? "new file mode 100644\n" : ""}` +
    `--- ${before === undefined ? "/dev/null" : `a/${name}`}\n+++ b/${name}\n` +
    `@@ -${range(old)} +${range(fresh)} @@\n${marked("-", old, before)}${marked("+", fresh, now)}`
  );
};

exports.Turn = class {
  /** @param {acp.AgentContext} client @param {any} session @param {(update: any) => Promise<void>} update */
  constructor(client, session, update) {
    this.client = client;
    this.session = session;
    this.update = update;
    this.said = "";
    this.calls = 0;
    this.messageId = randomUUID();
  }

  async play(prompt) {
    try {
      await this.steps(prompt);
    } catch (error) {
      if (error instanceof Cancelled) return { stopReason: "cancelled" };
      const { code = -32603, message } = error;
      return { stopReason: "error", error: { code, message } };
    }
    return { stopReason: "end_turn" };
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
          await this.stream("agent_thought_chunk", randomUUID(), argument);
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
          await this.update({ sessionUpdate: "plan_update", plan: { type: "items", planId: "plan", entries } });
          break;
        }
        case "error":
          throw new acp.RequestError(Number(argument), `mock error ${argument}`);
        default:
          result = (await Promise.all(group.map((step) => this.call(step)))).at(-1);
          // What is said after tool calls is another message.
          this.messageId = randomUUID();
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

  async stream(sessionUpdate, messageId, words) {
    for (const word of words.match(/[^ ]+ ?| /g) ?? []) {
      await this.update({ sessionUpdate, messageId, content: text(word) });
    }
  }

  async say(words) {
    this.said += words;
    await this.stream("agent_message_chunk", this.messageId, words);
  }

  /** Announces a tool call, makes it and tells how it ended. */
  async call({ name, argument }) {
    this.calls += 1;
    const [file, ...rest] = argument.split("|");
    const isCommand = name === "shell";
    const toolCallId = randomUUID();
    const about = {
      toolCallId,
      title: isCommand ? argument : `${name[0].toUpperCase()}${name.slice(1)} ${file}`,
      kind: { shell: "execute", read: "read" }[name] ?? "edit",
      ...(isCommand ? {} : { locations: [{ path: this.path(file) }] }),
    };
    const told = (fields) => this.update({ sessionUpdate: "tool_call_update", toolCallId, ...fields });
    await told({ status: "pending", ...about });
    try {
      const result = await this.make(name, about, file, rest, argument, told);
      await told({ status: "completed" });
      return result;
    } catch (error) {
      if (error instanceof Cancelled) {
        await told({ status: "failed" });
        throw error;
      }
      await told({ status: "failed", content: [{ type: "content", content: text(error.message) }] });
      return error.message;
    }
  }

  async make(name, about, file, rest, argument, told) {
    switch (name) {
      case "read":
        return fs.readFile(this.path(file), "utf8");
      case "edit": {
        const before = await fs.readFile(this.path(file), "utf8");
        if (!before.includes(rest[0])) throw new Failed(`${rest[0]} is not in ${file}`);
        return this.write(about, file, before, () => this.edited(file, rest[0], rest[1]), told);
      }
      case "write": {
        const before = await fs.readFile(this.path(file), "utf8").catch(() => undefined);
        return this.write(about, file, before, async () => rest.join("|"), told);
      }
      case "shell":
        return this.shell(about, argument, told);
      default:
        throw new Failed(`there is no step ${name}`);
    }
  }

  path(name) {
    return path.join(this.session.cwd, name);
  }

  async edited(name, old, now) {
    return (await fs.readFile(this.path(name), "utf8")).replace(old, () => now);
  }

  async write(about, name, before, making, told) {
    const file = this.path(name);
    const diff = (now) => [
      {
        type: "diff",
        changes: [{ operation: before === undefined ? "add" : "modify", path: file, fileType: "text" }],
        patch: { format: "git_patch", text: gitPatch(file, before, now) },
      },
    ];
    const toolCall = { ...about, content: diff(await making()) };
    await this.ask(about.title, { type: "tool_call", toolCall });
    const now = await making();
    await fs.mkdir(path.dirname(file), { recursive: true });
    // As agents do it, at once: with the asynchronous one the file is empty for a while.
    writeFileSync(file, now);
    await told({ content: diff(now) });
    return `${name} was written`;
  }

  async shell({ toolCallId }, command, told) {
    const { cwd } = this.session;
    const terminalId = randomUUID();
    await this.ask("Run this?", { type: "command", command, cwd, toolCallId });
    await this.update({ sessionUpdate: "terminal_update", terminalId, command, cwd });
    await told({ status: "in_progress", content: [{ type: "terminal", terminalId }] });
    const child = spawn("sh", ["-c", command], { cwd, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const { signal } = this.session.cancelling;
    const kill = () => process.kill(-child.pid, "SIGKILL");
    signal.addEventListener("abort", kill);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes) => {
        output += bytes;
        this.update({ sessionUpdate: "terminal_output_chunk", terminalId, data: bytes.toString("base64") });
      });
    }
    const [exitCode, name] = await new Promise((resolve) => child.on("close", (...end) => resolve(end)));
    signal.removeEventListener("abort", kill);
    const exitStatus = name ? { signal: name } : { exitCode };
    await this.update({ sessionUpdate: "terminal_update", terminalId, exitStatus });
    if (signal.aborted) throw new Cancelled();
    if (exitCode !== 0) throw new Failed(output);
    return output;
  }

  /** Asks the user, whose answer to a turn that was cancelled is that. */
  async ask(title, subject) {
    if (this.session.mode === "auto") return;
    const options = [
      { optionId: "yes", name: "Allow", kind: "allow_once" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ];
    const sessionId = this.session.id;
    const { outcome } = await this.client.request(calls.session.requestPermission, { sessionId, title, subject, options });
    if (outcome.outcome === "cancelled") throw new Cancelled();
    if (outcome.optionId !== "yes") throw new Failed("the user rejected it");
  }
};
