import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: deep links", .timeLimit(minutes: 3))
struct DeepLinkTests {
    private typealias Page = StepCoordinator.Page

    private let page = Page.product(7)

    @Test("A deep link crosses levels, and is delivered exactly once", arguments: Where.allCases)
    func delivered(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("shop", place)
            try await tree.step("catalog", below: "/shop", place)
            try await tree.runtime.open(Route("shop", Page.list).then("catalog", page), timeout: .seconds(20))
            // Done when it returns.
            #expect(tree.notebook.words(at: "/shop") == ["start", "display list"])
            #expect(tree.notebook.words(at: "/shop/catalog") == ["start", "display product(7)"])
            try await tree.shows(["/shop list", "/shop/catalog product(7)"])
        }
    }

    @Test("A deep link passes a section without a page", arguments: Where.allCases)
    func passing(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("shop", place)
            try await tree.step("catalog", below: "/shop", place)
            try await tree.runtime.open(Route("shop").then("catalog", page), timeout: .seconds(20))
            #expect(tree.notebook.words(at: "/shop") == ["start"])
            #expect(tree.notebook.words(at: "/shop/catalog") == ["start", "display product(7)"])
        }
    }

    @Test("Missing sections are opened on the way, each once, and the step isn't delivered twice", arguments: Where.allCases)
    func missing(_ place: Where) async throws {
        let sections = ["shop": place.isWorker, "catalog": place.isWorker]
        try await PageTree.run(configure: { $0.sections = sections }) { tree in
            let route = Route("shop", Page.list).then("catalog", page)
            try await tree.runtime.open(route, timeout: .seconds(20))
            #expect(tree.notebook.words(at: "/").filter { $0.hasPrefix("open") } == ["open shop"])
            #expect(tree.notebook.words(at: "/shop") == ["start", "display list", "open catalog"])
            #expect(tree.notebook.words(at: "/shop/catalog") == ["start", "display product(7)"])
            // What lives is used again.
            try await tree.runtime.open(route, timeout: .seconds(20))
            #expect(tree.count("/ open shop") == 1)
            #expect(tree.count("/shop open catalog") == 1)
            #expect(tree.count("/shop/catalog start") == 1)
            #expect(tree.count("/shop/catalog display product(7)") == 2)
        }
    }

    @Test("Links that arrive at the same time start a missing section once, and each is delivered", arguments: Where.allCases)
    func concurrent(_ place: Where) async throws {
        try await PageTree.run(configure: { $0.sections = ["shop": place.isWorker] }) { tree in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<10 {
                    group.addTask { try await tree.runtime.open(Route("shop", Page.product(number)), timeout: .seconds(20)) }
                }
                try await group.waitForAll()
            }
            #expect(tree.count("/shop start") == 1)
            let displayed = tree.notebook.words(at: "/shop").filter { $0.hasPrefix("display") }
            #expect(displayed.sorted() == (0..<10).map { "display product(\($0))" })
        }
    }

    @Test("A link waits for a target that isn't ready", arguments: Where.allCases)
    func notReady(_ place: Where) async throws {
        try await PageTree.run { tree in
            let starting = Task { try await tree.step("shop", place) { $0.startsAt = "start now" } }
            try await tree.reads("/shop start")
            let opening = Task { try await tree.runtime.open(Route("shop", page), timeout: .seconds(20)) }
            // As long as it isn't ready nothing is displayed, whatever else goes on.
            for _ in 0..<20 { _ = try await tree.runtime.snapshot() }
            #expect(tree.notebook.words(at: "/shop") == ["start"])
            tree.notebook.note("start now")
            _ = try await starting.value
            try await opening.value
            #expect(tree.notebook.words(at: "/shop") == ["start", "display product(7)"])
        }
    }

    @Test("A link waits for a target that is being restarted", arguments: Where.allCases)
    func restarting(_ place: Where) async throws {
        var options = Support.options
        let backoff = Backoff(minimum: .seconds(1), maximum: .seconds(1), jitter: 0)
        options.supervision = SupervisionPolicy(.oneForOne, intensity: 100, period: .seconds(60), backoff: backoff)
        try await PageTree.run(options: options) { tree in
            try await tree.step("shop", place)
            // The first restart is immediate, the second is held back.
            await tree.fail("/shop")
            try await tree.reaches(.active, at: "/shop", incarnation: 2)
            await tree.fail("/shop")
            try await eventually("its second life has ended") {
                try await tree.runtime.snapshot(of: "/shop").state != .active || tree.count("/shop start") == 3
            }
            try await tree.runtime.open(Route("shop", page), timeout: .seconds(20))
            #expect(tree.count("/shop start") == 3)
            #expect(tree.count("/shop display product(7)") == 1)
            #expect(tree.notebook.words(at: "/shop").last == "display product(7)")
        }
    }

    @Test("A link whose target never becomes ready times out, and isn't delivered later", arguments: Where.allCases)
    func timesOut(_ place: Where) async throws {
        try await PageTree.run { tree in
            let starting = Task { try await tree.step("shop", place) { $0.startsAt = "start now" } }
            try await tree.reads("/shop start")
            await Support.expect(.timedOut) { try await tree.runtime.open(Route("shop", page), timeout: .milliseconds(200)) }
            tree.notebook.note("start now")
            _ = try await starting.value
            try await tree.runtime.open(Route("shop", Page.list), timeout: .seconds(20))
            #expect(tree.notebook.words(at: "/shop") == ["start", "display list"])
        }
    }

    @Test("A link to a section that no coordinator opens fails with noSuchChild", arguments: Where.allCases)
    func nobodyOpens(_ place: Where) async throws {
        try await PageTree.run { tree in
            // Its type has no `open` hook: the default.
            try await tree.clerk("clerk", place)
            await Support.expect(.noSuchChild) { try await tree.runtime.open(Route("clerk").then("nowhere", page), timeout: .seconds(20)) }
            let clerk = try await tree.runtime.snapshot(of: "/clerk")
            #expect(clerk.state == .active && clerk.children.isEmpty)
        }
    }

    @Test("A link opened by a coordinator goes on from there", arguments: Where.allCases)
    func fromWithin(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("shop", place) { $0.sections = ["catalog": place.isWorker, "product": place.isWorker] }
            try await tree.perform(.route(Route("catalog", Page.list).then("product", page)), at: "/shop")
            #expect(tree.notebook.words(at: "/shop") == ["start", "open catalog"])
            #expect(tree.notebook.words(at: "/shop/catalog") == ["start", "display list", "open product"])
            #expect(tree.notebook.words(at: "/shop/catalog/product") == ["start", "display product(7)"])
            // The same from the root's own context.
            try await tree.root.open(Route("shop").then("catalog", Page.product(8)), timeout: .seconds(20))
            #expect(tree.notebook.words(at: "/shop/catalog").last == "display product(8)")
        }
    }

    @Test("A coordinator without a hook of its own shows the page", arguments: Where.allCases)
    func defaultDisplay(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.root.start(LoginFlow.self, as: "login", in: place.isWorker ? .worker : .inProcess)
            try await tree.runtime.open(Route("login", LoginFlow.Page.profile(user: "ann")), timeout: .seconds(20))
            let shown = try await tree.runtime.ask(LoginFlow.Shown(), at: "/login", timeout: .seconds(15))
            #expect(shown == [.login(error: nil), .profile(user: "ann")])
        }
    }
}
