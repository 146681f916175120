import ConcurrencySupport

extension Node {
    /// The dependencies of the coordinator.
    var dependencies: Dependencies { state.withLock { $0.dependencies.effective } }

    /// Provides this coordinator and those below it, which have it when this returns.
    func provide(_ more: Dependencies) { spread { $0.provide(more) } }

    /// Takes what those above provide, and hands it down.
    func inherit(_ dependencies: Dependencies) { spread { $0.inherit(dependencies) } }

    /// Updates a child that was made while a value was being provided, so that it doesn't miss it.
    func renewInheritance(of host: any ChildHost) { host.inherit(dependencies) }

    /// Changes what is provided here, and hands it down: the children first, then what waited here.
    ///
    /// Several may do so at the same time, and no lock is held meanwhile. Each hands down what is provided now, with its version: what comes
    /// late to a child is older than what the child has, and changes nothing.
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
    /// - Returns: what has to be learned first of what others need that waits.
    private func releaseWhatIsProvided() -> [MessageRow.Needs] {
        let (instance, lessons) = state.withLock { state -> ((any Coordinator)?, [MessageRow.Needs]) in
            guard state.mailbox.hasNeeding else { return (nil, []) }
            let effective = state.dependencies.effective
            state.mailbox.release { $0.needs.isProvided(by: effective) && !$0.needs.canLearn(from: effective) }
            return (state.instanceToDrain(), state.mailbox.needs.filter { $0.canLearn(from: effective) })
        }
        if let instance { beginDraining(instance) }
        return lessons
    }

    /// Finds out which keys properties read whose first ones are here, and lets go what has waited for no others.
    ///
    /// In a task of its own: to read a property may be to make a service.
    func learnWhatIsNeeded() {
        runtime.tasks.add { [self] in
            while case let lessons = releaseWhatIsProvided(), !lessons.isEmpty {
                let dependencies = dependencies
                for needs in lessons { needs.learn(from: dependencies) }
            }
        }
    }
}
