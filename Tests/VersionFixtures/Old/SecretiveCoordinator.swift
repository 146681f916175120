import Coordinators

/// Its name differs from build to build.
private actor SecretiveCoordinator: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }
}

let secretive: any Coordinator.Type = SecretiveCoordinator.self

func startSecretive(below context: ParentCoordinator.Context) async throws -> String {
    try await context.start(SecretiveCoordinator.self, as: .secretive, in: .worker)
    return "started"
}
