public import Coordinators

public enum Parcels {
    /// A message with a reply, which a one-way sender doesn't want.
    public struct Parcel: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// Asks for the number of parcels in the depot.
    public struct Delivered: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// Sends parcels one way; answered with how many were taken.
    public struct Dispatch: ResponderMessage {
        public typealias Reply = Int
        public var count: Int
        public init(_ count: Int) { self.count = count }
    }

    /// Asks for the replies that the interceptor has got.
    public struct Seen: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }
}

/// Takes parcels of the courier below it.
public actor DepotCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var couriersInWorker = false
        public init() {}
    }

    public nonisolated let context: Context
    private nonisolated var configuration: Configuration { context.configuration }
    private var delivered = 0

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Parcels.Parcel.self) { me, _ in
            me.delivered += 1
            return me.delivered
        },
        .respond(to: Parcels.Delivered.self) { me, _ in me.delivered },
    ]

    public func start() async throws {
        try await context.start(CourierCoordinator.self, as: "courier", in: configuration.couriersInWorker ? .worker : .inProcess)
    }
}

/// Sends parcels, and sees them pass.
public actor CourierCoordinator: Coordinator {
    public nonisolated let context: Context
    private var seen: [Int] = []

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .intercept(Parcels.Parcel.self) { me, parcel, chain in
            let number = try await chain.next(parcel)
            me.seen.append(number)
            return number
        },
        .respond(to: Parcels.Dispatch.self) { me, dispatch in
            var taken = 0
            for _ in 0..<dispatch.count {
                if try await me.context.send(Parcels.Parcel()) { taken += 1 }
            }
            return taken
        },
        .respond(to: Parcels.Seen.self) { me, _ in me.seen },
    ]
}
