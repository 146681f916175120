import Coordinators
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: handles, names and whole flows", .timeLimit(minutes: 3))
struct PageFlowTests {
    @Test("The typed and the erased handle lead to the same child", arguments: Where.allCases)
    func handles(_ place: Where) async throws {
        try await PageTree.run { tree in
            let typed = try await tree.step("child", place)
            let erased = try #require(tree.root.child("child"))
            #expect(erased.path == typed.path)
            #expect(erased.state == .active && typed.state == .active)
            await tree.fail("/child")
            try await tree.reaches(.active, at: "/child", incarnation: 2)
            // Handles follow the path.
            #expect(erased.incarnation == 2 && typed.incarnation == 2)
            #expect(erased.key(as: String.self) == "child")
            await typed.remove()
            #expect(erased.state == .inactive && typed.state == .inactive)
            #expect(tree.root.child("child") == nil)
        }
    }

    @Test("A coordinator is started by its type's name alone", arguments: Where.allCases)
    func byName(_ place: Where) async throws {
        // A start by name asks for a worker; the other placement is what the options make of it.
        var options = Support.options
        options.coordinators = Fixture.coordinators
        options.runsInOneProcess = place == .inProcess
        try await PageTree.run(options: options) { tree in
            let child = try await tree.root.start(worker: "StepCoordinator", as: "child", executable: nil)
            #expect(child.state == .active)
            let there = try await tree.runtime.ask(Fixture.WhereAmI(), at: "/child", timeout: .seconds(15))
            let here = try await tree.runtime.ask(Fixture.WhereAmI(), timeout: .seconds(15))
            #expect((there.pid == here.pid) == (place == .inProcess))
            let typed = try #require(tree.root.child("child", as: StepCoordinator.self))
            #expect(typed.path == child.path)
            let error = await #expect(throws: (any Error).self) {
                try await tree.root.start(worker: "NobodyCoordinator", as: "nobody", executable: nil)
            }
            #expect((error as? CoordinatorError)?.code == .unknownType)
            #expect(tree.root.child("nobody") == nil)
        }
    }

    @Test("A failed login returns its error to the login page, and a successful one replaces it", arguments: Where.allCases)
    func login(_ place: Where) async throws {
        try await PageTree.run { tree in
            // 1: the flow shows its login page.
            let login = try await tree.root.start(LoginFlow.self, as: "login", in: place.isWorker ? .worker : .inProcess)
            let first = try await login.ask(LoginFlow.Shown(), timeout: .seconds(15))
            #expect(first == [.login(error: nil)])
            // 2 and 3: the submitted login climbs to the coordinator that knows the accounts, and the error comes back to the page.
            try await login.ask(LoginFlow.Submit(name: "ann", password: "guess"), timeout: .seconds(15))
            let second = try await login.ask(LoginFlow.Shown(), timeout: .seconds(15))
            #expect(second == [.login(error: "wrong password")])
            // 4: success replaces the page.
            try await login.ask(LoginFlow.Submit(name: "ann", password: "secret"), timeout: .seconds(15))
            let third = try await login.ask(LoginFlow.Shown(), timeout: .seconds(15))
            #expect(third == [.profile(user: "ann")])
            // 5: the parent is told of both, in order.
            try await tree.reads("/ login told didLogIn(user: \"ann\")")
            let told = tree.notebook.words(at: "/").filter { $0.contains(" told ") }
            #expect(told == ["login told didFail(reason: \"wrong password\")", "login told didLogIn(user: \"ann\")"])
        }
    }

    // The shop that the seed describes is an example with tests of its own; here are the four things that it does.
    @Test("The shop shows the badge from the reply, toggles the cart from anywhere, and buys at once", arguments: Where.allCases)
    func shop(_ place: Where) async throws {
        try await PageTree.run { tree in
            let shelf = try await tree.root.start(ShelfCoordinator.self, as: "shelf", in: place.isWorker ? .worker : .inProcess)
            let none = try await shelf.ask(ShelfCoordinator.Badges(), timeout: .seconds(15))
            #expect(none == [])
            let one = try await shelf.ask(ShelfCoordinator.Tap("apple"), timeout: .seconds(15))
            #expect(one == 1)
            let badges = try await shelf.ask(ShelfCoordinator.Badges(), timeout: .seconds(15))
            #expect(badges == [1])
            try await shelf.ask(ShelfCoordinator.ToggleBasket(), timeout: .seconds(15))
            #expect(tree.count("/ toggled") == 1)
            // The payment, below the shelf, adds to the basket too: the shelf sees its reply pass.
            let receipt = try await shelf.ask(ShelfCoordinator.BuyNow("pear", inWorker: place.isWorker), timeout: .seconds(20))
            #expect(receipt == "paid pear, basket of 2")
            let later = try await shelf.ask(ShelfCoordinator.Badges(), timeout: .seconds(15))
            #expect(later == [1, 2])
            // The payment has finished: nothing of it is left, its page included.
            let shelfSnapshot = try await tree.runtime.snapshot(of: "/shelf")
            #expect(shelfSnapshot.children.isEmpty)
            try await eventually("the shelf's two pages are what is left") {
                try await tree.runtime.navigation().map { "\($0.path)" } == ["/shelf", "/shelf"]
            }
        }
    }

    @Test("A coordinator needs a context and an initialiser: without a hook it goes through all transitions", arguments: Where.allCases)
    func smallest(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.root.start(SmallestCoordinator.self, as: "small", in: place.isWorker ? .worker : .inProcess)
            #expect(child.state == .active)
            await child.pause()
            #expect(child.state == .paused)
            await child.resume()
            #expect(child.state == .active)
            let isTaken = try await child.send(Fixture.Note(1))
            #expect(!isTaken)
            try await tree.root.remove("small")
            #expect(child.state == .inactive)
        }
    }
}
