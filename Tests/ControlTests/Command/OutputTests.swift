import Control
import Testing

@testable import coordinatorctl

/// The output of commands to a terminal, and the JSON forms of answers.
@Suite struct OutputTests {
    static let tree = TreeNode(
        key: "/",
        path: "/",
        type: "coordinatord",
        kind: .root,
        state: "active",
        pid: 100,
        incarnation: 1,
        uptimeMilliseconds: 90_061_000,
        placement: .inProcess,
        children: [
            TreeNode(
                key: "shop",
                path: "/shop",
                type: "ShopCoordinator",
                kind: .coordinator,
                state: "active",
                pid: 4242,
                incarnation: 3,
                restarts: 12,
                uptimeMilliseconds: 65_000,
                placement: .worker,
                children: [
                    TreeNode(
                        key: "cart",
                        path: "/shop/cart",
                        type: "CartCoordinator",
                        kind: .coordinator,
                        state: "paused",
                        pid: 4242,
                        incarnation: 1,
                        uptimeMilliseconds: 999,
                        placement: .inProcess
                    ),
                    TreeNode(
                        key: "bücher",
                        path: "/shop/bücher",
                        type: "Books",
                        kind: .coordinator,
                        state: "active",
                        pid: 4242,
                        incarnation: 1,
                        uptimeMilliseconds: 60_000,
                        placement: .inProcess,
                        children: [
                            TreeNode(
                                key: "a",
                                path: "/shop/bücher/a",
                                type: "A",
                                kind: .coordinator,
                                state: "starting",
                                placement: .inProcess
                            )
                        ]
                    ),
                ]
            ),
            TreeNode(
                key: "mailer",
                path: "/mailer",
                type: "python3",
                kind: .program,
                state: "failed",
                incarnation: 6,
                restarts: 5,
                placement: .program,
                lastExit: "exit code 1"
            ),
        ]
    )

