import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Under load", .serialized, .timeLimit(minutes: 5))
struct LoadTests {
    @Test("256 concurrent asks are each answered exactly once", arguments: Where.allCases)
    func concurrentAsks(_ place: Where) async throws {
        try await withRoot("child", in: place) { runtime in
            let deadline = ContinuousClock.now + .seconds(rounds(short: 2, all: 10, long: 60))
            let asks = try await withThrowingTaskGroup(of: Int.self) { group in
                for asker in 0..<256 {
                    group.addTask {
                        var count = 0
                        while ContinuousClock.now < deadline {
                            // Each answer must be the one to its own question.
                            let question = "\(asker).\(count)"
                            let answer = try await runtime.perform(.echo(question), at: "/child", timeout: .seconds(60))
                            guard answer == question else { throw WrongAnswer(question: question, answer: answer) }
                            count += 1
                        }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(asks >= 256)
            // What was counted above is what was executed: each ask once.
            #expect(try await runtime.ask(Fixture.Echoes(), timeout: .seconds(30)) == asks)
        }
    }

    @Test("A parent and its child ask each other without a deadlock", arguments: Where.allCases)
    func mutualAsks(_ place: Where) async throws {
        try await withRoot("child", in: place) { runtime in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<500 {
                    // The root asks the child, which asks the root back before it answers.
                    group.addTask {
                        let answer = try await runtime.ask(Fixture.AskChild("child", "n\(number)"), timeout: .seconds(60))
                        guard answer == "n\(number)" else { throw WrongAnswer(question: "n\(number)", answer: answer) }
                    }
                    group.addTask { _ = try await runtime.perform(.add(1), at: "/child", timeout: .seconds(60)) }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Every ask ends during a kill -9 storm under load, with its own answer or with an error that says what happened")
    func storm() async throws {
        try await withRoot("a", "b", "c", in: .worker) { runtime in
            let deadline = ContinuousClock.now + .seconds(rounds(short: 2, all: 5, long: 60))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for asker in 0..<24 {
                    group.addTask {
                        let path = CoordinatorPath.root.appending(["a", "b", "c"][asker % 3])
                        var count = 0
                        while ContinuousClock.now < deadline {
                            let question = "\(asker).\(count)"
                            do {
                                let answer = try await runtime.perform(.echo(question), at: path, timeout: .seconds(30))
                                guard answer == question else { throw WrongAnswer(question: question, answer: answer) }
                            } catch let error as CoordinatorError where error.code == .peerLost && error.maybeExecuted {
                            }
                            count += 1
                        }
                    }
                }
                group.addTask {
                    while ContinuousClock.now < deadline {
                        // One that has no process at the moment can't be killed.
                        for key in ["a", "b", "c"] { _ = try? await runtime.kill(.root.appending(key)) }
                        try await realTime(.milliseconds(50), because: "each life is to have some load before it is killed")
                    }
                }
                try await group.waitForAll()
            }
            for key in ["a", "b", "c"] {
                try await eventually("\(key) answers") { try? await runtime.perform(.echo(key), at: .root.appending(key)) == key }
            }
        }
    }
}

struct WrongAnswer: Error {
    let question: String
    let answer: String
}
