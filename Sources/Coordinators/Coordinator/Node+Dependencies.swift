import ConcurrencySupport

extension Node {
    /// The dependencies of the coordinator.
    var dependencies: Dependencies { state.withLock { $0.dependencies.effective } }

    /// Provides this coordinator and those below it with values, which they all have when the call returns.
    func provide(_ more: Dependencies) { spread { $0.provide(more) } }

    /// Takes over the dependencies that the coordinators above provide, and passes them on to those below.
    func inherit(_ dependencies: Dependencies) { spread { $0.inherit(dependencies) } }

    /// Passes the dependencies on to a child that begins.
    func passInheritance(to host: any ChildHost) { host.inherit(dependencies) }

    /// Changes the provided dependencies and passes them on, first to the children, then to the messages that waited here.
    ///
    /// Several threads may do so at the same time, and no lock is held meanwhile. Each passes on the present dependencies, with their
    /// version: those that reach a child late are older than the child's own, and change nothing.
    private func spread(_ change: (inout NodeDependencies) -> Void) {
        let (effective, children) = state.withLock { state in
            change(&state.dependencies)
            return (state.dependencies.effective, state.children)
        }
        for host in children?.hosts ?? [] { host.inherit(effective) }
        if !releaseWhatIsProvided().isEmpty { learnWhatIsNeeded() }
    }

    /// Releases the messages whose dependencies are provided now.
    ///
    /// - Returns: The properties of dependencies whose keys have to be learned before other waiting messages can be released.
    private func releaseWhatIsProvided() -> [MessageRow.Needs] {
        let (draining, lessons) = state.withLock { state -> (Draining?, [MessageRow.Needs]) in
            guard state.mailbox.hasNeeding else { return (nil, []) }
            let effective = state.dependencies.effective
            state.mailbox.release { $0.needs.isProvided(by: effective) && !$0.needs.canLearn(from: effective) }
            return (state.drainingToBegin(), state.mailbox.needs.filter { $0.canLearn(from: effective) })
        }
        if let draining { begin(draining) }
        return lessons
    }

    /// Learns which keys the properties read whose first keys are provided, and releases the messages that wait for no others.
    ///
    /// The reading runs in a task of its own, because it may make a service.
    func learnWhatIsNeeded() {
        runtime.tasks.add { [self] in
            while case let lessons = releaseWhatIsProvided(), !lessons.isEmpty {
                let dependencies = dependencies
                for needs in lessons { needs.learn(from: dependencies) }
            }
        }
    }
}
