import ChaosHistory
import Coordinators
import Glibc
import Supervision
import UnixSignals

/// A coordinator of the tree: all of them record their lives, restart their children, and clog their links when they are told to.
protocol Inhabitant: Coordinator where ChildKey == String {
    static var role: Record.Role { get }
}

extension Inhabitant {
    /// The policy of the plan, for the children of every coordinator.
    nonisolated static var policy: SupervisionPolicy {
        let pause = Duration.milliseconds(Recorder.plan.backoffMilliseconds)
        return SupervisionPolicy(
            .oneForOne,
            intensity: Recorder.plan.intensity,
            period: .seconds(1),
            backoff: Backoff(minimum: pause, maximum: pause * 10)
        )
    }

    func recordBegin() {
        Recorder.recordBegin(of: context.path.description, incarnation: context.incarnation, as: Self.role)
    }

    /// Is ready until it's stopped; clogs the link to the parent at SIGUSR1 in one direction, at SIGUSR2 in the other, and breaks all links
    /// of the process at SIGWINCH.
    func live() async {
        let milliseconds = Recorder.plan.clogMilliseconds
        let signals = await UnixSignalsSequence(trapping: .sigusr1, .sigusr2, .sigwinch)
        Recorder.record(.ready)
        for await signal in signals {
            if signal == .sigwinch {
                Links.breakAll()
                continue
            }
            let key = context.path.key
            let clog = signal == .sigusr1
            // A parent that is gone, and one that doesn't know the message, clog nothing.
            Task { [context] in
                if clog {
                    _ = try? await context.send(Clog(milliseconds: milliseconds))
                } else {
                    _ = try? await context.send(ClogDown(key: key, milliseconds: milliseconds))
                }
            }
        }
    }

    /// Starts children by the names of their types, all at once: one whose first start fails is started again.
    func startChildren(_ children: [(type: String, key: String, configuration: JSONValue)]) async throws {
        let starts = children.map { child in
            Task.immediate {
                _ = try await self.context.start(
                    worker: child.type,
                    as: child.key,
                    configuration: child.configuration,
                    retriesFirstStart: true
                )
            }
        }
        for start in starts { try await start.value }
    }

    /// The rows of a parent, for its children's links.
    nonisolated static var clogRows: Responders {
        [
            .inline(Clog.self) { _, clog in clog.holdBack() },
            .respond(to: ClogDown.self) { me, clog in
                guard let leaf = me.context.child(clog.key, as: LeafCoordinator.self) else { return }
                _ = try await leaf.send(Clog(milliseconds: clog.milliseconds))
            },
        ]
    }
}

/// The links of this process.
private enum Links {
    /// Shuts each connected Unix socket down, as if the other side had closed it; a runtime has no others than links.
    static func breakAll() {
        for descriptor in 3..<Int32(1_024) {
            var address = sockaddr_un()
            var length = socklen_t(MemoryLayout<sockaddr_un>.size)
            let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
            }
            if isConnected, address.sun_family == sa_family_t(AF_UNIX) { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }
}

/// The root of a tree without a daemon: it forwards the messages of its senders to its parents.
actor RootCoordinator: Inhabitant {
    static let role = Record.Role.root
    static let supervision = policy
    static let responders: Responders =
        clogRows
        + (0..<Plan.places).flatMap { number -> Responders in
            [.forward(prefix: "Work.p\(number)", to: "p\(number)"), .forward(prefix: "Repeated.p\(number)", to: "p\(number)")]
        }
        + [.forward(prefix: "Shared.", to: "pool")]

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    /// Starts the children here, and not once the root is ready: what no start has asked for by then isn't adopted.
    func start() async throws {
        recordBegin()
        let plan = Recorder.plan
        let parents = (0..<plan.parents).map { number in
            (type: "ParentCoordinator", key: "p\(number)", configuration: ["number": .integer(Int64(number))] as JSONValue)
        }
        let senders = (0..<plan.senders).map { number in
            (type: "SenderCoordinator", key: "s\(number)", configuration: ["number": .integer(Int64(number))] as JSONValue)
        }
        let pool = Task.immediate { await self.startPool(of: plan.pool) }
        try await startChildren(parents + senders)
        await pool.value
    }

    func run() async throws { await live() }

    func stopped() { Recorder.record(.ended) }

    /// Starts the pool, again if a member is killed before the pool is ready.
    private func startPool(of size: Int) async {
        while size > 0, !Task.isCancelled {
            let placement = PoolPlacement.pool(size, .worker, supervision: Self.policy)
            if (try? await context.start(LeafCoordinator.self, as: "pool", in: placement)) != nil { return }
        }
    }
}

/// A coordinator between the root and the leaves; below a daemon each has a sender of its own.
actor ParentCoordinator: Inhabitant {
    struct Configuration: CoordinatorConfiguration {
        var number = 0
        var hasSender = false
    }

    static let role = Record.Role.parent
    static let supervision = policy
    static let responders: Responders =
        clogRows
        + (0..<Plan.places).flatMap { parent in
            (0..<Plan.places).flatMap { leaf -> Responders in
                [
                    .forward(prefix: "Work.p\(parent).l\(leaf)", to: "l\(leaf)"),
                    .forward(prefix: "Repeated.p\(parent).l\(leaf)", to: "l\(leaf)"),
                ]
            }
        }

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws {
        recordBegin()
        let configuration = context.configuration
        var children = (0..<Recorder.plan.leaves(of: configuration.number)).map { number in
            (type: "LeafCoordinator", key: "l\(number)", configuration: [:] as JSONValue)
        }
        if configuration.hasSender {
            let target: JSONValue = ["number": .integer(Int64(configuration.number)), "parent": .integer(Int64(configuration.number))]
            children.append((type: "SenderCoordinator", key: "s", configuration: target))
        }
        try await startChildren(children)
    }

    func run() async throws { await live() }

    func stopped() { Recorder.record(.ended) }
}

/// A coordinator that does the work, in a process of its own.
actor LeafCoordinator: Inhabitant {
    static let role = Record.Role.leaf
    static let responders: Responders =
        [
            .inline(Clog.self) { _, clog in clog.holdBack() },
            .respond(to: SharedWork.self) { me, work in try await me.carryOut(work.order) },
            .respond(to: RepeatedSharedWork.self) { me, work in try await me.carryOut(work.order) },
        ]
        + Places.all.flatMap { parent in Places.all.flatMap { leaf in rows(parent, leaf) } }

    nonisolated let context: Context
    private var count = 0

    init(_ context: Context) { self.context = context }

    private static func rows<P: Place, L: Place>(_ parent: P.Type, _ leaf: L.Type) -> Responders {
        [
            .respond(to: Work<P, L>.self) { me, work in try await me.carryOut(work.order) },
            .respond(to: RepeatedWork<P, L>.self) { me, work in try await me.carryOut(work.order) },
        ]
    }

    func start() { recordBegin() }

    func run() async throws { await live() }

    func stopped() { Recorder.record(.ended) }

    private func carryOut(_ order: WorkOrder) async throws -> Int {
        guard let message = MessageID(order.message), let kind = Record.MessageKind(rawValue: order.kind) else { return 0 }
        Recorder.record(.executed(message: message, kind: kind))
        count += 1
        if order.milliseconds > 0 { try await Task.sleep(for: .milliseconds(order.milliseconds)) }
        return count
    }
}
