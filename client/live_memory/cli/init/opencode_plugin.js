// The memory of this project, written by `livemem init opencode`. Where livemem is not installed, it does nothing.
import { spawn } from "node:child_process"

const COMMANDS = COMMANDS_OF_INIT
const MILLISECONDS = 10_000
const MOST_MESSAGES = 200

export const LiveMemory = async ({ client, directory }) => {
  const started = new Map() // The sessions of this process: what their hook said at the start.
  const handedOver = new Map() // The messages of each session that a hook took.
  const ofAgents = new Set() // Sessions of sub-agents.

  const call = (event, session, more) =>
    new Promise((done) => {
      const [program, ...words] = COMMANDS[event].split(" ")
      const hook = spawn(program, words, { cwd: directory, stdio: ["pipe", "pipe", "ignore"] })
      setTimeout(() => hook.kill(), MILLISECONDS).unref() // That of spawn holds a process where no program is.
      let said = ""
      hook.stdout.setEncoding("utf8").on("data", (part) => (said += part))
      hook.on("error", () => done({ failed: true })).on("close", () => {
        try {
          done(JSON.parse(said))
        } catch {
          done({ failed: true })
        }
      })
      hook.stdin.on("error", () => {})
      hook.stdin.end(JSON.stringify({ session_id: session, cwd: directory, hook_event_name: event, ...more }))
    })

  const run = async (event, session, more) => {
    if (!COMMANDS[event]) return {}
    return call(event, session, more).catch(() => ({ failed: true })) // Whatever it is, the session goes on.
  }

  const words = (parts) =>
    parts.flatMap((part) => (part.type === "text" && !part.synthetic && !part.ignored ? [part.text] : [])).join("\n\n")

  const send = async (event, session) => {
    const { data = [] } = await client.session.messages({ path: { id: session } }).catch(() => ({}))
    const over = data.filter(({ info }) => info.role === "user" || (info.time.completed && !info.summary))
    const messages = over.map(({ info, parts }) => ({
      id: info.id,
      role: info.role,
      ts: info.time.created,
      content: words(parts),
    }))
    const taken = handedOver.get(session) ?? new Set()
    const left = messages.filter(({ id }) => !taken.has(id)).slice(-MOST_MESSAGES)
    const { failed } = await run(event, session, { messages: left })
    if (!failed) handedOver.set(session, new Set(messages.map(({ id }) => id)))
  }

  const begin = async (session) => {
    const { systemMessage: message, ...answer } = await run("SessionStart", session)
    if (message) client.tui.showToast({ body: { message, variant: "info" } }).catch(() => {})
    return answer
  }

  return {
    "chat.message": async ({ sessionID: session }, { message, parts }) => {
      if (ofAgents.has(session)) return
      const answers = started.has(session) ? [] : [begin(session)]
      if (answers.length) started.set(session, answers[0])
      await started.get(session)
      answers.push(run("UserPromptSubmit", session, { prompt: words(parts) }))
      for (const answer of await Promise.all(answers)) {
        const text = answer.hookSpecificOutput?.additionalContext
        const id = `${parts.at(-1)?.id ?? "prt_"}m`
        if (text) parts.push({ id, sessionID: session, messageID: message.id, type: "text", text, synthetic: true })
      }
    },
    event: async ({ event: { type, properties } }) => {
      if (type === "session.created" && properties.info.parentID) ofAgents.add(properties.info.id)
      const session = properties.sessionID
      if (!started.has(session)) return
      if (type === "session.idle") await send("Stop", session)
      if (type === "session.compacted") {
        await send("PreCompact", session)
        started.delete(session) // The next prompt brings the memory again.
      }
    },
    dispose: async () => {
      await Promise.all([...started.keys()].map((session) => run("SessionEnd", session)))
    },
  }
}
