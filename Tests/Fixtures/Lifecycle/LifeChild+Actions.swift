import Coordinators

extension LifeChild {
    func perform(_ action: Life.Action) async throws -> String {
        switch action {
        case .greeting:
            return greetingAtStart
        case .count:
            counted += 1
            return String(counted)
        case .echo(let text):
            return try await context.ask(Fixture.Echo(text), timeout: .seconds(60))
        case .note(let text):
            write(text)
            return text
        case .work(let milliseconds):
            try await Fixture.realTime(.milliseconds(milliseconds), because: "handlers are under way for times that differ")
            return "worked"
        case .wait(let line):
            write("waits \(context.path)")
            try await configuration.journal.wait(for: line)
            return "waited"
        case .passGate:
            return try await passGate()
        case .passGateAndFail:
            _ = try await passGate()
            context.fail(Fixture.Refusal("told to fail"))
            return "failing"
        case .startChild(let key, let inWorker):
            return try await startChild(key, inWorker ? .worker : .inProcess)
        case .startSparedChild(let key, let spares):
            return try await startChild(key, .worker(spares: spares))
        case .startOverlappingChild(let key):
            return try await startChild(key, .worker(overlaps: true))
        case .startChildren(let count):
            for number in 0..<count { try await startChild("child-\(number)", .inProcess) }
            return "started"
        case .stopChild(let key):
            try await context.remove(key)
            return "stopped"
        case .children:
            return context.children.map(\.path.key).joined(separator: " ")
        case .instances(let greeting):
            return String(LiveInstances.count(of: greeting))
        case .finish(let output):
            context.finish(output)
            return "finishing"
        case .finishTwice(let first, let second):
            context.finish(first)
            context.finish(second)
            return "finishing"
        case .fail:
            context.fail(Fixture.Refusal("told to fail"))
            return "failing"
        case .hang:
            try await Fixture.untilCancelled()
            return "woken"
        case .outlive:
            outlive()
            return "outliving"
        case .grow(let megabytes):
            ballast += [UInt8](repeating: 1, count: megabytes << 20)
            return String(ballast.count)
        case .show(let step):
            context.show(.step(step))
            return "shown"
        case .pages:
            return context.pages.map { "\($0)" }.joined(separator: " ")
        }
    }

    @discardableResult
    func startChild(_ key: String, _ placement: Placement) async throws -> String {
        let journal = configuration.journal
        let child = try await context.start(LifeChild.self, as: key, in: placement) {
            $0.greeting = key
            $0.journal = journal
        }
        return child.path.description
    }

    private func passGate() async throws -> String {
        do {
            try await context.ask(Life.PassGate(), timeout: .seconds(60))
            write("gate passed \(context.path)")
            return "passed"
        } catch {
            write("gate \((error as? CoordinatorError)?.code.description ?? "\(error)") \(context.path)")
            throw error
        }
    }

    /// The task holds the context, as an operation that is still under way would, and not the coordinator.
    private func outlive() {
        let context = context
        let journal = configuration.journal
        Task {
            let deadline = ContinuousClock.now + .seconds(30)
            while ContinuousClock.now < deadline {
                do {
                    _ = try await context.ask(Fixture.Echo("still there"))
                    await Task.yield()
                } catch {
                    return journal.note("orphan \((error as? CoordinatorError)?.code.description ?? "\(error)")")
                }
            }
            journal.note("orphan was answered for ever")
        }
    }
}
