import Supervision
import Testing

/// The partial order in which a supervisor that ends stops its children.
@Suite struct StopOrderTests {
    private func outside(_ id: String, before others: [String] = []) -> Child { Child(id: id, stopPlace: .outside(before: others)) }

    /// Ends the supervisor, and returns the children that are told to stop together, wave after wave.
    private func waves(_ stage: inout Stage) -> [[String]] {
        var waves: [[String]] = []
        var directives = stage.send(.shutdownRequested(.shutdown))
        while case let wave = directives.compactMap({ if case .stop(let id, _, _) = $0 { id } else { nil } }), !wave.isEmpty {
            waves.append(wave)
            directives = wave.flatMap { stage.exit($0, .shutdown) }
        }
        #expect(directives.last == .terminated(.shutdown))
        return waves
    }

    @Test func whatIsOutsideOfTheChainEndsTogetherBeforeIt() {
        var stage = Stage(running: Child(id: "a"), outside("x"), Child(id: "b"), outside("y"), Child(id: "c"))
        #expect(waves(&stage) == [["y", "x"], ["c"], ["b"], ["a"]])
    }

    @Test func theChainWaitsForTheLastOutside() {
        var stage = Stage(running: Child(id: "a"), outside("x"), outside("y"))
        _ = stage.send(.shutdownRequested(.shutdown))
        #expect(stage.exit("x", .shutdown) == [.report("x", 1, .stopped(.shutdown))])
        #expect(stage.exit("y", .shutdown).last == .stop("a", 1, .timeout(.seconds(5))))
    }

    @Test func aPolicyMakesAllChildrenAChain() {
        var stage = Stage(running: Child(id: "a"), outside("x", before: ["y"]), Child(id: "b"), outside("y"))
        var policy = stage.supervisor.policy
        policy.stopOrder = .chain
        _ = stage.send(.policyChanged(policy))
        #expect(waves(&stage) == [["y"], ["b"], ["x"], ["a"]])
    }

    @Test func edgesHoldBackOnlyThoseThatTheyName() {
        let app = outside("app", before: ["db", "gone"])
        let children = [outside("db"), app, outside("cache"), outside("web", before: ["app", "cache"])]
        var stage = Stage()
        for child in children + [outside("mail")] { stage.run(child) }
        #expect(waves(&stage) == [["mail", "web"], ["app", "cache"], ["db"]])
    }

    @Test func edgesOfChildrenThatDontLiveHoldNothingBack() {
        var stage = Stage(running: outside("db"), outside("app", before: ["db"]))
        stage.stop("app")
        #expect(waves(&stage) == [["db"]])
    }

    @Test func theOrderHoldsThroughChildrenThatDontLive() {
        let (app, web) = (outside("app", before: ["job"]), outside("web", before: ["app"]))
        var stage = Stage(running: outside("db"), outside("job", before: ["db", "log"]), outside("log"), app, web)
        stage.stop("job")
        stage.stop("app")
        #expect(waves(&stage) == [["web"], ["db", "log"]])
    }

    @Test func theOrderHoldsThroughAChildThatEndsBeforeItsTurn() {
        var stage = Stage(running: outside("db"), outside("app", before: ["db"]), outside("web", before: ["app"]))
        #expect(stage.send(.shutdownRequested(.shutdown)).contains(.stop("web", 1, .timeout(.seconds(5)))))
        #expect(!stage.exit("app").contains { if case .stop = $0 { true } else { false } })
        #expect(stage.exit("web", .shutdown).last == .stop("db", 1, .timeout(.seconds(5))))
    }

    @Test func anArrangementReplacesTheOrder() {
        var stage = Stage(running: Child(id: "db"), outside("web"), outside("old", before: ["web"]))
        stage.supervisor.arrange(["db", "web", "old"], stoppingBefore: ["web": ["db", "gone"], "gone": ["old"]])
        #expect(waves(&stage) == [["old", "web"], ["db"]])
    }

    @Test func edgesThatFormACircleHoldNothingBack() {
        var stage = Stage(running: Child(id: "a"), outside("p", before: ["q"]), outside("q", before: ["p"]), outside("r", before: ["r"]))
        #expect(waves(&stage) == [["r"], ["p", "q"], ["a"]])
    }

    @Test(arguments: [Strategy.oneForAll, .restForOne]) func restartsOfSiblingsKeepTheStartOrderAllTheSame(strategy: Strategy) {
        var stage = Stage(strategy, running: Child(id: "a"), outside("x"), outside("y"))
        var turns: [String] = []
        var directives = stage.exit("a")
        while let id = directives.lazy.compactMap({ if case .stop(let id, _, _) = $0 { id } else { nil } }).first {
            turns.append(id)
            directives = stage.exit(id, .shutdown)
        }
        #expect(turns == ["y", "x"])
        for id in ["a", "x", "y"] {
            #expect(directives.contains { if case .start(let started, _, _) = $0 { started == id } else { false } }, "\(id) isn't next")
            directives = stage.ready(id)
        }
    }

    @Test func theEndOfManyCostsNoMoreForEachThanThatOfFew() {
        func time(_ count: Int) -> Duration {
            var stage = Stage()
            for number in 0..<count { stage.run(outside("\(number)", before: ["\(number / 2)"])) }
            return ContinuousClock().measure { _ = waves(&stage) }
        }
        let (few, many) = (time(1_000), time(10_000))
        #expect(many < few * 40, "\(few) for a thousand, \(many) for ten thousand")
    }
}
