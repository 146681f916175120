import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: delegates", .timeLimit(minutes: 3))
struct DelegateTests {
    @Test("A delegate gets every change in order, and its defaults do nothing", arguments: Where.allCases)
    func changes(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let auditor = Auditor()
            let deaf = Deaf()
            child.delegates += auditor
            child.delegates += deaf
            try await tree.root.pause("child")
            try await tree.root.resume("child")
            await tree.fail("/child")
            try await tree.reaches(.active, at: "/child", incarnation: 2)
            try await tree.root.remove("child")
            // The initiator learns by return, everybody else by event.
            let expected = ["paused", "resumed", "crashed", "restarted", "stopped"]
            try await eventually("the auditor has heard the end") { auditor.changes.count >= expected.count }
            #expect(auditor.changes == expected)
            // The parent has stopped, paused and resumed it itself.
            try await tree.reads("/ child restarted")
            let told = tree.notebook.words(at: "/").filter { $0.hasPrefix("child ") }
            #expect(told == ["child crashed", "child restarted"])
            withExtendedLifetime(deaf) {}
        }
    }

    @Test("A delegate is informed when a child is given up", arguments: Where.allCases)
    func gaveUp(_ place: Where) async throws {
        try await PageTree.run(options: Support.options.allowing(restarts: 1)) { tree in
            let child = try await tree.step("child", place)
            let auditor = Auditor()
            child.delegates += auditor
            await tree.fail("/child")
            try await tree.reaches(.active, at: "/child", incarnation: 2)
            await tree.fail("/child")
            try await eventually("it's given up") { auditor.changes.contains("gaveUp") }
            #expect(auditor.changes == ["crashed", "restarted", "crashed", "gaveUp"])
        }
    }

    @Test("A parent observes a child before its start", arguments: Where.allCases)
    func parentFirst(_ place: Where) async throws {
        try await PageTree.run { tree in
            for round in 1...3 {
                try await tree.step("child", place) { $0.eventsAtStart = [.loggedIn(user: "ann"), .count(round)] }
                // Told while it started, once in each life: a stop has ended the subscription of the life before.
                try await tree.reads("/ child told loggedIn(user: \"ann\")", times: round)
                try await tree.reads("/ child told count(\(round))")
                try await tree.root.remove("child")
            }
            let told = tree.notebook.words(at: "/").filter { $0.contains(" told ") }
            #expect(told.count == 6)
        }
    }

    @Test("One delegate audits while another presents, and adding one twice is adding it once", arguments: Where.allCases)
    func multicast(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let auditor = Auditor()
            let presenter = Auditor()
            child.delegates += auditor
            child.delegates += auditor
            child.delegates += presenter
            try await tree.perform(.emit(.loggedIn(user: "ann")), at: "/child")
            try await eventually("both hear it") { auditor.events.count == 1 && presenter.events.count == 1 }
            // Any handle on the child leads to the same delegates.
            let other = try #require(tree.root.child("child", as: StepCoordinator.self))
            other.delegates -= presenter
            try await tree.perform(.emit(.count(1)), at: "/child")
            try await tree.perform(.emit(.count(2)), at: "/child")
            try await eventually("the auditor hears on") { auditor.events.last == .count(2) }
            #expect(auditor.events == [.loggedIn(user: "ann"), .count(1), .count(2)])
            #expect(presenter.events == [.loggedIn(user: "ann")])
            // Removing who is not there is no error.
            other.delegates -= presenter
        }
    }

    @Test("Delegates survive the child's restart", arguments: Where.allCases)
    func restart(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let auditor = Auditor()
            child.delegates += auditor
            await tree.fail("/child")
            try await tree.reaches(.active, at: "/child", incarnation: 2)
            try await tree.perform(.emit(.count(2)), at: "/child")
            try await eventually("it hears the second life") { auditor.events == [.count(2)] }
        }
    }

    @Test("A slow delegate delays neither another nor the child", arguments: Where.allCases)
    func slow(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let slow = Dawdler()
            let quick = Auditor()
            child.delegates += slow
            child.delegates += quick
            try await tree.perform(.emitCounts(100), at: "/child")
            try await eventually("the quick one has all") { quick.events.count == 100 }
            #expect(quick.events == (1...100).map { .count($0) })
            try await eventually("the slow one is at its first") { slow.count == 1 }
            let echo = try await tree.perform(.echo("still there"), at: "/child")
            #expect(echo == "still there")
        }
    }

    @Test("Delegates are held weakly", arguments: Where.allCases)
    func weak(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let stays = Auditor()
            child.delegates += stays
            let reference = { () -> WeakReference<Auditor> in
                let goes = Auditor()
                child.delegates += goes
                return WeakReference(object: goes)
            }()
            try await eventually("nobody keeps it") { reference.object == nil }
            try await tree.perform(.emit(.count(1)), at: "/child")
            try await eventually("the one that is kept hears") { stays.events == [.count(1)] }
        }
    }

    @Test("A listener's subscription ends with its process, and with its subject", arguments: Where.allCases)
    func listener(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            let before = "\(try await tree.runtime.counters(of: "/child"))"
            for round in 1...3 {
                try await tree.start(EventListener.self, as: "listener", place) { $0.subject = "/child" }
                // Active when `start` has returned: nothing that is told from now on is missed.
                try await tree.perform(.emit(.count(round)), at: "/child")
                try await tree.reads("/listener heard count(\(round))")
                if place.isWorker { _ = try await tree.runtime.kill("/listener") }
                try await tree.root.remove("listener")
                // There is no listener, and sending an event is no error.
                try await tree.perform(.emit(.failed(reason: "\(round)")), at: "/child")
            }
            try await eventually("the subject has no observer left") {
                let counters = try await tree.runtime.counters(of: "/child")
                return "\(counters)" == before
            }
            #expect(tree.notebook.words(at: "/listener").filter { $0.hasPrefix("heard failed") } == [])
            try await tree.start(EventListener.self, as: "listener", place) { $0.subject = "/child" }
            let ends = tree.count("/listener heard the end")
            try await tree.root.remove("child")
            try await tree.reads("/listener heard the end", times: ends + 1)
        }
    }

    @Test("Events are typed, for children of several types in one table", arguments: Where.allCases)
    func typedEvents(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("step", place)
            let login = try await tree.root.start(LoginFlow.self, as: "login", in: place.isWorker ? .worker : .inProcess)
            try await login.ask(LoginFlow.Submit(name: "ann", password: "guess"), timeout: .seconds(15))
            try await login.ask(LoginFlow.Submit(name: "ann", password: "secret"), timeout: .seconds(15))
            try await tree.perform(.emit(.failed(reason: "of another type")), at: "/step")
            try await tree.reads("/ step told failed(reason: \"of another type\")")
            try await tree.reads("/ login told didLogIn(user: \"ann\")")
            let told = tree.notebook.words(at: "/").filter { $0.hasPrefix("login told") }
            #expect(told == ["login told didFail(reason: \"wrong password\")", "login told didLogIn(user: \"ann\")"])
        }
    }
}
