import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: coordinators that wait for one another", .timeLimit(minutes: 3))
struct CycleTests {
    /// A route of asks that ends where it began, and the coordinators that the error names.
    struct Route: Sendable, CustomTestStringConvertible {
        let text: String
        let cycle: [String]
        var testDescription: String { text }
    }

    private static let routes = [
        Route(text: "xyx", cycle: ["/room/x", "/room/y", "/room/x"]),
        Route(text: "xyzx", cycle: ["/room/x", "/room/y", "/room/z", "/room/x"]),
        // By handlers of the parent.
        Route(text: "xYX", cycle: ["/room/x", "/room", "/room/y", "/room", "/room/x"]),
        // The first isn't part of the cycle.
        Route(text: "xyzy", cycle: ["/room/y", "/room/z", "/room/y"]),
        // Through a pool: at a coordinator that one of its members asks, and at the pool itself.
        Route(text: "xpx", cycle: ["/room/x", "/room/p", "/room/p/1", "/room/x"]),
        Route(text: "pP", cycle: ["/room/p", "/room/p/1", "/room", "/room/p"]),
        Route(text: "xpyp", cycle: ["/room/p", "/room/p/1", "/room/y", "/room/p"]),
        // Through a stream.
        Route(text: "xvx", cycle: ["/room/x", "/room/y", "/room/x"]),
    ]

    @Test("An ask that closes a cycle of serial siblings ends soon, and names it; others go on", arguments: routes, Where.allCases)
    func cycles(_ route: Route, _ place: Where) async throws {
        try await TangleTree.run(place) { tree in
            // Well within its time-out, and that of all on the way.
            let asking = Task.immediate { try await tree.ask(route.text) }
            // It comes after the first.
            let waiting = Task.immediate { try await tree.ask("x") }
            let error = await #expect(throws: CoordinatorError.self) { try await asking.value }
            #expect(error?.code == .deadlock, "\(error.map { "\($0)" } ?? "")")
            #expect(error?.message.contains(": \(route.cycle.joined(separator: " → ")).") == true, "\(error?.message ?? "")")
            let waited = try await waiting.value
            #expect(waited == "x")
            // Nothing is left of it.
            let next = try await tree.ask("xyz")
            #expect(next == "x y z")
        }
    }

    @Test("A cycle through an ask that others may join isn't found: it ends at its deadline")
    func notFound() async throws {
        try await TangleTree.run(.inProcess) { tree in
            let error = await #expect(throws: CoordinatorError.self) { try await tree.ask("xcx") }
            #expect(error?.code == .timedOut)
            let next = try await tree.ask("xyz")
            #expect(next == "x y z")
        }
    }

    @Test("Of two that ask each other at the same time one gets the error, and the other its answer", arguments: Where.allCases)
    func crossing(_ place: Where) async throws {
        try await TangleTree.run(place) { tree in
            let asking = ["x.y", "y.x"].map { route in Task.immediate { try await tree.ask(route) } }
            try await eventually("both have begun") { tree.notebook.lines.filter { $0.hasSuffix("waits") }.count == 2 }
            tree.notebook.note(Tangle.goOn)
            var ends: [String] = []
            for task in asking {
                do { ends.append(try await task.value) } catch { ends.append("\((error as? CoordinatorError)?.code ?? .coding)") }
            }
            #expect(ends.count { $0 == "deadlock" } == 1, "\(ends)")
        }
    }

    @Test("Two members of a pool that ask it wait for each other, and three don't", arguments: Where.allCases)
    func members(_ place: Where) async throws {
        for members in [2, 3] {
            try await TangleTree.run(place, members: members) { tree in
                let asking = (0..<2).map { _ in Task.immediate { try await tree.ask("p.P") } }
                try await eventually("both have begun") { tree.notebook.lines.filter { $0.hasSuffix("waits") }.count == 2 }
                tree.notebook.note(Tangle.goOn)
                var codes: [CoordinatorError.Code] = []
                for task in asking {
                    do { _ = try await task.value } catch let error as CoordinatorError { codes.append(error.code) }
                }
                #expect(codes == (members == 2 ? [.deadlock] : []))
            }
        }
    }

    @Test("While one of the places may become free there is no cycle; when all wait there is", arguments: Where.allCases)
    func places(_ place: Where) async throws {
        for running in [2, 3] {
            try await TangleTree.run(place, running: running) { tree in
                #expect(try await tree.ask("yxy") == "y x y")
                let asking = (0..<2).map { _ in Task.immediate { try await tree.ask("y.xy") } }
                try await eventually("both have begun") { tree.notebook.lines.filter { $0.hasSuffix("waits") }.count == 2 }
                tree.notebook.note(Tangle.goOn)
                var errors: [CoordinatorError] = []
                for task in asking {
                    do { #expect(try await task.value == "y x y") } catch let error as CoordinatorError { errors.append(error) }
                }
                #expect(errors.map(\.code) == (running == 2 ? [.deadlock] : []), "\(errors)")
            }
        }
    }

    @Test(
        "Coordinators that wait for a slow one are left alone, whatever waits for them",
        arguments: [(1, "xyz.", ["x", "yz", "z"]), (2, "y.", ["yxy", "xy", "z"])],
        Where.allCases
    )
    func slow(_ asks: (running: Int, slow: String, others: [String]), _ place: Where) async throws {
        try await TangleTree.run(place, running: asks.running) { tree in
            let slow = Task.immediate { try await tree.ask(asks.slow) }
            try await eventually("the slow one has begun") { tree.notebook.lines.contains { $0.hasSuffix("waits") } }
            let others = asks.others.map { route in Task.immediate { try await tree.ask(route) } }
            try await realTime(.milliseconds(1_200), because: "the coordinators look twice for a cycle meanwhile")
            tree.notebook.note(Tangle.goOn)
            for (task, route) in zip([slow] + others, [asks.slow] + asks.others) {
                let reply = try await task.value
                #expect(reply == route.filter { $0 != "." }.map { String($0) }.joined(separator: " "))
            }
        }
    }
}

/// A running tree with three coordinators below a room.
private struct TangleTree: Sendable {
    let runtime: CoordinatorRuntime
    let notebook: Notebook

    static func run(_ place: Where, running: Int = 1, members: Int = 1, _ body: (TangleTree) async throws -> Void) async throws {
        try await PageTree.run { tree in
            try await tree.start(TangleRoom.self, as: "room") {
                ($0.inWorkers, $0.running, $0.members) = (place.isWorker, running, members)
            }
            try await body(TangleTree(runtime: tree.runtime, notebook: tree.notebook))
        }
    }

    /// Asks the first of a route to ask the others.
    func ask(_ route: String) async throws -> String {
        let rest = String(route.dropFirst())
        return switch route.first {
        case "x": try await runtime.ask(Tangle.X(rest), at: "/room")
        case "y": try await runtime.ask(Tangle.Y(rest), at: "/room")
        case "p": try await runtime.ask(Tangle.P(rest), at: "/room")
        default: try await runtime.ask(Tangle.Z(rest), at: "/room")
        }
    }
}
