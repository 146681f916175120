import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Pattern: rows that hand messages on to a child", .timeLimit(minutes: 3))
struct PatternForwardingTests {
    private static let places = Where.allCases.flatMap { caller in Where.allCases.map { (caller, $0) } }

    @Test("A message keeps its sender, deadline and trace", arguments: places)
    func context(_ caller: Where, _ desk: Where) async throws {
        try await SwitchboardTree.run(caller: caller, desk: desk) { tree in
            try await tree.expect("/board/caller, true, 00-call", from: .origin)
            try await tree.expect("/board/desk rings", from: .bell)
            try await tree.expect("/board/desk", from: .path)
        }
    }

    @Test("A stream keeps its replies", arguments: places)
    func streams(_ caller: Where, _ desk: Where) async throws {
        try await SwitchboardTree.run(caller: caller, desk: desk) { tree in
            try await tree.expect("all", from: .ticks(1_000))
        }
    }

    @Test("The child's error reaches the asker, and a message that the child doesn't know is unhandled", arguments: places)
    func failures(_ caller: Where, _ desk: Where) async throws {
        try await SwitchboardTree.run(caller: caller, desk: desk) { tree in
            try await tree.expect("not at this desk", from: .refuse)
            try await tree.expect("unhandled", from: .unknown)
        }
    }

    @Test("The deadline ends the child's handler", arguments: places)
    func deadline(_ caller: Where, _ desk: Where) async throws {
        try await SwitchboardTree.run(caller: caller, desk: desk) { tree in
            // On a loaded machine the deadline may pass before the handler begins.
            try await eventually("a handler has begun") {
                try await tree.expect("timedOut", from: .hold)
                return tree.notebook.reads("/board/desk holds")
            }
            try await tree.reads("/board/desk cancelled")
        }
    }

    @Test("A child that doesn't live is opened once, and the messages keep their order", arguments: places)
    func opening(_ caller: Where, _ desk: Where) async throws {
        try await SwitchboardTree.run(caller: caller, desk: desk, startsDesk: false) { tree in
            let origin = Task { try await tree.call(.origin) }
            try await tree.reads("/board open desk")
            let notes = Task { try await tree.call(.notes(200)) }
            tree.notebook.note("opening ends")
            #expect(try await origin.value == "/board/caller, true, 00-call")
            #expect(try await notes.value == "all")
            #expect(tree.count("/board open desk") == 1)
        }
    }

    @Test("The asker gets the error of a hook that opens no child; the next message has it opened again", arguments: Where.allCases)
    func refusedOpening(_ caller: Where) async throws {
        try await SwitchboardTree.run(caller: caller, desk: .inProcess, startsDesk: false) { tree in
            tree.notebook.note("there is no desk")
            tree.notebook.note("opening ends")
            try await tree.expect("no desk", from: .bell)
            try await tree.expect("no desk", from: .ticks(3))
            try await tree.expect("noSuchChild", from: .path)
            #expect(tree.count("/board open desk") == 2)
        }
    }

    @Test("Messages wait while the coordinator is paused, and keep their order")
    func pause() async throws {
        try await SwitchboardTree.run(caller: .inProcess, desk: .inProcess) { tree in
            await tree.board.pause()
            let notes = (0..<100).map { number in Task.immediate { try await tree.board.ask(Desk.Note(number), timeout: .seconds(20)) } }
            await Support.expect(.timedOut) { _ = try await tree.board.ask(DeskBell(), timeout: .milliseconds(50)) }
            let asking = Task.immediate { try await tree.board.ask(Desk.Notes(), timeout: .seconds(20)) }
            await tree.board.resume()
            #expect(try await asking.value == Array(0..<100))
            for note in notes { try await note.value }
        }
    }

    @Test("Handing on takes no turn of a serial coordinator, nor room in its mailbox", arguments: places)
    func busy(_ caller: Where, _ desk: Where) async throws {
        try await SwitchboardTree.run(caller: caller, desk: desk) { tree in
            let busy = Task.immediate { try await tree.board.ask(Switchboard.Await("it may end"), timeout: .seconds(60)) }
            try await tree.reads("/board busy")
            try await tree.expect("/board/desk rings", from: .bell)
            tree.notebook.note("it may end")
            try await busy.value
        }
    }

    @Test("Messages that wait for a child to be opened end when the coordinator stops")
    func stop() async throws {
        try await SwitchboardTree.run(caller: .inProcess, desk: .inProcess, startsDesk: false) { tree in
            let asking = Task.immediate { try await tree.board.ask(DeskBell(), timeout: .seconds(60)) }
            try await tree.reads("/board open desk")
            await tree.board.remove()
            await Support.expect(.stopped) { _ = try await asking.value }
        }
    }

    @Test("A message for a child that is being restarted waits for it")
    func restart() async throws {
        try await SwitchboardTree.run(caller: .inProcess, desk: .worker) { tree in
            let desk = try #require(try await tree.runtime.snapshot(of: tree.board.path.appending("desk")).processID)
            let holding = Task.immediate { try await tree.board.ask(Desk.Hold(), timeout: .seconds(60)) }
            try await tree.reads("/board/desk holds")
            kill(desk, SIGKILL)
            await Support.expect(.peerLost) { try await holding.value }
            try await tree.expect("/board/desk rings", from: .bell)
        }
    }
}

/// A running tree with a switchboard below its root.
private struct SwitchboardTree: Sendable {
    let runtime: CoordinatorRuntime
    let notebook: Notebook
    let board: Child<SwitchboardCoordinator>

    static func run(caller: Where, desk: Where, startsDesk: Bool = true, _ body: (SwitchboardTree) async throws -> Void) async throws {
        try await PageTree.run { tree in
            let board = try await tree.root.start(SwitchboardCoordinator.self, as: "board") {
                $0.notebook = tree.notebook
                $0.hasCallerInWorker = caller.isWorker
                $0.hasDeskInWorker = desk.isWorker
                $0.startsDesk = startsDesk
            }
            try await body(SwitchboardTree(runtime: tree.runtime, notebook: tree.notebook, board: board))
        }
    }

    /// Has the caller make a call, and returns what it has heard.
    func call(_ call: CallerCoordinator.Call) async throws -> String {
        try await runtime.ask(CallerCoordinator.Make(call), at: board.path.appending("caller"), timeout: .seconds(60))
    }

    func expect(
        _ answer: String,
        from call: CallerCoordinator.Call,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let actual = try await self.call(call)
        #expect(actual == answer, sourceLocation: sourceLocation)
    }

    func count(_ line: String) -> Int { notebook.lines.count { $0 == line } }

    func reads(_ line: String) async throws { try await eventually("the notebook reads '\(line)'") { notebook.reads(line) } }
}
