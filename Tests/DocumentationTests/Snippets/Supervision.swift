import Coordinators

private actor VaultCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }
}

private actor BookkeeperCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }
}

private actor OfficeCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: chain
    func start() async throws {
        try await context.start(VaultCoordinator.self, as: "vault")  // ends last
        try await context.start(BookkeeperCoordinator.self, as: "books")  // ends before the vault, which it needs
    }
    // end
}
