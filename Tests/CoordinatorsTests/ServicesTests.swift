import Coordinators
import CoordinatorsTesting
import Fixtures
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The services of a process", .timeLimit(minutes: 3))
struct ServicesTests {
    @Test("A service is made once, run, and ended after the last handler", arguments: [Where.inProcess, .worker])
    func life(_ place: Where) async throws {
        let directory = try TemporaryDirectory()
        try await withRoot(options: Support.options.with { $0.dependencies.describe(\.probe, by: directory.path) }) { runtime in
            try await runtime.startChild("a", place, drainSeconds: 60)
            // Twenty that need it at the same time.
            let users = (0..<20).map { _ in Task { try await runtime.ask(Fixture.UseProbe(), at: "/a", timeout: .seconds(60)) } }
            for user in users { _ = try await user.value }
            let last = Task { try await runtime.ask(Fixture.UseProbe(milliseconds: 300), at: "/a", timeout: .seconds(60)) }
            try await eventually("the last handler has begun") { Self.events(in: directory).count { $0 == "begun" } == 21 }
            try await runtime.stop("/a")
            _ = try await last.value
        }
        let events = Self.events(in: directory)
        #expect(events.count { $0 == "made" } == 1)
        #expect(events.count { $0 == "running" } == 1)
        #expect(events.count { $0 == "handled" } == 21)
        #expect(events.last == "ended")
    }

    @Test("The failure of a service ends its worker, which is restarted with a new one")
    func failure() async throws {
        let directory = try TemporaryDirectory()
        try await withRoot("a", options: Support.options.with { $0.dependencies.describe(\.probe, by: directory.path) }) { runtime in
            let first = try await runtime.ask(Fixture.UseProbe(), at: "/a", timeout: .seconds(60))
            try await eventually("it runs") { Self.events(in: directory).contains("running") }
            try Files.write("", to: directory.file("fail"))
            try await eventually("it has failed") { Self.events(in: directory).contains("ended") }
            try await eventually("the worker was restarted") { try await runtime.snapshot(of: "/a").restarts == 1 }
            #expect(try await runtime.ask(Fixture.UseProbe(), at: "/a", timeout: .seconds(60)) != first)
            let exit = try await runtime.snapshot(of: "/a").lastExit?.description ?? ""
            #expect(exit.contains("service probe") && exit.contains("told to fail"), "\(exit)")
        }
    }

    @Test("An error of the making is the asker's, and the next ask makes it anew", arguments: [Where.inProcess, .worker])
    func makingFails(_ place: Where) async throws {
        let directory = try TemporaryDirectory()
        try Files.write("", to: directory.file("refuse"))
        let options = Support.options.with { $0.dependencies.describe(\.probe, by: directory.path) }
        try await withRoot("a", in: place, options: options) { runtime in
            await #expect(throws: Fixture.Refusal("told to refuse")) {
                try await runtime.ask(Fixture.UseProbe(), at: "/a", timeout: .seconds(60))
            }
            _ = try await runtime.ask(Fixture.UseProbe(), at: "/a", timeout: .seconds(60))
        }
    }

    @Test("A needed value that can't cross fails at once, by name, in one process as in two", arguments: [true, false])
    func cannotCross(inOneProcess: Bool) async throws {
        var options = Support.options
        let directory = try TemporaryDirectory()
        options.dependencies.probe = try await Fixture.makeProbe(in: directory.path)
        try await withRuntime(RootCoordinator.self, options: options, workers: inOneProcess ? .inProcess : nil) { runtime in
            try await runtime.startChild("a", .worker)
            do {
                _ = try await runtime.ask(Fixture.UseProbe(), at: "/a", timeout: .seconds(60))
                Issue.record("it has crossed")
            } catch let error as CoordinatorError {
                #expect(error.code == .unsupported && error.message.contains("dependency probe"), "\(error)")
            }
            try await runtime.startChild("b", .inProcess)
            _ = try await runtime.ask(Fixture.UseProbe(), at: "/b", timeout: .seconds(60))
        }
    }

    @Test("Each process of a tree is bootstrapped once, before it makes a coordinator")
    func bootstrap() async throws {
        let directory = try TemporaryDirectory()
        var specification = ProcessSpecification(executable: Support.worker.path, standardError: .null)
        specification.environment = [Fixture.bootstrapVariable: directory.path]
        try await withChild(specification) { program in
            try await eventually("all are bootstrapped") { Self.events(in: directory).count >= 4 }
            let first = try #require(Self.process(of: "/a", in: directory))
            kill(first, SIGKILL)
            try await eventually("the new process of /a is bootstrapped") { Self.events(in: directory).count >= 5 }
            #expect(Self.process(of: "/a", in: directory) != first)
            #expect(await program.terminate(grace: .patient(.seconds(20))) == .exited(code: 0))
        }
        let events = Self.events(in: directory)
        #expect(events.prefix(2) == ["bootstrapped:/:0", "configured"])
        #expect(events.dropFirst(2).sorted() == ["bootstrapped:/a:0", "bootstrapped:/a:0", "bootstrapped:/b:0"])
    }

    /// The process that was bootstrapped last for a path.
    private static func process(of path: String, in directory: TemporaryDirectory) -> Int32? {
        let lines = (Files.text(of: directory.file("events")) ?? "").split(separator: "\n")
        return lines.last { $0.hasPrefix("bootstrapped:\(path):") }?.split(separator: " ").last.flatMap { Int32($0) }
    }

    private static func events(in directory: TemporaryDirectory) -> [String] {
        let lines = (Files.text(of: directory.file("events")) ?? "").split(separator: "\n")
        return lines.compactMap { $0.split(separator: " ").first.map(String.init) }
    }
}
