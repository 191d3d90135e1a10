//! Recordings of real agents played again to `Peer` and `State`: our calls take the place of those that were recorded. Nothing
//! is drawn as an error or as unknown but what the agent itself called an error, and each of its requests is answered.

use super::world::World;
use rat_nvim::core::messages::status::ChatState;
use rat_nvim::core::messages::user::{PermissionChoice, UserAction};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A recording, and how far it has been played.
struct Replay {
    world: Option<World>,
    /// Our ids of the calls that were recorded under these ids.
    ours: HashMap<String, Json>,
    /// The methods of the calls that were recorded.
    methods: HashMap<String, String>,
    /// The ids of the agent's requests since it was started.
    asked: Vec<Json>,
    session: String,
    /// What the agent called an error, in answer to a call of ours.
    errors: Vec<String>,
    requests: usize,
}

impl Replay {
    fn new() -> Self {
        Self {
            world: None,
            ours: HashMap::new(),
            methods: HashMap::new(),
            asked: Vec::new(),
            session: String::new(),
            errors: Vec::new(),
            requests: 0,
        }
    }

    fn world(&mut self) -> &mut World {
        self.world.get_or_insert_with(|| World::start_in("/ws"))
    }

    /// Plays the lines from the agent's start to its next.
    fn phase(&mut self, lines: &[Json]) {
        let opens = |line: &&Json| {
            let method = line["msg"]["method"].as_str().unwrap_or_default();
            line["dir"] == "c2a"
                && ["session/new", "session/load", "session/resume"].contains(&method)
        };
        let opening = lines.iter().find(opens).map(|line| line["msg"].clone()).unwrap_or_default();
        self.prepare(&opening);
        for line in lines {
            let message = &line["msg"];
            match (line["dir"].as_str(), message.get("method"), message.get("id")) {
                (Some("c2a"), Some(_), Some(id)) => self.called(id, message),
                (Some("c2a"), Some(_), None) => self.world().user(UserAction::Cancel(None)),
                (Some("c2a"), None, _) => self.decided(&message["result"]["outcome"]),
                (_, Some(_), Some(id)) => {
                    self.asked.push(id.clone());
                    self.requests += 1;
                    self.world().receive(message);
                }
                (_, Some(_), None) => self.world().receive(message),
                (_, None, _) => self.answered(message, &opening),
            }
        }
        self.settle();
    }

    /// A recording that begins with a session of before needs one.
    fn prepare(&mut self, opening: &Json) {
        if opening["method"] == "session/new" || self.world.is_some() {
            return;
        }
        let session = opening["params"]["sessionId"].as_str().unwrap().to_owned();
        self.session.clone_from(&session);
        let world = self.world();
        world.answer("initialize", &json!({"protocolVersion": 1}));
        world.answer("session/new", &json!({"sessionId": session}));
        world.user(UserAction::Restart { chat: None, force: false });
    }

    /// The client called: so do we, where our own course has the same call. It has one session.
    fn called(&mut self, id: &Json, message: &Json) {
        let method = message["method"].as_str().unwrap().to_owned();
        let theirs = message["params"]["sessionId"].as_str().is_some_and(|id| id != self.session);
        let world = self.world();
        if theirs {
            return drop(self.ours.remove(&id.to_string()));
        }
        if method == "session/prompt" {
            world.prompt(message["params"]["prompt"][0]["text"].as_str().unwrap());
        }
        let found = world.calls.iter().any(|called| called.method == method);
        let ours = found.then(|| world.take_call(&method).id);
        self.methods.insert(id.to_string(), method);
        self.ours.remove(&id.to_string());
        self.ours.extend(ours.map(|ours| (id.to_string(), ours)));
    }

    /// The user decided as they did then; a cancel has settled what it settles.
    fn decided(&mut self, outcome: &Json) {
        if let Some(option) = outcome["optionId"].as_str() {
            let choice = PermissionChoice::Option(option.into());
            self.world().decide(choice);
        }
    }

    fn answered(&mut self, message: &Json, opening: &Json) {
        let recorded = message["id"].to_string();
        let Some(ours) = self.ours.remove(&recorded) else { return };
        let mut message = message.clone();
        message["id"] = ours;
        if let Some(error) = message["error"]["message"].as_str() {
            self.errors.push(error.to_owned());
        }
        if let Some(session) = message["result"]["sessionId"].as_str() {
            session.clone_into(&mut self.session);
        }
        // We would resume where the agent can; the client that was recorded loaded.
        let capabilities = message.pointer_mut("/result/agentCapabilities/sessionCapabilities");
        if let (Some(Json::Object(can)), "session/load") =
            (capabilities, opening["method"].as_str().unwrap_or_default())
        {
            can.remove("resume");
        }
        let session = json!({"sessionId": self.session});
        let failed_load =
            message.get("error").is_some() && self.methods[&recorded] == "session/load";
        let world = self.world();
        world.receive(&message);
        if failed_load {
            world.answer("session/new", &session);
        }
    }

    /// Each request has its one answer.
    fn settle(&mut self) {
        let asked = std::mem::take(&mut self.asked);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for id in asked {
            *counts.entry(id.to_string()).or_default() += 1;
        }
        let answers = std::mem::take(&mut self.world().answers);
        let answered = answers.iter().map(|(id, answers)| (id.clone(), answers.len()));
        assert_eq!(answered.collect::<BTreeMap<_, _>>(), counts);
        self.ours.clear();
    }

    /// What is drawn as an error is one, and nothing is drawn as unknown.
    fn check(mut self, name: &str) -> usize {
        let errors = std::mem::take(&mut self.errors);
        let world = self.world();
        for line in world.complaints() {
            let said =
                errors.iter().any(|error| line.contains(error.lines().next().unwrap_or_default()));
            assert!(line.starts_with("E|") && said, "{name}: {line}");
        }
        let stands = world.stands;
        assert!(matches!(stands, ChatState::Ready), "{name}: {stands:?}: {}", world.drawn());
        let drawn = world.drawn();
        assert!(drawn.lines().count() > 0, "{name}: nothing is drawn");
        if name.contains("-load") && errors.is_empty() {
            assert!(drawn.contains("Loaded the session"), "{name}: {drawn}");
        }
        self.requests
    }
}

/// ACP 11.
#[test]
fn every_recording_plays_again_without_an_error_and_with_nothing_unknown() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let (mut recordings, mut requests) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Json> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut replay = Replay::new();
        for (number, phase) in lines.split(|line| line["dir"] == "restart").enumerate() {
            if number > 0 {
                replay.world().user(UserAction::Restart { chat: None, force: false });
            }
            replay.phase(phase);
        }
        recordings += 1;
        requests += replay.check(&name);
    }
    assert!(recordings > 50 && requests > 40, "{requests} requests in {recordings} recordings");
}