    @Test("A tree is drawn as a table with box characters")
    func aTree() {
        #expect(
            Self.tree.text == """
                NAME          STATE      PID  LIFE  RESTARTS  UPTIME  TYPE             LAST EXIT
                /             active     100     1         0    1d1h  coordinatord
                ├─ shop       active    4242     3        12    1m5s  ShopCoordinator
                │  ├─ cart    paused    4242     1         0   999ms  CartCoordinator
                │  └─ bücher  active    4242     1         0      1m  Books
                │     └─ a    starting     -     0         0       -  A
                └─ mailer     failed       -     6         5       -  python3          exit code 1

                """
        )
    }

    @Test("A tree without a last exit has no column for it")
    func aTreeInWhichNothingEndedHasNoSuchColumn() {
        let leaf = TreeNode(key: "/", path: "/", type: "T", kind: .root, state: "active", placement: .inProcess)
        #expect(leaf.text == "NAME  STATE   PID  LIFE  RESTARTS  UPTIME  TYPE\n/     active    -     0         0     0ms  T\n")
    }

    @Test("The tree shows how many messages wait and for how long, and a node's details show all of its mailbox")
    func waitingMessages() {
        let mailbox = TreeNode.Mailbox(waiting: 3, running: 2, oldestWaitingMilliseconds: 1_500, handled: 70)
        let idle = TreeNode(key: "a", path: "/a", type: "A", kind: .coordinator, state: "active", placement: .worker, mailbox: .init())
        let root = TreeNode(
            key: "/",
            path: "/",
            type: "T",
            kind: .root,
            state: "active",
            placement: .inProcess,
            mailbox: mailbox,
            children: [idle]
        )
        #expect(
            root.text == """
                NAME  STATE   PID  LIFE  RESTARTS  UPTIME   WAITING  TYPE
                /     active    -     0         0     0ms  3 for 1s  T
                └─ a  active    -     0         0     0ms            A

                """
        )
        #expect(root.details.contains("waiting:    3 for 1s\nrunning:    2\nhandled:    70\n"))
        #expect(idle.details.contains("waiting:    0\n"))
        var stuck = idle
        stuck.mailbox?.stuck = 2
        #expect(stuck.text.contains("active, stuck handlers: 2") && stuck.details.contains("handled:    0\nstuck:      2\n"))
    }

    @Test("The JSON of a mailbox has the API's names")
    func mailboxJSON() throws {
        let mailbox = TreeNode.Mailbox(waiting: 3, running: 2, oldestWaitingMilliseconds: 1_500, handled: 70)
        let json = try ControlJSON.text(of: mailbox)
        #expect(json == #"{"handled":70,"oldest_waiting_ms":1500,"running":2,"waiting":3}"#)
        #expect(try ControlJSON.text(of: TreeNode.Mailbox(stuck: 2)) == #"{"handled":0,"running":0,"stuck":2,"waiting":0}"#)
    }

    @Test("Control characters in names are escaped")
    func namesCannotDriveTheTerminal() {
        let leaf = TreeNode(key: "a\u{1B}[2Jb\n\u{202E}", path: "/", type: "T\r", kind: .root, state: "x\u{7}", placement: .inProcess)
        for text in [leaf.text, leaf.details] {
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control && $0 != "\u{202E}" })
        }
        #expect(leaf.text.contains(#"a\u{1B}[2Jb\n\u{202E}"#))
    }

    @Test("Lines of several children stand below one another on a terminal, each child in its colour, and elsewhere as programs read them")
    func logLines() {
        let lines = [("/a", 7), ("/日本", 12), ("/a", 7)].map { LogLine(time: "T", path: $0.0, pid: Int32($0.1), line: "x") }
        func text(_ layout: StreamLayout) -> [String] {
            var layout = layout
            return lines.map { $0.text(&layout) }
        }
        #expect(text(StreamLayout(isTerminal: false)) == ["T /a[7]: x", "T /日本[12]: x", "T /a[7]: x"])
        let expected = Self.tree.logOrigins(below: ["/shop"])
        #expect(expected == ["/shop[4242]"] && Self.tree.logOrigins(below: ["/"]) == ["/shop[4242]", "/mailer"])
        let plain = StreamLayout(isTerminal: true, colours: .off, expecting: expected)
        #expect(text(plain) == ["T /a[7]:       x", "T /日本[12]:   x", "T /a[7]:       x"])
        let coloured = text(StreamLayout(isTerminal: true, colours: Colours(areOn: true)))
        #expect(coloured == ["T \u{1B}[36m/a[7]:\u{1B}[0m x", "T \u{1B}[33m/日本[12]:\u{1B}[0m x", "T \u{1B}[36m/a[7]:\u{1B}[0m     x"])
    }

    @Test("What a terminal would obey is escaped in each part of a log's line but the child's own text, which goes to files as it is")
    func hostileLogLines() {
        let hostile = "\u{1B}]0;x\u{07}"
        let gap = LogLine.Gap(reason: hostile)
        for line in [
            LogLine(time: hostile, path: "/a", line: "x"), LogLine(time: "T", path: hostile, line: "x"),
            LogLine(time: "T", path: "/a", line: "", gap: gap), LogLine(time: hostile, path: hostile, line: "", gap: gap),
        ] { #expect(!line.text.unicodeScalars.contains { $0.value < 0x20 }, "\(line)") }
    }

    @Test("A gap in the events is about each path, since it isn't known what is missing")
    func gapsOfEvents() {
        #expect(EventsCommand.isAbout(ControlEvent(kind: .gap), ["/web/1", "/web/2"]))
        #expect(!EventsCommand.isAbout(ControlEvent(kind: .daemonStarted), ["/web/1"]))
        #expect(EventsCommand.isAbout(ControlEvent(kind: .crashed, path: "/web/1/a"), ["/web/1"]))
        #expect(!EventsCommand.isAbout(ControlEvent(kind: .crashed, path: "/web/10"), ["/web/1"]))
    }

    @Test("A log without first lines goes on, on another connection, from the time of its beginning until its first line is known")
    func logsWithoutFirstLines() {
        func resumed(lines: Int?) -> LogQuery? {
            let operation = ControlOperation.logs(LogQuery(paths: ["/a"], lines: lines, pattern: "E", follows: true))
            return (LogsCommand.operation(operation, begunAt: 5, byAnother: false).content as? ControlOperation.Logs)?.query
        }
        #expect(resumed(lines: 0) == LogQuery(paths: ["/a"], sinceMilliseconds: 5, pattern: "E", follows: true))
        // The first lines may not have come, and come again else.
        for lines in [nil, 10] { #expect(resumed(lines: lines) == LogQuery(paths: ["/a"], lines: lines, pattern: "E", follows: true)) }
    }

    @Test("A node's details are printed one a line")
    func oneNodesDetails() {
        #expect(
            Self.tree.children[1].details == """
                path:       /mailer
                type:       python3
                kind:       program
                state:      failed
                placement:  program
                pid:        -
                life:       6
                restarts:   5
                uptime:     -
                last exit:  exit code 1

                """
        )
    }

    @Test("Processes are printed as a table")
    func processes() {
        let list = ProcessList(processes: [
            .init(pid: 7, path: "/", startTime: 1, uptimeMilliseconds: 3_600_000, state: "active", restarts: 0, incarnation: 1),
            .init(pid: 12345, path: "/shop", startTime: 2, uptimeMilliseconds: 61_500, state: "restarting", restarts: 10, incarnation: 11),
        ])
        #expect(
            list.text == """
                  PID  PATH   STATE       LIFE  RESTARTS  UPTIME
                    7  /      active         1         0      1h
                12345  /shop  restarting    11        10    1m1s

                """
        )
    }

    @Test("Processes of a cluster are printed with their nodes, and nodes that are missing")
    func processesOfNodes() {
        let list = ProcessList(
            processes: [
                .init(pid: 7, path: "/", startTime: 1, uptimeMilliseconds: 9_000, state: "active", restarts: 0, incarnation: 1, node: "a"),
                .init(
                    pid: 7,
                    path: "/shop",
                    startTime: 2,
                    uptimeMilliseconds: 8_000,
                    state: "active",
                    restarts: 0,
                    incarnation: 1,
                    node: "node-b",
                    isElsewhere: true
                ),
            ],
            missing: [.init(node: "c", reason: "no answer\u{1B}[2J")]
        )
        #expect(
            list.text == """
                NODE    PID  PATH   STATE   LIFE  RESTARTS  UPTIME
                a         7  /      active     1         0      9s
                node-b    7  /shop  active     1         0      8s
                c: its processes are missing: no answer\\u{1B}[2J

                """
        )
    }

    @Test("A lifecycle result is printed on one line")
    func aLifecycleResult() {
        #expect(LifecycleResult(path: "/a", state: "active", pid: 5, incarnation: 2).text == "/a: active (pid 5, life 2)\n")
        #expect(LifecycleResult(path: "/a", state: "inactive", incarnation: 2).text == "/a: inactive (life 2)\n")
        let ended = LifecycleResult(path: "/a", state: "inactive", incarnation: 2, lastExit: "exited with code 0")
        #expect(ended.text == "/a: inactive (started, and has ended: exited with code 0)\n")
    }

    static let letters = DeadLetterList(
        count: 2,
        letters: [
            .init(name: "Cart.Toggle", sender: "/shop/catalog", target: "/shop/cart", reason: "the handler failed: full"),
            .init(name: "Note", sender: "/", target: "/a", reason: "undeliverable: \u{1B}[2J\n"),
        ]
    )

    @Test("Dead letters are printed as a table")
    func deadLetters() {
        #expect(
            Self.letters.text == #"""
                NAME         SENDER         TARGET      REASON
                Cart.Toggle  /shop/catalog  /shop/cart  the handler failed: full
                Note         /              /a          undeliverable: \u{1B}[2J\n

                """#
        )
        #expect(DeadLetterList(count: 0, letters: []).text == "no dead letters\n")
        #expect(DeadLetterList(count: 300, letters: Self.letters.letters).text.hasSuffix("\nthe latest 2 of 300\n"))
    }

    @Test("Dead letters have their JSON form")
    func deadLettersJSON() throws {
        let list = DeadLetterList(count: 300, letters: [Self.letters.letters[0]])
        let json = try ControlJSON.text(of: list)
        #expect(
            json == #"{"count":300,"letters":[{"name":"Cart.Toggle","reason":"the handler failed: full","#
                + #""sender":"/shop/catalog","target":"/shop/cart"}]}"#
        )
        #expect(try ControlJSON.decode(DeadLetterList.self, from: ControlJSON.value(of: list)) == list)
    }

    @Test("A node of the tree has its JSON form")
    func aTreesJSON() throws {
        let json = try ControlJSON.text(of: Self.tree.children[1])
        #expect(
            json == #"{"children":[],"#
                + #""incarnation":6,"key":"mailer","kind":"program","last_exit":"exit code 1","path":"/mailer","placement":"program","#
                + #""restarts":5,"state":"failed","type":"python3","uptime_ms":0}"#
        )
        #expect(try ControlJSON.decode(TreeNode.self, from: ControlJSON.value(of: Self.tree)) == Self.tree)
    }

    @Test("A node that waits for its next start shows the attempt and the remaining time")
    func backoff() throws {
        let node = TreeNode(
            key: "a",
            path: "/a",
            type: "A",
            kind: .program,
            state: "restarting",
            incarnation: 4,
            restarts: 3,
            restartAttempt: 4,
            nextStartMilliseconds: 15_300,
            placement: .program
        )
        #expect(node.text.contains("a     restarting 4 in 15s    -     4         3       -  A"))
        #expect(node.details.contains("restarting 4 in 15s\n"))
        let json = try ControlJSON.text(of: node)
        #expect(json.contains(#""next_start_ms":15300"#) && json.contains(#""restart_attempt":4"#))
        #expect(try ControlJSON.decode(TreeNode.self, from: ControlJSON.value(of: node)) == node)
    }
}
