import Coordinators

/// Plays the person at the screen: it starts the app, touches it here and there, and prints what happens.
actor VisitCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    func run() async throws {
        // The person was here before: the app knows the address, not the password.
        await context.provide(\.session, Session(cachedEmail: "ada@example.org"))
        let app = try await context.start(AppCoordinator.self, as: "app")
        print("nobody is logged in, so the app starts with \(list(try await app.ask(App.Children())))")

        var events = app.events().makeAsyncIterator()
        try await app.ask(Login.Submit(password: "byron"))
        if case .showsProblem(let reason) = await events.next() { print("a wrong password: the app presents \"\(reason)\"") }
        let isGone = try await app.ask(Login.Cancel())
        print("the login asks to be dismissed: \(isGone ? "granted" : "refused, there is nothing else to show")")
        try await app.ask(Login.Submit(password: "lovelace"))
        if case .showsMain(let user) = await events.next() { print("the right one: welcome, \(user.name)") }
        print("the login is gone, and there is \(list(try await app.ask(App.Children())))")

        print("the app goes to the background, where these rest: \(list(try await app.ask(App.EnterBackground())))")
        let resting = try await app.ask(App.EnterForeground())
        print("the app is back, and \(resting.isEmpty ? "nobody rests" : list(resting))")

        try await app.ask(Player.SwipeAway())
        if case .closedPlayer = await events.next() { print("the player's screen is swiped away, and its coordinator is gone") }
        for line in try await app.ask(App.Log()) { print("the log has: \(line)") }
        print("the visit is over")
        context.finish()
    }

    private func list(_ items: [some CustomStringConvertible]) -> String {
        items.map(\.description).joined(separator: ", ")
    }
}
