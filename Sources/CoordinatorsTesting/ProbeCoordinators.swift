import Coordinators

/// The probes of a tree, which its coordinators find among their dependencies.
struct Probes: Sendable {
    var above: Probe?
    var standIns: [String: Probe] = [:]
}

extension DependencyKeys {
    var coordinatorsTestingProbes: DependencyKey<Probes> { DependencyKey() }
}

/// The root above a coordinator under test.
actor ProbeRoot<Subject: Coordinator>: Coordinator {
    typealias Configuration = Subject.Configuration

    let context: Context

    init(_ context: Context) { self.context = context }

    static var responders: Responders {
        [
            .intercept(prefix: "", interleaves: true) { me, message, _ in try await me.probe().answer(message) },
            .observe(Subject.self) { me, _, event in try? me.probe().note(event: event) },
            .lifecycle { me, child, change in try? me.probe().note(change, of: child.path) },
        ]
    }

    func start() async throws {
        let key = CoordinatorPath.subject.key
        let configuration = context.configuration
        let (context, probe) = (context, try probe())
        // The run is requested first: a subject may finish as soon as it has started, and would then be started again.
        let run = Task.immediate {
            do {
                let output = try await context.run(Subject.self, as: key, with: configuration)
                probe.note(output: .success(output))
            } catch {
                probe.note(output: .failure(error))
            }
        }
        context.task {
            await withTaskCancellationHandler {
                await run.value
            } onCancel: {
                run.cancel()
            }
        }
        if context.child(key) != nil { try await context.start(Subject.self, as: key, restart: .transient, with: configuration) }
    }

    private func probe() throws -> Probe {
        guard let probe = context.dependencies.coordinatorsTestingProbes?.above else {
            throw CoordinatorError(.unsupported, "no probe was given")
        }
        return probe
    }
}

/// A child in whose place a probe stands.
actor StandInCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .intercept(prefix: "", interleaves: true) { me, message, _ in
            try await me.probe().answer(message)
        }
    ]

    private func probe() throws -> Probe {
        guard let name = context.definedTypeName, let probe = context.dependencies.coordinatorsTestingProbes?.standIns[name] else {
            throw CoordinatorError(.unsupported, "\(context.path) stands for a coordinator without a probe")
        }
        return probe
    }
}
