import Coordinators

// snippet: idempotent
enum Gallery {
    struct Render: ResponderMessage {
        typealias Reply = String
        static let isIdempotent = true
        var scene: String
    }
}
// end

extension Gallery {
    struct Scale: ResponderMessage {
        var size: Int
    }
}

actor GalleryCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case renderers }

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws {
        // snippet: start
        try await context.start(RendererCoordinator.self, as: .renderers, in: .pool(4, .worker, routing: .leastLoaded)) {
            $0.width = 1_920
        }
        // end
    }

    // snippet: forward
    static let responders: Responders = [.forward(Gallery.Render.self, to: .renderers)]
    // end
}

actor ScalingGallery: Coordinator {
    enum ChildKey: String, CoordinatorKey { case renderers, others }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        // snippet: handle
        .respond(to: Gallery.Scale.self) { me, scale in
            guard let pool = me.context.pool(.renderers, as: RendererCoordinator.self) else {
                throw CoordinatorError(.noSuchChild, "there is no pool of renderers")
            }
            try await pool.resize(to: scale.size)
        },
        // end
        .forward(Gallery.Render.self, to: .renderers),
    ]

    func start() async throws {
        // snippet: hashing
        let byScene = PoolPlacement.pool(4, .worker, routing: .hashing(\Gallery.Render.scene))
        // end
        // snippet: limits
        let limited = PoolPlacement.pool(4, .worker, restartLimits: RestartLimits(intensity: 100, period: .seconds(60)))
        // end
        try await context.start(RendererCoordinator.self, as: .others, in: limited)
        let pool = try await context.start(RendererCoordinator.self, as: .renderers, in: byScene)
        try await grow(pool)
    }

    private func grow(_ pool: Pool<RendererCoordinator>) async throws {
        // snippet: change
        try await pool.resize(to: 8)
        try await pool.restartMembers()
        // end
    }
}
