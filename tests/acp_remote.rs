//! Agents that run elsewhere, without Neovim: what arrives of what they say, and how their connections end.

use crate::acp_process::support::{AGENT, Bridge, PATIENCE, python};
use crate::support::{Dice, Gateway, TempFolder, Way};
use rat_nvim::core::messages::agent::{AgentEvent, ExitCause, Obstacle, Reply};
use rat_nvim::core::messages::call::Call;
use rat_nvim::core::messages::effect::AgentCommand;
use rat_nvim::session::agent::{AgentConfig, RemoteAgent};
use rat_nvim::session::content::Content;
use rat_nvim::session::protocol::{Offered, Protocol};
use rat_nvim::session::update::Update;

const WAYS: [Way; 5] = [Way::Unix, Way::WebSocket, Way::Streamable, Way::OneStream, Way::Replies];

/// Answers the handshake, then runs `script` for each prompt, which is in `text`.
fn agent(script: &str) -> Vec<String> {
    let body: String = script.lines().map(|line| format!("    {line}\n")).collect();
    let config = python(&format!(
        "first = hear()\n\
         about = {{'name': 'x', 'version': '1'}}\n\
         send({{'jsonrpc': '2.0', 'id': first['id'], 'result': {{'protocolVersion': 1, 'agentInfo': about}}}})\n\
         while prompt := hear():\n    \
             text = ''.join(part['text'] for part in prompt['params']['prompt'])\n{body}\n    end(prompt)\n"
    ));
    std::iter::once(config.command).chain(config.args).collect()
}

fn remote(url: &str) -> AgentConfig {
    let remote = RemoteAgent {
        url: url.to_owned(),
        headers: vec![("authorization".to_owned(), "Bearer secret-token".to_owned())],
        ca_file: None,
        secrets: vec!["secret-token".to_owned()],
    };
    AgentConfig { remote: Some(remote), base_env: Vec::new(), ..python("") }
}

/// A bridge to the agent behind a gateway, after the handshake.
async fn connected(config: AgentConfig) -> Bridge {
    let mut bridge = Bridge::new();
    bridge.start(AGENT, config);
    bridge.call(1, Call::Initialize, Some(PATIENCE));
    let (_, reply) = bridge.reply().await;
    assert!(matches!(reply, Ok(Reply::Initialized(_))), "{reply:?}");
    bridge
}

fn prompt(bridge: &mut Bridge, call: u64, text: &str) {
    let blocks = vec![Content::Text(text.to_owned())];
    bridge.call(call, Call::Prompt { session: "s".into(), blocks }, None);
}

/// The texts of all chunks up to the end of the turn or of the agent, and that end.
async fn turn(bridge: &mut Bridge) -> (Vec<String>, AgentEvent) {
    let mut texts = Vec::new();
    loop {
        match bridge.next().await {
            AgentEvent::Update { update: Update::Chunk { content, .. }, .. } => {
                texts.push(content.text().unwrap().to_owned());
            }
            // The connection has ended.
            AgentEvent::Answer { result: Err(_), .. } => {}
            other => return (texts, other),
        }
    }
}

fn is_end_of_turn(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Answer { result: Ok(Reply::Turn(_)), .. })
}

