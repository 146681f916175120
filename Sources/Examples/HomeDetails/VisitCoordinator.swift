import Coordinators

/// Plays the person at the screen: it opens the details of two things, closes them again, and prints what is left of them.
actor VisitCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    func run() async throws {
        let (farewells, farewell) = AsyncStream<Int>.makeStream()
        await context.provide(\.farewell, farewell)
        let home = try await context.start(HomeCoordinator.self, as: "home")
        var events = home.events().makeAsyncIterator()
        print("home is shown, with \(try await home.ask(Home.ChildCount())) children")

        try await home.ask(Home.ShowDetails(item: 7))
        print("the details of 7: \(try await home.ask(Details.Text()))")
        print("home has \(try await home.ask(Home.ChildCount())) child")
        try await home.ask(Details.GoBack())
        if case .isShownAgain = await events.next() { print("home again, with \(try await home.ask(Home.ChildCount())) children") }
        // If a reference to the coordinator were left, this would wait forever.
        for await item in farewells {
            print("the coordinator of \(item) is out of memory")
            break
        }

        try await home.ask(Home.ShowDetails(item: 8, inWorker: true))
        print("the details of 8, from another process: \(try await home.ask(Details.Text()))")
        try await home.ask(Details.GoBack())
        if case .isShownAgain = await events.next() { print("home again, with \(try await home.ask(Home.ChildCount())) children") }
        print("the visit is over")
        context.finish()
    }
}
