import Coordinators

/// The root of the service: a cache and albums in its own process, and renderers in processes of their own.
actor ThumbnailCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case cache, albums, renderers }

    static let responders: Responders = [
        .forward(Thumbnail.Make.self, to: .cache),
        .forward(Thumbnail.Render.self, to: .renderers),
        .forward(prefix: "Album", to: .albums),
    ]

    /// A renderer that leaks is replaced between two pictures; one that takes too much with a single picture is killed.
    static let renderer = Placement.worker(
        spares: 1,
        recycling: Recycling(memory: 192 << 20),
        memoryLimit: 512 << 20,
        hang: .restart
    )

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws {
        try await context.start(RendererCoordinator.self, as: .renderers, in: .pool(3, Self.renderer))
        try await context.start(CacheCoordinator.self, as: .cache)
        try await context.start(AlbumsCoordinator.self, as: .albums)
    }
}