/// How a connection that was never made has failed.
async fn failure(config: AgentConfig) -> (Obstacle, String) {
    let mut bridge = Bridge::new();
    bridge.start(AGENT, config);
    bridge.call(1, Call::Initialize, Some(PATIENCE));
    let (texts, end) = turn(&mut bridge).await;
    assert_eq!(texts, [""; 0]);
    match end {
        AgentEvent::Exited(exit) => match exit.cause {
            ExitCause::Unreachable { obstacle, detail } => (obstacle, detail),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Holds (Transports): An agent behind a Unix socket, a WebSocket or HTTP has the same conversation as one that is started here.
#[tokio::test]
async fn a_conversation_goes_both_ways() {
    let folder = TempFolder::new();
    for way in WAYS {
        let gateway = Gateway::start(way, agent("say(text)\nsay('ä\\n\"')"), folder.path());
        let mut bridge = connected(remote(&gateway.url)).await;
        for number in 0..3 {
            let text = format!("prompt {number}");
            prompt(&mut bridge, 2 + number, &text);
            let (texts, end) = turn(&mut bridge).await;
            assert_eq!(texts, [text.as_str(), "ä\n\""], "{way:?}");
            assert!(is_end_of_turn(&end), "{way:?}: {end:?}");
        }
        // The bridge does not wait for the end of a time that an agent may take.
        bridge.run(AgentCommand::Stop);
        assert_eq!(bridge.exit().await.cause, ExitCause::HungUp(String::new()), "{way:?}");
        let requests = gateway.requests();
        let header = |head: &crate::support::Head| head.headers.get("authorization").cloned();
        let secrets = requests.iter().filter_map(header);
        assert_eq!(secrets.filter(|it| it == "Bearer secret-token").count(), requests.len());
        if way == Way::Streamable {
            let last = requests.last().unwrap();
            assert_eq!((last.method.as_str(), &*last.headers["cookie"]), ("DELETE", "way=north"));
        }
    }
}

/// Holds (Transports): A server's certificate is checked; authorities besides those of the system can be named.
#[tokio::test]
async fn a_certificate_is_checked() {
    for way in [Way::WebSocket, Way::Streamable] {
        let folder = TempFolder::new();
        let gateway = Gateway::start_with_tls(way, agent("say(text)"), folder.path());
        let config = remote(&gateway.url);
        let (obstacle, detail) = failure(config.clone()).await;
        assert_eq!(obstacle, Obstacle::UnknownAuthority, "{way:?}: {detail}");
        assert_eq!(detail, "its certificate is from an unknown authority");
        let with_authority = |url: &str| {
            let mut config = remote(url);
            let remote = config.remote.as_mut().unwrap();
            remote.ca_file = Some(folder.path().join("ca.pem").display().to_string());
            config
        };
        let mut bridge = connected(with_authority(&gateway.url)).await;
        prompt(&mut bridge, 2, "safe");
        assert_eq!(turn(&mut bridge).await.0, ["safe"]);
        let elsewhere = gateway.url.replace("localhost", "127.0.0.1");
        let (obstacle, detail) = failure(with_authority(&elsewhere)).await;
        assert_eq!(
            (obstacle, &*detail),
            (Obstacle::Certificate, "its certificate is for another name")
        );
        let plain = gateway.url.replace("wss:", "ws:").replace("https:", "http:");
        failure(remote(&plain)).await;
    }
}

/// Holds (Transports): Messages of 64 MB pass in both directions, in one piece.
#[tokio::test]
async fn a_message_of_64_megabytes_passes() {
    const SIZE: usize = 64 << 20;
    let folder = TempFolder::new();
    for way in WAYS {
        let script = format!("say(str(len(text)))\nsay('x' * {SIZE})");
        let gateway = Gateway::start(way, agent(&script), folder.path());
        let mut bridge = connected(remote(&gateway.url)).await;
        // Without optimization and beside other tests this takes long.
        bridge.patience *= 6;
        prompt(&mut bridge, 2, &"y".repeat(SIZE));
        let (texts, end) = turn(&mut bridge).await;
        assert_eq!(texts[0], SIZE.to_string(), "{way:?}");
        assert!(texts[1].len() == SIZE && texts[1].bytes().all(|byte| byte == b'x'), "{way:?}");
        assert!(is_end_of_turn(&end), "{way:?}: {end:?}");
    }
}

const COUNT: &str =
    "for number in range(int(text)):\n    sys.stdout.write(LINE % number)\nsys.stdout.flush()";

/// Says the numbers below the prompt's.
fn counting() -> Vec<String> {
    let chunk = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d"}}}}"#;
    agent(&format!("LINE = '{chunk}' + chr(10)\n{COUNT}"))
}

/// Holds (Transports): Of 100,000 chunks each arrives once and in order, and no more of them wait here than there is room for.
#[tokio::test]
async fn a_hundred_thousand_chunks_arrive_in_order() {
    const CHUNKS: usize = 100_000;
    let folder = TempFolder::new();
    for way in WAYS {
        let gateway = Gateway::start(way, counting(), folder.path());
        let mut bridge = connected(remote(&gateway.url)).await;
        prompt(&mut bridge, 2, &CHUNKS.to_string());
        let (texts, end) = turn(&mut bridge).await;
        assert!(is_end_of_turn(&end), "{way:?}: {end:?}");
        assert_eq!(texts.len(), CHUNKS, "{way:?}");
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(*text, number.to_string(), "{way:?}");
        }
        assert!(bridge.largest_batch < 4 << 20, "{way:?}: {}", bridge.largest_batch);
    }
}

/// Holds (Transports): Of what was received before a connection breaks, at whatever byte, nothing is lost and nothing doubled.
#[tokio::test]
async fn nothing_received_is_lost_when_a_connection_breaks() {
    let mut dice = Dice::new(12);
    for way in [Way::Unix, Way::WebSocket, Way::Streamable, Way::Replies] {
        for round in 0..5 {
            let folder = TempFolder::new();
            let gateway = Gateway::start(way, counting(), folder.path());
            let mut bridge = connected(remote(&gateway.url)).await;
            let bytes = dice.within(2_000..200_000);
            gateway.cut_after(bytes);
            prompt(&mut bridge, 2, "100000");
            let (texts, end) = turn(&mut bridge).await;
            for (number, text) in texts.iter().enumerate() {
                assert_eq!(*text, number.to_string(), "{way:?}, round {round}");
            }
            // What was written as a whole is received as a whole: a chunk with its frame has at most this many bytes.
            let most = 180;
            assert!(texts.len() >= (bytes - 1000) / most, "{way:?}: {} of {bytes}", texts.len());
            let AgentEvent::Exited(exit) = end else { panic!("{way:?}: {end:?}") };
            let is_told = matches!(exit.cause, ExitCause::Lost(_) | ExitCause::HungUp(_));
            assert!(is_told, "{way:?}: {:?}", exit.cause);
        }
    }
}

/// ACP 157.
/// Holds (Transports): A stream of numbered events that breaks off is taken up where it was; what the server repeats is not shown again.
#[tokio::test]
async fn a_stream_of_events_is_taken_up_where_it_broke_off() {
    let folder = TempFolder::new();
    let gateway = Gateway::start(Way::OneStream, counting(), folder.path());
    let mut bridge = connected(remote(&gateway.url)).await;
    // The first event was the answer to `initialize`.
    gateway.cut_after_event(7);
    prompt(&mut bridge, 2, "20");
    let (texts, end) = turn(&mut bridge).await;
    assert_eq!(texts, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    assert!(is_end_of_turn(&end), "{end:?}");
    let requests = gateway.requests();
    let streams: Vec<_> = requests.iter().filter(|head| head.method == "GET").collect();
    assert_eq!(streams.len(), 2);
    assert_eq!(streams[0].headers.get("last-event-id"), None);
    assert_eq!(streams[1].headers["last-event-id"], "7");
    // A server that does not let us in any more ends it.
    gateway.answer(&["HTTP/1.1 403 Forbidden"]);
    gateway.cut();
    let (_, end) = turn(&mut bridge).await;
    let AgentEvent::Exited(exit) = end else { panic!("{end:?}") };
    let expected = ExitCause::Unreachable {
        obstacle: Obstacle::Credentials,
        detail: "it answered 403 Forbidden".to_owned(),
    };
    assert_eq!(exit.cause, expected);
}

/// Holds (Transports): Whoever may not be there, refuses us or sends us elsewhere is told apart, in one line each.
#[tokio::test]
async fn each_obstacle_is_told_apart() {
    for way in [Way::WebSocket, Way::Streamable] {
        let folder = TempFolder::new();
        let gateway = Gateway::start(way, agent(""), folder.path());
        for (answer, expected, detail) in [
            ("401 Unauthorized", Obstacle::Credentials, "it answered 401 Unauthorized"),
            ("403 Forbidden", Obstacle::Credentials, "it answered 403 Forbidden"),
            ("404 Not Found", Obstacle::NotFound, "it answered 404 Not Found"),
            ("400 Bad Request", Obstacle::NoAgent, "it answered 400 Bad Request"),
            ("503 Service Unavailable", Obstacle::NoAnswer, "it answered 503 Service Unavailable"),
        ] {
            gateway.answer(&[&format!("HTTP/1.1 {answer}")]);
            let found = failure(remote(&gateway.url)).await;
            assert_eq!(found, (expected, detail.to_owned()), "{way:?}");
        }
        gateway.answer(&["HTTP/1.1 200 OK", "content-type: text/html"]);
        assert_eq!(failure(remote(&gateway.url)).await.0, Obstacle::NoAgent, "{way:?}");
        let url = gateway.url.clone();
        drop(gateway);
        let (obstacle, detail) = failure(remote(&url)).await;
        assert_eq!(obstacle, Obstacle::NoAnswer, "{way:?}");
        assert!(detail.contains("refused"), "{way:?}: {detail}");
    }
    let (obstacle, detail) = failure(remote("unix:///no/such/socket")).await;
    assert_eq!(obstacle, Obstacle::NoAnswer);
    assert!(detail.starts_with("/no/such/socket: No such file"), "{detail}");
    let mut config = remote("https://localhost:1/");
    config.remote.as_mut().unwrap().ca_file = Some("/no/such/file".to_owned());
    let (obstacle, detail) = failure(config).await;
    assert_eq!(obstacle, Obstacle::Configuration);
    assert!(detail.starts_with("/no/such/file: "), "{detail}");
}

/// Holds (Transports): A redirect is followed within a server, and never leads our headers to another.
#[tokio::test]
async fn a_redirect_leads_to_no_other_server() {
    for way in [Way::WebSocket, Way::Streamable] {
        let folder = TempFolder::new();
        let gateway = Gateway::start(way, agent(""), folder.path());
        let other_folder = TempFolder::new();
        let other = Gateway::start(way, agent(""), other_folder.path());
        let target = other.url.replace("ws:", "http:");
        let to_other = format!("location: {target}?token=x");
        gateway.answer(&["HTTP/1.1 307 Temporary Redirect", &to_other]);
        let (obstacle, detail) = failure(remote(&gateway.url)).await;
        assert_eq!(obstacle, Obstacle::Redirect, "{way:?}");
        assert_eq!(detail, format!("it redirects to {target}"));
        assert_eq!(other.requests().len(), 0, "{way:?}: the other server was asked");
        // Within the server it is followed, but not for ever.
        gateway.answer(&["HTTP/1.1 307 Temporary Redirect", "location: /elsewhere"]);
        let before = gateway.requests().len();
        let (obstacle, _) = failure(remote(&gateway.url)).await;
        assert_eq!(obstacle, Obstacle::Redirect, "{way:?}");
        let paths: Vec<_> = gateway.requests()[before..].iter().map(|it| it.path.clone()).collect();
        assert_eq!(paths[..2], ["/acp", "/elsewhere"], "{way:?}");
        assert!(paths.len() < 10, "{way:?}: {paths:?}");
    }
}

/// Holds (Transports): A proxy is taken from the agent's environment, with the hosts that are reached without it.
#[tokio::test]
async fn a_proxy_is_taken_from_the_environment() {
    let folder = TempFolder::new();
    let proxy = Gateway::start(Way::Streamable, agent(""), folder.path());
    proxy.answer(&["HTTP/1.1 403 Forbidden"]);
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut config = remote("http://agents.invalid/acp");
    config.base_env = vec![variable("HTTP_PROXY", &proxy.url)];
    assert_eq!(failure(config.clone()).await.0, Obstacle::Credentials);
    assert_eq!(proxy.requests()[0].path, "http://agents.invalid/acp");
    config.env = vec![variable("NO_PROXY", "agents.invalid")];
    assert_eq!(failure(config).await.0, Obstacle::NoAnswer);
    assert_eq!(proxy.requests().len(), 1);
}

/// Holds (Transports): A server that is slow to answer holds up nothing but its own agent, which can be stopped meanwhile.
#[tokio::test]
async fn a_slow_server_can_be_stopped() {
    for way in [Way::WebSocket, Way::Streamable] {
        let folder = TempFolder::new();
        let gateway = Gateway::start(way, agent("say(text)"), folder.path());
        gateway.hold(true);
        let mut bridge = Bridge::hasty(16);
        bridge.start(AGENT, remote(&gateway.url));
        bridge.call(1, Call::Initialize, None);
        while gateway.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        bridge.run(AgentCommand::Stop);
        let (_, end) = turn(&mut bridge).await;
        assert!(matches!(end, AgentEvent::Exited(_)), "{way:?}: {end:?}");
        gateway.hold(false);
        let mut bridge = connected(remote(&gateway.url)).await;
        prompt(&mut bridge, 2, "late");
        assert_eq!(turn(&mut bridge).await.0, ["late"], "{way:?}");
    }
}

/// Holds (Transports): With the dialect `openoxide` an agent behind HTTP is listened to before it is spoken to.
#[tokio::test]
async fn openoxide_is_listened_to_first() {
    let folder = TempFolder::new();
    let script = "print('OpenOxide 1', flush=True)\n\
        first = hear()\n\
        send({'jsonrpc': '2.0', 'id': first['id'], 'result': {'protocolVersion': '0.1', 'serverInfo': {'name': 'x'}}})\n\
        hear()\n";
    let config = python(script);
    let command = std::iter::once(config.command).chain(config.args).collect();
    let gateway = Gateway::start(Way::OneStream, command, folder.path());
    let config =
        AgentConfig { offered: Offered::Only(Protocol::OpenOxide), ..remote(&gateway.url) };
    let bridge = connected(config).await;
    let methods: Vec<_> = gateway.requests().iter().map(|head| head.method.clone()).collect();
    assert_eq!(methods, ["GET", "POST"]);
    drop(bridge);
}

/// Holds (Transports): Headers and credentials of an agent elsewhere are in no trace.
#[tokio::test]
async fn secrets_are_in_no_trace() {
    let folder = TempFolder::new();
    let script = "say('you sent secret-token')";
    let gateway = Gateway::start(Way::WebSocket, agent(script), folder.path());
    let mut bridge = connected(remote(&gateway.url)).await;
    prompt(&mut bridge, 2, "secret-token");
    turn(&mut bridge).await;
    let trace = bridge.agents.trace(AGENT).unwrap().lock().spool().text();
    assert!(trace.contains("you sent [redacted]"), "{trace}");
    assert!(!trace.contains("secret-token"), "{trace}");
}
